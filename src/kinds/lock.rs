//! Mutual exclusion with an expiry: at most one holder, and a holder releases only its own lock.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::scenario::Phase::{After, Before, During};
use super::scenario::{Move, Scenario, act, call};
use super::step::{Command, When};
use super::step::{Repeat, Step, done};
use super::{KindSpec, no_relation, own_key};
use crate::words::{Code, Harm};

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "lock",
    summary: "mutual exclusion with an expiry",
    operations: &[
        OperationSpec {
            name: "acquire",
            commands: "SET key token NX PX ttl",
            writes: true,
            takes: true,
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
            takes: false,
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
            shape: Shape::DurationOrNone,
            presence: Presence::Required,
            says: "how long the lock holds when nobody releases it; none for ever",
        },
        FieldSpec {
            name: "token",
            shape: Shape::Word(&["unique", "constant"]),
            presence: Presence::DefaultWord("unique"),
            says: "what an acquisition writes: a value of its own, or the same each time",
        },
        FieldSpec {
            name: "acquire",
            shape: Shape::Word(&["one_step", "two_step"]),
            presence: Presence::DefaultWord("one_step"),
            says: "SET NX with its expiry, or SETNX and then EXPIRE",
        },
        FieldSpec {
            name: "work",
            shape: Shape::Duration,
            presence: Presence::Optional("nobody knows how long"),
            says: "the longest that a holder works",
        },
        FieldSpec {
            name: "fencing",
            shape: Shape::Flag,
            presence: Presence::DefaultFalse,
            says: "whether the protected resource refuses a holder whose lock has expired, by a token that grows",
        },
        FieldSpec {
            name: "on_late_release",
            shape: Shape::Word(&["log", "ignore"]),
            presence: Presence::DefaultWord("ignore"),
            says: "what the service does when a release finds that the lock is no longer its own",
        },
        FieldSpec {
            name: "release",
            shape: Shape::Word(&["compare_and_delete", "delete", "delex", "delifeq", "expire"]),
            presence: Presence::DefaultWord("compare_and_delete"),
            says: "how a holder lets go: the Lua script, a plain DEL, DELEX IFEQ (Redis 8.4), DELIFEQ (Valkey 9), or never",
        },
    ],
    check: no_relation,
    guarantee: "at most one holder",
    without_data: "a lock that somebody holds is given to the next one who asks: two holders",
    without_data_harms: Harm::Guarantee,
    scenario: &SCENARIO,
    keys: own_key,
};

const SECTION: &[Move] = &[call("acquire"), call("release")];

/// A holds L2 while the outage begins, and releases it in the outage; B and C want L1 at once; afterwards D wants L1 and
/// E wants L2.
static SCENARIO: Scenario = Scenario {
    acts: &[
        act("A", Before, "L2", &[call("acquire")]),
        act("B", During, "L1", SECTION),
        act("C", During, "L1", SECTION),
        act("A", During, "L2", &[call("release")]),
        act("D", After, "L1", SECTION),
        act("E", After, "L2", SECTION),
    ],
};

/// Deletes the lock only where the caller still holds it: comparing and deleting in one step on the server.
pub(crate) const COMPARE_AND_DELETE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

fn acquire(call: &Call<'_>) -> Vec<Step> {
    let (key, token) = (call.key(), token(call));
    if call.fields.word("acquire") == "two_step" {
        let again = Repeat::AnswersOtherwise("a second SETNX answers \"no\" to its own first run");
        let mut steps = vec![Step::plain(["SETNX", &key, &token], again, done)];
        if call.fields.duration("ttl").is_some() {
            let expire = Step::plain(["PEXPIRE", &key, &call.millis("ttl")], Repeat::Harmless, done);
            steps.push(expire.when(When::PreviousWas(1)));
        }
        return steps;
    }
    let again = Repeat::AnswersOtherwise("a second SET NX answers \"no\" to its own first run");
    vec![match call.fields.duration("ttl") {
        Some(_) => Step::plain(["SET", &key, &token, "NX", "PX", &call.millis("ttl")], again, done),
        None => Step::plain(["SET", &key, &token, "NX"], again, done),
    }]
}

/// What an acquisition writes.
fn token(call: &Call<'_>) -> String {
    match call.fields.word("token") {
        "constant" => "1".to_owned(),
        _ => call.probe.to_string(),
    }
}

fn release(call: &Call<'_>) -> Vec<Step> {
    let (key, token) = (call.key(), token(call));
    let again = Repeat::AnswersOtherwise("a second release answers 0: \"not held\"");
    match call.fields.word("release") {
        "expire" => Vec::new(),
        "delete" => vec![Step::plain(
            ["DEL", &key],
            Repeat::TakesEffectAgain("a second DEL can delete the lock of whoever came next"),
            done,
        )],
        "delex" => vec![Step::plain(["DELEX", &key, "IFEQ", &token], again, done)],
        "delifeq" => vec![Step::plain(["DELIFEQ", &key, &token], again, done)],
        _ => vec![Step {
            command: Command::Script { source: COMPARE_AND_DELETE, keys: vec![key], args: vec![token] },
            when: When::Always,
            repeat: again,
            read: done,
        }],
    }
}
