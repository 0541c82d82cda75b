//! What an outage left behind: read from the scenarios, from the ledger and from the way back.

mod kinds;
mod knobs;
mod ledger;

use std::collections::BTreeMap;

use super::found::{Found, Subject};
use super::proof::{Believable, why_not_proven};
use crate::kinds::{Kind, Phase};
use crate::observe::{Cell, CellKey, Played, Recovery, Scene, SceneKey, Timing};
use crate::policy::{OnTimeout, PolicyFile, Use};
use crate::words::{Basis, Code, Keeps, State, Waits, declared, human_us};

/// A departure of one run of a scenario, or of one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) code: Code,
    pub(super) operation: String,
    /// What it costs, in plain words.
    pub(super) costs: String,
}

impl Departure {
    fn new(code: Code, operation: &str, costs: impl Into<String>) -> Departure {
        Departure { code, operation: operation.to_owned(), costs: costs.into() }
    }
}

/// The findings on what was left behind.
pub(super) fn findings(
    file: &PolicyFile,
    scenes: &[&Scene],
    cells: &[&Cell],
    believable: &Believable,
) -> Vec<Found> {
    let mut by_key: BTreeMap<SceneKey, Vec<&Scene>> = BTreeMap::new();
    for scene in scenes {
        by_key.entry(scene.key).or_default().push(scene);
    }
    let mut found = Vec::new();
    for (key, runs) in &by_key {
        found.extend(of_scene(file, *key, runs, believable));
    }
    for cell in cells.iter().filter(|cell| believable.cell(cell.key)) {
        found.extend(recovery(file, cell));
        let used = &file.uses[cell.key.use_index];
        let operation = &used.operations[cell.key.operation_index];
        let departures = cell.probes.iter().map(|probe| ledger::of_probe(used, operation, probe));
        let each: Vec<Vec<Departure>> = departures.collect();
        found.extend(counted(used, cell.key.use_index, cell.key.state, "", &each, believable));
    }
    most_specific(found)
}

/// The departures of a scenario's runs, counted.
fn of_scene(file: &PolicyFile, key: SceneKey, runs: &[&Scene], believable: &Believable) -> Vec<Found> {
    let used = &file.uses[key.use_index];
    if let Some((proof, unproven)) = runs.iter().find_map(|run| Some((&run.proof, run.proof.doubt()?))) {
        let (cause, knob) = why_not_proven(proof);
        // While the state held, the use's cells say so themselves.
        return match key.timing {
            Timing::Holding => Vec::new(),
            Timing::Straddling => vec![Found {
                code: Code::FaultNotProven,
                subject: Subject::Use(key.use_index),
                state: Some(key.state),
                at: used.at,
                basis: Code::FaultNotProven.basis(),
                seen: None,
                declared: match key.state.facts().waits {
                    Waits::Nothing => "connections from before are harmed, and new ones are not".to_owned(),
                    _ => "the state ends between the first attempt's deadline and the second's".to_owned(),
                },
                observed: unproven.to_owned(),
                cause: cause.to_owned(),
                knob: knob.to_owned(),
            }],
        };
    }
    if runs.iter().any(|run| !run.canary_survived) {
        return vec![Found {
            code: Code::DataLostWithServer,
            subject: Subject::Use(key.use_index),
            state: Some(key.state),
            at: used.at,
            basis: Code::DataLostWithServer.basis(),
            seen: None,
            declared: "what was stored before is there afterwards".to_owned(),
            observed: lost_data(used, runs),
            cause: format!(
                "{}; what else the scenario shows afterwards is the server's doing, and is not judged",
                why_it_is_lost(key.state)
            ),
            knob: knobs::data_lost(key.state).to_owned(),
        }];
    }
    let each: Vec<Vec<Departure>> = runs
        .iter()
        .map(|run| {
            let mut departures = kinds::of_run(used, run);
            if key.timing == Timing::Straddling {
                departures.extend(ledger::of_run(used, run));
            }
            departures
        })
        .collect();
    let scaled = runs.iter().map(|run| run.scaled).max().unwrap_or(1);
    counted(used, key.use_index, key.state, &conditions(key, scaled), &each, believable)
}

/// Why what was stored is gone.
fn why_it_is_lost(state: State) -> &'static str {
    match state.facts().keeps {
        Keeps::All => "the server keeps no data that survives it",
        Keeps::AllButTheLast | Keeps::Nothing => state.facts().fate,
    }
}

/// What a reader has to know of the runs beside their number.
fn conditions(key: SceneKey, scaled: u32) -> String {
    let mut conditions = String::new();
    if key.timing == Timing::Straddling {
        conditions.push_str(match key.state.facts().waits {
            Waits::Nothing => ", connections from before alone being harmed",
            _ => ", the state ending inside the call",
        });
    }
    if scaled > 1 {
        conditions.push_str(&format!(", with durations {scaled} times as long as declared"));
    }
    conditions
}

/// One finding for each code and operation, with how many of the runs showed it, under these conditions.
fn counted(
    used: &Use,
    use_index: usize,
    state: State,
    conditions: &str,
    each: &[Vec<Departure>],
    believable: &Believable,
) -> Vec<Found> {
    let mut counts: BTreeMap<(Code, &str), (usize, &str)> = BTreeMap::new();
    for departures in each {
        let mut once: Vec<(Code, &str)> = Vec::new();
        for departure in departures {
            let entry = (departure.code, departure.operation.as_str());
            if !once.contains(&entry) {
                once.push(entry);
                counts.entry(entry).or_insert((0, &departure.costs)).0 += 1;
            }
        }
    }
    let mut found = Vec::new();
    for ((code, operation), (count, costs)) in counts {
        let Some(operation_index) = used.operation(operation) else { continue };
        // What can't be believed of the operation can't be believed of what it left.
        if !believable.operation(use_index, operation_index) {
            continue;
        }
        let declared = &used.operations[operation_index];
        found.push(Found {
            code,
            subject: Subject::Operation { use_index, operation_index },
            state: Some(state),
            at: declared.on_outage_at,
            basis: if code.basis() == Basis::Implied { Basis::OnServer } else { code.basis() },
            seen: Some((count, each.len())),
            declared: declared.on_outage.name().to_owned(),
            observed: format!("{costs} ({count} of {}{conditions})", each.len()),
            cause: cause(used, state),
            knob: knobs::knob(code).to_owned(),
        });
    }
    found
}

/// Why a command ran late, or not at all.
fn cause(used: &Use, state: State) -> String {
    let facts = state.facts();
    let cause = match (facts.waits, used.client.on_timeout) {
        _ if !state.is_outage() => "no outage is needed for it",
        _ if state.is_cold() => facts.fate,
        (Waits::Paused | Waits::Writes, OnTimeout::Keep) => {
            "`on_timeout: keep`: a command that timed out stays on its connection and runs when the server goes on"
        }
        (Waits::Paused | Waits::Writes, OnTimeout::Close) => {
            "`on_timeout: close`: a command that timed out is dropped with its connection, and never runs"
        }
        _ => facts.fate,
    };
    cause.to_owned()
}

fn recovery(file: &PolicyFile, cell: &Cell) -> Option<Found> {
    let CellKey { use_index, operation_index, state, .. } = cell.key;
    let used = &file.uses[use_index];
    let operation = &used.operations[operation_index];
    let subject = Subject::Operation { use_index, operation_index };
    let (code, at, declared, observed) = match cell.recovery? {
        Recovery::NotWithin(us) => (
            Code::NoRecovery,
            used.at,
            "calls succeed again once Redis answers".to_owned(),
            format!("no success within {} after it answered again", human_us(us)),
        ),
        Recovery::After(us) => {
            let line = operation.budget.recovery?;
            if u128::from(us) <= line.limit.as_micros() {
                return None;
            }
            let budget = format!("recovery budget {}", declared(line.limit));
            (
                Code::SlowRecovery,
                line.at,
                budget,
                format!("first success {} after it answered again", human_us(us)),
            )
        }
    };
    Some(Found {
        code,
        subject,
        state: Some(state),
        at,
        basis: code.basis(),
        seen: None,
        declared,
        observed,
        cause: format!("the client reconnects {}", reconnects(used)),
        knob: knobs::knob(code).to_owned(),
    })
}

fn reconnects(used: &Use) -> &'static str {
    match used.client.reconnect {
        crate::policy::Reconnect::Never => "never (`reconnect: never`)",
        crate::policy::Reconnect::NextUse => "with its next call (`reconnect: next_use`)",
        crate::policy::Reconnect::Background => {
            "beside its calls, at growing intervals (`reconnect: background`)"
        }
    }
}

/// Leaves out a late execution where something that it led to is told of the same operation in the same state.
fn most_specific(found: Vec<Found>) -> Vec<Found> {
    let specific: Vec<(Subject, Option<State>)> = found
        .iter()
        .filter(|found| {
            found.code != Code::LateExecution && !matches!(found.code, Code::NoRecovery | Code::SlowRecovery)
        })
        .map(|found| (found.subject, found.state))
        .collect();
    found
        .into_iter()
        .filter(|found| {
            found.code != Code::LateExecution || !specific.contains(&(found.subject, found.state))
        })
        .collect()
}

/// What is gone, and what that means for the use.
fn lost_data(used: &Use, runs: &[&Scene]) -> String {
    let found_nothing =
        |run: &&&Scene| used.kind == Kind::Lock && run.first(Phase::During, "A").is_some_and(Played::told_no);
    let held = match runs.iter().filter(found_nothing).count() {
        0 => String::new(),
        n => format!(", and so was a lock while its holder worked (in {n} of {} runs)", runs.len()),
    };
    format!("a key that nobody touched is gone{held}: {}", used.kind.spec().without_data)
}
