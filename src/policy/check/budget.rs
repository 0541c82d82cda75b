//! `budget`: the longest that something may take, state by state.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::operations::Names;
use super::{Check, listed};
use crate::policy::yaml::{Node, Value};
use crate::policy::{Budget, BudgetLine};
use crate::words::{Span, State};

/// The states that some value sets; the others are left to the layer below.
pub(super) type Layer = BTreeMap<State, BudgetLine>;

/// What a use's `budget` says: for all operations, and for some.
#[derive(Debug, Default)]
pub(super) struct UseBudget {
    all: Layer,
    one: HashMap<String, Layer>,
}

impl UseBudget {
    /// The budget of an operation: state by state the nearest line wins.
    pub(super) fn of(&self, operation: &str, file: &Layer) -> Budget {
        let mut lines = file.clone();
        lines.extend(&self.all);
        lines.extend(self.one.get(operation).into_iter().flatten());
        Budget(lines)
    }
}

impl Check {
    /// One duration for every outage state, or a map of states.
    pub(super) fn budget(&mut self, node: &Node) -> Layer {
        if !matches!(node.value, Value::Map(_)) {
            return self.every_outage(node);
        }
        let mut layer = Layer::new();
        for (key, value) in self.map(node, "`budget`").map_or(&[][..], |map| map.entries) {
            match State::from_name(&key.text) {
                Some(state) => self.line(&mut layer, state, value),
                None => self.unknown_state(&key.text, key.at),
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
            if let Some(state) = State::from_name(&key.text) {
                states = true;
                self.line(&mut budget.all, state, value);
            } else if names.has(&key.text) {
                operations = true;
                let layer = self.budget(value);
                budget.one.insert(key.text.clone(), layer);
            } else {
                let known = names.list().chain(State::ALL.map(State::name));
                let help = format!(
                    "a budget is a duration, or a map of states ({}) or of operations ({})",
                    listed(State::ALL.map(State::name)),
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
        limit.map(|limit| State::outages().map(|state| (state, line(limit))).collect()).unwrap_or_default()
    }

    fn line(&mut self, layer: &mut Layer, state: State, node: &Node) {
        if let Some(limit) = self.duration(node, &format!("the budget of `{state}`")) {
            layer.insert(state, BudgetLine { limit, at: node.at });
        }
    }

    pub(super) fn unknown_state(&mut self, word: &str, at: Span) {
        let known = State::ALL.map(State::name);
        let help = format!("the states are {}", listed(known));
        self.unknown(at, format!("there is no state `{word}`"), word, known, Some(help));
    }
}
