//! Who makes the calls: an actor has its identity, its commands and its clients, and plays its part once.

use std::sync::Arc;
use std::time::Duration;

use super::Run;
use super::chain::ChainActor;
use crate::clients::ProbeClient;
use crate::kinds::{ProbeId, Step};
use crate::observe::{CellKey, ChainKey, ChainProbe, Probe};
use crate::plan::{Job, Target};
use crate::policy::Client;

/// One probe of an operation, or one run of a request, before it has its connections.
pub(super) enum Part {
    /// An operation.
    Cell(CellKey, ProbeId, Vec<Step>),
    /// A request.
    Chain(ChainKey, ChainActor),
}

/// What a part came to.
pub(super) enum Outcome {
    /// Of an operation.
    Cell(CellKey, Probe),
    /// Of a request.
    Chain(ChainKey, ChainProbe),
}

/// The parts of a job, with what has to be prepared for them and the clients that they need, in order.
pub(super) struct Cast {
    pub(super) parts: Vec<Part>,
    pub(super) before: Vec<Step>,
    pub(super) clients: Vec<(Arc<Client>, ProbeId)>,
}

impl Cast {
    /// Casts the job: an identity for each probe, its commands, its preparation.
    pub(super) fn of(run: &Run, job: &Job) -> Cast {
        let mut cast = Cast { parts: Vec::new(), before: Vec::new(), clients: Vec::new() };
        match job.what {
            Target::Cell(key) => {
                let used = &run.plan.files[key.file].uses[key.use_index];
                let operation = &used.operations[key.operation_index].operation;
                let client = Arc::new(used.client.clone());
                for _ in 0..job.samples {
                    let id = run.probe_id();
                    cast.before.extend(operation.prepare(&used.call(&id)));
                    let steps = operation.steps(&used.call(&id));
                    cast.clients.push((Arc::clone(&client), id.clone()));
                    cast.parts.push(Part::Cell(key, id, steps));
                }
            }
            Target::Chain(key) => {
                for _ in 0..job.samples {
                    let actor = ChainActor::cast(run, key, &mut cast.before, &mut cast.clients);
                    cast.parts.push(Part::Chain(key, actor));
                }
            }
        }
        cast
    }

    /// The steps that send scripts.
    pub(super) fn scripts(&self) -> impl Iterator<Item = &Step> {
        self.parts
            .iter()
            .flat_map(|part| match part {
                Part::Cell(_, _, steps) => std::slice::from_ref(steps),
                Part::Chain(_, actor) => actor.steps(),
            })
            .flatten()
            .filter(|step| matches!(step.command, crate::kinds::Command::Script { .. }))
    }
}

impl Part {
    /// How many clients it needs.
    pub(super) fn clients(&self) -> usize {
        match self {
            Part::Cell(..) => 1,
            Part::Chain(_, actor) => actor.clients(),
        }
    }

    /// Plays the part.
    pub(super) async fn play(&self, clients: &mut [ProbeClient], give_up: Duration) -> Option<Outcome> {
        match self {
            Part::Cell(key, id, steps) => {
                let client = clients.first_mut()?;
                Some(Outcome::Cell(*key, client.call(id, steps, give_up).await))
            }
            Part::Chain(key, actor) => Some(Outcome::Chain(*key, actor.play(clients, give_up).await)),
        }
    }
}
