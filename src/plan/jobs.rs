//! What there is to do in a state: operations, requests and scenarios, each so many times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::fault::fault;
use super::limits::Needed;
use super::scene::{Cast, straddles};
use super::{Ends, Job, Layout, Target, reached_calls, worst_case};
use crate::observe::{CellKey, ChainKey, SceneKey, Timing};
use crate::policy::{Backend, Persistence, PolicyFile, Request, RequestCall, Use};
use crate::proxy::Fault;
use crate::words::{By, State};

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

/// What a job needs: what kind of server, and what a proxy does in front of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Conditions {
    pub(super) persistence: Persistence,
    pub(super) fault: Option<Fault>,
}

impl Conditions {
    fn of(policy: &PolicyFile, state: State, ends: Option<Ends>) -> Conditions {
        Conditions { persistence: policy.persistence, fault: fault(policy, state, ends) }
    }
}

/// A job, and what it needs.
pub(super) type Placed = (Conditions, Job);

/// A connection through a proxy takes three open files: a client's, and both ends of the proxy.
const THROUGH_A_PROXY: usize = 3;

impl Source<'_> {
    /// Everything that is done while a state outlasts the calls.
    pub(super) fn holding(&self, state: State, counts: Counts) -> Vec<Placed> {
        let counts = Counts { scenes: if state.is_played() { counts.scenes } else { 0 }, ..counts };
        let mut jobs = Vec::new();
        for (file, policy) in self.files.iter().enumerate() {
            let conditions = Conditions::of(policy, state, None);
            let begun = self.begun_by_requests(policy, state);
            for use_index in self.uses(policy, state) {
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
                    let connections = samples * each(state);
                    let job = Job { what, samples, connections, calls: samples, bound, ends: None };
                    jobs.push((conditions.clone(), job));
                }
                if counts.scenes > 0 && !cast.callers.is_empty() {
                    let key = SceneKey { file, use_index, state, timing: Timing::Holding };
                    jobs.push((conditions.clone(), scene(key, &cast, counts.scenes, bound)));
                }
            }
            for (request_index, request) in self.requests(policy, state) {
                let calls: Vec<_> = reached_calls(policy, request, state)
                    .into_iter()
                    .filter(|call| asks_redis(policy, call))
                    .collect();
                let bound = calls.iter().map(|call| self.bound(policy, call.use_index, state)).sum();
                let samples = counts.chains;
                let job = Job {
                    what: Target::Chain(ChainKey { file, request: request_index, state }),
                    samples,
                    connections: Layout::of(policy, request, state).clients.len() * samples * each(state),
                    calls: calls.len() * samples,
                    bound,
                    ends: None,
                };
                jobs.push((conditions.clone(), job));
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

    /// The requests of a state: where it has a scope, those that call the use that it befalls.
    fn requests<'p>(
        &self,
        policy: &'p PolicyFile,
        state: State,
    ) -> impl Iterator<Item = (usize, &'p Request)> {
        let asked = move |request: &Request| {
            let mut calls = request.calls.iter().filter(|call| asks_redis(policy, call));
            wants_request(self.only, policy, request)
                && calls.any(|call| policy.befalls(state, call.use_index))
        };
        policy.requests.iter().enumerate().filter(move |(_, request)| asked(request))
    }

    /// How many requests begin with each operation: use and operation.
    fn begun_by_requests(&self, policy: &PolicyFile, state: State) -> BTreeMap<(usize, usize), usize> {
        let mut begun = BTreeMap::new();
        for (_, request) in self.requests(policy, state) {
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
            let choice = policy.choice(state);
            for use_index in self.uses(policy, state) {
                let used = &policy.uses[use_index];
                let Some(ends) = straddles(&used.client, &choice, self.setinfo, self.give_up) else {
                    continue;
                };
                let cast = Cast::of(used, state, Timing::Straddling);
                if scenes == 0 || cast.callers.is_empty() {
                    continue;
                }
                let key = SceneKey { file, use_index, state, timing: Timing::Straddling };
                let bound = self.bound(policy, use_index, state);
                let job = Job { ends: Some(ends), ..scene(key, &cast, scenes, bound) };
                jobs.push((Conditions::of(policy, state, Some(ends)), job));
            }
        }
        jobs
    }

    fn uses(&self, policy: &PolicyFile, state: State) -> impl Iterator<Item = usize> {
        policy
            .uses
            .iter()
            .enumerate()
            .filter(|(index, used)| {
                used.backend == Backend::Redis && wants(self.only, used) && policy.befalls(state, *index)
            })
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
        let operations = 0..policy.uses[use_index].operations.len();
        let worst =
            operations.map(|operation| worst_case(policy, use_index, operation, state, Some(self.setinfo)));
        let each = worst.map(|worst| worst.map_or(self.give_up, |worst| worst.min(self.give_up)));
        each.max().unwrap_or_default()
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

/// How many open files each connection takes.
fn each(state: State) -> usize {
    match state.facts().by {
        By::Server => 1,
        By::Proxy => THROUGH_A_PROXY,
    }
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
        connections: cast.connections() * samples * each(key.state),
        calls: cast.calls() * samples,
        bound: call * cast.longest(),
        ends: None,
    }
}
