//! Throwaway servers, a server that exists, the reaper that ends them whatever happens, and the states that they are put into.
//!
//! Nothing here knows of kinds, probes or what a policy file wants: a server is started, held in a state that is
//! proven from its beginning to its end, and ended.

mod attached;
mod barrier;
mod binary;
mod config;
mod error;
mod front;
mod identity;
mod limit;
mod monitor;
mod monitor_line;
mod port;
mod reaper;
mod server;
mod servers;
mod settings;
pub mod states;
mod throwaway;
mod wire;
mod workshop;

pub use attached::{Allow, Attached, LeftOver, Restored, Touch, journals, left_behind, restore};
pub use binary::{ServerBinary, Version};
pub use error::{ByHand, HookError, JournalError, ServerError, SettingError};
pub use front::Front;
pub use limit::open_file_limit;
pub use monitor::Monitor;
pub use monitor_line::{MonitorLine, Origin};
pub use reaper::{ROOT_PREFIX, Reaper};
pub use server::Server;
pub use servers::Servers;
pub use throwaway::Throwaway;
pub use workshop::Workshop;
