//! Deduplication of beats: at most one in a window is counted, and the first is.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::scenario::Phase::{After, During};
use super::scenario::{Move, Scenario, Times, act, call};
use super::step::{Repeat, Step, done};
use super::{KindSpec, no_relation, own_key};
use crate::words::{Code, Harm};

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "heartbeat_dedup",
    summary: "one beat a window is counted",
    operations: &[OperationSpec {
        name: "claim",
        commands: "SET key 1 NX PX window",
        writes: true,
        takes: true,
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
    guarantee: "at most one beat a window is counted, and the first is",
    without_data: "a beat that was counted can be counted again",
    without_data_harms: Harm::Guarantee,
    scenario: &SCENARIO,
    keys: own_key,
};

const BEAT: &[Move] = &[call("claim")];

/// Two beats of one player in one window, and its next beat after the outage.
static SCENARIO: Scenario =
    Scenario { acts: &[act("B", During, "P", BEAT).times(Times::Fixed(2)), act("D", After, "P", BEAT)] };

fn claim(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["SET", &call.key(), call.probe.as_str(), "NX", "PX", &call.millis("window")],
        Repeat::AnswersOtherwise(
            "a second SET NX answers \"no\" to its own first run: the beat looks like a duplicate",
        ),
        done,
    )]
}
