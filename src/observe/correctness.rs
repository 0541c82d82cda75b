//! What a use gets wrong without any outage, replayed on a healthy server.

use serde::{Deserialize, Serialize};

/// One replay of a use's own protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replayed {
    /// The policy file, as an index into the plan's.
    pub file: usize,
    /// The use in it.
    pub use_index: usize,
    /// What was replayed, and what came of it.
    pub what: Protocol,
    /// What was done, in order.
    pub steps: Vec<ReplayedStep>,
}

/// One step of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayedStep {
    /// Who did it.
    pub who: String,
    /// What they did.
    pub did: String,
    /// What the server answered.
    pub answer: String,
}

/// What was replayed, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// A holder's lock expires, another takes it, the first releases, a third tries.
    LateRelease {
        /// Whether the second got in.
        second_got_in: bool,
        /// Whether the server told the first that it released something.
        released: bool,
        /// Whether the third got in while the second works.
        third_got_in: bool,
    },
    /// An acquisition, cut after its first command where it has two: what is left of the key's life in milliseconds.
    Acquisition {
        /// None where it has no expiry.
        left_ms: Option<u64>,
    },
    /// Two users of one token at the same time.
    TwoConsumers {
        /// How many were accepted.
        accepted: usize,
    },
    /// A count, cut after its first command: what is left of the counter's life in milliseconds.
    Count {
        /// None where it has no expiry.
        left_ms: Option<u64>,
    },
}
