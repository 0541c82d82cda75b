//! Values that hold for all operations of a use, or for each by its name.

use std::collections::{HashMap, HashSet};

use super::{Check, listed};
use crate::kinds::Operation;
use crate::policy::yaml::{Node, Value};
use crate::words::Span;

/// The operations that a use has, and those that its kind has beside them.
pub(super) struct Names<'a> {
    /// The operations of the use.
    pub(super) operations: &'a [Operation],
    known: HashSet<&'a str>,
    of_kind: HashSet<&'a str>,
    subject: String,
}

impl<'a> Names<'a> {
    pub(super) fn new(operations: &'a [Operation], all: &'a [Operation], subject: String) -> Names<'a> {
        Names {
            operations,
            known: operations.iter().map(Operation::name).collect(),
            of_kind: all.iter().map(Operation::name).collect(),
            subject,
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    pub(super) fn list(&self) -> impl Iterator<Item = &str> {
        self.operations.iter().map(Operation::name)
    }
}

/// A value for all operations, or one for each that has its own; with their places.
pub(super) struct PerOperation<T> {
    all: Option<(T, Span)>,
    one: HashMap<String, (T, Span)>,
}

impl<T> Default for PerOperation<T> {
    fn default() -> Self {
        PerOperation { all: None, one: HashMap::new() }
    }
}

impl<T: Clone> PerOperation<T> {
    /// What holds for an operation, and where it stands.
    pub(super) fn of(&self, operation: &str) -> Option<(T, Span)> {
        self.one.get(operation).or(self.all.as_ref()).cloned()
    }
}

impl Check {
    /// Reads one value for all operations, or a map by operation.
    pub(super) fn per_operation<T>(
        &mut self,
        node: &Node,
        names: &Names<'_>,
        mut read: impl FnMut(&mut Check, &Node) -> Option<T>,
    ) -> PerOperation<T> {
        let mut values = PerOperation::default();
        let Value::Map(entries) = &node.value else {
            values.all = read(self, node).map(|value| (value, node.at));
            return values;
        };
        for (key, value) in entries {
            if !names.has(&key.text) {
                self.unknown_operation(&key.text, key.at, names);
            }
            if let Some(read) = read(self, value) {
                values.one.insert(key.text.clone(), (read, value.at));
            }
        }
        values
    }

    /// An operation that the use does not have.
    pub(super) fn unknown_operation(&mut self, word: &str, at: Span, names: &Names<'_>) {
        let message = format!("{} has no operation `{word}`", names.subject);
        let help = if names.of_kind.contains(word) {
            format!("its kind has it: add `{word}` to its `operations`, or remove it here")
        } else {
            format!("its operations are {}", listed(names.list()))
        };
        self.unknown(at, message, word, names.list(), Some(help));
    }
}
