//! Throwaway servers, the reaper that ends them whatever happens, and the states that they are put into.
//!
//! Nothing here knows of kinds, probes or what a policy file wants: a server is started, held in a state that is
//! proven from its beginning to its end, and ended.

mod barrier;
mod binary;
mod config;
mod error;
mod identity;
mod limit;
mod monitor;
mod monitor_line;
mod port;
mod reaper;
pub mod states;
mod throwaway;
mod wire;
mod workshop;

pub use binary::{ServerBinary, Version};
pub use error::ServerError;
pub use limit::open_file_limit;
pub use monitor::Monitor;
pub use monitor_line::{MonitorLine, Origin};
pub use reaper::{ROOT_PREFIX, Reaper};
pub use throwaway::Server;
pub use workshop::Workshop;
