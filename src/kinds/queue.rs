//! A list of jobs: an accepted one is on it once, and no reader loses one.

use super::field::{FieldSpec, Presence, Shape};
use super::operation::{Call, Implied, Meaning, OperationSpec, nothing};
use super::scenario::Phase::{Before, During};
use super::scenario::{Scenario, act, call};
use super::step::{Repeat, Step, done, value};
use super::{KindSpec, no_relation};
use crate::words::{Code, Harm};

/// What is fixed about the kind.
pub(super) static SPEC: KindSpec = KindSpec {
    name: "queue",
    summary: "a list of jobs",
    operations: &[
        OperationSpec {
            name: "push",
            commands: "LPUSH key job",
            writes: true,
            takes: false,
            means: Meaning { fail_open: "accepted and lost", fail_closed: "refused", fallback: "" },
            implied: Implied {
                fail_open: None,
                fail_closed: Some(Code::ValidRequestRefused),
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: push,
            prepare: nothing,
        },
        OperationSpec {
            name: "pop",
            commands: "LMOVE key processing_key RIGHT LEFT, or RPOP key",
            writes: true,
            takes: true,
            means: Meaning { fail_open: "nothing to do", fail_closed: "refused", fallback: "" },
            implied: Implied {
                fail_open: None,
                fail_closed: None,
                error: Some(Code::ValidRequestFailed),
                fallback: None,
            },
            steps: pop,
            prepare: push,
        },
    ],
    fields: &[
        FieldSpec {
            name: "pop",
            shape: Shape::Word(&["move", "destructive"]),
            presence: Presence::DefaultWord("move"),
            says: "how a reader takes a job: LMOVE to a processing list, or RPOP, which forgets it",
        },
        FieldSpec {
            name: "processing_key",
            shape: Shape::Key,
            presence: Presence::Optional("the queue's key with `:processing` behind it"),
            says: "the list that holds a job while it is worked on",
        },
    ],
    check: no_relation,
    guarantee: "an accepted job is on the queue once, and no reader loses one",
    without_data: "a job that was accepted is gone",
    without_data_harms: Harm::Guarantee,
    scenario: &SCENARIO,
    keys: queue_keys,
};

/// J1 was pushed before and is popped in the outage, J2 is pushed in it, onto a queue of its own. What became of them is
/// read from the lists.
static SCENARIO: Scenario = Scenario {
    acts: &[
        act("A", Before, "J1", &[call("push")]),
        act("B", During, "J1", &[call("pop")]),
        act("C", During, "J2", &[call("push")]),
    ],
};

fn push(call: &Call<'_>) -> Vec<Step> {
    vec![Step::plain(
        ["LPUSH", &call.key(), call.probe.as_str()],
        Repeat::TakesEffectAgain("a second LPUSH queues the job twice"),
        done,
    )]
}

fn pop(call: &Call<'_>) -> Vec<Step> {
    let key = call.key();
    let again = Repeat::TakesEffectAgain("a second pop takes the next job too");
    if call.fields.word("pop") == "destructive" {
        return vec![Step::plain(["RPOP", &key], again, value)];
    }
    let processing = processing(call);
    vec![Step::plain(["LMOVE", &key, &processing, "RIGHT", "LEFT"], again, value)]
}

/// The queue, and the list that holds a job while it is worked on.
fn queue_keys(call: &Call<'_>) -> Vec<String> {
    vec![call.key(), processing(call)]
}

fn processing(call: &Call<'_>) -> String {
    let key = call.key();
    call.fields
        .key("processing_key")
        .map_or_else(|| format!("{key}:processing"), |template| template.fill(call.slot))
}
