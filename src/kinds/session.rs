//! A user's session: found again by the next request.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::scenario::Phase::{After, Before, During};
use super::scenario::{Scenario, act, call};
use super::step::{Repeat, Step, done, value};
use super::{KindSpec, no_relation, own_key};
use crate::words::{Code, Harm};

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "session",
    summary: "a user's session",
    operations: &[
        OperationSpec {
            name: "load",
            commands: "GET key",
            writes: false,
            takes: false,
            means: Meaning {
                fail_open: "anonymous",
                fail_closed: "refused",
                fallback: "read from another store",
            },
            implied: Implied {
                fail_open: Some(Code::SessionLost),
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: load,
            prepare: save,
        },
        OperationSpec {
            name: "save",
            commands: "SET key value PX ttl",
            writes: true,
            takes: false,
            means: Meaning {
                fail_open: "not saved",
                fail_closed: "refused",
                fallback: "written to another store",
            },
            implied: Implied {
                fail_open: Some(Code::SessionLost),
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: save,
            prepare: nothing,
        },
    ],
    fields: &[FieldSpec {
        name: "ttl",
        shape: Shape::Duration,
        presence: Presence::Required,
        says: "how long a session is kept",
    }],
    check: no_relation,
    guarantee: "the user's session is found",
    without_data: "everybody is signed out",
    without_data_harms: Harm::Guarantee,
    scenario: &SCENARIO,
    keys: own_key,
};

/// S was saved before and is loaded in the outage, S2 is saved in it; afterwards both are loaded.
static SCENARIO: Scenario = Scenario {
    acts: &[
        act("A", Before, "S", &[call("save")]),
        act("B", During, "S", &[call("load")]),
        act("C", During, "S2", &[call("save")]),
        act("D", After, "S", &[call("load")]),
        act("E", After, "S2", &[call("load")]),
    ],
};

fn load(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(["GET", &call.key()], Repeat::Harmless, value)]
}

fn save(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["SET", &call.key(), call.probe.as_str(), "PX", &call.millis("ttl")],
        Repeat::Harmless,
        done,
    )]
}
