//! Who plays in a use's scenario: the callers of the outage, and the clients that they need.

use std::time::Duration;

use super::Ends;
use super::arithmetic::later_attempt;
use crate::clients::shortest_wait;
use crate::kinds::{ALONE, Act, Begins, GoesOn, Kind, Phase};
use crate::observe::Timing;
use crate::policy::{Client, OnTimeout, Reconnect, StateChoice, Use};
use crate::words::{Reply, State, Waits};

/// The callers of a use's scenario while something is wrong.
#[derive(Debug)]
pub struct Cast<'a> {
    /// One entry a caller.
    pub callers: Vec<Caller<'a>>,
}

/// One caller.
#[derive(Debug)]
pub struct Caller<'a> {
    /// Its part.
    pub act: &'static Act,
    /// Which of the act's callers it is, from 0.
    pub number: usize,
    /// The calls that it can make, as far as the service has the operations: index into the use's operations, and
    /// whether the next one follows.
    pub calls: Vec<(usize, GoesOn)>,
    /// How many clients it needs: one that keeps its connection has one; one that closes takes a warm one from its pool
    /// for each call that the declared policy lets it reach.
    pub clients: usize,
    /// How many of its calls it makes in the state, by what is declared.
    reached: usize,
    /// Whether it waits until the others have made their first calls.
    pub waits: bool,
    used: &'a Use,
}

impl<'a> Cast<'a> {
    /// The callers of a use in a state.
    ///
    /// A use that the file spells out in commands has no scenario. Where the state ends inside the calls, each of its
    /// operations has a caller all the same: what a second attempt is told shows only there.
    pub fn of(used: &'a Use, state: State, timing: Timing) -> Cast<'a> {
        let during = used.kind.spec().scenario.acts.iter().filter(|act| act.phase == Phase::During);
        let mut callers = Vec::new();
        for act in during {
            let calls: Vec<(usize, GoesOn)> = act
                .flow
                .iter()
                .map_while(|one| Some((used.operation(one.operation)?, one.goes_on)))
                .collect();
            if calls.is_empty() {
                continue;
            }
            for number in 0..act.times.of(&used.fields) {
                let reached = reached(used, &calls, state);
                let clients = match used.client.on_timeout {
                    OnTimeout::Keep => 1,
                    OnTimeout::Close => reached,
                };
                callers.push(Caller {
                    act,
                    number,
                    calls: calls.clone(),
                    clients,
                    reached,
                    waits: false,
                    used,
                });
            }
        }
        if used.kind == Kind::Custom && timing == Timing::Straddling {
            let calls = (0..used.operations.len()).map(|index| vec![(index, GoesOn::LetIn)]);
            let alone = calls.enumerate().map(|(number, calls)| Caller {
                act: &ALONE,
                number,
                calls,
                clients: 1,
                reached: 1,
                waits: false,
                used,
            });
            callers.extend(alone);
        }
        // Where the declared policies let nobody make a second call, there is nothing that the order could change.
        let goes_on = timing == Timing::Straddling || callers.iter().any(|caller| caller.reached > 1);
        for caller in &mut callers {
            caller.waits = goes_on && caller.act.begins == Begins::AfterFirstCalls;
        }
        Cast { callers }
    }

    /// How many of its callers begin with this operation.
    pub fn first_calls(&self, operation: &str) -> usize {
        let first = |caller: &&Caller<'_>| {
            caller.calls.first().is_some_and(|(index, _)| caller.used.operations[*index].name() == operation)
        };
        self.callers.iter().filter(first).count()
    }

    /// How many connections one run takes.
    pub fn connections(&self) -> usize {
        self.callers.iter().map(|caller| caller.clients).sum()
    }

    /// How many calls one run makes at most.
    pub fn calls(&self) -> usize {
        self.callers.iter().map(|caller| caller.calls.len()).sum()
    }

    /// How many calls are made one after the other in an outage.
    pub fn longest(&self) -> u32 {
        let each = self.callers.iter().map(|caller| caller.reached + usize::from(caller.waits));
        u32::try_from(each.max().unwrap_or(0)).unwrap_or(u32::MAX)
    }
}

/// How many of these calls a caller makes in a state, by what is declared.
fn reached(used: &Use, calls: &[(usize, GoesOn)], state: State) -> usize {
    let mut reached = 0;
    for (index, goes_on) in calls {
        reached += 1;
        let operation = &used.operations[*index];
        // What an answer would be is not known beforehand, so where one may come all calls count.
        if !state.may_answer(operation.operation.writes())
            && !goes_on.after(Some(operation.on_outage.decision()), &Reply::Reset)
        {
            break;
        }
    }
    reached
}

/// When a state has to end, counted from the calls' begin, so that it ends between the first attempt's deadline and the
/// second one's: half of the second attempt's time after it began, at the earliest that the wait between them allows. Where
/// nothing waits, no instant is needed: who connects again is harmed no more. None where neither is possible: a single
/// attempt, no timeout, or a second attempt that does not wait.
pub(super) fn straddles(
    client: &Client,
    state: &StateChoice,
    setinfo: bool,
    give_up: Duration,
) -> Option<Ends> {
    let facts = state.state.facts();
    if client.attempts < 2 || !facts.straddles {
        return None;
    }
    if facts.waits == Waits::Nothing {
        return (client.reconnect != Reconnect::Never).then_some(Ends::OnReconnect);
    }
    let second = later_attempt(client, state, Some(setinfo))?;
    let ends = client.command_timeout? + shortest_wait(client.backoff, 1) + second / 2;
    (!second.is_zero() && ends + second < give_up).then_some(Ends::At(ends))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;
    use crate::policy::{PolicyFile, Source, parse};

    fn file(used: &str, client: &str) -> PolicyFile {
        let text = format!(
            "version: 1\nservice: s\nclient: {{command_timeout: 1s, {client}}}\nuses:\n  - {{name: u, {used}}}\n"
        );
        parse(Arc::new(Source { path: PathBuf::from("policies.yaml"), text })).unwrap()
    }

    /// For each caller: who, the operations that it can call, and how many clients it has.
    fn cast(
        used: &str,
        client: &str,
        state: State,
        timing: Timing,
    ) -> Vec<(&'static str, Vec<String>, usize)> {
        let file = file(used, client);
        let used = &file.uses[0];
        let names = |calls: &[(usize, GoesOn)]| {
            calls.iter().map(|(index, _)| used.operations[*index].name().to_owned()).collect()
        };
        let callers = Cast::of(used, state, timing).callers;
        callers.iter().map(|caller| (caller.act.actor, names(&caller.calls), caller.clients)).collect()
    }

    const LOCK: &str = "kind: lock, key: 'l:${id}', ttl: 30s, on_outage:";

    #[test]
    fn a_caller_that_keeps_its_connection_has_one_and_one_that_closes_has_one_for_each_call_that_it_reaches()
    {
        let clients = |policy: &str, client: &str, state| {
            let callers = cast(&format!("{LOCK} {policy}"), client, state, Timing::Holding);
            callers.into_iter().map(|(actor, _, clients)| (actor, clients)).collect::<Vec<_>>()
        };
        let (keep, close) = ("on_timeout: keep", "on_timeout: close");
        let one_each = [("B", 1), ("C", 1), ("A", 1)];
        assert_eq!(clients("fail_open", keep, State::Paused), one_each);
        assert_eq!(clients("fail_closed", close, State::Paused), one_each, "denied, it makes no second call");
        assert_eq!(clients("propagate", close, State::Paused), one_each);
        let through = [("B", 2), ("C", 2), ("A", 1)];
        assert_eq!(clients("fail_open", close, State::Paused), through);
        assert_eq!(clients("fail_closed", close, State::Healthy), through, "an answer may let it in");
    }

    #[test]
    fn a_flow_ends_where_the_service_has_no_such_operation() {
        let only = |operation: &str| {
            let used = format!("{LOCK} fail_open, operations: [{operation}]");
            cast(&used, "on_timeout: close", State::Paused, Timing::Holding)
        };
        let acquire = || vec!["acquire".to_owned()];
        assert_eq!(only("acquire"), [("B", acquire(), 1), ("C", acquire(), 1)]);
        assert_eq!(
            only("release"),
            [("A", vec!["release".to_owned()], 1)],
            "nobody gets as far as B and C would"
        );
    }

    #[test]
    fn a_limiter_has_two_callers_more_than_it_lets_through_up_to_three() {
        let callers = |limit: u32| {
            let used = format!(
                "kind: rate_limit, key: 'r:${{id}}', limit: {limit}, window: 1m, on_outage: fail_open"
            );
            cast(&used, "attempts: 1", State::Paused, Timing::Holding).len()
        };
        assert_eq!([callers(1), callers(3), callers(100)], [3, 5, 5]);
    }

    #[test]
    fn readers_that_fall_back_write_back_and_who_waits_for_them_takes_a_call_longer() {
        let cache = "kind: cache, key: 'c:${id}', ttl: 1m, on_outage: {read: fallback, write: fail_open, invalidate: fail_open}";
        let file = file(cache, "on_timeout: close");
        let cast = Cast::of(&file.uses[0], State::Paused, Timing::Holding);
        assert_eq!((cast.first_calls("read"), cast.first_calls("invalidate")), (5, 1));
        assert_eq!((cast.connections(), cast.calls(), cast.longest()), (5 * 2 + 2, 5 * 2 + 2, 2));
    }

    #[test]
    fn operations_that_the_file_spells_out_have_callers_where_the_state_ends_inside_their_calls() {
        let custom = "kind: custom, on_outage: fail_open, commands: {one: {run: [[INCR, 'x:${id}']]}, two: {run: [[GET, 'x:${id}']]}}";
        let callers = |timing| cast(custom, "attempts: 2", State::Paused, timing);
        assert_eq!(callers(Timing::Holding), []);
        let alone = |name: &str| ("C", vec![name.to_owned()], 1);
        assert_eq!(callers(Timing::Straddling), [alone("one"), alone("two")]);
    }
}
