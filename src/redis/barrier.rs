//! The barrier after a state: a fresh connection whose PING is answered.
//!
//! Whatever is read or cleaned up before it can be overtaken by a command that was still waiting.

use std::io;
use std::time::{Duration, Instant};

use super::ServerError;
use super::wire::{STEP_WITHIN, Wire, bounded};
use crate::endpoint::Endpoint;

/// Opens a fresh connection and waits until its PING is answered.
pub(super) async fn barrier(endpoint: &Endpoint, within: Duration) -> Result<(), ServerError> {
    let started = Instant::now();
    loop {
        let left = within.saturating_sub(started.elapsed());
        let why = match ping(endpoint, left).await {
            Ok(()) => return Ok(()),
            Err(error) => error.to_string(),
        };
        if started.elapsed() + PAUSE >= within {
            return Err(ServerError::Barrier { at: endpoint.clone(), why });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Between two tries: a server that loads its data, or just began to listen.
const PAUSE: Duration = Duration::from_millis(2);

/// How long the barrier waits for a server that nothing holds back any more.
pub(super) const BARRIER_WITHIN: Duration = STEP_WITHIN.saturating_mul(2);

/// One PING on a fresh connection.
pub(super) async fn ping(endpoint: &Endpoint, within: Duration) -> io::Result<()> {
    bounded(within, async {
        let reply = Wire::connect(endpoint, within).await?.ask(&["PING"], within).await?;
        match reply.is("PONG") {
            true => Ok(()),
            false => Err(io::Error::other(format!("PING was answered by {reply:?}"))),
        }
    })
    .await
}
