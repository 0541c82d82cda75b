//! `requests`: user-facing requests that make several calls in order.

use std::collections::HashMap;

use super::uses::Draft;
use super::{Check, listed};
use crate::policy::yaml::{Node, Value};
use crate::policy::{Request, RequestCall, Then};
use crate::words::Span;

/// More calls in a row than any request makes, and few enough that a plan can hold them.
const MOST_TIMES: u32 = 1_000;

/// The uses by name, with their operations.
pub(super) struct Known<'a> {
    drafts: &'a [Draft],
    index: HashMap<&'a str, usize>,
}

impl<'a> Known<'a> {
    pub(super) fn new(drafts: &'a [Draft]) -> Known<'a> {
        let named = |(index, draft): (usize, &'a Draft)| Some((draft.name.as_ref()?.0.as_str(), index));
        Known { drafts, index: drafts.iter().enumerate().filter_map(named).collect() }
    }
}

impl Check {
    pub(super) fn request(&mut self, node: &Node, known: &Known<'_>) -> Option<Request> {
        let map = self.map(node, "a request")?;
        let name = self
            .required(&map, "a request", "name", "dataset-query")
            .and_then(|node| self.name(node, "the name of a request").map(|name| (name, node.at)));
        let what = name.as_ref().map_or("a request".to_owned(), |(name, _)| format!("the request `{name}`"));
        self.only(&map, &what, &["name", "calls", "budget", "rate", "threads"]);
        let calls = self.required(&map, &what, "calls", "[dataset-lock.acquire]").and_then(|node| {
            let list = self.list(node, "`calls`")?;
            if list.is_empty() {
                let help = "name its calls in order, each as `use.operation`".to_owned();
                self.wrong(node.at, "`calls` is empty", Some(help));
            }
            Some(list.iter().filter_map(|node| self.call(node, known)).collect())
        });
        let budget = map.get("budget").map(|node| self.budget(node)).unwrap_or_default();
        let rate = map
            .get("rate")
            .and_then(|node| self.number(node, "`rate`", "requests per second, above 0", |rate| rate > 0.0));
        let threads = map.get("threads").and_then(|node| self.small_count(node, "`threads`", u32::MAX));
        let (name, at) = name?;
        Some(Request { name, at, calls: calls?, budget, rate, threads })
    }

    fn call(&mut self, node: &Node, known: &Known<'_>) -> Option<RequestCall> {
        let (call, times, on_denied, on_raised) = match &node.value {
            Value::Text(_) => (Some(node), Some(1), Some(Then::Stop), Some(Then::Stop)),
            Value::Map(_) => {
                let map = self.map(node, "a call")?;
                self.only(&map, "a call", &["call", "times", "on_denied", "on_raised"]);
                let call = self.required(&map, "a call", "call", "dataset-lock.acquire");
                let times = match map.get("times") {
                    Some(node) => self.small_count(node, "`times`", MOST_TIMES),
                    None => Some(1),
                };
                let mut then = |name: &str| match map.get(name) {
                    Some(node) => self.word(node, &format!("`{name}`"), Then::ALL),
                    None => Some(Then::Stop),
                };
                let (on_denied, on_raised) = (then("on_denied"), then("on_raised"));
                (call, times, on_denied, on_raised)
            }
            other => {
                self.wrong_type(node.at, "a call", "`use.operation`, or a map with `call`", other);
                return None;
            }
        };
        let call = call?;
        let (use_index, operation_index) = self.called(call, known)?;
        Some(RequestCall {
            use_index,
            operation_index,
            times: times?,
            on_denied: on_denied?,
            on_raised: on_raised?,
            at: call.at,
        })
    }

    /// The use and the operation that `use.operation` names.
    fn called(&mut self, node: &Node, known: &Known<'_>) -> Option<(usize, usize)> {
        let Value::Text(text) = &node.value else {
            self.wrong_type(node.at, "`call`", "`use.operation`", &node.value);
            return None;
        };
        let (name, operation) = match text.split_once('.') {
            Some((name, operation)) => (name, Some(operation)),
            None => (text.as_str(), None),
        };
        let Some(index) = known.index.get(name).copied() else {
            let help =
                "a call names a use of this file and one of its operations: `use.operation`".to_owned();
            let names = known.drafts.iter().filter_map(|draft| Some(draft.name.as_ref()?.0.as_str()));
            self.unknown(node.at, format!("there is no use `{name}`"), name, names, Some(help));
            return None;
        };
        // What is wrong with the use itself is recorded where the use stands.
        let operations = known.drafts[index].operations.as_deref()?;
        let names = || operations.iter().map(String::as_str);
        let help = format!("its operations are {}", listed(names()));
        let Some(operation) = operation else {
            self.wrong(node.at, format!("the call `{name}` names no operation"), Some(help));
            return None;
        };
        let found = names().position(|known| known == operation);
        if found.is_none() {
            let message = format!("the use `{name}` has no operation `{operation}`");
            self.unknown(node.at, message, operation, names(), Some(help));
        }
        Some((index, found?))
    }

    /// Records each name that stands twice.
    pub(super) fn unique<'n>(&mut self, names: impl Iterator<Item = (&'n str, Span)>, what: &str) {
        let mut first: HashMap<&str, Span> = HashMap::new();
        for (name, at) in names {
            if let Some(before) = first.get(name) {
                let line = before.line;
                let help = format!("the first is on line {line}: rename one of them");
                self.wrong(at, format!("two {what} are named `{name}`"), Some(help));
            } else {
                first.insert(name, at);
            }
        }
    }
}
