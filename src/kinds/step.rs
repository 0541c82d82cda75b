//! What an operation sends, command by command, and how it reads what comes back.

use crate::words::Answer;

/// One command of an operation.
#[derive(Debug, Clone)]
pub struct Step {
    /// What is sent.
    pub command: Command,
    /// Whether it is sent at all, given the answer of the command before.
    pub when: When,
    /// What running it a second time does.
    pub repeat: Repeat,
    /// What its reply means.
    pub read: fn(&RespValue) -> Answer,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A command and its arguments.
    Plain(Vec<String>),
    /// A Lua script, sent by its hash as clients do.
    Script {
        /// The source.
        source: &'static str,
        /// `KEYS`.
        keys: Vec<String>,
        /// `ARGV`.
        args: Vec<String>,
    },
}

impl Command {
    /// The name that the server knows: `SET`, `GETDEL`, `EVALSHA`.
    pub fn name(&self) -> &str {
        match self {
            Command::Plain(words) => words.first().map_or("", String::as_str),
            Command::Script { .. } => "EVALSHA",
        }
    }
}

/// Whether a command is sent, given the answer of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// In any case.
    Always,
    /// Only where the command before answered this integer.
    PreviousWas(i64),
    /// Only where the command before answered something.
    PreviousWasSomething,
}

impl When {
    /// Whether the command is sent after this answer of the one before.
    pub fn holds(self, previous: Option<&RespValue>) -> bool {
        match self {
            When::Always => true,
            When::PreviousWas(wanted) => previous == Some(&RespValue::Int(wanted)),
            When::PreviousWasSomething => previous.is_some_and(|value| *value != RespValue::Nil),
        }
    }
}

/// What a second run of the same command does, when the first one had run after all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Nothing: the same answer, the same effect.
    Harmless,
    /// It answers otherwise than the first run did; the text says how.
    AnswersOtherwise(&'static str),
    /// It takes effect again; the text says how.
    TakesEffectAgain(&'static str),
}

/// A reply, independent of the client that read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RespValue {
    /// Nothing.
    Nil,
    /// An integer.
    Int(i64),
    /// A status (`OK`) or a string; bytes that are not UTF-8 are replaced.
    Text(String),
    /// A list, a set, or a map laid out flat.
    List(Vec<RespValue>),
}

impl Step {
    /// A command of plain words.
    pub(super) fn plain<const N: usize>(
        words: [&str; N],
        repeat: Repeat,
        read: fn(&RespValue) -> Answer,
    ) -> Step {
        Step {
            command: Command::Plain(words.iter().map(|word| (*word).to_owned()).collect()),
            when: When::Always,
            repeat,
            read,
        }
    }

    /// The same step, sent only then.
    pub(super) fn when(mut self, when: When) -> Step {
        self.when = when;
        self
    }
}

/// `OK`, or an integer above zero, is yes; nil and zero are no.
pub(super) fn done(value: &RespValue) -> Answer {
    match value {
        RespValue::Nil | RespValue::Int(0) => Answer::No,
        RespValue::Int(_) | RespValue::Text(_) | RespValue::List(_) => Answer::Yes,
    }
}

/// Nil is no; anything else is the value itself.
pub(super) fn value(value: &RespValue) -> Answer {
    match value {
        RespValue::Nil => Answer::No,
        RespValue::Int(number) => Answer::Value(number.to_string()),
        RespValue::Text(text) => Answer::Value(text.clone()),
        RespValue::List(list) => Answer::Value(format!("{} elements", list.len())),
    }
}
