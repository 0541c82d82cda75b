//! The table of guarantees as plain text, and what one of its cells says.

use std::collections::BTreeMap;

use super::grid::Grid;
use super::tables::{NOTHING, column, filled, head, heads, service_cell};
use crate::report::facts::INCONCLUSIVE;
use crate::report::{Loss, Report, Service, UseCell, UseReport};
use crate::words::{Basis, Code, State};

/// Where the guarantee was kept, and where it was not.
const GUARANTEE: [&str; 2] = ["kept", "lost"];
/// Where legitimate users were served, and where they were not.
const AVAILABILITY: [&str; 2] = ["users served", "users not served"];

const IMPLIED: &str = "implied";
const SEEN: &str = "seen";
const IN_SOME_RUNS: &str = "in some runs";
const ACCEPTED: &str = ", accepted";

/// The guarantees: a row for each use, a column for each state.
pub(in crate::report) fn guarantees(report: &Report) -> Grid {
    let mut heads = heads(report, &[(column::USE, false), (column::PROMISES, false)]);
    heads.extend(report.states.iter().map(|state| head(state.name(), false)));
    let rows = each_use(report).map(|(service, used)| {
        let mut cells = service_cell(report, service);
        cells.extend([used.name.clone(), used.guarantee.clone()]);
        let in_state = |state: &State| used.cell(*state).map(|cell| in_words(service, used, cell));
        cells.extend(report.states.iter().map(|state| in_state(state).unwrap_or(NOTHING.to_owned())));
        filled(cells)
    });
    Grid { heads, rows: rows.collect() }
}

/// Each use, with its service, in the order of the table.
pub(in crate::report) fn each_use(report: &Report) -> impl Iterator<Item = (&Service, &UseReport)> {
    report.services.iter().flat_map(|service| service.uses.iter().map(move |used| (service, used)))
}

/// `kept; users not served: token-lost (5 of 5), valid-request-failed (implied)`.
fn in_words(service: &Service, used: &UseReport, cell: &UseCell) -> String {
    if !cell.proven {
        return INCONCLUSIVE.to_owned();
    }
    let part = |[kept, lost]: [&str; 2], losses: &[Loss]| {
        // The order in which losses were found is no fact about them.
        let each: BTreeMap<Code, String> = losses
            .iter()
            .map(|loss| {
                let accepted = if service.accepts(&used.name, loss.code, cell.state) { ACCEPTED } else { "" };
                (loss.code, format!("{} ({}{accepted})", loss.code, how(loss)))
            })
            .collect();
        match each.is_empty() {
            true => kept.to_owned(),
            false => format!("{lost}: {}", each.into_values().collect::<Vec<_>>().join(", ")),
        }
    };
    format!("{}; {}", part(GUARANTEE, &cell.guarantee), part(AVAILABILITY, &cell.availability))
}

/// What a loss rests on. A count in which not all runs agree would be another one in the next run.
fn how(loss: &Loss) -> String {
    match (loss.basis, loss.seen, loss.of) {
        (Basis::Declared | Basis::Implied, ..) => IMPLIED.to_owned(),
        (Basis::OnServer, Some(seen), Some(of)) if seen == of => format!("{seen} of {of}"),
        (Basis::OnServer, Some(_), Some(_)) => IN_SOME_RUNS.to_owned(),
        (Basis::OnServer, ..) => SEEN.to_owned(),
    }
}

/// What a loss rests on, as a document states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum How {
    /// It follows from what is declared.
    Implied,
    /// It was seen, in every run where runs were counted.
    Seen,
    /// It was seen in some runs.
    InSomeRuns,
}

/// The losses that a cell states: each code with what it rests on, and whether it is accepted.
pub(in crate::report) type Stated = BTreeMap<String, (How, bool)>;

/// What a cell states of the guarantee and of availability; none where it says something else.
pub(in crate::report) fn parse(text: &str) -> Option<[Stated; 2]> {
    let (guarantee, availability) = text.split_once("; ")?;
    Some([part(GUARANTEE, guarantee)?, part(AVAILABILITY, availability)?])
}

fn part([kept, lost]: [&str; 2], text: &str) -> Option<Stated> {
    if text == kept {
        return Some(Stated::new());
    }
    let losses = text.strip_prefix(lost)?.strip_prefix(": ")?.strip_suffix(')')?;
    losses.split("), ").map(one).collect()
}

fn one(text: &str) -> Option<(String, (How, bool))> {
    let (code, how) = text.split_once(" (")?;
    let (how, accepted) = match how.strip_suffix(ACCEPTED) {
        Some(how) => (how, true),
        None => (how, false),
    };
    let how = match how {
        IMPLIED => How::Implied,
        SEEN => How::Seen,
        IN_SOME_RUNS => How::InSomeRuns,
        counted => {
            let (seen, of) = counted.split_once(" of ")?;
            let (seen, of) = (seen.parse::<usize>().ok()?, of.parse::<usize>().ok()?);
            if seen == of { How::Seen } else { How::InSomeRuns }
        }
    };
    Some((code.to_owned(), (how, accepted)))
}
