//! Stopped: the process is killed, its port refuses, and it starts again with its data.

use std::io;
use std::time::Duration;

use tokio::sync::oneshot;

use super::super::wire::bounded;
use super::super::{Server, ServerError};
use super::watch::{LOOK_EVERY, Watch};
use super::{Verdict, counted};
use crate::endpoint::Endpoint;

/// How long a refusal may take; on loopback it comes at once.
const REFUSED_WITHIN: Duration = Duration::from_secs(1);

/// A killed server whose port is watched.
#[derive(Debug)]
pub(super) struct Stopped {
    pid: u32,
    watch: Watch<Result<usize, String>>,
}

impl Stopped {
    pub(super) async fn enter(server: &mut Server) -> Result<Stopped, ServerError> {
        let (pid, endpoint) = (server.pid(), server.endpoint().clone());
        server.kill().await?;
        let first = refused(&endpoint).await;
        let watch = Watch::start(move |stopped| watch(endpoint, first, stopped));
        Ok(Stopped { pid, watch })
    }

    /// Looks a last time. The server is still down afterwards.
    pub(super) async fn leave(self, server: &Server) -> Verdict {
        let seen = self.watch.stop().await.ok_or("the task that watched the port broke")?;
        let refusals = seen? + 1;
        refused(server.endpoint()).await?;
        let how = if server.own().is_ok() { "was killed and waited for" } else { "was stopped by its hook" };
        Ok(format!(
            "process {} {how}, and {} on its port, one each {LOOK_EVERY:?}, {} all refused",
            self.pid,
            counted(refusals, "connect"),
            if refusals == 1 { "was" } else { "were" },
        ))
    }
}

/// Connects now and then; how often that was refused, or the first time that it was not.
async fn watch(
    endpoint: Endpoint,
    first: Result<(), String>,
    mut stopped: oneshot::Receiver<()>,
) -> Result<usize, String> {
    first?;
    let mut refusals = 1;
    loop {
        tokio::select! {
            _ = &mut stopped => return Ok(refusals),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        refused(&endpoint).await?;
        refusals += 1;
    }
}

async fn refused(endpoint: &Endpoint) -> Result<(), String> {
    match bounded(REFUSED_WITHIN, endpoint.knock()).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        // A server that ended in order takes its socket along.
        Err(error) if error.kind() == io::ErrorKind::NotFound && endpoint.addr().is_none() => Ok(()),
        Err(error) => Err(format!("a connect to the killed server's port was not refused: {error}")),
        Ok(_) => {
            Err("a connect to the killed server's port was accepted: something listens there".to_owned())
        }
    }
}
