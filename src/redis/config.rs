//! The configuration of a throwaway server: only what every supported version knows.

use std::net::SocketAddr;

use super::limit::open_file_limit;
use crate::policy::Persistence;

/// Files that a server keeps for itself, beside its clients' connections.
const OWN_FILES: u64 = 64;

/// A run opens fewer connections than this. The server keeps a place for each, and each place is memory.
const MOST_CLIENTS: u64 = 6_500;

/// The text of `redis.conf`. Paths are relative to the server's own directory, in which it is started.
pub(super) fn config(addr: SocketAddr, persistence: Persistence) -> String {
    let (save, append_only) = match persistence {
        // `appendfsync no` loses nothing when only the process dies: each write has reached the kernel before
        // its answer is sent.
        Persistence::Aof => ("\"\"", "yes"),
        Persistence::Rdb => ("1 1", "no"),
        Persistence::None => ("\"\"", "no"),
    };
    let max_clients = open_file_limit().saturating_sub(OWN_FILES).clamp(1, MOST_CLIENTS);
    // The log goes to standard output, where what is wrong with the configuration itself is told as well.
    format!(
        "bind {host}\n\
         port {port}\n\
         protected-mode yes\n\
         tcp-backlog 4096\n\
         timeout 0\n\
         maxclients {max_clients}\n\
         daemonize no\n\
         dir .\n\
         logfile \"\"\n\
         save {save}\n\
         appendonly {append_only}\n\
         appendfsync no\n\
         auto-aof-rewrite-percentage 0\n",
        host = addr.ip(),
        port = addr.port(),
    )
}
