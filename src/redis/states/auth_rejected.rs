//! A password that no client knows. Live connections would go on, so they are closed.

use super::configured::{Also, Recipe, Value};
use super::look::{Look, READ, Told};

/// What the state is made of.
pub(super) const RECIPE: Recipe = Recipe {
    settings: &[("requirepass", Value::Secret)],
    also: Also::KillClients,
    looks: &[
        Look { ask: READ, told: Told::Error("NOAUTH") },
        Look { ask: &["AUTH", "what it was before"], told: Told::Error("WRONGPASS") },
    ],
};
