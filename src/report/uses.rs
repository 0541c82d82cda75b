//! What became of each use as a whole: its guarantee, its availability, and the load of callers that come again.

use std::collections::BTreeMap;

use super::model::{Loss, Repeats, UseCell, UseReport};
use crate::judge::Judgement;
use crate::observe::Cell;
use crate::plan::Plan;
use crate::policy::{Backend, PolicyFile, Use};
use crate::words::{Harm, State, Verdict, micros};

/// A minute and an hour, in microseconds: the outages for which repeated calls are counted.
const MINUTE_US: u64 = 60_000_000;

/// The uses of a file that were probed, state by state.
pub(super) fn uses(
    plan: &Plan,
    file: &PolicyFile,
    index: usize,
    judgement: &Judgement,
    cells: &BTreeMap<crate::observe::CellKey, Cell>,
) -> Vec<UseReport> {
    let mut uses = Vec::new();
    for (use_index, used) in file.uses.iter().enumerate().filter(|(_, used)| used.backend == Backend::Redis) {
        let mut states = Vec::new();
        for &state in &plan.states {
            let mut own = cells
                .keys()
                .filter(|key| (key.file, key.use_index, key.state) == (index, use_index, state))
                .peekable();
            if own.peek().is_none() {
                continue;
            }
            let believed = own.any(|key| judgement.cell(*key).verdict() != Verdict::Inconclusive);
            // What nobody played says nothing of what was kept.
            let proven = believed && state.is_played();
            states.push(cell(judgement, use_index, state, proven));
        }
        if !states.is_empty() {
            uses.push(UseReport {
                name: used.name.clone(),
                kind: used.kind.name().to_owned(),
                guarantee: used.kind.spec().guarantee.to_owned(),
                cells: states,
                repeats: repeats(used),
            });
        }
    }
    uses
}

fn cell(judgement: &Judgement, use_index: usize, state: State, proven: bool) -> UseCell {
    let losses = |harm| {
        judgement
            .harms(use_index, state)
            .iter()
            .filter(|harmed| harmed.harm == harm)
            .map(|harmed| Loss {
                code: harmed.code,
                basis: harmed.basis,
                seen: harmed.seen.map(|(seen, _)| seen),
                of: harmed.seen.map(|(_, of)| of),
            })
            .collect()
    };
    UseCell { state, proven, guarantee: losses(Harm::Guarantee), availability: losses(Harm::Availability) }
}

/// What one caller that comes again by itself adds up to.
fn repeats(used: &Use) -> Option<Repeats> {
    let every_us = micros(used.repeats_every?).max(1);
    Some(Repeats {
        every_us,
        calls_in_a_minute: MINUTE_US.div_ceil(every_us),
        calls_in_an_hour: (60 * MINUTE_US).div_ceil(every_us),
    })
}
