//! The policy file: read as written, then checked into what the rest uses.

mod model;
mod yaml;

pub use model::{
    Acceptance, Backend, Backoff, Budget, BudgetLine, Client, Handshake, OnTimeout, Persistence, PolicyFile,
    Reconnect, Request, RequestCall, Rules, Source, Then, Use, UseOperation,
};
