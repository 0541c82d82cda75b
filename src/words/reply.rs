//! What a client saw, what the use then did, and how we know.

use serde::{Deserialize, Serialize};

/// What Redis said when it answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The command did what was asked, or the thing is there.
    Yes,
    /// The command declined (`SET NX` on a key that exists), or the thing is not there.
    No,
    /// A value was read.
    Value(String),
}

/// Which part of a call ran into its timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Opening the connection, the handshake included.
    Connect,
    /// Waiting for the command's answer.
    Command,
}

/// What the client saw of one attempt, or of a whole call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Redis answered.
    Answered(Answer),
    /// The declared timeout ran out.
    TimedOut(Phase),
    /// The connection was refused.
    Refused,
    /// The connection broke under the command.
    Reset,
    /// The server took the connection, said that it has too many clients, and closed it. Most clients tell this as a reset.
    TooManyClients,
    /// There was no connection, and the client's settings do not make it wait for one.
    NotConnected,
    /// Redis answered with an error; this is its code, such as `OOM` or `ERR`.
    Rejected {
        /// The first word of the error.
        code: String,
        /// The whole error.
        message: String,
    },
    /// The call had not returned when the audit gave up on it.
    NeverReturned,
}

impl Reply {
    /// Whether Redis answered the question (a "no" is an answer).
    pub fn is_answer(&self) -> bool {
        matches!(self, Reply::Answered(_))
    }

    /// A short label that groups replies of one class: `answered`, `timed out`, `refused`, `OOM`.
    pub fn class(&self) -> &str {
        match self {
            Reply::Answered(_) => "answered",
            Reply::TimedOut(Phase::Connect) => "connect timed out",
            Reply::TimedOut(Phase::Command) => "timed out",
            Reply::Refused => "refused",
            Reply::Reset => "reset",
            Reply::TooManyClients => "too many clients",
            Reply::NotConnected => "not connected",
            Reply::Rejected { code, .. } => code,
            Reply::NeverReturned => "never returned",
        }
    }
}

/// What an operation is declared to do when Redis does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutagePolicy {
    /// Let it through.
    FailOpen,
    /// Deny.
    FailClosed,
    /// The error climbs to the caller.
    Propagate,
    /// Another source answers.
    Fallback,
    /// Nobody chose. Behaves like `propagate`, and is a finding.
    Undecided,
}

impl OutagePolicy {
    /// Every policy, in the order in which the documentation lists them.
    pub const ALL: [OutagePolicy; 5] = [
        OutagePolicy::FailOpen,
        OutagePolicy::FailClosed,
        OutagePolicy::Propagate,
        OutagePolicy::Fallback,
        OutagePolicy::Undecided,
    ];

    /// The name in policy files and reports.
    pub fn name(self) -> &'static str {
        match self {
            OutagePolicy::FailOpen => "fail_open",
            OutagePolicy::FailClosed => "fail_closed",
            OutagePolicy::Propagate => "propagate",
            OutagePolicy::Fallback => "fallback",
            OutagePolicy::Undecided => "undecided",
        }
    }

    /// The policy of this name.
    pub fn from_name(name: &str) -> Option<OutagePolicy> {
        OutagePolicy::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// What the use does under this policy once a call ended without an answer.
    pub fn decision(self) -> Decision {
        match self {
            OutagePolicy::FailOpen => Decision::Allowed,
            OutagePolicy::FailClosed => Decision::Denied,
            OutagePolicy::Propagate | OutagePolicy::Undecided => Decision::Raised,
            OutagePolicy::Fallback => Decision::FellBack,
        }
    }
}

/// What the use did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Redis answered, and its answer decided.
    Answered,
    /// Let through without an answer.
    Allowed,
    /// Denied without an answer.
    Denied,
    /// The error climbed to the caller.
    Raised,
    /// Another source answered.
    FellBack,
}

impl Decision {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Answered => "answered",
            Decision::Allowed => "allowed",
            Decision::Denied => "denied",
            Decision::Raised => "raised",
            Decision::FellBack => "fell back",
        }
    }
}

/// How far a cell can be believed, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Nobody measured.
    Declared,
    /// The built-in probe on a real server; the declared policy applied to the real reply.
    Simulated,
}

impl Evidence {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Evidence::Declared => "declared",
            Evidence::Simulated => "simulated",
        }
    }
}

/// On whose server something was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// On one that the audit started itself, alone on it.
    Owned,
    /// On one that existed before, and goes on.
    Attached,
    /// Through a proxy of the audit's own, whosever server stands behind it.
    Proxied,
}

/// How the author of a policy file knows what it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownFrom {
    /// Read in the code.
    Code,
    /// Taken from documentation.
    Docs,
    /// Nobody looked.
    Assumed,
}

impl KnownFrom {
    /// Every source, best first.
    pub const ALL: [KnownFrom; 3] = [KnownFrom::Code, KnownFrom::Docs, KnownFrom::Assumed];

    /// The word in policy files and reports.
    pub fn name(self) -> &'static str {
        match self {
            KnownFrom::Code => "code",
            KnownFrom::Docs => "docs",
            KnownFrom::Assumed => "assumed",
        }
    }
}
