//! `budget`: the longest that something may take, state by state.

use std::collections::HashMap;
use std::time::Duration;

use super::operations::Names;
use super::{Check, listed};
use crate::policy::yaml::{Node, Value};
use crate::policy::{Budget, BudgetLine};
use crate::words::{Span, State};

/// What some value sets; the rest is left to the layer below.
pub(super) type Layer = Budget;

/// The word that stands beside the states for the way back.
const RECOVERY: &str = "recovery";

/// What a budget may name.
fn words<'a>() -> impl Iterator<Item = &'a str> + Clone {
    State::names().map(|name| name as &str).chain([RECOVERY])
}

/// What a use's `budget` says: for all operations, and for some.
#[derive(Debug, Default)]
pub(super) struct UseBudget {
    all: Layer,
    one: HashMap<String, Layer>,
}

impl UseBudget {
    /// The budget of an operation: state by state the nearest line wins.
    pub(super) fn of(&self, operation: &str, file: &Layer) -> Budget {
        let mut budget = file.clone();
        for layer in [Some(&self.all), self.one.get(operation)].into_iter().flatten() {
            budget.states.extend(&layer.states);
            budget.recovery = layer.recovery.or(budget.recovery);
        }
        budget
    }
}

impl Check {
    /// One duration for every outage state, or a map of states.
    pub(super) fn budget(&mut self, node: &Node) -> Layer {
        if !matches!(node.value, Value::Map(_)) {
            return self.every_outage(node);
        }
        let mut layer = Layer::default();
        for (key, value) in self.map(node, "`budget`").map_or(&[][..], |map| map.entries) {
            if !self.line(&mut layer, &key.text, value) {
                let help = format!("a budget names the states and the way back: {}", listed(words()));
                self.unknown(
                    key.at,
                    format!("there is no state `{}`", key.text),
                    &key.text,
                    words(),
                    Some(help),
                );
            }
        }
        layer
    }

    /// The same, or a map of operations.
    pub(super) fn use_budget(&mut self, node: &Node, names: &Names<'_>) -> UseBudget {
        let mut budget = UseBudget::default();
        if !matches!(node.value, Value::Map(_)) {
            budget.all = self.every_outage(node);
            return budget;
        }
        let Some(map) = self.map(node, "`budget`") else { return budget };
        let (mut states, mut operations) = (false, false);
        for (key, value) in map.entries {
            if self.line(&mut budget.all, &key.text, value) {
                states = true;
            } else if names.has(&key.text) {
                operations = true;
                let layer = self.budget(value);
                budget.one.insert(key.text.clone(), layer);
            } else {
                let known = names.list().chain(words());
                let help = format!(
                    "a budget is a duration, or a map of states ({}) or of operations ({})",
                    listed(words()),
                    listed(names.list()),
                );
                let message = format!("`{}` is neither a state nor an operation of this use", key.text);
                self.unknown(key.at, message, &key.text, known, Some(help));
            }
        }
        if states && operations {
            let help = "name the operations, and the states under each of them".to_owned();
            self.wrong(map.at, "`budget` names states beside operations", Some(help));
        }
        budget
    }

    fn every_outage(&mut self, node: &Node) -> Layer {
        let limit = self.duration(node, "`budget`");
        let line = |limit: Duration| BudgetLine { limit, at: node.at };
        let states = limit
            .map(|limit| State::outages().map(|state| (state, line(limit))).collect())
            .unwrap_or_default();
        Layer { states, recovery: None }
    }

    /// Sets a state's line, or the one of the way back; false where the word is neither.
    fn line(&mut self, layer: &mut Layer, word: &str, node: &Node) -> bool {
        let state = State::from_name(word);
        if state.is_none() && word != RECOVERY {
            return false;
        }
        if let Some(limit) = self.duration(node, &format!("the budget of `{word}`")) {
            let line = BudgetLine { limit, at: node.at };
            match state {
                Some(state) => {
                    layer.states.insert(state, line);
                }
                None => layer.recovery = Some(line),
            }
        }
        true
    }

    pub(super) fn unknown_state(&mut self, word: &str, at: Span) {
        let known = State::names();
        let help = format!("the states are {}", listed(known.clone()));
        self.unknown(at, format!("there is no state `{word}`"), word, known, Some(help));
    }
}
