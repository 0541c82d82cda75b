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

/// What a finding takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Harm {
    /// What the kind of use promises.
    Guarantee,
    /// That a legitimate user is served.
    Availability,
    /// Neither: time, threads, or the belief in what was seen.
    Other,
}

/// Declares the codes once: variant, text, default severity, basis, harm and one-line summary.
macro_rules! codes {
    ($($variant:ident $text:literal $severity:ident $basis:ident $harm:ident $summary:literal;)*) => {
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

            /// What it takes away.
            pub fn harm(self) -> Harm {
                match self { $(Code::$variant => Harm::$harm,)* }
            }

            /// What it says, in one line.
            pub fn summary(self) -> &'static str {
                match self { $(Code::$variant => $summary,)* }
            }
        }
    };
}

codes! {
    Undecided "undecided" Deny Declared Other
        "nobody decided what this operation does in an outage";
    BudgetExceeded "budget-exceeded" Deny OnServer Other
        "a call took longer than its budget";
    RequestBudgetExceeded "request-budget-exceeded" Deny OnServer Other
        "a request took longer than its budget";
    BudgetUnreachable "budget-unreachable" Deny Declared Other
        "by arithmetic the declared timeouts and attempts can't meet the budget";
    PolicyUnreachable "policy-unreachable" Deny OnServer Availability
        "the call never returned, so the declared branch never ran";
    TimeoutNotEffective "timeout-not-effective" Warn OnServer Other
        "the configured timeout is not what a call costs";
    RetryNotIdempotent "retry-not-idempotent" Warn Declared Other
        "more than one attempt on a command that must not run twice";
    ThreadsExhausted "threads-exhausted" Deny OnServer Other
        "requests wait for Redis on more threads than there are";
    CommandUnavailable "command-unavailable" Deny OnServer Other
        "the server lacks a command that the policy file declares";
    StaleAcceptance "stale-acceptance" Warn OnServer Other
        "an accepted finding that did not occur";
    FaultNotProven "fault-not-proven" Inconclusive OnServer Other
        "the state was not proven to hold while the operation was probed";
    TooFewProbes "too-few-probes" Inconclusive OnServer Other
        "fewer than five probes: too few to believe";
    ControlFailed "control-failed" Inconclusive OnServer Other
        "the operation failed on the healthy server, so no other state can be believed";
    DataLostWithServer "data-lost-with-server" Warn OnServer Guarantee
        "what was stored before the outage is gone with the server's data";
    LateExecution "late-execution" Warn OnServer Other
        "the caller was told of an error, and the command ran all the same";
    DoubleExecution "double-execution" Deny OnServer Guarantee
        "one call took effect more than once";
    WrongNegative "wrong-negative" Deny OnServer Availability
        "the caller was told no by its own first attempt";
    LostEffect "lost-effect" Deny OnServer Guarantee
        "the caller was told that it was done, and it was not";
    CrossedReply "crossed-reply" Deny OnServer Guarantee
        "a call read the answer that belonged to another";
    LockHeldByNobody "lock-held-by-nobody" Deny OnServer Availability
        "a lock stays taken although nobody holds it";
    ReservationStuck "reservation-stuck" Deny OnServer Availability
        "an operation counts as in flight although nobody runs it";
    TokenLost "token-lost" Deny OnServer Availability
        "the user saw an error, and the token is burned";
    TokenReplayed "token-replayed" Deny OnServer Guarantee
        "a token was accepted, and works again";
    DeadTokenHandedOut "dead-token-handed-out" Deny OnServer Guarantee
        "a token was handed out that does not work";
    RevocationLost "revocation-lost" Deny OnServer Guarantee
        "a logout was reported done, and its token works afterwards";
    BeatSuppressedByLateClaim "beat-suppressed-by-late-claim" Warn OnServer Availability
        "no beat was counted, and the next one is dropped as a duplicate";
    StaleAfterRecovery "stale-after-recovery" Deny OnServer Guarantee
        "the cache serves the old value after the outage";
    WriteFailedTheRequest "write-failed-the-request" Deny OnServer Availability
        "the read fell back, and keeping its result failed the request";
    KeyWithoutExpiry "key-without-expiry" Deny OnServer Availability
        "a counter was left without expiry";
    CountedTwice "counted-twice" Warn OnServer Guarantee
        "one request was counted more than once";
    JobQueuedTwice "job-queued-twice" Deny OnServer Guarantee
        "one job is on the queue more than once";
    AcceptedJobLost "accepted-job-lost" Deny OnServer Guarantee
        "a job was accepted, and is on no list";
    RefusedJobQueued "refused-job-queued" Warn OnServer Guarantee
        "a job was refused, and is on the queue";
    PoppedJobLost "popped-job-lost" Deny OnServer Guarantee
        "a job left the queue, and no reader has it";
    NoRecovery "no-recovery" Deny OnServer Availability
        "no call succeeds on the existing connection after the outage";
    SlowRecovery "slow-recovery" Deny OnServer Availability
        "the first success after the outage comes later than its budget";
    ForeignLockReleased "foreign-lock-released" Deny OnServer Guarantee
        "a late release removed the lock of whoever came next";
    TtlShorterThanWork "ttl-shorter-than-work" Deny OnServer Guarantee
        "the lock expires while its holder still works";
    LockWithoutExpiry "lock-without-expiry" Deny OnServer Availability
        "the lock has no expiry: a holder that dies keeps it for ever";
    SetThenExpire "set-then-expire" Deny OnServer Availability
        "the lock gets its expiry in a second command, which may never come";
    NoFencing "no-fencing" Warn OnServer Other
        "after expiry two holders work at once, and nothing at the resource stops the first";
    ConsumedTwice "consumed-twice" Deny OnServer Guarantee
        "two users of one token are both accepted";
    ValidRequestRefused "valid-request-refused" Warn Implied Availability
        "a legitimate request is refused while Redis is away";
    ValidRequestFailed "valid-request-failed" Warn Implied Availability
        "a legitimate request ends in an error while Redis is away";
    RevokedTokenAccepted "revoked-token-accepted" Warn Implied Guarantee
        "a revoked token is accepted while Redis is away";
    DuplicateRun "duplicate-run" Warn Implied Guarantee
        "the same operation can run twice while Redis is away";
    DoubleEntry "double-entry" Warn Implied Guarantee
        "two callers can be inside the locked section while Redis is away";
    DuplicateCounted "duplicate-counted" Warn Implied Guarantee
        "a repeated beat is counted again while Redis is away";
    HeartbeatLost "heartbeat-lost" Warn Implied Availability
        "a beat is not counted while Redis is away";
    ReadFailed "read-failed" Warn Implied Availability
        "a cached read fails although its source could answer";
    OriginStampede "origin-stampede" Warn Implied Other
        "every read reaches the source behind the cache while Redis is away";
    LimitNotEnforced "limit-not-enforced" Warn Implied Guarantee
        "the rate limit lets everything through while Redis is away";
    SessionLost "session-lost" Warn Implied Guarantee
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
