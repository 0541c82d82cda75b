//! Who answers at an address: the process, and which life of it.

use std::io;
use std::time::Duration;

use super::wire::{Wire, WireReply, bounded};
use crate::endpoint::Endpoint;

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

impl Identity {
    /// Reads it from what INFO answered.
    pub(super) fn read(info: &str) -> io::Result<Identity> {
        let number = |name: &str| required(info, name)?.parse().map_err(io::Error::other);
        let pid = required(info, "process_id")?.parse().map_err(io::Error::other)?;
        Ok(Identity { pid, run_id: required(info, "run_id")?.to_owned(), max_clients: number("maxclients")? })
    }
}

/// A field of what INFO answered.
pub(super) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

fn required<'a>(info: &'a str, name: &str) -> io::Result<&'a str> {
    field(info, name).ok_or_else(|| io::Error::other(format!("INFO has no {name}")))
}

/// What INFO answers; a server that is still loading its data is an error.
pub(super) async fn info(wire: &mut Wire, within: Duration) -> io::Result<String> {
    info_if(wire, within, |pong| pong.is("PONG")).await
}

/// Who answers, whatever it says to a PING.
pub(super) async fn identity_of(wire: &mut Wire, within: Duration) -> io::Result<Identity> {
    Identity::read(&info_if(wire, within, |_| true).await?)
}

async fn info_if(
    wire: &mut Wire,
    within: Duration,
    ready: impl Fn(&WireReply) -> bool,
) -> io::Result<String> {
    let pong = wire.ask(&["PING"], within).await?;
    if !ready(&pong) {
        return Err(io::Error::other(format!("PING was answered by {pong:?}")));
    }
    match wire.ask(&["INFO"], within).await? {
        WireReply::Error(error) => Err(io::Error::other(format!("INFO was answered by {error}"))),
        reply => Ok(reply.text()),
    }
}

/// Asks on a fresh connection; of a server that may still be loading its data.
pub(super) async fn identify_loading(endpoint: &Endpoint, within: Duration) -> io::Result<Identity> {
    let loading = |reply: &WireReply| matches!(reply, WireReply::Error(text) if text.starts_with("LOADING"));
    bounded(within, async {
        let mut wire = Wire::connect(endpoint, within).await?;
        Identity::read(&info_if(&mut wire, within, |reply| reply.is("PONG") || loading(reply)).await?)
    })
    .await
}

/// Asks on a fresh connection; a server that is still loading its data is an error.
pub(super) async fn identify(endpoint: &Endpoint, within: Duration) -> io::Result<Identity> {
    bounded(within, async {
        let mut wire = Wire::connect(endpoint, within).await?;
        Identity::read(&info(&mut wire, within).await?)
    })
    .await
}
