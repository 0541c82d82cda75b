//! An operation: one thing that a use does with Redis.

use std::sync::Arc;
use std::time::Duration;

use super::{CustomOperation, Fields, KeyTemplate, ProbeId, Step};
use crate::words::{Code, OutagePolicy};

/// Everything that is fixed about an operation of a built-in kind.
pub struct OperationSpec {
    /// The name in policy files.
    pub name: &'static str,
    /// Its commands, as documentation shows them.
    pub commands: &'static str,
    /// What is done to the data.
    pub writes: bool,
    /// Whether its caller has something by a "yes" that it has not by a "no": a lock, a reservation, a token, a job. A
    /// wrong "no" misleads nobody else.
    pub takes: bool,
    /// What each outage policy means for it.
    pub means: Meaning,
    /// What each outage policy makes inevitable.
    pub implied: Implied,
    /// What is sent.
    pub steps: fn(&Call<'_>) -> Vec<Step>,
    /// What must be there before, so that the healthy answer is the one that a real caller gets.
    pub prepare: fn(&Call<'_>) -> Vec<Step>,
}

/// In plain words, what a policy means for an operation; empty where the policy makes no sense for it.
#[derive(Debug, Clone, Copy)]
pub struct Meaning {
    /// For `fail_open`.
    pub fail_open: &'static str,
    /// For `fail_closed`.
    pub fail_closed: &'static str,
    /// For `fallback`.
    pub fallback: &'static str,
}

/// The findings that follow from a policy without anyone having to look.
#[derive(Debug, Clone, Copy)]
pub struct Implied {
    /// For `fail_open`.
    pub fail_open: Option<Code>,
    /// For `fail_closed`.
    pub fail_closed: Option<Code>,
    /// For `propagate` and `undecided`.
    pub error: Option<Code>,
    /// For `fallback`.
    pub fallback: Option<Code>,
}

/// What a call of an operation is made with.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The use's own fields.
    pub fields: &'a Fields,
    /// The use's key template.
    pub key: &'a KeyTemplate,
    /// Which key it is about: fills the templates. A probe's key is its own; actors of a scenario share some.
    pub slot: &'a ProbeId,
    /// Whose call it is: the value that is written.
    pub probe: &'a ProbeId,
}

impl Call<'_> {
    /// The key of this call.
    pub(super) fn key(&self) -> String {
        self.key.fill(self.slot)
    }

    /// A duration field in whole milliseconds, at least 1.
    pub(super) fn millis(&self, field: &str) -> String {
        let duration = self.fields.duration(field).unwrap_or(Duration::from_secs(60));
        duration.as_millis().max(1).to_string()
    }
}

/// An operation of a use: built in, or spelled out in the policy file.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Of a built-in kind.
    BuiltIn(&'static OperationSpec),
    /// Of the kind `custom`.
    Custom(Arc<CustomOperation>),
}

impl Operation {
    /// The name in policy files.
    pub fn name(&self) -> &str {
        match self {
            Operation::BuiltIn(spec) => spec.name,
            Operation::Custom(custom) => &custom.name,
        }
    }

    /// Whether it changes data.
    pub fn writes(&self) -> bool {
        match self {
            Operation::BuiltIn(spec) => spec.writes,
            Operation::Custom(custom) => custom.writes,
        }
    }

    /// Whether its caller has something by a "yes" that it has not by a "no". Of an operation that the file spells out
    /// nobody knows, so it has where the file does not say that it may run twice.
    pub fn takes(&self) -> bool {
        match self {
            Operation::BuiltIn(spec) => spec.takes,
            Operation::Custom(custom) => custom.writes && !custom.idempotent,
        }
    }

    /// What is sent.
    pub fn steps(&self, call: &Call<'_>) -> Vec<Step> {
        match self {
            Operation::BuiltIn(spec) => (spec.steps)(call),
            Operation::Custom(custom) => custom.steps(call),
        }
    }

    /// What must be there before.
    pub fn prepare(&self, call: &Call<'_>) -> Vec<Step> {
        match self {
            Operation::BuiltIn(spec) => (spec.prepare)(call),
            Operation::Custom(_) => Vec::new(),
        }
    }

    /// In plain words, what the policy means for it.
    pub fn meaning(&self, policy: OutagePolicy) -> &str {
        let (open, closed, fallback) = match self {
            Operation::BuiltIn(spec) => (spec.means.fail_open, spec.means.fail_closed, spec.means.fallback),
            Operation::Custom(_) => ("allowed", "denied", "another source answers"),
        };
        match policy {
            OutagePolicy::FailOpen => open,
            OutagePolicy::FailClosed => closed,
            OutagePolicy::Fallback => fallback,
            OutagePolicy::Propagate => "the error climbs to the caller",
            OutagePolicy::Undecided => "nobody decided: the error climbs to the caller",
        }
    }

    /// Whether the policy makes sense for it (a lock has no other source to fall back to).
    pub fn admits(&self, policy: OutagePolicy) -> bool {
        !self.meaning(policy).is_empty()
    }

    /// The finding that follows from the policy without anyone having to look.
    pub fn implied(&self, policy: OutagePolicy) -> Option<Code> {
        let implied = match self {
            Operation::BuiltIn(spec) => spec.implied,
            Operation::Custom(_) => Implied {
                fail_open: None,
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
        };
        match policy {
            OutagePolicy::FailOpen => implied.fail_open,
            OutagePolicy::FailClosed => implied.fail_closed,
            OutagePolicy::Propagate | OutagePolicy::Undecided => implied.error,
            OutagePolicy::Fallback => implied.fallback,
        }
    }
}

impl std::fmt::Debug for OperationSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OperationSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// For operations that need nothing to be there before.
pub(super) fn nothing(_: &Call<'_>) -> Vec<Step> {
    Vec::new()
}
