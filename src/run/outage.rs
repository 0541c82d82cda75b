//! One server in trouble: everything is prepared while it is healthy, then all probes begin at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::actor::{Cast, Outcome};
use super::collect::Collected;
use super::jitter::Jitter;
use super::{Event, Run, RunError, prepare};
use crate::observe::{Cell, CellKey, Chain, ChainKey, ChainProbe, Probe};
use crate::plan::Batch;
use crate::redis::states;

/// What a state is allowed beyond the longest call that arithmetic allows, for a machine that is slow to run the
/// probes. The state ends as soon as its last probe has, so this costs nothing.
const MARGIN: Duration = Duration::from_secs(5);

/// How many probes begin in the same millisecond: their timeouts run out together as well, and each waits for those
/// before it to be dealt with.
const AT_ONCE: usize = 32;

/// Runs one server in one state.
pub(super) async fn run(run: &Arc<Run>, batch: &Batch, collected: &Collected) -> Result<(), RunError> {
    // The semaphore is never closed.
    let preparing = run.preparing.acquire().await;
    let mut server = run.workshop.start(batch.persistence).await?;
    let addr = server.addr();
    let casts: Vec<Cast> = batch.jobs.iter().map(|job| Cast::of(run, job)).collect();
    prepare::keys(addr, &casts).await?;
    let wanted = casts.iter().flat_map(|cast| cast.clients.iter().cloned()).collect();
    let mut clients = prepare::clients(run, addr, wanted).await?.into_iter();

    let mut ready = Vec::new();
    for part in casts.into_iter().flat_map(|cast| cast.parts) {
        let own: Vec<_> = clients.by_ref().take(part.clients()).collect();
        ready.push((part, own));
    }
    drop(preparing);
    let holding = states::enter(batch.state, &mut server, batch.bound + MARGIN).await?;
    (run.events)(Event::StateBegins(batch.state));
    let jitter = Jitter::start();
    let mut playing = JoinSet::new();
    let give_up = run.plan.give_up;
    for (index, (part, mut own)) in ready.into_iter().enumerate() {
        if index % AT_ONCE == AT_ONCE - 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The clients come back with the outcome: a connection that closed now would take back what was to run late.
        playing.spawn(async move {
            let outcome = part.play(&mut own, give_up).await;
            own.iter_mut().for_each(crate::clients::ProbeClient::rest);
            (outcome, own)
        });
    }
    let mut held = Vec::new();
    let mut seen = Seen::default();
    while let Some(ended) = playing.join_next().await {
        let (outcome, own) = ended.map_err(|error| RunError::Internal(error.to_string()))?;
        held.push(own);
        seen.add(outcome);
    }
    let jitter_us = jitter.worst_us();
    let left = holding.leave(&mut server).await;
    (run.events)(Event::StateEnded(batch.state));
    // A server that does not come back has failed us, whatever was seen before.
    left.barrier?;
    drop(held);
    for (key, probes) in seen.cells {
        collected.add_cell(Cell { key, probes, proof: left.proof.clone(), jitter_us });
    }
    for (key, probes) in seen.chains {
        collected.add_chain(Chain { key, probes, proof: left.proof.clone(), jitter_us });
    }
    server.shutdown().await;
    Ok(())
}

#[derive(Default)]
struct Seen {
    cells: BTreeMap<CellKey, Vec<Probe>>,
    chains: BTreeMap<ChainKey, Vec<ChainProbe>>,
}

impl Seen {
    fn add(&mut self, outcome: Option<Outcome>) {
        match outcome {
            Some(Outcome::Cell(key, probe)) => self.cells.entry(key).or_default().push(probe),
            Some(Outcome::Chain(key, probe)) => self.chains.entry(key).or_default().push(probe),
            None => {}
        }
    }
}
