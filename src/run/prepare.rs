//! What must be there before the probes begin: keys, scripts, and connected clients.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::actor::Cast;
use super::{Run, RunError};
use crate::clients::{ProbeClient, Target};
use crate::kinds::{Command, ProbeId, Step};
use crate::policy::Client;

/// How many connections are opened at once: more only wait in the server's accept queue.
const OPENING_AT_ONCE: usize = 128;

/// How many commands go to the server in one pipeline.
const PIPELINE: usize = 500;

/// Puts the keys there that the probes need, and loads the scripts that they will send.
pub(super) async fn keys(addr: SocketAddr, casts: &[Cast]) -> Result<(), RunError> {
    let before: Vec<&Step> = casts.iter().flat_map(|cast| &cast.before).collect();
    let failed = |what, error: &redis::RedisError| RunError::Prepare {
        addr,
        what,
        reply: crate::clients::reply_of(error),
    };
    let client =
        redis::Client::open(format!("redis://{addr}")).map_err(|error| failed("a client", &error))?;
    let config = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(std::time::Duration::from_secs(10)))
        .set_response_timeout(Some(std::time::Duration::from_secs(10)));
    let mut connection = client
        .get_multiplexed_async_connection_with_config(&config)
        .await
        .map_err(|error| failed("a connection", &error))?;
    for chunk in before.chunks(PIPELINE) {
        let mut pipeline = redis::pipe();
        for step in chunk {
            if let Command::Plain(words) = &step.command {
                let mut command = redis::Cmd::new();
                for word in words {
                    command.arg(word);
                }
                pipeline.add_command(command).ignore();
            }
        }
        pipeline.query_async::<()>(&mut connection).await.map_err(|error| failed("keys", &error))?;
    }
    let mut loaded: Vec<&str> = Vec::new();
    for step in casts.iter().flat_map(Cast::scripts) {
        let Command::Script { source, .. } = &step.command else { continue };
        if loaded.contains(source) {
            continue;
        }
        loaded.push(source);
        redis::cmd("SCRIPT")
            .arg("LOAD")
            .arg(*source)
            .query_async::<()>(&mut connection)
            .await
            .map_err(|error| failed("a script", &error))?;
    }
    Ok(())
}

/// Connected clients, one for each entry, in order.
pub(super) async fn clients(
    run: &Arc<Run>,
    addr: SocketAddr,
    wanted: Vec<(Arc<Client>, ProbeId)>,
) -> Result<Vec<ProbeClient>, RunError> {
    let room = Arc::new(Semaphore::new(OPENING_AT_ONCE));
    let mut opening = JoinSet::new();
    let count = wanted.len();
    for (index, (client, id)) in wanted.into_iter().enumerate() {
        let (room, clock, seed) = (Arc::clone(&room), run.clock, run.client_seed(&id));
        opening.spawn(async move {
            let _room = room.acquire().await;
            (index, ProbeClient::warmed_up(client, Target { addr }, clock, seed).await)
        });
    }
    let mut clients: Vec<Option<ProbeClient>> = Vec::new();
    clients.resize_with(count, || None);
    while let Some(opened) = opening.join_next().await {
        let (index, client) = opened.map_err(|error| RunError::Internal(error.to_string()))?;
        clients[index] =
            Some(client.map_err(|reply| RunError::Prepare { addr, what: "a client's connection", reply })?);
    }
    Ok(clients.into_iter().flatten().collect())
}
