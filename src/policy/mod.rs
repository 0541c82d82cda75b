//! The policy file: read as written, then checked into what the rest uses.

mod check;
mod choice;
mod load;
mod model;
mod problem;
mod request;
mod yaml;

pub use choice::StateChoice;
pub use load::{find, load, parse};
pub use model::{
    Acceptance, Backend, Backoff, Budget, BudgetLine, Client, Handshake, Hooks, OnTimeout, Persistence,
    PolicyFile, Reconnect, Rules, Source, Use, UseOperation,
};
use problem::Lines;
pub use problem::{NotFound, Problem, Problems};
pub use request::{Request, RequestCall, Then};

/// The commented policy file that `audit init` writes.
pub const STARTER: &str = include_str!("starter.yaml");

#[cfg(test)]
mod tests;
