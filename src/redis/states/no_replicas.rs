//! A master that may write only while replicas follow it, and has none.

use super::configured::{Also, Recipe, Value};
use super::look::{Look, READ, Told, WRITE};

/// What the state is made of.
pub(super) const RECIPE: Recipe = Recipe {
    settings: &[("min-replicas-max-lag", Value::Is("10")), ("min-replicas-to-write", Value::Is("1"))],
    also: Also::Nothing,
    looks: &[Look { ask: WRITE, told: Told::Error("NOREPLICAS") }, Look { ask: READ, told: Told::Answer }],
};
