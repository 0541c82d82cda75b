//! Findings as data: their codes, and what one carries. The long texts are `judge::explain`.

use serde::{Deserialize, Serialize};

use super::{Place, State};

/// How much a finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Shown, never counted.
    Allow,
    /// Shown and counted, and the run still conforms.
    Warn,
    /// Makes its cell inconclusive.
    Inconclusive,
    /// The run departs.
    Deny,
}

impl Severity {
    /// The word in policy files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Allow => "allow",
            Severity::Warn => "warn",
            Severity::Inconclusive => "inconclusive",
            Severity::Deny => "deny",
        }
    }
}

/// What a finding rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The policy file alone: read or computed, nothing measured.
    Declared,
    /// Follows from the declared policy once Redis does not answer; nobody saw it happen.
    Implied,
    /// Measured against a real server.
    OnServer,
}

impl Basis {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Declared => "declared",
            Basis::Implied => "implied",
            Basis::OnServer => "on server",
        }
    }
}

/// Declares the codes once: variant, text, default severity, basis and one-line summary.
macro_rules! codes {
    ($($variant:ident $text:literal $severity:ident $basis:ident $summary:literal;)*) => {
        /// The name of a kind of finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Code {
            $(#[doc = $summary] $variant,)*
        }

        impl Code {
            /// Every code, in the order in which the documentation lists them.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// The code as policy files and reports write it.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }

            /// How much it counts where the policy file's `rules` do not say.
            pub fn default_severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)* }
            }

            /// What a finding of this code rests on.
            pub fn basis(self) -> Basis {
                match self { $(Code::$variant => Basis::$basis,)* }
            }

            /// What it says, in one line.
            pub fn summary(self) -> &'static str {
                match self { $(Code::$variant => $summary,)* }
            }
        }
    };
}

codes! {
    Undecided "undecided" Deny Declared
        "nobody decided what this operation does in an outage";
    BudgetExceeded "budget-exceeded" Deny OnServer
        "a call took longer than its budget";
    RequestBudgetExceeded "request-budget-exceeded" Deny OnServer
        "a request took longer than its budget";
    BudgetUnreachable "budget-unreachable" Deny Declared
        "by arithmetic the declared timeouts and attempts can't meet the budget";
    PolicyUnreachable "policy-unreachable" Deny OnServer
        "the call never returned, so the declared branch never ran";
    TimeoutNotEffective "timeout-not-effective" Warn OnServer
        "the configured timeout is not what a call costs";
    RetryNotIdempotent "retry-not-idempotent" Warn Declared
        "more than one attempt on a command that must not run twice";
    ThreadsExhausted "threads-exhausted" Deny OnServer
        "requests wait for Redis on more threads than there are";
    CommandUnavailable "command-unavailable" Deny OnServer
        "the server lacks a command that the policy file declares";
    StaleAcceptance "stale-acceptance" Warn OnServer
        "an accepted finding that did not occur";
    FaultNotProven "fault-not-proven" Inconclusive OnServer
        "the state was not proven to hold while the operation was probed";
    TooFewProbes "too-few-probes" Inconclusive OnServer
        "fewer than five probes: too few to believe";
    ControlFailed "control-failed" Inconclusive OnServer
        "the operation failed on the healthy server, so no other state can be believed";
    ValidRequestRefused "valid-request-refused" Warn Implied
        "a legitimate request is refused while Redis is away";
    ValidRequestFailed "valid-request-failed" Warn Implied
        "a legitimate request ends in an error while Redis is away";
    RevokedTokenAccepted "revoked-token-accepted" Warn Implied
        "a revoked token is accepted while Redis is away";
    DuplicateRun "duplicate-run" Warn Implied
        "the same operation can run twice while Redis is away";
    DoubleEntry "double-entry" Warn Implied
        "two callers can be inside the locked section while Redis is away";
    DuplicateCounted "duplicate-counted" Warn Implied
        "a repeated beat is counted again while Redis is away";
    HeartbeatLost "heartbeat-lost" Warn Implied
        "a beat is not counted while Redis is away";
    ReadFailed "read-failed" Warn Implied
        "a cached read fails although its source could answer";
    OriginStampede "origin-stampede" Warn Implied
        "every read reaches the source behind the cache while Redis is away";
    LimitNotEnforced "limit-not-enforced" Warn Implied
        "the rate limit lets everything through while Redis is away";
    SessionLost "session-lost" Warn Implied
        "a user's session is not found or not kept while Redis is away";
}

impl Code {
    /// The code of this name.
    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A named departure from what was declared, with all that a reader needs to act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Which departure.
    pub code: Code,
    /// How much it counts here, the policy file's `rules` applied.
    pub severity: Severity,
    /// What it rests on.
    pub basis: Basis,
    /// The use, or the request, that it is about.
    pub subject: String,
    /// The operations of the use that it is about, in the file's order; empty for a request.
    pub operations: Vec<String>,
    /// The states in which it was found; empty where it holds without any.
    pub states: Vec<State>,
    /// The line of the policy file that explains it.
    pub place: Place,
    /// What the file declares.
    pub declared: String,
    /// What was observed, or what follows.
    pub observed: String,
    /// Why, as far as the audit can tell.
    pub cause: String,
    /// What to change.
    pub knob: String,
    /// The reason for which the file accepts it; an accepted finding is shown and not counted.
    pub accepted: Option<String>,
}

impl Finding {
    /// Whether the finding makes the run depart.
    pub fn departs(&self) -> bool {
        self.severity == Severity::Deny && self.accepted.is_none()
    }

    /// Whether the finding makes its cells inconclusive.
    pub fn is_inconclusive(&self) -> bool {
        self.severity == Severity::Inconclusive && self.accepted.is_none()
    }

    /// What it is about: `dataset-lock.acquire`, or the request's name.
    pub fn about(&self) -> String {
        match self.operations.as_slice() {
            [] => self.subject.clone(),
            [one] => format!("{}.{one}", self.subject),
            many => format!("{}.{{{}}}", self.subject, many.join(",")),
        }
    }
}

/// What a cell, or a whole run, comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing that counts departs from what was declared.
    Conforms,
    /// The run could not prove what it set out to prove.
    Inconclusive,
    /// Something departs from what was declared.
    Departs,
}

impl Verdict {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Conforms => "conforms",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Departs => "departs",
        }
    }
}
