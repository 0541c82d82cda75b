//! What the ledger says of a call, beside what its caller was told. It holds for every operation that writes, whatever
//! its kind.

use super::Departure;
use crate::kinds::{Kind, Phase, ProbeId, Repeat};
use crate::observe::{Probe, Scene};
use crate::policy::{Use, UseOperation};
use crate::words::{Answer, Code, Reply, Tri};

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
    let once = may_not_repeat(used, operation);
    let effects = probe
        .attempts
        .iter()
        .filter(|attempt| attempt.took_effect == Tri::Yes && once.contains(&attempt.command))
        .count();
    if effects > 1 {
        departures.push(twice(used.kind, name, effects));
    }
    let late = probe
        .attempts
        .iter()
        .find(|one| one.ran == Tri::Yes && one.took_effect != Tri::No && !one.reply.is_answer());
    match &probe.reply {
        Reply::Answered(Answer::No) => {
            if let Some(own) = late.filter(|_| operation.operation.takes()) {
                let text = format!(
                    "the caller was told \"no\": its own attempt {} had run, although it ended with: {}",
                    own.number,
                    own.reply.class()
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
                let text = format!("{} ran although the caller was told: {}", late.command, error.class());
                departures.push(Departure::new(Code::LateExecution, name, text));
            }
        }
    }
    departures
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

/// The operation's commands that do something else when they run again.
fn may_not_repeat(used: &Use, operation: &UseOperation) -> Vec<String> {
    let probe = ProbeId::new("judge", 0);
    let steps = operation.operation.steps(&used.call(&probe));
    let once = steps.iter().filter(|step| step.repeat != Repeat::Harmless);
    once.map(|step| step.command.name().to_owned()).collect()
}

/// A value of the audit's own that is not this probe's. Each value names the probe that wrote it.
fn foreign_value(probe: &Probe) -> Option<&str> {
    let Reply::Answered(Answer::Value(value)) = &probe.reply else { return None };
    // Actors of a scenario read what others wrote, and say so by another run's number; only what is no value of the
    // key's at all is foreign. A probe's own key holds its own identity.
    let crossed = probe.own_key && value.contains("audit-") && !names(value, &probe.id);
    crossed.then_some(value.as_str())
}

/// Whether the value names this probe, and not one whose number only begins alike.
fn names(value: &str, id: &str) -> bool {
    value.match_indices(id).any(|(at, _)| {
        let next = value[at + id.len()..].chars().next();
        next.is_none_or(|next| !next.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;
    use crate::observe::Attempt;
    use crate::policy::{Source, parse};
    use crate::words::Phase as Part;

    use Tri::{No, Unknown, Yes};

    const TIMED_OUT: Reply = Reply::TimedOut(Part::Command);

    fn told(answer: Answer) -> Reply {
        Reply::Answered(answer)
    }

    /// One use with two attempts, and a call of an operation of it that was told the last attempt's reply.
    fn departures(used: &str, operation: &str, command: &str, attempts: &[(Reply, Tri, Tri)]) -> Vec<Code> {
        let text = format!(
            "version: 1\nservice: s\nclient: {{command_timeout: 1s, attempts: 2}}\nuses:\n  - {{name: u, key: 'k:${{id}}', on_outage: propagate, {used}}}\n"
        );
        let file = parse(Arc::new(Source { path: PathBuf::from("policies.yaml"), text })).unwrap();
        let used = &file.uses[0];
        let attempts: Vec<Attempt> = attempts
            .iter()
            .zip(1..)
            .map(|((reply, ran, took_effect), number)| Attempt {
                ran: *ran,
                took_effect: *took_effect,
                ..Attempt::new(command.to_owned(), number, 0, 1_000, reply.clone(), Some(7))
            })
            .collect();
        let reply = attempts.last().map_or(Reply::NotConnected, |last| last.reply.clone());
        let id = ProbeId::new("run", 1).to_string();
        let probe = Probe { id, sent_us: 0, ended_us: 1_000, reply, own_key: true, attempts };
        let operation = &used.operations[used.operation(operation).unwrap()];
        of_probe(used, operation, &probe).iter().map(|departure| departure.code).collect()
    }

    fn lock(attempts: &[(Reply, Tri, Tri)]) -> Vec<Code> {
        departures("kind: lock, ttl: 30s", "acquire", "SET", attempts)
    }

    #[test]
    fn an_error_whose_command_ran_is_a_late_execution() {
        assert_eq!(lock(&[(TIMED_OUT, Yes, Yes)]), [Code::LateExecution]);
        assert_eq!(lock(&[(TIMED_OUT, Yes, Unknown)]), [Code::LateExecution], "it ran, whatever it changed");
        assert_eq!(lock(&[(TIMED_OUT, Yes, No)]), [], "it ran and changed nothing");
        assert_eq!(lock(&[(TIMED_OUT, No, No)]), []);
        assert_eq!(lock(&[(TIMED_OUT, Unknown, Unknown)]), [], "nobody knows");
        assert_eq!(lock(&[(Reply::Reset, Yes, Yes), (Reply::Refused, No, No)]), [Code::LateExecution]);
    }

    #[test]
    fn a_no_by_ones_own_attempt_is_a_wrong_negative_and_one_by_anothers_is_not() {
        let no = told(Answer::No);
        assert_eq!(lock(&[(TIMED_OUT, Yes, Yes), (no.clone(), Yes, No)]), [Code::WrongNegative]);
        assert_eq!(lock(&[(TIMED_OUT, Yes, No), (no.clone(), Yes, No)]), [], "another holds it");
        assert_eq!(lock(&[(TIMED_OUT, No, No), (no.clone(), Yes, No)]), []);
        assert_eq!(lock(&[(no, Yes, No)]), []);
    }

    #[test]
    fn a_no_by_ones_own_attempt_is_a_wrong_negative_only_where_a_yes_gives_its_caller_something() {
        let own_no = |used, operation, command| {
            departures(used, operation, command, &[(Reply::Reset, Yes, Yes), (told(Answer::No), Yes, No)])
        };
        let wrong = [Code::WrongNegative];
        assert_eq!(own_no("kind: one_time_token, ttl: 1m", "consume", "GETDEL"), wrong);
        assert_eq!(own_no("kind: heartbeat_dedup, window: 1m", "claim", "SET"), wrong);
        assert_eq!(own_no("kind: queue", "pop", "LMOVE"), wrong);
        assert_eq!(
            own_no("kind: custom, commands: {take: {run: [[SPOP, 'v:${id}']]}}", "take", "SPOP"),
            wrong
        );
        assert_eq!(own_no("kind: cache, ttl: 1m", "invalidate", "DEL"), []);
        assert_eq!(own_no("kind: lock, ttl: 30s", "release", "EVALSHA"), []);
        assert_eq!(own_no("kind: lock, ttl: 30s, release: delete", "release", "DEL"), []);
        let idempotent = "kind: custom, commands: {clear: {run: [[DEL, 'v:${id}']], idempotent: true}}";
        assert_eq!(own_no(idempotent, "clear", "DEL"), []);
    }

    #[test]
    fn a_done_that_never_ran_is_a_lost_effect() {
        assert_eq!(lock(&[(told(Answer::Yes), No, No)]), [Code::LostEffect]);
        assert_eq!(lock(&[(told(Answer::Yes), Unknown, Unknown)]), []);
        assert_eq!(lock(&[(TIMED_OUT, No, No), (told(Answer::Yes), Yes, Yes)]), []);
    }

    #[test]
    fn two_effects_of_one_call_are_named_by_what_they_do_and_none_where_a_second_run_does_no_harm() {
        let twice = [(TIMED_OUT, Yes, Yes), (told(Answer::Value("2".to_owned())), Yes, Yes)];
        let of = |used, operation, command| departures(used, operation, command, &twice);
        assert_eq!(of("kind: rate_limit, limit: 3, window: 1m", "take", "EVALSHA"), [Code::CountedTwice]);
        assert_eq!(of("kind: queue", "push", "LPUSH"), [Code::JobQueuedTwice]);
        assert_eq!(of("kind: queue", "pop", "LMOVE"), [Code::DoubleExecution]);
        let custom = "kind: custom, commands: {bump: {run: [[INCR, 'v:${id}']]}}";
        assert_eq!(of(custom, "bump", "INCR"), [Code::DoubleExecution]);
        assert_eq!(of("kind: cache, ttl: 1m", "write", "SET"), []);
    }

    #[test]
    fn two_effects_are_two_whatever_the_caller_was_told() {
        let both = [(TIMED_OUT, Yes, Yes), (TIMED_OUT, Yes, Yes)];
        let codes = departures("kind: rate_limit, limit: 3, window: 1m", "take", "EVALSHA", &both);
        assert!(codes.contains(&Code::CountedTwice), "{codes:?}");
    }

    #[test]
    fn a_value_of_another_call_is_a_crossed_reply_and_ones_own_is_not() {
        let read = |value: &str| {
            let reply = told(Answer::Value(value.to_owned()));
            departures("kind: session, ttl: 1h", "load", "GET", &[(reply, Yes, No)])
        };
        assert_eq!(read("audit-run-2"), [Code::CrossedReply]);
        assert_eq!(read("audit-run-1"), []);
        assert_eq!(read("audit-run-12"), [Code::CrossedReply], "another call whose name begins alike");
        assert_eq!(read("anything else"), []);
    }

    #[test]
    fn what_only_reads_has_nothing_that_could_run_late() {
        let late = [(TIMED_OUT, Yes, Yes)];
        assert_eq!(departures("kind: session, ttl: 1h", "load", "GET", &late), []);
    }
}
