//! Puts jobs on servers.

use std::collections::BTreeMap;
use std::time::Duration;

use super::jobs::{Conditions, Placed};
use super::{Batch, Ends, Job, Lane, Lanes};
use crate::words::State;

/// Batches of these jobs, each on one server with no more connections than its lane has room for: jobs that take equally
/// long stand together, so that none holds up a server on which the others have ended. A single job above that is split.
/// What has to end at another instant needs another server, and so does what a proxy harms otherwise.
pub(super) fn by_server(jobs: Vec<Placed>, state: State, lanes: &Lanes) -> Vec<Batch> {
    let mut by_kind: BTreeMap<(Conditions, Lane, Option<Ends>), Vec<Job>> = BTreeMap::new();
    for (conditions, job) in jobs {
        let lane = lanes.lane(job.bound);
        by_kind.entry((conditions, lane, job.ends)).or_default().extend(split(job, lanes.server(lane)));
    }
    let mut batches = Vec::new();
    for ((conditions, lane, ends), mut jobs) in by_kind {
        let room = lanes.server(lane);
        jobs.retain(|job| job.samples > 0);
        jobs.sort_by_key(|job| std::cmp::Reverse(job.bound));
        let empty = || Batch {
            state,
            persistence: conditions.persistence,
            fault: conditions.fault.clone(),
            jobs: Vec::new(),
            connections: 0,
            bound: Duration::ZERO,
            ends,
            lane,
        };
        let mut batch = empty();
        // Where one server is enough there is one. Where it is not, none holds connections for longer than they are used.
        let fits = jobs.iter().map(|job| job.connections).sum::<usize>() <= room;
        for job in jobs {
            let full = batch.connections + job.connections > room;
            if !batch.jobs.is_empty() && (full || (!fits && job.bound != batch.bound)) {
                batches.push(std::mem::replace(&mut batch, empty()));
            }
            batch.connections += job.connections;
            batch.bound = batch.bound.max(job.bound);
            batch.jobs.push(job);
        }
        if !batch.jobs.is_empty() {
            batches.push(batch);
        }
    }
    batches
}

/// A job in parts that each fit in `room`; a single sample is never cut.
fn split(job: Job, room: usize) -> Vec<Job> {
    let each = job.connections / job.samples.max(1);
    let calls = job.calls / job.samples.max(1);
    let fitting = (room / each.max(1)).max(1);
    let mut parts = Vec::new();
    // A cell whose probes are all calls of a scenario has none of its own.
    let mut left = job.samples;
    while left > fitting {
        parts.push(Job { samples: fitting, connections: each * fitting, calls: calls * fitting, ..job });
        left -= fitting;
    }
    parts.push(Job { samples: left, connections: each * left, calls: calls * left, ..job });
    parts
}
