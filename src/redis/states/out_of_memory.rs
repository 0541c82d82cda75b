//! Out of memory: nothing may be stored, and nothing is evicted. What needs no memory answers.

use super::configured::{Also, Recipe, Value};
use super::look::{Look, READ, Told, WRITE};

/// What the state is made of.
pub(super) const RECIPE: Recipe = Recipe {
    settings: &[("maxmemory-policy", Value::Is("noeviction")), ("maxmemory", Value::Is("1"))],
    also: Also::Nothing,
    looks: &[Look { ask: WRITE, told: Told::Error("OOM") }, Look { ask: READ, told: Told::Answer }],
};
