//! When what a document says of a guarantee no longer holds.

use super::compare::Outcome;
use crate::report::UseReport;
use crate::report::markdown::guarantees::{How, Stated, parse};
use crate::report::markdown::tables::column;
use crate::words::State;

/// Compares a cell of the table of guarantees.
pub(super) fn cell(used: &UseReport, title: &str, stated: &str, holds: &str) -> Outcome {
    if stated == holds {
        return Outcome::Same;
    }
    if title == column::PROMISES {
        return Outcome::Differs { observed: false };
    }
    let unproven = |state| used.cell(state).is_some_and(|cell| !cell.proven);
    if State::from_name(title).is_some_and(unproven) {
        return Outcome::NotCompared;
    }
    match (parse(stated), parse(holds)) {
        (Some(stated), Some(holds))
            if stated.iter().zip(&holds).all(|(stated, holds)| agree(stated, holds)) =>
        {
            Outcome::Same
        }
        _ => Outcome::Differs { observed: true },
    }
}

/// Whether all that was seen is stated, and all that is stated was seen, where one can expect to see it.
fn agree(stated: &Stated, holds: &Stated) -> bool {
    let is_stated = |(code, (how, accepted)): (&String, &(How, bool))| {
        stated.get(code).is_some_and(|(stated, accepts)| {
            accepts == accepted && (*stated == How::Implied) == (*how == How::Implied)
        })
    };
    // What happens in some runs may well not happen in these.
    let is_expected = |(_, (how, _)): &(&String, &(How, bool))| *how != How::InSomeRuns;
    holds.iter().all(is_stated) && stated.iter().filter(is_expected).all(|(code, _)| holds.contains_key(code))
}
