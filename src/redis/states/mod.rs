//! One file a state: how it is entered, how it is proven to hold, how it is left.
//!
//! Entering and leaving are proven, and so is everything in between: what can't be proven makes a
//! [`Proof::NotProven`] with a sentence that says why, and the results that rest on it are then not believed.

mod healthy;
mod paused;
mod stopped;
mod watch;

use std::time::{Duration, Instant};

use super::barrier::{BARRIER_WITHIN, barrier};
use super::monitor_line::MonitorLine;
use super::{Server, ServerError};
use crate::observe::Proof;
use crate::words::State;

/// Puts the server into a state, and returns once the state is proven to have begun.
///
/// `bound` is the longest that the state may last; a pause ends by itself then, even if the audit is killed.
/// A state whose beginning can't be proven is no error: it is held all the same, and says so when it is left.
///
/// # Errors
/// Where the environment failed: the server could not be killed, or its port not be held.
pub async fn enter(state: State, server: &mut Server, bound: Duration) -> Result<Holding, ServerError> {
    if state.is_outage() {
        server.about_to_change().await?;
    }
    let held = match state {
        State::Healthy => Held::Healthy(healthy::Healthy::enter(server).await),
        State::Paused => Held::Paused(paused::Paused::enter(server, bound).await),
        State::Stopped => Held::Stopped(stopped::Stopped::enter(server).await?),
        _ => return Err(ServerError::NotYet(state)),
    };
    Ok(Holding { held, entered: Instant::now() })
}

/// A state that holds, until it is left.
///
/// Dropping it does no harm: the witnesses end, a pause is bounded, and the server ends with its workshop.
#[derive(Debug)]
pub struct Holding {
    held: Held,
    entered: Instant,
}

#[derive(Debug)]
enum Held {
    Healthy(healthy::Healthy),
    Paused(paused::Paused),
    Stopped(stopped::Stopped),
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
    /// Whether the server answers a fresh connection again. Where it does not, nothing can go on.
    pub barrier: Result<(), ServerError>,
}

/// What a state's own file says of its end: the first thing that speaks against it, or what showed that it held.
type Verdict = Result<String, String>;

impl Holding {
    /// Proves that the state held until now, ends it, and waits for the barrier.
    pub async fn leave(self, server: &mut Server) -> Left {
        let entered = self.entered;
        let (verdict, held_for, ran, ended) = match self.held {
            Held::Healthy(healthy) => {
                let verdict = healthy.leave(server).await;
                (verdict, entered.elapsed(), Vec::new(), Ok(Duration::ZERO))
            }
            Held::Paused(paused) => {
                let end = paused.leave(entered).await;
                (end.verdict, end.held_for, end.ran, Ok(end.still_paused))
            }
            Held::Stopped(stopped) => {
                let verdict = stopped.leave(server).await;
                let held_for = entered.elapsed();
                (verdict, held_for, Vec::new(), server.start_again().await.map(|()| Duration::ZERO))
            }
        };
        let barrier = match (ended, server.exited()) {
            // Nobody will answer, so nothing is waited for.
            (Ok(_), Some(status)) => Err(ServerError::Barrier {
                at: server.endpoint().clone(),
                why: format!("its process ended ({status})"),
            }),
            (Ok(still), None) => barrier(server.endpoint(), still + BARRIER_WITHIN).await,
            (Err(error), _) => Err(error),
        };
        let proof = match verdict {
            Ok(shown) => Proof::Held(shown),
            Err(why) => Proof::NotProven(why),
        };
        Left { proof, held_for, ran_while_held: ran, barrier }
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
