//! The kinds of use: one file a kind, with its operations, their commands and its guarantee.
//!
//! A kind knows nothing of policy files, servers or clients. It says which fields it has and which
//! commands an operation sends; the policy reader checks the fields, and a client sends the commands.

mod cache;
mod custom;
mod field;
mod heartbeat_dedup;
mod idempotency_key;
mod jwt_revocation;
mod key;
mod lock;
mod one_time_token;
mod operation;
mod queue;
mod rate_limit;
mod scenario;
mod session;
mod step;

pub use custom::{CustomOperation, OkWhen};
pub use field::{FieldSpec, FieldValue, Fields, Presence, Shape};
pub use key::{KeyTemplate, ProbeId};
pub use operation::{Call, Implied, Operation, OperationSpec};
pub(crate) use scenario::ALONE;
pub use scenario::{Act, Begins, GoesOn, Move, Phase, Scenario, Times};
pub use step::{Command, Repeat, RespValue, Step, When};

use crate::words::Harm;

/// What sort of use it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A denylist of revoked tokens.
    JwtRevocation,
    /// A key that lets an operation run once.
    IdempotencyKey,
    /// Mutual exclusion with an expiry.
    Lock,
    /// A token that works once.
    OneTimeToken,
    /// One beat a window is counted.
    HeartbeatDedup,
    /// A copy of something that another source holds.
    Cache,
    /// At most so many in a window.
    RateLimit,
    /// A user's session.
    Session,
    /// A list of jobs.
    Queue,
    /// Operations that the policy file spells out as commands.
    Custom,
}

/// Everything that is fixed about a kind.
pub struct KindSpec {
    /// The name in policy files.
    pub name: &'static str,
    /// What it is for, in one line.
    pub summary: &'static str,
    /// Its operations in the order in which reports show them; empty for `custom`, whose uses bring their own.
    pub operations: &'static [OperationSpec],
    /// The fields that a use of this kind may have beside those that every use has.
    pub fields: &'static [FieldSpec],
    /// A relation between fields that must hold, or what is wrong: the field to point at, and the sentence.
    pub check: fn(&Fields) -> Result<(), (&'static str, String)>,
    /// What a use of this kind promises.
    pub guarantee: &'static str,
    /// What it means for a use of this kind that the server lost its data.
    pub without_data: &'static str,
    /// What that takes away. A copy of something that another source holds is no more than missed.
    pub without_data_harms: Harm,
    /// What is played around an outage to see whether it keeps that.
    pub scenario: &'static Scenario,
    /// The keys that a call is about, the main one first.
    pub keys: fn(&Call<'_>) -> Vec<String>,
}

impl Kind {
    /// Every kind, in the order in which the documentation lists them.
    pub const ALL: [Kind; 10] = [
        Kind::JwtRevocation,
        Kind::IdempotencyKey,
        Kind::Lock,
        Kind::OneTimeToken,
        Kind::HeartbeatDedup,
        Kind::Cache,
        Kind::RateLimit,
        Kind::Session,
        Kind::Queue,
        Kind::Custom,
    ];

    /// What is fixed about the kind.
    pub fn spec(self) -> &'static KindSpec {
        match self {
            Kind::JwtRevocation => &jwt_revocation::SPEC,
            Kind::IdempotencyKey => &idempotency_key::SPEC,
            Kind::Lock => &lock::SPEC,
            Kind::OneTimeToken => &one_time_token::SPEC,
            Kind::HeartbeatDedup => &heartbeat_dedup::SPEC,
            Kind::Cache => &cache::SPEC,
            Kind::RateLimit => &rate_limit::SPEC,
            Kind::Session => &session::SPEC,
            Kind::Queue => &queue::SPEC,
            Kind::Custom => &custom::SPEC,
        }
    }

    /// The name in policy files.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl std::fmt::Debug for KindSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KindSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// For kinds whose fields need no relation between them.
fn no_relation(_: &Fields) -> Result<(), (&'static str, String)> {
    Ok(())
}

#[cfg(test)]
pub(crate) use lock::COMPARE_AND_DELETE;

/// For kinds whose calls are about one key.
fn own_key(call: &Call<'_>) -> Vec<String> {
    vec![call.key()]
}

#[cfg(test)]
mod tests;
