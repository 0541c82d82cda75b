//! Who answers at an address: the process, and which life of it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::wire::{Wire, WireReply, bounded};

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// Its process.
    pub pid: u32,
    /// A random name that it gave itself when it started.
    pub run_id: String,
    /// How many connections it accepts.
    pub max_clients: usize,
}

/// Asks on a fresh connection; a server that is still loading its data is an error.
pub(super) async fn identify(addr: SocketAddr, within: Duration) -> io::Result<Identity> {
    ask(addr, within, |reply| reply.is("PONG")).await
}

/// The same of a server that may still be loading its data.
pub(super) async fn identify_loading(addr: SocketAddr, within: Duration) -> io::Result<Identity> {
    let loading = |reply: &WireReply| matches!(reply, WireReply::Error(text) if text.starts_with("LOADING"));
    ask(addr, within, |reply| reply.is("PONG") || loading(reply)).await
}

async fn ask(addr: SocketAddr, within: Duration, ready: impl Fn(&WireReply) -> bool) -> io::Result<Identity> {
    bounded(within, async {
        let mut wire = Wire::connect(addr, within).await?;
        let pong = wire.ask(&["PING"], within).await?;
        if !ready(&pong) {
            return Err(io::Error::other(format!("PING was answered by {pong:?}")));
        }
        let info = wire.ask(&["INFO", "server"], within).await?.text();
        let field = |name: &str| {
            let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.ok_or_else(|| io::Error::other(format!("INFO server has no {name}")))
        };
        let pid = field("process_id")?.parse().map_err(io::Error::other)?;
        let run_id = field("run_id")?.to_owned();
        let limit = wire.ask(&["CONFIG", "GET", "maxclients"], within).await?;
        let max_clients = match &limit {
            WireReply::List(pair) => pair.get(1).and_then(|value| value.text().parse().ok()),
            _ => None,
        };
        let max_clients = max_clients
            .ok_or_else(|| io::Error::other(format!("CONFIG GET maxclients was answered by {limit:?}")))?;
        Ok(Identity { pid, run_id, max_clients })
    })
    .await
}
