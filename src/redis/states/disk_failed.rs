//! A server that could not save its snapshot, and stops taking writes.

use super::configured::{Also, Recipe, Value};
use super::look::{Look, READ, Told, WRITE};

/// What the state is made of.
pub(super) const RECIPE: Recipe = Recipe {
    settings: &[("save", Value::Is("3600 1")), ("stop-writes-on-bgsave-error", Value::Is("yes"))],
    also: Also::FailToSave,
    looks: &[Look { ask: WRITE, told: Told::Error("MISCONF") }, Look { ask: READ, told: Told::Answer }],
};
