//! A replica that has lost its master, and may not answer with what it has.

use super::configured::{Also, Recipe, Value};
use super::look::{Look, READ, Told, WRITE};

/// What the state is made of.
pub(super) const RECIPE: Recipe = Recipe {
    settings: &[("replica-serve-stale-data", Value::Is("no"))],
    also: Also::FollowNobody,
    looks: &[
        Look { ask: WRITE, told: Told::Error("READONLY") },
        Look { ask: READ, told: Told::Error("MASTERDOWN") },
    ],
};
