//! Who makes the calls: a part has its identity, its commands and its clients, and is played once.

use std::sync::Arc;
use std::time::Duration;

use super::Run;
use super::chain::ChainActor;
use super::scene::{CallerPart, Position, Staged};
use crate::clients::ProbeClient;
use crate::kinds::{ProbeId, Step};
use crate::observe::{CellKey, ChainKey, ChainProbe, Played, Probe};
use crate::plan::{Job, Target};
use crate::policy::Client;
use crate::words::State;

/// A probe of an operation, a run of a request, or a caller of a scenario.
pub(super) enum Part {
    /// An operation.
    Cell(CellKey, ProbeId, Vec<Step>),
    /// A request.
    Chain(ChainKey, ChainActor),
    /// A caller, and which of the cast's scenes it plays in.
    Caller(usize, CallerPart),
}

/// What a part came to.
pub(super) enum Outcome {
    /// Of an operation.
    Cell(Probe),
    /// Of a request.
    Chain(ChainProbe),
    /// Of a caller.
    Caller(Vec<(Position, Played)>),
}

/// The parts of a job, with what has to be prepared for them and the clients that they need, in order.
#[derive(Default)]
pub(super) struct Cast {
    pub(super) parts: Vec<Part>,
    pub(super) before: Vec<Step>,
    pub(super) clients: Vec<(Arc<Client>, ProbeId)>,
    pub(super) scenes: Vec<Staged>,
}

impl Cast {
    /// Casts the job: an identity for each probe, its commands, its preparation. `outage` is the longest that the state
    /// can last.
    pub(super) fn of(run: &Run, job: &Job, outage: Duration) -> Cast {
        let mut cast = Cast::default();
        match job.what {
            Target::Cell(key) => {
                let used = &run.plan.files[key.file].uses[key.use_index];
                let operation = &used.operations[key.operation_index].operation;
                let client = Arc::new(used.client.clone());
                for _ in 0..job.samples {
                    let id = run.probe_id();
                    cast.before.extend(operation.prepare(&used.call(&id)));
                    let mut steps = operation.steps(&used.call(&id));
                    steps.shrink_to_fit();
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
            Target::Scene(key) => {
                for _ in 0..job.samples {
                    let staged = Staged::new(run, key, outage);
                    let (callers, clients) = staged.callers();
                    let scene = cast.scenes.len();
                    cast.parts.extend(callers.into_iter().map(|caller| Part::Caller(scene, caller)));
                    cast.clients.extend(clients);
                    cast.scenes.push(staged);
                }
            }
        }
        cast
    }

    /// Every command that its parts can send.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.parts.iter().flat_map(|part| -> Box<dyn Iterator<Item = &Step> + '_> {
            match part {
                Part::Cell(_, _, steps) => Box::new(steps.iter()),
                Part::Chain(_, actor) => Box::new(actor.steps().iter().flatten()),
                Part::Caller(_, caller) => Box::new(caller.steps()),
            }
        })
    }
}

impl Part {
    /// How many clients it needs.
    pub(super) fn clients(&self) -> usize {
        match self {
            Part::Cell(..) => 1,
            Part::Chain(_, actor) => actor.clients(),
            Part::Caller(_, caller) => caller.clients,
        }
    }

    /// The operation that it calls first.
    pub(super) fn first_call(&self, state: State) -> Option<CellKey> {
        match self {
            Part::Cell(key, ..) => Some(*key),
            Part::Chain(_, actor) => actor.first_cell(),
            Part::Caller(_, caller) => caller.first_call(state),
        }
    }

    /// Plays the part.
    pub(super) async fn play(&self, clients: &mut [ProbeClient], give_up: Duration) -> Option<Outcome> {
        match self {
            Part::Cell(_, id, steps) => {
                let client = clients.first_mut()?;
                Some(Outcome::Cell(client.call(id, steps, give_up).await))
            }
            Part::Chain(_, actor) => Some(Outcome::Chain(actor.play(clients, give_up).await)),
            Part::Caller(_, caller) => Some(Outcome::Caller(caller.play(clients, give_up).await)),
        }
    }
}
