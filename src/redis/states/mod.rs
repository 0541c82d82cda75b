//! One file a state: how it is entered, how it is proven to hold, how it is left.
//!
//! Entering and leaving are proven, and so is everything in between: what can't be proven makes a
//! [`Proof::NotProven`] with a sentence that says why, and the results that rest on it are then not believed.

mod auth_rejected;
mod busy;
mod clients;
mod configured;
mod connections_killed;
mod disk_failed;
mod dump;
mod failover;
mod frozen;
mod healthy;
mod loading;
mod look;
mod no_replicas;
mod out_of_memory;
mod paused;
mod proxied;
mod read_only;
mod replica_cut_off;
mod restarted_empty;
mod stopped;
mod too_many_clients;
mod watch;

use std::time::{Duration, Instant};

use super::barrier::{BARRIER_WITHIN, barrier};
use super::monitor_line::MonitorLine;
use super::{Front, Server, ServerError};
use crate::observe::Proof;
use crate::words::State;
use paused::Stops;
pub use proxied::Harmed;

/// What has to be done to a healthy server before a state can be entered.
#[derive(Debug)]
pub struct Ready {
    state: State,
    replica: Option<failover::CutOff>,
    front: Option<proxied::Ready>,
}

/// Prepares a server for a state. What is written to it from now on is what a failover loses.
///
/// # Errors
/// Where the environment failed: a replica did not start, or did not follow.
pub async fn prepare(state: State, server: &Server) -> Result<Ready, ServerError> {
    let replica = match state {
        State::FailoverLostWrite => Some(failover::cut_off(server.own()?).await?),
        _ => None,
    };
    Ok(Ready { state, replica, front: None })
}

/// Prepares for a state that is brought about in front of the server, where its clients are connected.
pub async fn prepare_front(state: State, front: &Front) -> Ready {
    Ready { state, replica: None, front: Some(proxied::Ready::before(front).await) }
}

/// Puts the server into the state that it was prepared for, and returns once the state is proven to have begun; an event
/// has then happened, and the server answers again.
///
/// `bound` is the longest that the state may last; a pause ends by itself then, even if the audit is killed.
/// A state whose beginning can't be proven is no error: it is held all the same, and says so when it is left.
///
/// # Errors
/// Where the environment failed: the server could not be killed or started again, or its port not be held.
pub async fn enter(ready: Ready, server: &mut Server, bound: Duration) -> Result<Holding, ServerError> {
    server.about_to_enter(ready.state).await?;
    let held = match ready.state {
        State::Healthy => Held::Healthy(healthy::Healthy::enter(server).await),
        State::Paused | State::PausedCold => {
            Held::Paused(paused::Paused::enter(server, bound, Stops::All).await)
        }
        State::WritesPaused => Held::Paused(paused::Paused::enter(server, bound, Stops::Writes).await),
        State::Frozen | State::FrozenCold => Held::Frozen(frozen::Frozen::enter(server).await),
        State::Stopped | State::NeverUp => Held::Stopped(stopped::Stopped::enter(server).await?),
        State::RestartedEmpty => Held::RestartedEmpty(restarted_empty::RestartedEmpty::fire(server).await?),
        State::FailoverLostWrite => match ready.replica {
            Some(replica) => Held::Failover(failover::Failover::fire(server, replica).await?),
            None => return Err(ServerError::NotPrepared(ready.state)),
        },
        State::ConnectionsKilled => {
            Held::ConnectionsKilled(connections_killed::ConnectionsKilled::fire(server).await)
        }
        State::Loading => Held::Loading(loading::Loading::enter(server, bound).await?),
        State::Busy => Held::Busy(busy::Busy::enter(server).await),
        State::OutOfMemory
        | State::ReadOnly
        | State::ReplicaCutOff
        | State::NoReplicas
        | State::DiskFailed
        | State::AuthRejected
        | State::TooManyClients => match recipe(ready.state) {
            Some(recipe) => Held::Configured(configured::Configured::enter(server, recipe).await),
            None => return Err(ServerError::NotPrepared(ready.state)),
        },
        State::Slow | State::ReplyLost | State::CutMidReply | State::BlackHole | State::Flapping => {
            match ready.front {
                Some(front) => Held::Proxied(proxied::Proxied::enter(front).await),
                None => return Err(ServerError::NotPrepared(ready.state)),
            }
        }
    };
    Ok(Holding { held, entered: Instant::now() })
}

/// What a state is made of that is nothing but settings and commands.
fn recipe(state: State) -> Option<configured::Recipe> {
    match state {
        State::OutOfMemory => Some(out_of_memory::RECIPE),
        State::ReadOnly => Some(read_only::RECIPE),
        State::ReplicaCutOff => Some(replica_cut_off::RECIPE),
        State::NoReplicas => Some(no_replicas::RECIPE),
        State::DiskFailed => Some(disk_failed::RECIPE),
        State::AuthRejected => Some(auth_rejected::RECIPE),
        State::TooManyClients => Some(too_many_clients::RECIPE),
        _ => None,
    }
}

/// The settings that a state changes through the server, in order.
pub fn settings(state: State) -> Vec<&'static str> {
    recipe(state).map(|recipe| recipe.changes()).unwrap_or_default()
}

/// Whether a state closes the connections of all clients.
pub fn closes_connections(state: State) -> bool {
    recipe(state).is_some_and(|recipe| recipe.also == configured::Also::KillClients)
}

/// A state that holds, until it is left.
///
/// Dropping it does no harm: the witnesses end, a pause is bounded, and the server ends with its workshop. It can be left
/// once, as leaving takes it, and not without having been entered.
#[derive(Debug)]
pub struct Holding {
    held: Held,
    entered: Instant,
}

#[derive(Debug)]
enum Held {
    Healthy(healthy::Healthy),
    Paused(paused::Paused),
    Frozen(frozen::Frozen),
    Stopped(stopped::Stopped),
    RestartedEmpty(restarted_empty::RestartedEmpty),
    Failover(failover::Failover),
    ConnectionsKilled(connections_killed::ConnectionsKilled),
    Loading(loading::Loading),
    Busy(busy::Busy),
    Configured(configured::Configured),
    Proxied(proxied::Proxied),
}

/// A state that was left.
#[derive(Debug)]
pub struct Left {
    /// Whether the state held from [`enter`] until it was left.
    pub proof: Proof,
    /// How long it was held.
    pub held_for: Duration,
    /// The commands that ran meanwhile, where the state has a monitor connection: none in a proven pause.
    pub ran_while_held: Vec<MonitorLine>,
    /// What a proxy did to clients meanwhile, where it brought the state about.
    pub harmed: Option<Harmed>,
    /// Whether the server answers a fresh connection again. Where it does not, nothing can go on.
    pub barrier: Result<(), ServerError>,
}

/// What a state's own file says of its end: the first thing that speaks against it, or what showed that it held.
type Verdict = Result<String, String>;

impl Holding {
    /// Whether another life of the server answers now than before, so that connections from before are gone.
    pub fn is_another_life(&self) -> bool {
        match &self.held {
            Held::RestartedEmpty(_) | Held::Failover(_) => true,
            Held::Loading(loading) => loading.began(),
            _ => false,
        }
    }

    /// Whether the state began by closing the connections of clients, and takes new ones: what it shows is what a client
    /// is told that has had the time to connect again.
    pub fn takes_new_connections(&self) -> bool {
        match &self.held {
            Held::Loading(loading) => loading.began(),
            Held::Configured(configured) => configured.takes_new_connections(),
            _ => false,
        }
    }

    /// Whether the state did not even begin, as this server lacks what brings it about.
    fn is_beyond_server(&self) -> bool {
        matches!(&self.held, Held::Loading(loading) if !loading.began())
    }

    /// Proves that the state held until now, ends it, and waits for the barrier.
    pub async fn leave(self, server: &mut Server) -> Left {
        let entered = self.entered;
        let is_beyond_server = self.is_beyond_server();
        let mut held_for = None;
        let mut ran = Vec::new();
        let mut still_paused = Duration::ZERO;
        let mut through = None;
        let mut harmed = None;
        let (verdict, ended) = match self.held {
            Held::Healthy(healthy) => (healthy.leave(server).await, Ok(())),
            Held::Paused(paused) => {
                let end = paused.leave(entered).await;
                (held_for, ran, still_paused) = (Some(end.held_for), end.ran, end.still_paused);
                (end.verdict, Ok(()))
            }
            Held::Frozen(frozen) => frozen.leave(server).await,
            Held::Stopped(stopped) => {
                let verdict = stopped.leave(server).await;
                held_for = Some(entered.elapsed());
                (verdict, server.start_again().await)
            }
            Held::RestartedEmpty(restarted) => (restarted.leave(server).await, Ok(())),
            Held::Failover(failover) => (failover.leave(server).await, Ok(())),
            Held::ConnectionsKilled(killed) => (killed.leave(server).await, Ok(())),
            Held::Loading(loading) => loading.leave(server).await,
            Held::Busy(busy) => busy.leave(server).await,
            Held::Configured(configured) => configured.leave(server).await,
            Held::Proxied(proxied) => {
                let end = proxied.leave().await;
                (through, harmed) = (Some(end.front), Some(end.harmed));
                (end.verdict, end.ended)
            }
        };
        let held_for = held_for.unwrap_or_else(|| entered.elapsed());
        let barrier = match (ended, server.exited()) {
            // Nobody will answer, so nothing is waited for.
            (Ok(()), Some(status)) => Err(ServerError::Barrier {
                at: server.endpoint().clone(),
                why: format!("its process ended ({status})"),
            }),
            (Ok(()), None) => {
                // What the proxy held goes first, as it was there before.
                let door = through.as_ref().map_or(server.endpoint(), Front::endpoint);
                barrier(door, still_paused + BARRIER_WITHIN).await
            }
            (Err(error), _) => Err(error),
        };
        let proof = match verdict {
            Ok(shown) => Proof::Held(shown),
            Err(why) if is_beyond_server => Proof::BeyondServer(why),
            Err(why) => Proof::NotProven(why),
        };
        Left { proof, held_for, ran_while_held: ran, harmed, barrier }
    }
}

/// `1 PING`, `3 PINGs`.
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// `0.31 s`.
fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
