//! What was seen, before anybody judges it.

mod cost;
mod model;

pub use cost::Cost;
pub use model::{
    Attempt, Cell, CellKey, Chain, ChainCall, ChainKey, ChainProbe, Observations, Probe, Proof, ServerInfo,
};
