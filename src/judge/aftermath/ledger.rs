//! What the ledger says of a call, beside what its caller was told. It holds for every operation that writes, whatever
//! its kind.

use super::Departure;
use crate::kinds::{Kind, Phase, ProbeId, Repeat};
use crate::observe::{Attempt, Probe, Scene};
use crate::policy::{Use, UseOperation};
use crate::words::{Answer, Code, Reply, Tri, human_us};

/// The departures of the calls that were made during the state.
pub(super) fn of_run(used: &Use, run: &Scene) -> Vec<Departure> {
    run.played
        .iter()
        .filter(|played| played.phase == Phase::During)
        .filter_map(|played| Some((used.operation(&played.operation)?, &played.probe)))
        .flat_map(|(index, probe)| of_probe(used, &used.operations[index], probe))
        .collect()
}

/// The departures of one call.
pub(super) fn of_probe(used: &Use, operation: &UseOperation, probe: &Probe) -> Vec<Departure> {
    let mut departures = Vec::new();
    let name = operation.name();
    if let Some(foreign) = foreign_value(probe) {
        let text = format!("it read a value that belongs to another call: {foreign}");
        departures.push(Departure::new(Code::CrossedReply, name, text));
    }
    if !operation.operation.writes() {
        return departures;
    }
    let effects = probe
        .attempts
        .iter()
        .filter(|attempt| attempt.took_effect == Tri::Yes && may_not_repeat(used, operation, attempt));
    let effects = effects.count();
    if effects > 1 {
        departures.push(twice(used.kind, name, effects));
    }
    let late = probe
        .attempts
        .iter()
        .find(|one| one.ran == Tri::Yes && one.took_effect != Tri::No && !one.reply.is_answer());
    match &probe.reply {
        Reply::Answered(Answer::No) => {
            if let Some(own) = late {
                let text = format!(
                    "the caller was told \"no\": its own attempt {} had run, {} after it was sent",
                    own.number,
                    later(own)
                );
                departures.push(Departure::new(Code::WrongNegative, name, text));
            }
        }
        Reply::Answered(_) => {
            if probe.attempts.last().is_some_and(|last| last.ran == Tri::No && last.reply.is_answer()) {
                let text = "the caller was told that it was done, and the server never ran it";
                departures.push(Departure::new(Code::LostEffect, name, text));
            }
        }
        error => {
            if let Some(late) = late {
                let text =
                    format!("{} ran later, though the caller was told: {}", late.command, error.class());
                departures.push(Departure::new(Code::LateExecution, name, text));
            }
        }
    }
    departures
}

fn later(attempt: &Attempt) -> String {
    format!("at least {}", human_us(attempt.ended_us.saturating_sub(attempt.sent_us)))
}

fn twice(kind: Kind, operation: &str, times: usize) -> Departure {
    match (kind, operation) {
        (Kind::RateLimit, _) => {
            Departure::new(Code::CountedTwice, operation, format!("one request was counted {times} times"))
        }
        (Kind::Queue, "push") => {
            Departure::new(Code::JobQueuedTwice, operation, format!("one job is on the queue {times} times"))
        }
        _ => Departure::new(Code::DoubleExecution, operation, format!("one call took effect {times} times")),
    }
}

/// Whether the attempt's command does something else when it runs again.
fn may_not_repeat(used: &Use, operation: &UseOperation, attempt: &Attempt) -> bool {
    let probe = ProbeId::new("judge", 0);
    let steps = operation.operation.steps(&used.call(&probe));
    steps.iter().any(|step| step.command.name() == attempt.command && step.repeat != Repeat::Harmless)
}

/// A value of the audit's own that is not this probe's. Each value names the probe that wrote it.
fn foreign_value(probe: &Probe) -> Option<&str> {
    let Reply::Answered(Answer::Value(value)) = &probe.reply else { return None };
    // Actors of a scenario read what others wrote, and say so by another run's number; only what is no value of the
    // key's at all is foreign. A probe's own key holds its own identity.
    let crossed = probe.own_key && value.contains("audit-") && !value.contains(probe.id.as_str());
    crossed.then_some(value.as_str())
}
