//! What will run: which operations are probed in which state on which server, how often, and for how long at most.

mod arithmetic;
mod layout;
mod limits;
mod pack;

use std::sync::Arc;
use std::time::Duration;

use crate::observe::{CellKey, ChainKey};
use crate::policy::{Backend, Persistence, PolicyFile, Request, RequestCall, Use};
use crate::words::State;

pub(crate) use arithmetic::goes_on;
pub use arithmetic::{predicted_chain, reached_calls, worst_case};
pub use layout::Layout;
pub use limits::{FEWEST_PROBES, Limits};

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
    /// When a call is given up.
    pub give_up: Duration,
    /// The healthy servers, one a persistence: they run first and alone, one after the other.
    pub controls: Vec<Batch>,
    /// The servers in trouble, the longest first.
    pub outages: Vec<Batch>,
    /// How many connections may be open at once.
    pub connections: usize,
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
    /// What is probed.
    pub jobs: Vec<Job>,
    /// How many connections that takes.
    pub connections: usize,
    /// How long its longest job can take.
    pub bound: Duration,
}

/// One operation or one request, probed a number of times.
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
}

/// What a job probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// An operation in a state.
    Cell(CellKey),
    /// A request in a state.
    Chain(ChainKey),
}

impl Plan {
    /// Lays out a run over these files, within these limits, on a server that knows `CLIENT SETINFO` or not.
    pub fn new(files: Vec<Arc<PolicyFile>>, wishes: &Wishes, limits: Limits, setinfo: bool) -> Plan {
        let give_up = wishes.give_up;
        let mut notes: Vec<String> = not_measured(&files, &wishes.only)
            .into_iter()
            .map(|name| format!("the request {name} is not measured: none of its calls asks Redis"))
            .collect();
        let jobs_of = |state, samples| jobs(&files, &wishes.only, state, samples, give_up, setinfo);

        let outage_states: Vec<State> = wishes.states.iter().copied().filter(|s| s.is_outage()).collect();
        let one_of_each = outage_states
            .iter()
            .map(|&state| jobs_of(state, 1).iter().map(|(_, job)| job.connections).sum())
            .max()
            .unwrap_or(0);
        let samples = limits.samples(wishes.samples, one_of_each);
        if samples < wishes.samples {
            notes.push(format!(
                "{samples} probes a cell instead of {}: more would need over {} connections at once",
                wishes.samples, limits.connections
            ));
        }

        let healthy_calls = jobs_of(State::Healthy, 1).iter().map(|(_, job)| job.calls).sum();
        let wished = wishes.samples.saturating_mul(HEALTHY_FACTOR);
        let healthy_samples = limits.healthy_samples(wished, healthy_calls);
        if healthy_samples < wished {
            notes.push(format!(
                "{healthy_samples} healthy probes a cell instead of {wished}: they run one at a time, and one of each takes {healthy_calls} calls"
            ));
        }
        // A request is a sum of calls that are measured on their own: it needs no more runs than in an outage.
        let mut healthy = jobs_of(State::Healthy, healthy_samples);
        let runs = jobs_of(State::Healthy, healthy_samples.min(samples));
        for (job, fewer) in healthy.iter_mut().zip(runs) {
            if matches!(fewer.1.what, Target::Chain(_)) {
                *job = fewer;
            }
        }
        let controls = pack::by_server(healthy, State::Healthy, usize::MAX);
        let mut outages: Vec<Batch> = outage_states
            .iter()
            .flat_map(|&state| pack::by_server(jobs_of(state, samples), state, limits.per_server()))
            .collect();
        outages.sort_by_key(|batch| std::cmp::Reverse(batch.bound));
        Plan {
            states: wishes.states.clone(),
            only: wishes.only.clone(),
            samples,
            healthy_samples,
            give_up,
            controls,
            outages,
            connections: if wishes.serial { 1 } else { limits.connections },
            notes,
            files,
        }
    }

    /// Whether the run is about this use.
    pub fn wants(&self, used: &Use) -> bool {
        wants(&self.only, used)
    }

    /// Whether the run is about this request: all that it calls was asked for.
    pub fn wants_request(&self, file: &PolicyFile, request: &Request) -> bool {
        wants_request(&self.only, file, request)
    }

    /// How long the run can take at most, servers' starts left out.
    pub fn longest_chain(&self) -> Duration {
        self.outages.iter().map(|batch| batch.bound).max().unwrap_or_default()
    }
}

/// Healthy calls cost microseconds, so there are this many times more of them.
const HEALTHY_FACTOR: usize = 10;

/// Everything that is probed in a state, each with the kind of server that it needs.
fn jobs(
    files: &[Arc<PolicyFile>],
    only: &[String],
    state: State,
    samples: usize,
    give_up: Duration,
    setinfo: bool,
) -> Vec<(Persistence, Job)> {
    let bounded = |worst: Option<Duration>| worst.map_or(give_up, |worst| worst.min(give_up));
    let mut jobs = Vec::new();
    for (file_index, file) in files.iter().enumerate() {
        for (use_index, used) in file.uses.iter().enumerate() {
            if used.backend != Backend::Redis || !wants(only, used) {
                continue;
            }
            let bound = bounded(worst_case(&used.client, state, Some(setinfo)));
            for operation_index in 0..used.operations.len() {
                let what = Target::Cell(CellKey { file: file_index, use_index, operation_index, state });
                jobs.push((
                    file.persistence,
                    Job { what, samples, connections: samples, calls: samples, bound },
                ));
            }
        }
        for (request_index, request) in file.requests.iter().enumerate() {
            let asks_redis = |call: &&RequestCall| file.uses[call.use_index].backend == Backend::Redis;
            if !wants_request(only, file, request) || !request.calls.iter().any(|call| asks_redis(&call)) {
                continue;
            }
            let calls: Vec<_> = reached_calls(file, request, state).into_iter().filter(asks_redis).collect();
            let bound = calls
                .iter()
                .map(|call| bounded(worst_case(&file.uses[call.use_index].client, state, Some(setinfo))))
                .sum();
            let what = Target::Chain(ChainKey { file: file_index, request: request_index, state });
            let connections = Layout::of(file, request, state).clients.len() * samples;
            jobs.push((
                file.persistence,
                Job { what, samples, connections, calls: calls.len() * samples, bound },
            ));
        }
    }
    jobs
}

fn wants(only: &[String], used: &Use) -> bool {
    only.is_empty() || only.contains(&used.name)
}

fn wants_request(only: &[String], file: &PolicyFile, request: &Request) -> bool {
    request.calls.iter().all(|call| wants(only, &file.uses[call.use_index]))
}

/// The requests that were asked for and ask Redis nothing: there is nothing in them to measure.
fn not_measured(files: &[Arc<PolicyFile>], only: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for file in files {
        let asks_redis = |request: &Request| {
            request.calls.iter().any(|call| file.uses[call.use_index].backend == Backend::Redis)
        };
        let requests = file.requests.iter();
        names.extend(
            requests
                .filter(|request| wants_request(only, file, request) && !asks_redis(request))
                .map(|request| request.name.clone()),
        );
    }
    names
}

#[cfg(test)]
mod tests;
