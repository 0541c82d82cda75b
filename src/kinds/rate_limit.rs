//! A counter with an expiry: at most `limit` in a window.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::scenario::Phase::{After, During};
use super::scenario::{Move, Scenario, Times, act, call};
use super::step::{Command, When};
use super::step::{Repeat, Step, done, value};
use super::{KindSpec, no_relation, own_key};
use crate::words::{Code, Harm};

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "rate_limit",
    summary: "at most `limit` in a window",
    operations: &[OperationSpec {
        name: "take",
        commands: "a script (INCR, then PEXPIRE where it returned 1), or INCR and PEXPIRE",
        writes: true,
        takes: false,
        means: Meaning { fail_open: "allowed", fail_closed: "refused (429)", fallback: "" },
        implied: Implied {
            fail_open: Some(Code::LimitNotEnforced),
            fail_closed: Some(Code::ValidRequestRefused),
            error: Some(Code::ValidRequestFailed),
            fallback: None,
        },
        steps: take,
        prepare: nothing,
    }],
    fields: &[
        FieldSpec {
            name: "limit",
            shape: Shape::Count,
            presence: Presence::Required,
            says: "how many are let through in a window",
        },
        FieldSpec {
            name: "window",
            shape: Shape::Duration,
            presence: Presence::Required,
            says: "how long a counter lives",
        },
        FieldSpec {
            name: "two_step",
            shape: Shape::Flag,
            presence: Presence::DefaultFalse,
            says: "INCR and EXPIRE as two commands instead of one script",
        },
    ],
    check: no_relation,
    guarantee: "at most `limit` in a window",
    without_data: "everybody's count begins anew",
    without_data_harms: Harm::Guarantee,
    scenario: &SCENARIO,
    keys: own_key,
};

const TAKE: &[Move] = &[call("take")];

/// Two calls more than are allowed at once, and one after the outage.
static SCENARIO: Scenario =
    Scenario { acts: &[act("B", During, "U", TAKE).times(Times::OverTheLimit), act("D", After, "U", TAKE)] };

/// Counts, and gives the counter its expiry in the same step.
pub(crate) const COUNT: &str = "local n = redis.call('incr', KEYS[1]) if n == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) end return n";

const COUNTS_TWICE: Repeat = Repeat::TakesEffectAgain("a second run counts the same request twice");

fn take(call: &Call<'_>) -> Vec<Step> {
    let (key, window) = (call.key(), call.millis("window"));
    if call.fields.flag("two_step") {
        return vec![
            Step::plain(["INCR", &key], COUNTS_TWICE, value),
            Step::plain(["PEXPIRE", &key, &window], Repeat::Harmless, done).when(When::PreviousWas(1)),
        ];
    }
    vec![Step {
        command: Command::Script { source: COUNT, keys: vec![key], args: vec![window] },
        when: When::Always,
        repeat: COUNTS_TWICE,
        read: value,
    }]
}
