//! A state as a policy file names it: its parameters, and whom it befalls.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::words::{Parameter, Span, State};

/// A state that a policy file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChoice {
    /// Which.
    pub state: State,
    /// The parameters that the file sets.
    pub parameters: BTreeMap<&'static str, Parameter>,
    /// The use whose keys alone are in the state, as an index into the file's uses; none where all are.
    pub scope: Option<usize>,
    /// Where the file names it.
    pub at: Span,
}

impl StateChoice {
    /// A parameter's value: what the file sets, else its default; none where the state has no such parameter.
    pub fn parameter(&self, name: &str) -> Option<Parameter> {
        let known = self.state.facts().takes.iter().find(|known| known.name == name)?;
        Some(self.parameters.get(name).copied().unwrap_or(known.default))
    }

    /// A parameter that is a duration; zero where the state has no such parameter.
    pub fn duration(&self, name: &str) -> Duration {
        match self.parameter(name) {
            Some(Parameter::Duration(duration)) => duration,
            _ => Duration::ZERO,
        }
    }

    /// A parameter that is a count; none where the state has no such parameter.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.parameter(name) {
            Some(Parameter::Count(count)) => Some(count),
            _ => None,
        }
    }
}
