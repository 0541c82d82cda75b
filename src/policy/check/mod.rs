//! From the file as written to what the rest of the program uses.
//!
//! Every check goes on after a problem, so that one run of the audit shows all that is wrong. A function
//! that answers `None` has recorded why.

mod accepts;
mod budget;
mod client;
mod custom;
mod document;
mod kind_fields;
mod operations;
mod requests;
mod scalar;
mod server;
mod states;
mod uses;

use std::sync::Arc;

pub(super) use document::document;

use super::problem::{KEPT, Lines, Problem, Problems};
use super::yaml::{Key, Node, Value};
use super::{PolicyFile, Source};
use crate::text::printable;
use crate::words::Span;

/// What is being checked, and what was found wrong so far.
pub(super) struct Check {
    source: Arc<Source>,
    lines: Lines,
    problems: Vec<Problem>,
    left_out: usize,
}

impl Check {
    pub(super) fn new(source: Arc<Source>) -> Check {
        let lines = Lines::of(&source.text);
        Check { source, lines, problems: Vec::new(), left_out: 0 }
    }

    /// The file, or all that is wrong with it.
    pub(super) fn finish(self, file: PolicyFile) -> Result<PolicyFile, Problems> {
        if self.problems.is_empty() { Ok(file) } else { Err(self.into_problems()) }
    }

    pub(super) fn into_problems(self) -> Problems {
        Problems::in_source(self.source, self.problems, self.left_out)
    }

    pub(super) fn wrong(&mut self, at: Span, message: impl Into<String>, help: Option<String>) {
        self.record(at, message.into(), help, None);
    }

    /// A word that is none of those that are known, and the closest of them if one is close.
    fn unknown<'c>(
        &mut self,
        at: Span,
        message: String,
        word: &str,
        known: impl IntoIterator<Item = &'c str>,
        help: Option<String>,
    ) {
        // Beyond what is kept nobody reads the suggestion, and comparing words is what costs.
        let closest = if self.problems.len() < KEPT { closest(word, known) } else { None };
        self.record(at, message, help, closest);
    }

    fn record(&mut self, at: Span, message: String, help: Option<String>, did_you_mean: Option<String>) {
        if self.problems.len() >= KEPT {
            self.left_out += 1;
            return;
        }
        let place = self.source.place(self.lines.place(&self.source.text, at));
        // A message quotes the file, and may be printed as it is.
        let safe = |text: String| printable(&text);
        self.problems.push(Problem {
            place,
            message: safe(message),
            help: help.map(safe),
            did_you_mean: did_you_mean.map(safe),
        });
    }

    /// The entries of a map.
    fn map<'n>(&mut self, node: &'n Node, what: &str) -> Option<Map<'n>> {
        match &node.value {
            Value::Map(entries) => Some(Map { at: node.at, entries }),
            other => {
                self.wrong_type(node.at, what, "a map of fields", other);
                None
            }
        }
    }

    /// The elements of a list.
    fn list<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        match &node.value {
            Value::List(list) => Some(list),
            other => {
                self.wrong_type(node.at, what, "a list", other);
                None
            }
        }
    }

    fn wrong_type(&mut self, at: Span, what: &str, expected: &str, found: &Value) {
        self.wrong(at, format!("{what} is {}", described(found)), Some(format!("expected {expected}")));
    }

    /// Records each field that is not among those that are known.
    fn only(&mut self, map: &Map<'_>, what: &str, known: &[&str]) {
        self.only_or(map, what, known, &format!("its fields are {}", listed(known.iter().copied())));
    }

    /// [`Check::only`], with help of its own.
    fn only_or(&mut self, map: &Map<'_>, what: &str, known: &[&str], help: &str) {
        for (key, _) in map.entries {
            if !known.contains(&key.text.as_str()) {
                let message = format!("{what} has no field `{}`", key.text);
                self.unknown(key.at, message, &key.text, known.iter().copied(), Some(help.to_owned()));
            }
        }
    }

    /// A field that must be there. A misspelt one is told where it stands, and not as missing too.
    fn required<'n>(&mut self, map: &Map<'n>, what: &str, name: &str, example: &str) -> Option<&'n Node> {
        let node = map.get(name);
        if node.is_none() && !map.misspells(name) {
            let help = format!("add `{name}: {example}`");
            self.wrong(map.at, format!("{what} has no `{name}`"), Some(help));
        }
        node
    }
}

/// A map of the file.
#[derive(Debug, Clone, Copy)]
struct Map<'n> {
    at: Span,
    entries: &'n [(Key, Node)],
}

impl<'n> Map<'n> {
    fn get(&self, name: &str) -> Option<&'n Node> {
        self.entry(name).map(|(_, node)| node)
    }

    fn entry(&self, name: &str) -> Option<&'n (Key, Node)> {
        self.entries.iter().find(|(key, _)| key.text == name)
    }

    /// Whether a field that is not there stands here under another spelling. No two fields of one map are
    /// as close to each other as that.
    fn misspells(&self, name: &str) -> bool {
        self.entries.iter().any(|(key, _)| closest(&key.text, [name]).is_some())
    }
}

/// The closest of some words, where one is close enough to have been meant.
fn closest<'c>(word: &str, known: impl IntoIterator<Item = &'c str>) -> Option<String> {
    if word.len() > 60 {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let (word, allowed) = (plain(word), (word.chars().count() / 3).max(1));
    known
        .into_iter()
        .take(1_000)
        .filter(|known| known.len() <= 80)
        .map(|known| (strsim::osa_distance(&word, &plain(known)), known))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known.to_owned())
}

/// "`a`, `b` and `c`", and no more than twenty of them.
fn listed<'c>(words: impl IntoIterator<Item = &'c str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [some @ .., last] if words.len() <= 20 => format!("{} and {last}", some.join(", ")),
        many => format!("{} and {} more", many[..20].join(", "), many.len() - 20),
    }
}

/// What a value is, for "expected this, found that".
fn described(value: &Value) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Int(value) => format!("the number {value}"),
        Value::Float(value) => format!("the number {value}"),
        Value::Text(text) => format!("the text `{}`", text.chars().take(40).collect::<String>()),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
    }
}
