//! Carries a plan out: the healthy control first and alone, then every server in trouble side by side.

mod actor;
mod aftermath;
mod chain;
mod collect;
mod control;
mod correctness;
mod healthy;
mod jitter;
mod outage;
mod prepare;
mod recovery;
mod rooms;
mod scene;
mod server;
mod side_by_side;
mod straddle;
mod tally;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::clients::Clock;
use crate::endpoint::Endpoint;
use crate::kinds::ProbeId;
use crate::observe::Observations;
use crate::plan::Plan;
use crate::redis::{ServerError, Servers};
use crate::words::{Reply, State};

use collect::Collected;
use rooms::Rooms;
use server::Hand;

/// What a run tells whoever watches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The healthy control begins.
    ControlBegins,
    /// The healthy control has ended.
    ControlEnded,
    /// A server is in this state, and its probes begin.
    StateBegins(State),
    /// The probes of a server in this state have ended.
    StateEnded(State),
}

/// Why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A server failed us.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A healthy server did not take a client's preparation.
    #[error("{at}: preparing {what} on the healthy server failed: {}", .reply.class())]
    Prepare {
        /// The server.
        at: Endpoint,
        /// What was being prepared.
        what: &'static str,
        /// What the client saw.
        reply: Reply,
    },
    /// A server took no monitor connection.
    #[error("{at}: the monitor connection was not accepted: {error}")]
    Monitor {
        /// The server.
        at: Endpoint,
        /// Why.
        error: std::io::Error,
    },
    /// A task of the audit's own panicked.
    #[error("the audit itself failed: {0}; please report this")]
    Internal(String),
}

/// How many servers are prepared at once. Preparing is work and holding a state is waiting: servers that are ready one
/// after the other wait side by side, where all at once would first compete and then idle together.
const PREPARING_AT_ONCE: usize = 2;

/// How many servers at once are worked on where nobody waits, from their preparation to the end of their calls.
const BRIEF_AT_ONCE: usize = 2;

/// How often a state that has to end inside the calls is tried: on a busy machine it may end too late.
const TRIES: usize = 3;

/// What a run is carried out with.
pub struct Run {
    plan: Arc<Plan>,
    servers: Servers,
    name: String,
    seed: u64,
    clock: Clock,
    next_probe: AtomicU64,
    preparing: Semaphore,
    brief: Semaphore,
    events: Box<dyn Fn(Event) + Send + Sync>,
}

impl Run {
    /// A run of this plan on these servers. `name` is its identity in keys, `seed` begins everything
    /// random in it, `events` is told how it goes.
    pub fn new(
        plan: Arc<Plan>,
        servers: Servers,
        name: String,
        seed: u64,
        events: Box<dyn Fn(Event) + Send + Sync>,
    ) -> Arc<Run> {
        let clock = Clock::start();
        let (preparing, brief) = (Semaphore::new(PREPARING_AT_ONCE), Semaphore::new(BRIEF_AT_ONCE));
        let next_probe = AtomicU64::new(0);
        Arc::new(Run { plan, servers, name, seed, clock, next_probe, preparing, brief, events })
    }

    /// Carries the plan out. What the deadline leaves undone is in the observations as not proven.
    ///
    /// # Errors
    ///
    /// Where the environment failed: a server did not start, or a healthy one did not answer.
    pub async fn carry_out(self: &Arc<Self>, deadline: Option<Duration>) -> Result<Observations, RunError> {
        let collected = Arc::new(Collected::default());
        let work = self.all(&collected);
        match deadline {
            None => work.await?,
            Some(deadline) => match tokio::time::timeout(deadline, work).await {
                Ok(done) => done?,
                Err(_) => collected.fill_in(&self.plan, deadline),
            },
        }
        Ok(collected.observations(self.servers.info().clone(), self.clock.now_us()))
    }

    async fn all(self: &Arc<Self>, collected: &Arc<Collected>) -> Result<(), RunError> {
        (self.events)(Event::ControlBegins);
        for batch in &self.plan.controls {
            control::run(self, batch, collected).await?;
        }
        (self.events)(Event::ControlEnded);

        let rooms = Rooms::of(&self.plan);
        let mut batches = JoinSet::new();
        for index in 0..self.plan.batches.len() {
            let (this, rooms, collected) = (Arc::clone(self), rooms.clone(), Arc::clone(collected));
            batches.spawn(async move {
                let batch = &this.plan.batches[index];
                if !batch.state.is_outage() {
                    let _room = rooms.take(batch).await;
                    return healthy::run(&this, batch, &collected).await;
                }
                for left in (0..TRIES).rev() {
                    let room = rooms.take(batch).await;
                    if outage::run(&this, batch, room, left == 0, &collected).await? {
                        break;
                    }
                }
                Ok::<(), RunError>(())
            });
        }
        while let Some(ended) = batches.join_next().await {
            ended.map_err(|error| RunError::Internal(error.to_string()))??;
        }
        Ok(())
    }

    /// The identity of the next probe.
    fn probe_id(&self) -> ProbeId {
        ProbeId::new(&self.name, self.next_probe.fetch_add(1, Ordering::Relaxed))
    }

    /// A seed of its own for each client, so that their jitters differ and a run can be repeated.
    fn client_seed(&self, id: &ProbeId) -> u64 {
        use std::hash::{Hash, Hasher};
        // Without the run's name: the same seed gives the same jitters in the next run too.
        let mut hasher = std::hash::DefaultHasher::new();
        id.as_str().rsplit('-').next().hash(&mut hasher);
        self.seed ^ hasher.finish()
    }
}

/// Removes every key that carries the name of a run, and gives those that are there all the same: for a run that was
/// called off before it could do so itself.
///
/// # Errors
///
/// Where the server does not answer.
pub async fn clean(endpoint: &Endpoint, run: &str) -> Result<Vec<String>, RunError> {
    Hand::on(endpoint).await?.clean(run).await
}
