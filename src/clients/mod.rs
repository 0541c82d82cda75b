//! Who talks to Redis: the built-in probe, made of redis-rs.
//!
//! A client knows commands and timeouts. It knows nothing of states, budgets or policies beyond its own settings.

mod backoff;
mod connection;
mod door;
mod link;
mod probe;

pub use probe::{Clock, ProbeClient};

pub(crate) use backoff::{longest_wait, shortest_wait};
pub(crate) use connection::{multiplexed, reply_of};
