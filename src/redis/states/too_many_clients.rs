//! No room for another connection. Live connections would go on, so they are closed.

use super::configured::{Also, Recipe, Value};
use super::look::{Look, Told};

/// What the state is made of.
pub(super) const RECIPE: Recipe = Recipe {
    settings: &[("maxclients", Value::ThoseThatStay)],
    also: Also::KillClients,
    looks: &[Look { ask: &[], told: Told::Error("ERR max number of clients reached") }],
};
