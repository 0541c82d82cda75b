//! Who plays in a use's scenario: the callers of the outage, and the clients that they need.

use std::time::Duration;

use super::arithmetic::{later_attempt_in_a_pause, longest_wait};
use crate::kinds::{ALONE, Act, Begins, GoesOn, Kind, Phase};
use crate::observe::Timing;
use crate::policy::{Client, OnTimeout, Use};
use crate::words::{Decision, Reply, State};

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
                let caller = Caller { act, number, calls: calls.clone(), clients: 1, used };
                let clients = match used.client.on_timeout {
                    OnTimeout::Keep => 1,
                    OnTimeout::Close => caller.reached(state),
                };
                callers.push(Caller { clients, ..caller });
            }
        }
        if used.kind == Kind::Custom && timing == Timing::Straddling {
            let calls = (0..used.operations.len()).map(|index| vec![(index, GoesOn::LetIn)]);
            let alone = calls.enumerate().map(|(number, calls)| Caller {
                act: &ALONE,
                number,
                calls,
                clients: 1,
                used,
            });
            callers.extend(alone);
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
        let each = self.callers.iter().map(|caller| {
            let waits = usize::from(caller.act.begins == Begins::AfterFirstCalls);
            caller.reached(State::Paused) + waits
        });
        u32::try_from(each.max().unwrap_or(0)).unwrap_or(u32::MAX)
    }
}

impl Caller<'_> {
    /// How many of its calls it makes in a state, by what is declared.
    fn reached(&self, state: State) -> usize {
        let mut reached = 0;
        for (index, goes_on) in &self.calls {
            reached += 1;
            let decision = match state.is_outage() {
                true => self.used.operations[*index].on_outage.decision(),
                false => Decision::Answered,
            };
            // What an answer would be is not known beforehand, so on a healthy server all calls count.
            if state.is_outage() && !goes_on.after(Some(decision), &Reply::Reset) {
                break;
            }
        }
        reached
    }
}

/// When a state has to end, counted from the calls' begin, so that it ends between the first attempt's deadline and the
/// second one's: half of the second attempt's time after it began. None where no such instant exists: a single attempt,
/// no timeout, or a second attempt that does not wait.
pub(super) fn straddles(client: &Client, state: State, setinfo: bool, give_up: Duration) -> Option<Duration> {
    if client.attempts < 2 || state != State::Paused {
        // Nothing that a stopped server had not run yet runs later, so only the way back is left to see there.
        return None;
    }
    let second = later_attempt_in_a_pause(client, Some(setinfo))?;
    let ends = client.command_timeout? + longest_wait(client.backoff, 1) + second / 2;
    (!second.is_zero() && ends + second < give_up).then_some(ends)
}
