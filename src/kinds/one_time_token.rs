//! A token that works once: registered when it is handed out, burned when it is used.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::scenario::Phase::{After, Before, During};
use super::scenario::{Begins, Scenario, act, call};
use super::step::{Repeat, Step, When, done, value};
use super::{KindSpec, no_relation, own_key};
use crate::words::{Code, Harm};

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "one_time_token",
    summary: "a token that works once",
    operations: &[
        OperationSpec {
            name: "issue",
            commands: "SET key 1 PX ttl",
            writes: true,
            takes: false,
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
            takes: true,
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
    fields: &[
        FieldSpec {
            name: "ttl",
            shape: Shape::Duration,
            presence: Presence::Required,
            says: "how long a token can be used",
        },
        FieldSpec {
            name: "consume",
            shape: Shape::Word(&["getdel", "get_then_delete"]),
            presence: Presence::DefaultWord("getdel"),
            says: "GETDEL, or GET and then DEL",
        },
    ],
    check: no_relation,
    guarantee: "a token works at most once, and one that was handed out works",
    without_data: "a token that was handed out is refused",
    without_data_harms: Harm::Guarantee,
    scenario: &SCENARIO,
    keys: own_key,
};

/// T1 was handed out before and is used in the outage, T2 is handed out in the outage; afterwards the user of T1 clicks
/// again, and T2 is used if it was handed out.
static SCENARIO: Scenario = Scenario {
    acts: &[
        act("A", Before, "T1", &[call("issue")]),
        act("B", During, "T1", &[call("consume")]),
        act("C", During, "T2", &[call("issue")]),
        act("D", After, "T1", &[call("consume")]),
        act("E", After, "T2", &[call("consume")]).begins(Begins::IfLetIn("C")),
    ],
};

fn issue(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["SET", &call.key(), call.probe.as_str(), "PX", &call.millis("ttl")],
        Repeat::Harmless,
        done,
    )]
}

fn consume(call: &Call<'_>) -> Vec<Step> {
    if call.fields.word("consume") == "get_then_delete" {
        let key = call.key();
        let delete = Step::plain(["DEL", &key], Repeat::Harmless, done);
        return vec![
            Step::plain(["GET", &key], Repeat::Harmless, value),
            delete.when(When::PreviousWasSomething),
        ];
    }
    vec![Step::plain(
        ["GETDEL", &call.key()],
        Repeat::AnswersOtherwise("a second GETDEL answers nil: the token is burned, its value lost"),
        value,
    )]
}
