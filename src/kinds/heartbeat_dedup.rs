//! Deduplication of beats: at most one in a window is counted, and the first is.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::step::{Repeat, Step, done};
use super::{KindSpec, no_relation};
use crate::words::Code;

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "heartbeat_dedup",
    summary: "one beat a window is counted",
    operations: &[OperationSpec {
        name: "claim",
        commands: "SET key 1 NX PX window",
        writes: true,
        means: Meaning { fail_open: "counted", fail_closed: "dropped", fallback: "" },
        implied: Implied {
            fail_open: Some(Code::DuplicateCounted),
            fail_closed: Some(Code::HeartbeatLost),
            error: Some(Code::ValidRequestFailed),
            fallback: None,
        },
        steps: claim,
        prepare: nothing,
    }],
    fields: &[FieldSpec {
        name: "window",
        shape: Shape::Duration,
        presence: Presence::Required,
        says: "how long after a counted beat the next ones are duplicates",
    }],
    check: no_relation,
};

fn claim(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["SET", &call.key(), call.probe.as_str(), "NX", "PX", &call.millis("window")],
        Repeat::AnswersOtherwise(
            "a second SET NX answers \"no\" to its own first run: the beat looks like a duplicate",
        ),
        done,
    )]
}
