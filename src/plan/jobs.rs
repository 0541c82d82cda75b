//! What there is to do in a state: operations, requests and scenarios, each so many times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::limits::Needed;
use super::scene::{Cast, straddles};
use super::{Job, Layout, Target, reached_calls, worst_case};
use crate::observe::{CellKey, ChainKey, SceneKey, Timing};
use crate::policy::{Backend, Persistence, PolicyFile, Request, RequestCall, Use};
use crate::words::State;

/// What jobs are made from.
pub(super) struct Source<'a> {
    pub(super) files: &'a [Arc<PolicyFile>],
    pub(super) only: &'a [String],
    pub(super) give_up: Duration,
    pub(super) setinfo: bool,
}

/// How often each is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    /// An operation.
    pub(super) cells: usize,
    /// A request.
    pub(super) chains: usize,
    /// A scenario. Its callers' first calls are probes as well, as are those of requests, and count among those of their
    /// operations.
    pub(super) scenes: usize,
}

/// A job, and the kind of server that it needs.
pub(super) type Placed = (Persistence, Job);

impl Source<'_> {
    /// Everything that is done while a state outlasts the calls.
    pub(super) fn holding(&self, state: State, counts: Counts) -> Vec<Placed> {
        let mut jobs = Vec::new();
        for (file, policy) in self.files.iter().enumerate() {
            let begun = self.begun_by_requests(policy, state);
            for use_index in self.uses(policy) {
                let used = &policy.uses[use_index];
                let cast = Cast::of(used, state, Timing::Holding);
                let bound = self.bound(policy, use_index, state);
                for (operation_index, operation) in used.operations.iter().enumerate() {
                    // On a healthy server a scenario is a control of its own: its calls are not made by the use's client. And
                    // calls are timed there one at a time.
                    let (scenes, chains) =
                        if state.is_outage() { (counts.scenes, counts.chains) } else { (0, 0) };
                    let requests = begun.get(&(use_index, operation_index)).copied().unwrap_or(0);
                    let played = cast.first_calls(operation.name()) * scenes + requests * chains;
                    let samples = counts.cells.saturating_sub(played);
                    let what = Target::Cell(CellKey { file, use_index, operation_index, state });
                    let job = Job { what, samples, connections: samples, calls: samples, bound, ends: None };
                    jobs.push((policy.persistence, job));
                }
                if counts.scenes > 0 && !cast.callers.is_empty() {
                    let key = SceneKey { file, use_index, state, timing: Timing::Holding };
                    jobs.push((policy.persistence, scene(key, &cast, counts.scenes, bound)));
                }
            }
            for (request_index, request) in self.requests(policy) {
                let calls: Vec<_> = reached_calls(policy, request, state)
                    .into_iter()
                    .filter(|call| asks_redis(policy, call))
                    .collect();
                let bound = calls.iter().map(|call| self.bound(policy, call.use_index, state)).sum();
                let samples = counts.chains;
                let job = Job {
                    what: Target::Chain(ChainKey { file, request: request_index, state }),
                    samples,
                    connections: Layout::of(policy, request, state).clients.len() * samples,
                    calls: calls.len() * samples,
                    bound,
                    ends: None,
                };
                jobs.push((policy.persistence, job));
            }
        }
        jobs
    }

    /// What it takes to do everything so often in these states.
    pub(super) fn needed(&self, states: &[State], counts: Counts) -> Needed {
        let mut needed = Needed { connections: 0, held: Duration::ZERO, longest: Duration::ZERO };
        for &state in states {
            let holding = self.holding(state, counts);
            needed.connections = needed.connections.max(holding.iter().map(|(_, job)| job.connections).sum());
            for (_, job) in holding.iter().chain(&self.straddling(state, counts.scenes)) {
                needed.held += job.bound.mul_f64(job.connections as f64);
                needed.longest = needed.longest.max(job.bound);
            }
        }
        needed
    }

    fn requests<'p>(&self, policy: &'p PolicyFile) -> impl Iterator<Item = (usize, &'p Request)> {
        let asked = |request: &Request| {
            wants_request(self.only, policy, request) && request_asks_redis(policy, request)
        };
        policy.requests.iter().enumerate().filter(move |(_, request)| asked(request))
    }

    /// How many requests begin with each operation: use and operation.
    fn begun_by_requests(&self, policy: &PolicyFile, state: State) -> BTreeMap<(usize, usize), usize> {
        let mut begun = BTreeMap::new();
        for (_, request) in self.requests(policy) {
            if let Some(first) = Layout::of(policy, request, state).first_call() {
                *begun.entry(first).or_default() += 1;
            }
        }
        begun
    }

    /// The scenarios that are played once more while the state ends inside of their calls.
    pub(super) fn straddling(&self, state: State, scenes: usize) -> Vec<Placed> {
        let mut jobs = Vec::new();
        for (file, policy) in self.files.iter().enumerate() {
            for use_index in self.uses(policy) {
                let used = &policy.uses[use_index];
                let Some(ends) = straddles(&used.client, state, self.setinfo, self.give_up) else { continue };
                let cast = Cast::of(used, state, Timing::Straddling);
                if scenes == 0 || cast.callers.is_empty() {
                    continue;
                }
                let key = SceneKey { file, use_index, state, timing: Timing::Straddling };
                let bound = self.bound(policy, use_index, state);
                jobs.push((policy.persistence, Job { ends: Some(ends), ..scene(key, &cast, scenes, bound) }));
            }
        }
        jobs
    }

    fn uses(&self, policy: &PolicyFile) -> impl Iterator<Item = usize> {
        policy
            .uses
            .iter()
            .enumerate()
            .filter(|(_, used)| used.backend == Backend::Redis && wants(self.only, used))
            .map(|(index, _)| index)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The requests that were asked for and ask Redis nothing: there is nothing in them to measure.
    pub(super) fn not_measured(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|policy| {
            policy
                .requests
                .iter()
                .filter(|request| wants_request(self.only, policy, request))
                .filter(|request| !request_asks_redis(policy, request))
                .map(|request| request.name.as_str())
        })
    }

    /// How long one call of a use can take.
    fn bound(&self, policy: &PolicyFile, use_index: usize, state: State) -> Duration {
        worst_case(&policy.uses[use_index].client, true, state, Some(self.setinfo))
            .map_or(self.give_up, |worst| worst.min(self.give_up))
    }
}

/// Whether a use is among those that were asked for.
pub(super) fn wants(only: &[String], used: &Use) -> bool {
    only.is_empty() || only.contains(&used.name)
}

/// Whether all uses that a request calls are.
pub(super) fn wants_request(only: &[String], policy: &PolicyFile, request: &Request) -> bool {
    request.calls.iter().all(|call| wants(only, &policy.uses[call.use_index]))
}

fn request_asks_redis(policy: &PolicyFile, request: &Request) -> bool {
    request.calls.iter().any(|call| asks_redis(policy, call))
}

fn asks_redis(policy: &PolicyFile, call: &RequestCall) -> bool {
    policy.uses[call.use_index].backend == Backend::Redis
}

fn scene(key: SceneKey, cast: &Cast<'_>, samples: usize, call: Duration) -> Job {
    Job {
        what: Target::Scene(key),
        samples,
        connections: cast.connections() * samples,
        calls: cast.calls() * samples,
        bound: call * cast.longest(),
        ends: None,
    }
}
