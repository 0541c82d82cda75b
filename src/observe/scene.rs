//! What was seen of a scenario: who did what, what the server made of it, and what was left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Probe, Proof};
use crate::kinds::Phase;
use crate::words::{Answer, Decision, Reply, State};

/// Which scenario: indices into the plan's files and a file's uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SceneKey {
    /// The policy file.
    pub file: usize,
    /// The use in it.
    pub use_index: usize,
    /// The state.
    pub state: State,
    /// When the state ends.
    pub timing: Timing,
}

/// When a state ends, seen from the calls that are made in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// It outlasts each call.
    Holding,
    /// It ends inside the call, after its first attempt was given up and before its second is; or it harms connections from
    /// before alone, and not the one on which the second attempt is made.
    Straddling,
}

/// One run of a use's scenario in a state.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Which.
    pub key: SceneKey,
    /// Every call, in the scenario's order.
    pub played: Vec<Played>,
    /// What was on its keys once the server answered again, and before anybody called.
    pub after: BTreeMap<&'static str, Snapshot>,
    /// What was on its keys at the end.
    pub end: BTreeMap<&'static str, Snapshot>,
    /// Whether a key that nobody touched was still there after the state.
    pub canary_survived: bool,
    /// How many times as long as declared the use's durations were, so that they outlast the state.
    pub scaled: u32,
    /// Whether the state held, and for [`Timing::Straddling`] that it ended when it was meant to.
    pub proof: Proof,
}

/// One call of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Played {
    /// Who called.
    pub actor: String,
    /// When.
    pub phase: Phase,
    /// On which key.
    pub slot: String,
    /// Which operation.
    pub operation: String,
    /// What the use then did; none where the call never returned.
    pub decision: Option<Decision>,
    /// The call itself.
    pub probe: Probe,
}

impl Played {
    /// Whether the caller was let in: by an answer, or by fail-open or a fallback.
    pub fn let_in(&self) -> bool {
        crate::kinds::GoesOn::LetIn.after(self.decision, &self.probe.reply)
    }

    /// Whether the caller was let in without an answer.
    pub fn allowed(&self) -> bool {
        self.decision == Some(Decision::Allowed)
    }

    /// Whether the caller was turned away without an answer: denied, or by an error.
    pub fn turned_away(&self) -> bool {
        matches!(self.decision, None | Some(Decision::Denied | Decision::Raised))
    }

    /// Whether Redis answered "no".
    pub fn told_no(&self) -> bool {
        self.probe.reply == Reply::Answered(Answer::No)
    }

    /// Whether Redis answered, and not with "no".
    pub fn told_yes(&self) -> bool {
        self.probe.reply.is_answer() && !self.told_no()
    }
}

/// What is on the keys of one slot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// What each of the slot's keys holds, the main one first.
    pub keys: Vec<Found>,
}

impl Snapshot {
    /// What the slot's main key holds, where it is there.
    pub fn main(&self) -> Option<&Found> {
        self.keys.first().filter(|found| found.exists())
    }
}

/// What one key holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The key.
    pub key: String,
    /// Its value, or the elements of its list; empty where there is no such key.
    pub values: Vec<String>,
    /// What is left of its life in milliseconds; none where it has no expiry, or is not there.
    pub left_ms: Option<u64>,
}

impl Found {
    /// Whether the key is there.
    pub fn exists(&self) -> bool {
        !self.values.is_empty()
    }
}

impl Scene {
    /// The calls of an actor in a phase.
    pub fn calls<'a>(&'a self, phase: Phase, actor: &'a str) -> impl Iterator<Item = &'a Played> {
        self.played.iter().filter(move |played| played.phase == phase && played.actor == actor)
    }

    /// The first call of an actor in a phase.
    pub fn first(&self, phase: Phase, actor: &str) -> Option<&Played> {
        self.played.iter().find(|played| played.phase == phase && played.actor == actor)
    }

    /// The calls of an operation during the state.
    pub fn during<'a>(&'a self, operation: &'a str) -> impl Iterator<Item = &'a Played> {
        self.played
            .iter()
            .filter(move |played| played.phase == Phase::During && played.operation == operation)
    }

    /// What was on a slot's main key once the server answered again.
    pub fn left(&self, slot: &str) -> Option<&Found> {
        self.after.get(slot).and_then(Snapshot::main)
    }
}
