//! A copy of something that another source holds: the reader gets the current value.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::scenario::Phase::{After, Before, During};
use super::scenario::{Begins, GoesOn, Move, Scenario, Times, act, call};
use super::step::{Repeat, Step, done, value};
use super::{KindSpec, no_relation, own_key};
use crate::words::{Code, Harm};

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "cache",
    summary: "a copy of something that another source holds",
    operations: &[
        OperationSpec {
            name: "read",
            commands: "GET key",
            writes: false,
            takes: false,
            means: Meaning { fail_open: "a miss", fail_closed: "refused", fallback: "read from the source" },
            implied: Implied {
                fail_open: Some(Code::OriginStampede),
                fail_closed: Some(Code::ReadFailed),
                error: Some(Code::ReadFailed),
                fallback: Some(Code::OriginStampede),
            },
            steps: read,
            prepare: write,
        },
        OperationSpec {
            name: "write",
            commands: "SET key value PX ttl",
            writes: true,
            takes: false,
            means: Meaning { fail_open: "not cached", fail_closed: "refused", fallback: "not cached" },
            implied: Implied {
                fail_open: None,
                fail_closed: Some(Code::ValidRequestFailed),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: write,
            prepare: nothing,
        },
        OperationSpec {
            name: "invalidate",
            commands: "DEL key",
            writes: true,
            takes: false,
            means: Meaning {
                fail_open: "the old value stays",
                fail_closed: "refused",
                fallback: "the old value stays",
            },
            implied: Implied {
                fail_open: None,
                fail_closed: Some(Code::ValidRequestFailed),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: invalidate,
            prepare: write,
        },
    ],
    fields: &[FieldSpec {
        name: "ttl",
        shape: Shape::Duration,
        presence: Presence::Required,
        says: "how long an entry is kept",
    }],
    check: no_relation,
    guarantee: "the reader gets the current value",
    without_data: "every reader goes to the origin until the cache is warm again",
    without_data_harms: Harm::Other,
    scenario: &SCENARIO,
    keys: own_key,
};

/// A reader loads what it misses from the source, and writes it back.
const READ: &[Move] = &[Move { operation: "read", goes_on: GoesOn::Missed }, call("write")];

/// Five readers of what is stored as v1. Once they have read, the source changes to v2 and the entry is invalidated.
static SCENARIO: Scenario = Scenario {
    acts: &[
        act("A", Before, "C1", &[call("write")]),
        act("B", During, "C1", READ).times(Times::Fixed(5)),
        act("I", During, "C1", &[call("invalidate")]).begins(Begins::AfterFirstCalls),
        act("W", During, "C2", &[call("write")]),
        act("D", After, "C1", &[call("read")]),
        act("E", After, "C2", &[call("read")]),
    ],
};

fn read(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(["GET", &call.key()], Repeat::Harmless, value)]
}

fn write(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["SET", &call.key(), call.probe.as_str(), "PX", &call.millis("ttl")],
        Repeat::Harmless,
        done,
    )]
}

fn invalidate(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(["DEL", &call.key()], Repeat::Harmless, done)]
}
