//! `commands`: the operations of a use of the kind `custom`.

use std::sync::Arc;

use super::{Check, Map};
use crate::kinds::{CustomOperation, KeyTemplate, Kind, OkWhen, Operation};
use crate::policy::yaml::{Key, Node, Value};
use crate::words::State;

impl Check {
    /// The operations that a custom use spells out; none for another kind.
    pub(super) fn commands(&mut self, map: &Map<'_>, what: &str, kind: Kind) -> Vec<Operation> {
        if kind != Kind::Custom {
            return Vec::new();
        }
        let example = "{look-up: {run: [[GET, \"x:${id}\"]], writes: false}}";
        let Some(node) = self.required(map, what, "commands", example) else { return Vec::new() };
        let Some(commands) = self.map(node, "`commands`") else { return Vec::new() };
        if commands.entries.is_empty() {
            self.wrong(node.at, "`commands` is empty", Some(format!("such as `commands: {example}`")));
        }
        let read = |(key, node): &(Key, Node)| self.command(key, node);
        commands.entries.iter().filter_map(read).map(|custom| Operation::Custom(Arc::new(custom))).collect()
    }

    fn command(&mut self, key: &Key, node: &Node) -> Option<CustomOperation> {
        let what = format!("the operation `{}`", key.text);
        let named = self.name_text(&key.text, key.at, &what);
        if State::from_name(&key.text).is_some() {
            let help = "a budget could not tell the two apart: name it otherwise".to_owned();
            self.wrong(key.at, format!("`{}` is the name of a state", key.text), Some(help));
        }
        let map = self.map(node, &what)?;
        self.only(&map, &what, &["run", "writes", "idempotent", "ok_when"]);
        let run = self.required(&map, &what, "run", "[[GET, \"x:${id}\"]]").and_then(|node| self.run(node));
        let flag = |check: &mut Check, name: &str, default: bool| match map.get(name) {
            Some(node) => check.flag(node, &format!("`{name}`")),
            None => Some(default),
        };
        let (writes, idempotent) = (flag(self, "writes", true), flag(self, "idempotent", false));
        let ok_when = match map.get("ok_when") {
            Some(node) => self.word(node, "`ok_when`", OkWhen::ALL),
            None => Some(OkWhen::Any),
        };
        // A broken operation keeps its place, so that what refers to it is not called unknown.
        named.then(|| CustomOperation {
            name: key.text.clone(),
            run: run.unwrap_or_default(),
            writes: writes.unwrap_or(true),
            idempotent: idempotent.unwrap_or(false),
            ok_when: ok_when.unwrap_or(OkWhen::Any),
        })
    }

    fn run(&mut self, node: &Node) -> Option<Vec<Vec<KeyTemplate>>> {
        let list = self.list(node, "`run`")?;
        if list.is_empty() {
            let help = "expected a list of commands, each a list of words: `[[GET, \"x:${id}\"]]`".to_owned();
            self.wrong(node.at, "`run` is empty", Some(help));
        }
        Some(list.iter().filter_map(|node| self.words(node)).collect())
    }

    fn words(&mut self, node: &Node) -> Option<Vec<KeyTemplate>> {
        let list = self.list(node, "a command of `run`")?;
        let words: Vec<KeyTemplate> = list.iter().filter_map(|node| self.word_of_command(node)).collect();
        match words.first() {
            None if list.is_empty() => {
                let help = "write its name and its arguments: `[GET, \"x:${id}\"]`".to_owned();
                self.wrong(node.at, "a command of `run` is empty", Some(help));
            }
            Some(name) if !name.is_constant() || name.as_str().contains(char::is_whitespace) => {
                let at = list.first().map_or(node.at, |node| node.at);
                let help = "each argument is a word of its own: `[GET, \"x:${id}\"]`".to_owned();
                self.wrong(at, format!("`{}` is no command's name", name.as_str()), Some(help));
            }
            _ => {}
        }
        (words.len() == list.len()).then_some(words)
    }

    fn word_of_command(&mut self, node: &Node) -> Option<KeyTemplate> {
        let what = "a word of a command";
        match &node.value {
            Value::Text(text) => self.key_text(text, node.at, what),
            Value::Int(number) => self.key_text(&number.to_string(), node.at, what),
            other => {
                self.wrong_type(
                    node.at,
                    what,
                    "a text or a whole number (put another number between quotes)",
                    other,
                );
                None
            }
        }
    }
}
