//! What was seen, before anybody judges it.

mod correctness;
mod cost;
mod ledger;
mod model;
mod replay;
mod scene;

pub use correctness::{Protocol, Replayed, ReplayedStep};
pub use cost::Cost;
pub use ledger::{Executed, Ledger};
pub use model::{
    Attempt, Cell, CellKey, Chain, ChainCall, ChainKey, ChainProbe, Observations, Probe, Proof, Recovery,
    ServerInfo,
};
pub use scene::{Found, Played, Scene, SceneKey, Snapshot, Timing};
