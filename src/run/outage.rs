//! One server in trouble: everything is prepared while it is healthy, then all probes begin at once. Once it answers
//! again: what ran, what is left, who recovers, and what of ours has to go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::actor::{Cast, Outcome, Part};
use super::aftermath::{Aftermath, Witnessed};
use super::collect::Collected;
use super::jitter::Jitter;
use super::server::Hand;
use super::straddle::Ending;
use super::tally::Tally;
use super::{Event, Run, RunError, prepare, side_by_side};
use crate::clients::ProbeClient;
use crate::kinds::Phase;
use crate::observe::{Executed, Ledger};
use crate::plan::{Batch, Ends, Lane};
use crate::redis::{Front, Monitor, Origin, Server, states};
use crate::words::Keeps;

/// What a state is allowed beyond the longest call that arithmetic allows, for a machine that is slow to run the
/// probes. The state ends as soon as its last probe has, so this costs nothing.
const MARGIN: Duration = Duration::from_secs(5);

/// A batch whose calls take no longer than this by arithmetic waits for nothing.
const ENDS_AT_ONCE: Duration = Duration::from_millis(100);

/// How long clients may take to connect again where the state began by closing their connections.
const SETTLED_WITHIN: Duration = Duration::from_millis(500);

/// How many probes begin in the same millisecond: their timeouts run out together as well, and each waits for those
/// before it to be dealt with.
const AT_ONCE: usize = 32;

/// The port of no connection.
const NOBODY: u16 = 0;

/// Runs one server in one state.
///
/// `room` is what the batch may open of connections. All but those that show the way back are closed once the server
/// answers again, and their room is given to the next batch.
///
/// Where the state has to end inside the calls and did not, nothing is collected and the answer is no: it is worth
/// another try, unless this is the `last`.
pub(super) async fn run(
    run: &Arc<Run>,
    batch: &Batch,
    mut room: Option<OwnedSemaphorePermit>,
    last: bool,
    collected: &Collected,
) -> Result<bool, RunError> {
    // Starting a server is waiting, not work, and those that mostly wait begin at once. Where nobody waits there is no need
    // for more servers than are worked on. The semaphores are never closed.
    let (mut server, working) = match batch.lane {
        Lane::Long => (run.servers.start(batch.persistence).await?, run.preparing.acquire().await),
        Lane::Brief => {
            let working = run.brief.acquire().await;
            (run.servers.start(batch.persistence).await?, working)
        }
    };
    let target = &server.endpoint().clone();
    let seed = run.seed;
    let front = batch.fault.as_ref().map(|fault| Front::start(&server, fault.clone(), seed)).transpose()?;
    // Where a proxy brings the state about, the clients are connected through it, and the audit itself is not.
    let door = front.as_ref().map_or(target, Front::endpoint);
    let mut casts: Vec<Cast> = batch.jobs.iter().map(|job| Cast::of(run, job, batch.bound)).collect();
    let mut hand = Hand::on(target).await?;
    prepare::keys(&mut hand, &casts).await?;
    // What is written from here on is what a failover loses.
    let state = match &front {
        Some(front) => states::prepare_front(batch.state, front).await,
        None => states::prepare(batch.state, &server).await?,
    };
    prepare::canaries(&mut hand, &casts).await?;
    drop(hand);
    let give_up = run.plan.give_up;
    let keeps = batch.state.facts().keeps;
    let mut ledger = Ledger::new(server.lists_what_ran());
    if keeps != Keeps::Nothing {
        casts.iter().flat_map(|cast| &cast.before).for_each(|step| ledger.prepared_step(step));
    }

    let wanted = casts.iter().flat_map(|cast| cast.clients.iter().cloned()).collect();
    let mut clients = match batch.state.is_cold() {
        true => prepare::cold_clients(run, door, wanted),
        false => prepare::clients(run, door, wanted).await?,
    }
    .into_iter();
    // The scenarios go out to be played together, and come back to their casts in order.
    let counts: Vec<usize> = casts.iter().map(|cast| cast.scenes.len()).collect();
    let staged = casts.iter_mut().flat_map(|cast| cast.scenes.drain(..)).collect();
    let (staged, sent) = side_by_side::play(run, target, staged, Phase::Before).await?;
    if keeps == Keeps::All {
        sent.iter().for_each(|step| ledger.prepared_step(step));
    }
    let mut staged = staged.into_iter();
    for (cast, count) in casts.iter_mut().zip(counts) {
        cast.scenes.extend(staged.by_ref().take(count));
    }
    let mut ready = Vec::new();
    for (job, cast) in casts.iter_mut().enumerate() {
        for part in cast.parts.drain(..) {
            let own: Vec<ProbeClient> = clients.by_ref().take(part.clients()).collect();
            ready.push((job, part, own));
        }
    }
    let mut monitor = monitor_on(&server).await?;
    // Calls that end at once are work too, and what they cost is their own work's time.
    let working = working.ok().filter(|_| batch.bound <= ENDS_AT_ONCE);

    let bound = server.longest_pause().unwrap_or(Duration::MAX).min(batch.bound + MARGIN);
    let holding = states::enter(state, &mut server, bound).await?;
    if holding.is_another_life() {
        monitor = monitor_on(&server).await?;
    }
    let settles = holding.takes_new_connections();
    (run.events)(Event::StateBegins(batch.state));
    let jitter = Jitter::start();
    let began = Instant::now();
    let mut playing = JoinSet::new();
    for (index, (job, part, mut own)) in ready.into_iter().enumerate() {
        if index % AT_ONCE == AT_ONCE - 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        playing.spawn(async move {
            if settles {
                for client in &mut own {
                    client.settle(SETTLED_WITHIN).await;
                }
            }
            let outcome = part.play(&mut own, give_up).await;
            Acted { job, index, part, outcome, clients: own, awake: false }
        });
    }
    let mut acted = Vec::new();
    let (mut left, jitter_us) = match batch.ends {
        Some(Ends::At(ends)) => {
            tokio::time::sleep_until(began + ends).await;
            let end = Ending::begins(run.clock);
            let mut left = holding.leave(&mut server).await;
            let end = end.over(run.clock);
            join(&mut playing, &mut acted, batch).await?;
            left.proof = end.proof(left.proof, &acted);
            (left, jitter.worst_us())
        }
        Some(Ends::OnReconnect) | None => {
            join(&mut playing, &mut acted, batch).await?;
            let jitter_us = jitter.worst_us();
            (holding.leave(&mut server).await, jitter_us)
        }
    };
    drop(working);
    left.barrier?;
    if let (Some(harmed), Some(fault)) = (left.harmed.take(), &batch.fault) {
        left.proof = Tally::of(run, batch, &acted).proof(left.proof, fault, &harmed);
    }
    if batch.ends.is_some() && !left.proof.held() && !last {
        server.shutdown().await;
        return Ok(false);
    }
    let answers_since = Instant::now();
    (run.events)(Event::StateEnded(batch.state));

    // A stopped server ran nothing of what was sent to it, and its monitor ended with it.
    if let Some(mut monitor) = monitor {
        // Who is not connected through the proxy is none of the clients, whose ports are others' than the server sees.
        let known_as = |port| front.as_ref().map_or(port, |front| front.client_port(port).unwrap_or(NOBODY));
        let _ = monitor.ping(Duration::from_secs(10)).await;
        for line in monitor.since(0) {
            match line.origin {
                Origin::Client(addr) => ledger.enter(Executed::By(known_as(addr.port())), &line.words()),
                Origin::Script => ledger.enter(Executed::ByScript, &line.words()),
                Origin::Other(_) => {}
            }
        }
    }
    // On one connection calls are settled in the order in which they were made, and an operation's own probes come
    // before the scenarios' for its way back.
    acted.sort_by_key(|acted| acted.index);
    let kept = close_all_that_rest(&mut acted, batch);
    if let Some(room) = &mut room {
        let spare = room.num_permits().saturating_sub(kept);
        drop(room.split(spare));
    }
    let witnessed = Witnessed { proof: left.proof, jitter_us, ledger, holding: batch.ends.is_none() };
    Aftermath { run, batch, casts, acted, witnessed, answers_since }.settle(&server, collected).await?;
    server.shutdown().await;
    Ok(true)
}

/// What lists every command that runs, where the server may be asked to.
async fn monitor_on(server: &Server) -> Result<Option<Monitor>, RunError> {
    if !server.lists_what_ran() {
        return Ok(None);
    }
    let monitor = Monitor::open(server.endpoint()).await;
    monitor.map(Some).map_err(|error| RunError::Monitor { at: server.endpoint().clone(), error })
}

/// A part that was played, with the clients that it holds until the end.
pub(super) struct Acted {
    pub(super) job: usize,
    pub(super) index: usize,
    pub(super) part: Part,
    pub(super) outcome: Option<Outcome>,
    pub(super) clients: Vec<ProbeClient>,
    /// Whether its clients went on as their settings say once it had ended; the others rest.
    pub(super) awake: bool,
}

/// Waits for all parts. One client of each operation goes on as its settings say, so that its way back can be seen; the
/// others rest.
async fn join(playing: &mut JoinSet<Acted>, acted: &mut Vec<Acted>, batch: &Batch) -> Result<(), RunError> {
    let mut awake = BTreeSet::new();
    while let Some(ended) = playing.join_next().await {
        let mut one = ended.map_err(|error| RunError::Internal(error.to_string()))?;
        one.awake = one.part.first_call(batch.state).is_some_and(|key| awake.insert(key));
        if !one.awake {
            one.clients.iter_mut().for_each(ProbeClient::rest);
        }
        acted.push(one);
    }
    Ok(())
}

/// Closes every connection but those that show an operation's way back, and says how many are left.
fn close_all_that_rest(acted: &mut [Acted], batch: &Batch) -> usize {
    for one in acted.iter_mut().filter(|one| !one.awake || batch.ends.is_some()) {
        one.clients.clear();
    }
    acted.iter().map(|one| one.clients.len()).sum()
}
