//! The policy file: read as written, then checked into what the rest uses.

mod check;
mod load;
mod model;
mod problem;
mod yaml;

pub use load::{find, load, parse};
pub use model::{
    Acceptance, Backend, Backoff, Budget, BudgetLine, Client, Handshake, Hooks, OnTimeout, Persistence,
    PolicyFile, Reconnect, Request, RequestCall, Rules, Source, StateChoice, Then, Use, UseOperation,
};
use problem::Lines;
pub use problem::{NotFound, Problem, Problems};

/// The commented policy file that `audit init` writes.
pub const STARTER: &str = include_str!("starter.yaml");

#[cfg(test)]
mod tests;
