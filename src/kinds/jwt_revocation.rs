//! A denylist of revoked tokens: a revoked token is refused.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::scenario::Phase::{After, Before, During};
use super::scenario::{Move, Scenario, act, call};
use super::step::{Repeat, Step, When, done, value};
use super::{KindSpec, no_relation, own_key};
use crate::words::{Code, Harm};

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "jwt_revocation",
    summary: "a denylist of revoked tokens, and an optional marker a user before which tokens are void",
    operations: &[
        OperationSpec {
            name: "check",
            commands: "EXISTS key, then GET marker_key",
            writes: false,
            takes: false,
            means: Meaning { fail_open: "token accepted", fail_closed: "token refused", fallback: "" },
            implied: Implied {
                fail_open: Some(Code::RevokedTokenAccepted),
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: check,
            prepare: nothing,
        },
        OperationSpec {
            name: "revoke",
            commands: "SET key 1 PX ttl",
            writes: true,
            takes: false,
            means: Meaning {
                fail_open: "logout reported done, and not kept",
                fail_closed: "logout refused",
                fallback: "",
            },
            implied: Implied {
                fail_open: Some(Code::RevokedTokenAccepted),
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: revoke,
            prepare: nothing,
        },
    ],
    fields: &[
        FieldSpec {
            name: "ttl",
            shape: Shape::Duration,
            presence: Presence::Required,
            says: "how long a revocation is kept: at least the life of an access token",
        },
        FieldSpec {
            name: "marker_key",
            shape: Shape::Key,
            presence: Presence::Optional("only the token itself is looked up"),
            says: "a second key that `check` reads: the instant before which a user's tokens are void",
        },
    ],
    check: no_relation,
    guarantee: "a revoked token is refused",
    without_data: "a token that was revoked is accepted until it expires",
    without_data_harms: Harm::Guarantee,
    scenario: &SCENARIO,
    keys: own_key,
};

const CHECK: &[Move] = &[call("check")];
const REVOKE: &[Move] = &[call("revoke")];

/// R was revoked before, V is valid, and L's user logs out in the outage.
static SCENARIO: Scenario = Scenario {
    acts: &[
        act("A", Before, "R", REVOKE),
        act("R", During, "R", CHECK),
        act("V", During, "V", CHECK),
        act("L", During, "L", REVOKE),
        act("R", After, "R", CHECK),
        act("V", After, "V", CHECK),
        act("L", After, "L", CHECK),
    ],
};

fn check(call: &Call<'_>) -> Vec<Step> {
    let mut steps = vec![Step::plain(["EXISTS", &call.key()], Repeat::Harmless, done)];
    if let Some(marker) = call.fields.key("marker_key") {
        let read_marker = Step::plain(["GET", &marker.fill(call.slot)], Repeat::Harmless, value);
        // A token that is on the list is revoked whatever the marker says.
        steps.push(read_marker.when(When::PreviousWas(0)));
    }
    steps
}

fn revoke(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["SET", &call.key(), call.probe.as_str(), "PX", &call.millis("ttl")],
        Repeat::Harmless,
        done,
    )]
}
