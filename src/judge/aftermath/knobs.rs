//! What to change about what an outage leaves behind.

use crate::words::{Code, Keeps, State};

/// The setting or the design to turn.
pub(super) fn knob(code: Code) -> &'static str {
    match code {
        Code::LockHeldByNobody => {
            "a shorter `ttl`, or a client that takes its late acquisition back; whatever the client does with its connection, one of acquisition and release suffers"
        }
        Code::ReservationStuck => "a shorter `in_flight_ttl`, renewed while the operation runs",
        Code::TokenLost => {
            "mark the token as used instead of deleting it, and let the same user use it again for a while"
        }
        Code::TokenReplayed | Code::DeadTokenHandedOut | Code::RevocationLost => {
            "do not report as done what was not kept: `propagate`, or keep it elsewhere until Redis answers"
        }
        Code::BeatSuppressedByLateClaim => "a shorter `window`, or let beats through (`fail_open`)",
        Code::StaleAfterRecovery => {
            "a shorter `ttl`, invalidate again after the outage, or put the version into the key"
        }
        Code::WriteFailedTheRequest => {
            "catch the error of keeping a value that the caller already has (`write: fail_open`)"
        }
        Code::KeyWithoutExpiry => "count and expire in one script, or set the expiry again with each count",
        Code::CountedTwice | Code::JobQueuedTwice | Code::DoubleExecution | Code::WrongNegative => {
            "`attempts: 1` for this use, or commands that can run twice"
        }
        Code::AcceptedJobLost => {
            "do not accept what was not queued: `propagate`, or an outbox in the database"
        }
        Code::RefusedJobQueued | Code::LateExecution => {
            "make the operation safe to repeat, as its caller will; an error does not say that it did not run"
        }
        Code::PoppedJobLost => "`pop: move`: the job stays on a processing list until it is done",
        Code::NoRecovery => "`reconnect: next_use` or `background`",
        Code::SlowRecovery => "a shorter interval between reconnects, or a higher `recovery` budget",
        Code::DuplicateRun => "protect the operation at its own store (a unique constraint)",
        Code::SessionLost => "keep sessions where they outlive an outage",
        _ => "see `audit explain`",
    }
}

/// What to change where the server lost what was stored.
pub(super) fn data_lost(state: State) -> &'static str {
    match state.facts().keeps {
        Keeps::All => {
            "an append-only file on the server (`persistence: aof`), or a use that can lose its keys"
        }
        Keeps::Nothing => {
            "persistence on the server, and a use that can lose its keys: a new server begins empty"
        }
        Keeps::AllButTheLast => {
            "WAIT after a write that must not be lost, a store with synchronous replication, or a use that can lose its last keys"
        }
    }
}
