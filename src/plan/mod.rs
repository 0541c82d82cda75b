//! What will run: which operations are probed in which state on which server, how often, and for how long at most.

mod arithmetic;
mod fault;
mod jobs;
mod lanes;
mod layout;
mod limits;
mod pack;
mod scene;

use std::sync::Arc;
use std::time::Duration;

use crate::observe::{CellKey, ChainKey, SceneKey};
use crate::policy::{Persistence, PolicyFile, Request, Use};
use crate::proxy::Fault;
use crate::words::State;

pub(crate) use arithmetic::goes_on;
pub use arithmetic::{predicted_chain, reached_calls, worst_case};
pub use lanes::{Lane, Lanes};
pub use layout::Layout;
pub use limits::{FEWEST_PROBES, Limits, OWN_CLIENTS};
pub use scene::{Caller, Cast};

use jobs::{Counts, Placed, Source};

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct Wishes {
    /// The states, in order; `healthy` is always among them.
    pub states: Vec<State>,
    /// Only uses of these names, where any are named.
    pub only: Vec<String>,
    /// Probes for each operation in each outage state.
    pub samples: usize,
    /// When a call is given up.
    pub give_up: Duration,
    /// One server after the other instead of side by side.
    pub serial: bool,
}

/// What will run.
#[derive(Debug)]
pub struct Plan {
    /// The policy files that are audited.
    pub files: Vec<Arc<PolicyFile>>,
    /// The states, in order.
    pub states: Vec<State>,
    /// Only uses of these names, where any are named.
    pub only: Vec<String>,
    /// Probes for each operation in each outage state.
    pub samples: usize,
    /// Probes for each operation on the healthy server, one at a time.
    pub healthy_samples: usize,
    /// How often each use's scenario is played in each outage state.
    pub scenes: usize,
    /// When a call is given up.
    pub give_up: Duration,
    /// The healthy servers on which calls are timed, one a persistence: they run first and alone, one after the other.
    pub controls: Vec<Batch>,
    /// The servers that run side by side, in the order in which they begin: those in trouble, and the healthy ones on which
    /// scenarios are played.
    pub batches: Vec<Batch>,
    /// How many connections may be open at once, in each lane; none where the servers run one after the other.
    pub lanes: Option<Lanes>,
    /// What a reader should know: samples lowered, and why.
    pub notes: Vec<String>,
}

/// One server in one state, and what is probed on it.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The state.
    pub state: State,
    /// What kind of server.
    pub persistence: Persistence,
    /// What a proxy does to the clients, where it brings the state about.
    pub fault: Option<Fault>,
    /// What is probed.
    pub jobs: Vec<Job>,
    /// How many connections that takes.
    pub connections: usize,
    /// How long its longest job can take.
    pub bound: Duration,
    /// When the state ends inside of the calls; none where it outlasts all of them.
    pub ends: Option<Ends>,
    /// Which batches it waits for.
    pub lane: Lane,
}

/// One operation, request or scenario, done a number of times.
#[derive(Debug, Clone)]
pub struct Job {
    /// Which.
    pub what: Target,
    /// How often.
    pub samples: usize,
    /// How many connections that takes.
    pub connections: usize,
    /// How many calls that makes at most.
    pub calls: usize,
    /// How long one can take.
    pub bound: Duration,
    /// When the state has to end inside of its calls; none where it must not.
    pub ends: Option<Ends>,
}

/// When a state ends inside of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ends {
    /// So long after the calls' begin.
    At(Duration),
    /// For each client once it has connected again.
    OnReconnect,
}

/// What a job probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// An operation in a state.
    Cell(CellKey),
    /// A request in a state.
    Chain(ChainKey),
    /// A use's scenario in a state.
    Scene(SceneKey),
}

impl Plan {
    /// Lays out a run over these files, within these limits, on a server where `CLIENT SETINFO` waits or not.
    pub fn new(files: Vec<Arc<PolicyFile>>, wishes: &Wishes, limits: Limits, setinfo: bool) -> Plan {
        let (only, give_up) = (&wishes.only[..], wishes.give_up);
        let source = Source { files: &files, only, give_up, setinfo };
        let mut notes: Vec<String> = source
            .not_measured()
            .map(|name| format!("the request {name} is not measured: none of its calls asks Redis"))
            .collect();
        for file in &files {
            let of = if files.len() > 1 { format!(" ({})", file.service) } else { String::new() };
            let says = wishes.states.iter().filter_map(|state| fault::says(file, *state));
            notes.extend(says.map(|says| format!("{says}{of}")));
        }
        let outage_states: Vec<State> = wishes.states.iter().copied().filter(|s| s.is_outage()).collect();

        let counts =
            |samples| Counts { cells: samples, chains: samples, scenes: (samples / PROBES_A_SCENE).max(1) };
        let samples =
            limits.samples(wishes.samples, |samples| source.needed(&outage_states, counts(samples)));
        if samples < wishes.samples {
            notes.push(format!(
                "{samples} probes a cell instead of {}: more would take longer, with {} connections at once",
                wishes.samples, limits.connections
            ));
        }
        let counts = counts(samples);

        let once = Counts { cells: 1, chains: 1, scenes: 0 };
        let healthy_calls = source.holding(State::Healthy, once).iter().map(|(_, job)| job.calls).sum();
        let wished = wishes.samples.saturating_mul(HEALTHY_FACTOR);
        let healthy_samples = limits.healthy_samples(wished, healthy_calls);
        if healthy_samples < wished {
            notes.push(format!(
                "{healthy_samples} healthy probes a cell instead of {wished}: they run one at a time, and one of each takes {healthy_calls} calls"
            ));
        }
        // A request is a sum of calls that are measured on their own: it needs no more runs than in an outage.
        let runs = limits.healthy_runs(healthy_samples, healthy_calls).min(samples);
        let outages: Vec<(State, Vec<Placed>)> = outage_states
            .iter()
            .flat_map(|&state| {
                [source.holding(state, counts), source.straddling(state, counts.scenes)]
                    .map(|jobs| (state, jobs))
            })
            .collect();
        let lanes = Lanes::of(limits, outages.iter().flat_map(|(_, jobs)| jobs).map(|(_, job)| job));
        let healthy = |counts| {
            pack::by_server(source.holding(State::Healthy, counts), State::Healthy, &Lanes::without_end())
        };
        let controls = healthy(Counts { cells: healthy_samples, chains: runs, scenes: 0 });
        let played = healthy(Counts { cells: 0, chains: 0, scenes: 1 }).into_iter().map(|batch| Batch {
            connections: 2 * OWN_CLIENTS,
            lane: lanes.lane(batch.bound),
            ..batch
        });
        let in_trouble = outages.into_iter().flat_map(|(state, jobs)| pack::by_server(jobs, state, &lanes));
        let mut batches: Vec<Batch> = played.chain(in_trouble).collect();
        batches.sort_by_key(|batch| std::cmp::Reverse(batch.bound));
        Plan {
            states: wishes.states.clone(),
            only: wishes.only.clone(),
            samples,
            healthy_samples,
            scenes: counts.scenes,
            give_up,
            controls,
            batches,
            lanes: (!wishes.serial).then_some(lanes),
            notes,
            files,
        }
    }

    /// Whether the run is about this use.
    pub fn wants(&self, used: &Use) -> bool {
        jobs::wants(&self.only, used)
    }

    /// Whether the run is about this request: all that it calls was asked for.
    pub fn wants_request(&self, file: &PolicyFile, request: &Request) -> bool {
        jobs::wants_request(&self.only, file, request)
    }

    /// How long the run can take at most, servers' starts left out.
    pub fn longest_chain(&self) -> Duration {
        self.batches.iter().map(|batch| batch.bound).max().unwrap_or_default()
    }
}

/// Healthy calls cost microseconds, so there are this many times more of them.
const HEALTHY_FACTOR: usize = 10;

/// A scenario takes several calls, and what it shows is the same each time: one for so many probes of a cell.
const PROBES_A_SCENE: usize = 4;

#[cfg(test)]
mod tests;
