//! Scenarios: what real callers do before, during and after an outage. A scenario knows no client.

use serde::{Deserialize, Serialize};

use super::Fields;
use crate::words::{Answer, Decision, Reply};

/// What is played for each use of a kind.
#[derive(Debug)]
pub struct Scenario {
    /// Its acts. Those before and after the outage are played one after the other on a healthy server; those during
    /// it side by side.
    pub acts: &'static [Act],
}

/// One caller on one key.
#[derive(Debug)]
pub struct Act {
    /// Who: acts of one actor write the same value, as a holder that acquired and later releases does.
    pub actor: &'static str,
    /// When.
    pub phase: Phase,
    /// Which key of the scenario.
    pub slot: &'static str,
    /// How many such callers there are.
    pub times: Times,
    /// What they do, call by call.
    pub flow: &'static [Move],
    /// When they begin.
    pub begins: Begins,
}

/// When an act is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// While the server is healthy, before anything is wrong.
    Before,
    /// While something is wrong.
    During,
    /// Once the server answers again.
    After,
}

/// How many callers an act has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// This many.
    Fixed(usize),
    /// As many as a limiter lets through, but no more than three, and two more.
    OverTheLimit,
}

/// When an act begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// With its phase.
    AtOnce,
    /// When the other acts of its phase have made their first call.
    AfterFirstCalls,
    /// With its phase, if this actor was let in during the outage.
    IfLetIn(&'static str),
}

/// One call of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Move {
    /// The operation.
    pub operation: &'static str,
    /// Whether the caller makes its next call.
    pub goes_on: GoesOn,
}

/// Whether a caller goes on after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoesOn {
    /// If it was let in: by an answer or by fail-open.
    LetIn,
    /// If it has to get the thing elsewhere: the answer was "not there", or another source is asked.
    Missed,
}

impl GoesOn {
    /// Whether a caller goes on after this decision and reply; a call that never returned ends every flow.
    pub fn after(self, decision: Option<Decision>, reply: &Reply) -> bool {
        match (self, decision) {
            (_, None | Some(Decision::Denied | Decision::Raised)) => false,
            (GoesOn::LetIn, Some(Decision::Answered)) => {
                matches!(reply, Reply::Answered(Answer::Yes | Answer::Value(_)))
            }
            (GoesOn::LetIn, Some(Decision::Allowed | Decision::FellBack)) => true,
            (GoesOn::Missed, Some(Decision::Answered)) => *reply == Reply::Answered(Answer::No),
            (GoesOn::Missed, Some(Decision::Allowed | Decision::FellBack)) => true,
        }
    }
}

impl Times {
    /// The number of callers, for a use with these fields.
    pub fn of(self, fields: &Fields) -> usize {
        match self {
            Times::Fixed(times) => times,
            Times::OverTheLimit => {
                usize::try_from(fields.count("limit").unwrap_or(3).min(3)).unwrap_or(3) + 2
            }
        }
    }
}

/// One caller that makes its calls as soon as its phase begins.
pub(super) const fn act(actor: &'static str, phase: Phase, slot: &'static str, flow: &'static [Move]) -> Act {
    Act { actor, phase, slot, times: Times::Fixed(1), flow, begins: Begins::AtOnce }
}

impl Act {
    /// This many callers.
    pub(super) const fn times(mut self, times: Times) -> Act {
        self.times = times;
        self
    }

    /// Begins then.
    pub(super) const fn begins(mut self, begins: Begins) -> Act {
        self.begins = begins;
        self
    }
}

/// A call after which the caller goes on if it was let in.
pub(super) const fn call(operation: &'static str) -> Move {
    Move { operation, goes_on: GoesOn::LetIn }
}

/// A caller on a key of its own: what is played of operations that no scenario is known for.
pub(crate) static ALONE: Act = act("C", Phase::During, "own", &[]);

/// For kinds that no scenario is known for.
pub(super) static NO_SCENARIO: Scenario = Scenario { acts: &[] };
