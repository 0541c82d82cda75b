//! A token that works once: registered when it is handed out, burned when it is used.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::step::{Repeat, Step, done, value};
use super::{KindSpec, no_relation};
use crate::words::Code;

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "one_time_token",
    summary: "a token that works once",
    operations: &[
        OperationSpec {
            name: "issue",
            commands: "SET key 1 PX ttl",
            writes: true,
            means: Meaning {
                fail_open: "handed out unregistered",
                fail_closed: "not handed out",
                fallback: "",
            },
            implied: Implied {
                fail_open: None,
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: issue,
            prepare: nothing,
        },
        OperationSpec {
            name: "consume",
            commands: "GETDEL key",
            writes: true,
            means: Meaning { fail_open: "accepted unchecked", fail_closed: "refused", fallback: "" },
            implied: Implied {
                fail_open: None,
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: consume,
            prepare: issue,
        },
    ],
    fields: &[FieldSpec {
        name: "ttl",
        shape: Shape::Duration,
        presence: Presence::Required,
        says: "how long a token can be used",
    }],
    check: no_relation,
};

fn issue(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["SET", &call.key(), call.probe.as_str(), "PX", &call.millis("ttl")],
        Repeat::Harmless,
        done,
    )]
}

fn consume(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["GETDEL", &call.key()],
        Repeat::AnswersOtherwise("a second GETDEL answers nil: the token is burned, its value lost"),
        value,
    )]
}
