//! A key under which an operation runs at most once, and under which its result is found again.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::scenario::Phase::{After, Before, During};
use super::scenario::{Move, Scenario, act, call};
use super::step::{Repeat, Step, done};
use super::{Fields, KindSpec, own_key};
use crate::words::{Code, Harm};

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "idempotency_key",
    summary: "a key that lets an operation run once, and keeps its result",
    operations: &[
        OperationSpec {
            name: "reserve",
            commands: "SET key in-flight NX PX in_flight_ttl",
            writes: true,
            takes: true,
            means: Meaning { fail_open: "runs unprotected", fail_closed: "refused", fallback: "" },
            implied: Implied {
                fail_open: Some(Code::DuplicateRun),
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: reserve,
            prepare: nothing,
        },
        OperationSpec {
            name: "complete",
            commands: "SET key result XX PX result_ttl",
            writes: true,
            takes: false,
            means: Meaning { fail_open: "result not kept", fail_closed: "refused", fallback: "" },
            implied: Implied {
                fail_open: None,
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: complete,
            prepare: reserve,
        },
        OperationSpec {
            name: "release",
            commands: "DEL key",
            writes: true,
            takes: false,
            means: Meaning { fail_open: "reservation left to expire", fail_closed: "refused", fallback: "" },
            implied: Implied {
                fail_open: None,
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: release,
            prepare: reserve,
        },
    ],
    fields: &[
        FieldSpec {
            name: "in_flight_ttl",
            shape: Shape::Duration,
            presence: Presence::Required,
            says: "how long a reservation holds while the operation runs",
        },
        FieldSpec {
            name: "result_ttl",
            shape: Shape::Duration,
            presence: Presence::Required,
            says: "how long the result is kept; at least `in_flight_ttl`",
        },
    ],
    check: result_outlives_reservation,
    guarantee: "an operation runs at most once per key",
    without_data: "what has run, or is still running, can run again",
    without_data_harms: Harm::Guarantee,
    scenario: &SCENARIO,
    keys: own_key,
};

const SUBMIT: &[Move] = &[call("reserve"), call("complete")];

/// A has reserved K2 and runs while the outage begins; B and C submit K1 at once; afterwards D and E submit both again,
/// as a client that retries does.
static SCENARIO: Scenario = Scenario {
    acts: &[
        act("A", Before, "K2", &[call("reserve")]),
        act("B", During, "K1", SUBMIT),
        act("C", During, "K1", SUBMIT),
        act("A", During, "K2", &[call("complete")]),
        act("D", After, "K1", SUBMIT),
        act("E", After, "K2", SUBMIT),
    ],
};

fn reserve(call: &Call<'_>) -> Vec<Step> {
    let value = format!("in-flight:{}", call.probe);
    vec![Step::plain(
        ["SET", &call.key(), &value, "NX", "PX", &call.millis("in_flight_ttl")],
        Repeat::AnswersOtherwise("a second SET NX answers \"no\" to its own first run"),
        done,
    )]
}

fn complete(call: &Call<'_>) -> Vec<Step> {
    let value = format!("result:{}", call.probe);
    vec![Step::plain(
        ["SET", &call.key(), &value, "XX", "PX", &call.millis("result_ttl")],
        Repeat::Harmless,
        done,
    )]
}

fn release(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["DEL", &call.key()],
        Repeat::TakesEffectAgain("a second DEL can delete the reservation of whoever came next"),
        done,
    )]
}

fn result_outlives_reservation(fields: &Fields) -> Result<(), (&'static str, String)> {
    match (fields.duration("in_flight_ttl"), fields.duration("result_ttl")) {
        (Some(in_flight), Some(result)) if in_flight > result => Err((
            "in_flight_ttl",
            "the reservation outlives the result (`in_flight_ttl` is above `result_ttl`): a stuck reservation would block longer than a result protects; lower it to `result_ttl` or below".to_owned(),
        )),
        _ => Ok(()),
    }
}
