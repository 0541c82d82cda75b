//! The healthy control: every operation on a server that answers, one call at a time.

use std::sync::Arc;
use std::time::Duration;

use super::actor::{Cast, Outcome};
use super::collect::Collected;
use super::jitter::Jitter;
use super::server::Hand;
use super::{Run, RunError, prepare};
use crate::clients::ProbeClient;
use crate::observe::{Cell, Chain};
use crate::plan::{Batch, Target};
use crate::policy::Client;
use crate::redis::states;

/// Runs one healthy server.
pub(super) async fn run(run: &Arc<Run>, batch: &Batch, collected: &Collected) -> Result<(), RunError> {
    let mut server = run.servers.start(batch.persistence).await?;
    let target = &server.endpoint().clone();
    let casts: Vec<Cast> = batch.jobs.iter().map(|job| Cast::of(run, job, batch.bound)).collect();
    let mut hand = Hand::on(target).await?;
    prepare::keys(&mut hand, &casts).await?;
    prepare::canaries(&mut hand, &casts).await?;
    let ready = states::prepare(batch.state, &server).await?;
    let holding = states::enter(ready, &mut server, Duration::ZERO).await?;
    let mut cells = Vec::new();
    let mut chains = Vec::new();
    let mut clients: Vec<ProbeClient> = Vec::new();
    let mut settings: Vec<Arc<Client>> = Vec::new();
    for (job, cast) in batch.jobs.iter().zip(&casts) {
        // One at a time: the same clients serve one probe after the other, and the next operation where it wants the
        // same settings.
        let needed = cast.parts.first().map_or(0, super::actor::Part::clients);
        let wanted = &cast.clients[..needed];
        let same = settings.len() == wanted.len()
            && settings.iter().zip(wanted).all(|(old, (new, _))| **old == **new);
        if !same {
            clients = prepare::clients(run, target, wanted.to_vec()).await?;
            settings = wanted.iter().map(|(client, _)| Arc::clone(client)).collect();
        }
        let jitter = Jitter::start();
        let mut probes = Vec::new();
        let mut runs = Vec::new();
        for part in &cast.parts {
            match part.play(&mut clients, run.plan.give_up).await {
                Some(Outcome::Cell(probe)) => probes.push(probe),
                Some(Outcome::Chain(run)) => runs.push(run),
                Some(Outcome::Caller(_)) | None => {}
            }
        }
        let jitter_us = jitter.worst_us();
        match job.what {
            Target::Cell(key) => cells.push((key, probes, jitter_us)),
            Target::Chain(key) => chains.push((key, runs, jitter_us)),
            // Nothing is timed in a scenario, so those are played beside the outages.
            Target::Scene(_) => {}
        }
    }
    let left = holding.leave(&mut server).await;
    left.barrier?;
    let proof = left.proof;
    for (key, probes, jitter_us) in cells {
        collected.add_cell(Cell { key, probes, proof: proof.clone(), jitter_us, recovery: None });
    }
    for (key, probes, jitter_us) in chains {
        collected.add_chain(Chain { key, probes, proof: proof.clone(), jitter_us });
    }
    collected.note_left_behind(hand.clean(&run.name).await?);
    server.shutdown().await;
    Ok(())
}
