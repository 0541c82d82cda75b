//! Uses that the built-in kinds do not cover: their operations are spelled out as commands.

use super::scenario::NO_SCENARIO;
use super::step::{Command, Repeat, RespValue, Step, When, value};
use super::{Call, KeyTemplate, KindSpec, no_relation, own_key};
use crate::words::{Answer, Harm};

/// What is fixed about the kind: its operations come from the policy file (`commands`).
pub(super) static SPEC: KindSpec = KindSpec {
    name: "custom",
    summary: "operations spelled out as commands in the policy file",
    operations: &[],
    fields: &[],
    check: no_relation,
    guarantee: "what the file says",
    without_data: "what the file keeps there is not there",
    without_data_harms: Harm::Guarantee,
    scenario: &NO_SCENARIO,
    keys: own_key,
};

/// An operation that a policy file spells out.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomOperation {
    /// Its name.
    pub name: String,
    /// Its commands, word by word; the first word of each is the command's name and holds no placeholder.
    pub run: Vec<Vec<KeyTemplate>>,
    /// Whether it changes data.
    pub writes: bool,
    /// Whether it may run twice without harm.
    pub idempotent: bool,
    /// When its last reply means yes.
    pub ok_when: OkWhen,
}

/// When the last reply of a custom operation means yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OkWhen {
    /// Whatever it is: the reply is the value.
    Any,
    /// When it is neither nil nor zero.
    Truthy,
    /// When it is nil.
    Nil,
}

impl OkWhen {
    /// Each, and its word in policy files.
    pub const ALL: [(&'static str, OkWhen); 3] =
        [("any", OkWhen::Any), ("truthy", OkWhen::Truthy), ("nil", OkWhen::Nil)];
}

impl CustomOperation {
    pub(super) fn steps(&self, call: &Call<'_>) -> Vec<Step> {
        let repeat = if self.idempotent || !self.writes {
            Repeat::Harmless
        } else {
            Repeat::TakesEffectAgain("a second run writes again")
        };
        let read = match self.ok_when {
            OkWhen::Any => value,
            OkWhen::Truthy => super::step::done,
            OkWhen::Nil => nil_is_yes,
        };
        self.run
            .iter()
            .map(|words| Step {
                command: Command::Plain(words.iter().map(|word| word.substitute(call.slot)).collect()),
                when: When::Always,
                repeat,
                read,
            })
            .collect()
    }
}

fn nil_is_yes(value: &RespValue) -> Answer {
    match value {
        RespValue::Nil => Answer::Yes,
        _ => Answer::No,
    }
}
