//! What the declared policy makes inevitable once Redis does not answer. Nobody saw it happen.

use std::collections::BTreeSet;

use super::found::{Found, Subject};
use super::proof::Believable;
use crate::observe::Cell;
use crate::policy::PolicyFile;
use crate::words::{OutagePolicy, Reply};

/// What the server rejected the calls with, where it did: which error it is decides what there is to mend.
fn rejected(cell: &Cell) -> Option<String> {
    let codes: BTreeSet<&str> = cell
        .probes
        .iter()
        .filter(|probe| matches!(probe.reply, Reply::Rejected { .. } | Reply::TooManyClients))
        .map(|probe| probe.reply.class())
        .collect();
    (!codes.is_empty()).then(|| format!("rejected: {}", codes.into_iter().collect::<Vec<_>>().join(", ")))
}

/// The findings that follow from the policies of operations that went unanswered in a proven outage.
pub(super) fn findings(file: &PolicyFile, cells: &[&Cell], believable: &Believable) -> Vec<Found> {
    let mut found = Vec::new();
    for cell in cells.iter().filter(|cell| cell.key.state.is_outage() && believable.cell(cell.key)) {
        let operation = &file.uses[cell.key.use_index].operations[cell.key.operation_index];
        let Some(code) = operation.operation.implied(operation.on_outage) else { continue };
        if cell.probes.iter().all(|probe| probe.reply.is_answer()) {
            continue;
        }
        let policy = match operation.on_outage {
            OutagePolicy::Undecided => OutagePolicy::Propagate,
            decided => decided,
        };
        found.push(Found {
            code,
            subject: Subject::Operation {
                use_index: cell.key.use_index,
                operation_index: cell.key.operation_index,
            },
            state: Some(cell.key.state),
            at: operation.on_outage_at,
            basis: code.basis(),
            seen: None,
            declared: operation.on_outage.name().to_owned(),
            observed: rejected(cell).unwrap_or_else(|| code.summary().to_owned()),
            cause: format!("{}: {}", policy.name(), operation.operation.meaning(policy)),
            knob: "accept it with a reason (`accepts`), or choose another `on_outage`".to_owned(),
        });
    }
    found
}
