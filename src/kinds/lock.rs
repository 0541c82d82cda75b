//! Mutual exclusion with an expiry: at most one holder, and a holder releases only its own lock.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::step::{Command, When};
use super::step::{Repeat, Step, done};
use super::{KindSpec, no_relation};
use crate::words::Code;

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "lock",
    summary: "mutual exclusion with an expiry",
    operations: &[
        OperationSpec {
            name: "acquire",
            commands: "SET key token NX PX ttl",
            writes: true,
            means: Meaning { fail_open: "runs unlocked", fail_closed: "refused", fallback: "" },
            implied: Implied {
                fail_open: Some(Code::DoubleEntry),
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: acquire,
            prepare: nothing,
        },
        OperationSpec {
            name: "release",
            commands: "by `release`",
            writes: true,
            means: Meaning { fail_open: "left to expire", fail_closed: "refused", fallback: "" },
            implied: Implied {
                fail_open: None,
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: release,
            prepare: acquire,
        },
    ],
    fields: &[
        FieldSpec {
            name: "ttl",
            shape: Shape::Duration,
            presence: Presence::Required,
            says: "how long the lock holds when nobody releases it",
        },
        FieldSpec {
            name: "release",
            shape: Shape::Word(&["compare_and_delete", "delete", "delex", "delifeq", "expire"]),
            presence: Presence::DefaultWord("compare_and_delete"),
            says: "how a holder lets go: the Lua script, a plain DEL, DELEX IFEQ (Redis 8.4), DELIFEQ (Valkey 9), or never",
        },
    ],
    check: no_relation,
};

/// Deletes the lock only where the caller still holds it: comparing and deleting in one step on the server.
const COMPARE_AND_DELETE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

fn acquire(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["SET", &call.key(), call.probe.as_str(), "NX", "PX", &call.millis("ttl")],
        Repeat::AnswersOtherwise("a second SET NX answers \"no\" to its own first run"),
        done,
    )]
}

fn release(call: &Call<'_>) -> Vec<Step> {
    let (key, token) = (call.key(), call.probe.as_str());
    let again = Repeat::AnswersOtherwise("a second release answers 0: \"not held\"");
    match call.fields.word("release") {
        "expire" => Vec::new(),
        "delete" => vec![Step::plain(
            ["DEL", &key],
            Repeat::TakesEffectAgain("a second DEL can delete the lock of whoever came next"),
            done,
        )],
        "delex" => vec![Step::plain(["DELEX", &key, "IFEQ", token], again, done)],
        "delifeq" => vec![Step::plain(["DELIFEQ", &key, token], again, done)],
        _ => vec![Step {
            command: Command::Script {
                source: COMPARE_AND_DELETE,
                keys: vec![key],
                args: vec![token.to_owned()],
            },
            when: When::Always,
            repeat: again,
            read: done,
        }],
    }
}
