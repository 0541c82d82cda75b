//! Findings that the policy file accepts, with its reason.

use super::found::{Found, Subject};
use super::proof::Believable;
use crate::observe::Cell;
use crate::policy::{Acceptance, Backend, PolicyFile, Use};
use crate::words::{Code, State};

/// Each finding with the reason for which the file accepts it.
pub(super) fn accept(file: &PolicyFile, found: Vec<Found>) -> Vec<(Found, Option<String>)> {
    found
        .into_iter()
        .map(|found| {
            let reason = use_of(&found).and_then(|index| {
                let used = &file.uses[index];
                used.accepts.iter().find(|acceptance| covers(acceptance, used, &found))
            });
            let reason = reason.map(|acceptance| acceptance.because.clone());
            (found, reason)
        })
        .collect()
}

fn use_of(found: &Found) -> Option<usize> {
    match found.subject {
        Subject::Operation { use_index, .. } | Subject::Use(use_index) => Some(use_index),
        Subject::Request(_) => None,
    }
}

fn covers(acceptance: &Acceptance, used: &Use, found: &Found) -> bool {
    let operation = match found.subject {
        Subject::Operation { operation_index, .. } => Some(used.operations[operation_index].name()),
        Subject::Use(_) | Subject::Request(_) => None,
    };
    acceptance.finding == found.code
        && operation.is_none_or(|name| covers_operation(acceptance, name))
        && found.state.is_none_or(|state| covers_state(acceptance, state))
}

fn covers_operation(acceptance: &Acceptance, name: &str) -> bool {
    acceptance.operations.is_empty() || acceptance.operations.iter().any(|wanted| wanted == name)
}

fn covers_state(acceptance: &Acceptance, state: State) -> bool {
    if acceptance.states.is_empty() { state.is_outage() } else { acceptance.states.contains(&state) }
}

/// The states that have to be looked at before an acceptance can be called stale: where it names none, those that the
/// file is about, as a file is not expected to be audited in every state that there is.
fn looked_for(file: &PolicyFile, acceptance: &Acceptance) -> Vec<State> {
    match acceptance.states.as_slice() {
        [] => file.audited_states().into_iter().filter(|state| state.is_outage()).collect(),
        listed => listed.to_vec(),
    }
}

/// Acceptances that nothing needed, where all that they speak of was looked at and could be believed.
pub(super) fn stale(
    file: &PolicyFile,
    found: &[Found],
    cells: &[&Cell],
    believable: &Believable,
) -> Vec<Found> {
    let mut stale = Vec::new();
    for (use_index, used) in file.uses.iter().enumerate().filter(|(_, used)| used.backend == Backend::Redis) {
        for acceptance in &used.accepts {
            let needed =
                found.iter().any(|found| use_of(found) == Some(use_index) && covers(acceptance, used, found));
            let looked_at = used
                .operations
                .iter()
                .enumerate()
                .filter(|(_, operation)| covers_operation(acceptance, operation.name()))
                .flat_map(|(operation_index, _)| {
                    let befalling = |state: &State| file.befalls(*state, use_index);
                    let states = looked_for(file, acceptance).into_iter().filter(befalling);
                    states.map(move |state| (operation_index, state))
                })
                .all(|(operation_index, state)| {
                    cells.iter().any(|cell| {
                        (cell.key.use_index, cell.key.operation_index, cell.key.state)
                            == (use_index, operation_index, state)
                            && believable.cell(cell.key)
                    })
                });
            if !needed && looked_at {
                stale.push(Found {
                    code: Code::StaleAcceptance,
                    subject: Subject::Use(use_index),
                    state: None,
                    at: acceptance.at,
                basis: Code::StaleAcceptance.basis(),
                seen: None,
                    declared: format!("{} is accepted: {}", acceptance.finding, acceptance.because),
                    observed: format!("{} did not occur", acceptance.finding),
                    cause: "every operation and state that the acceptance speaks of was proven, and none needed it"
                        .to_owned(),
                    knob: "remove the acceptance, so that it can't hide a later finding".to_owned(),
                });
            }
        }
    }
    stale
}
