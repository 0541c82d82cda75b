//! What must be there before the probes begin: keys, scripts, and connected clients.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::actor::Cast;
use super::server::Hand;
use super::{Run, RunError};
use crate::clients::ProbeClient;
use crate::endpoint::Endpoint;
use crate::kinds::{Command, ProbeId};
use crate::policy::Client;

/// How many connections are opened at once: more only wait in the server's accept queue.
const OPENING_AT_ONCE: usize = 128;

/// Puts the keys there that the probes need, and loads the scripts that they will send.
pub(super) async fn keys(hand: &mut Hand, casts: &[Cast]) -> Result<(), RunError> {
    hand.prepare(casts.iter().flat_map(|cast| &cast.before)).await?;
    let mut sources: Vec<&str> = Vec::new();
    for step in casts.iter().flat_map(Cast::steps) {
        if let Command::Script { source, .. } = &step.command
            && !sources.contains(source)
        {
            sources.push(source);
        }
    }
    hand.send("a script", sources.into_iter().map(|source| vec!["SCRIPT", "LOAD", source])).await
}

/// Puts a key there for each scenario that nobody touches: where it is gone, the server lost it.
pub(super) async fn canaries(hand: &mut Hand, casts: &[Cast]) -> Result<(), RunError> {
    let canaries = casts.iter().flat_map(|cast| &cast.scenes).map(|scene| scene.canary.as_str());
    hand.send("keys", canaries.map(|canary| vec!["SET", canary, "1"])).await
}

/// Clients that will connect with their first call, one for each entry, in order.
pub(super) fn cold_clients(
    run: &Arc<Run>,
    target: &Endpoint,
    wanted: Vec<(Arc<Client>, ProbeId)>,
) -> Vec<ProbeClient> {
    let cold = |(client, id)| ProbeClient::cold(client, target.clone(), run.clock, run.client_seed(&id));
    wanted.into_iter().map(cold).collect()
}

/// Connected clients, one for each entry, in order.
pub(super) async fn clients(
    run: &Arc<Run>,
    target: &Endpoint,
    wanted: Vec<(Arc<Client>, ProbeId)>,
) -> Result<Vec<ProbeClient>, RunError> {
    let room = Arc::new(Semaphore::new(OPENING_AT_ONCE));
    let mut opening = JoinSet::new();
    let count = wanted.len();
    for (index, (client, id)) in wanted.into_iter().enumerate() {
        let (room, target) = (Arc::clone(&room), target.clone());
        let (clock, seed) = (run.clock, run.client_seed(&id));
        opening.spawn(async move {
            let _room = room.acquire().await;
            (index, ProbeClient::warmed_up(client, target, clock, seed).await)
        });
    }
    let mut clients: Vec<Option<ProbeClient>> = Vec::new();
    clients.resize_with(count, || None);
    while let Some(opened) = opening.join_next().await {
        let (index, client) = opened.map_err(|error| RunError::Internal(error.to_string()))?;
        let at = || target.clone();
        clients[index] = Some(client.map_err(|reply| RunError::Prepare {
            at: at(),
            what: "a client's connection",
            reply,
        })?);
    }
    Ok(clients.into_iter().flatten().collect())
}
