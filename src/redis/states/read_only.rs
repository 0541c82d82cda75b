//! Read-only: a replica whose master is gone, and which still answers reads.

use super::configured::{Also, Recipe, Value};
use super::look::{Look, READ, Told, WRITE};

/// What the state is made of.
pub(super) const RECIPE: Recipe = Recipe {
    settings: &[("replica-read-only", Value::Is("yes")), ("replica-serve-stale-data", Value::Is("yes"))],
    also: Also::FollowNobody,
    looks: &[Look { ask: WRITE, told: Told::Error("READONLY") }, Look { ask: READ, told: Told::Answer }],
};
