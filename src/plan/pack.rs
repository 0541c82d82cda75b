//! Puts jobs on servers.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Batch, Job};
use crate::policy::Persistence;
use crate::words::State;

/// Batches of these jobs, each on one server with no more than `room` connections: jobs that take equally long stand
/// together, so that none holds up a server on which the others have ended. A single job above `room` is split. What
/// has to end at another instant needs another server.
pub(super) fn by_server(jobs: Vec<(Persistence, Job)>, state: State, room: usize) -> Vec<Batch> {
    let mut by_kind: BTreeMap<(Persistence, Option<Duration>), Vec<Job>> = BTreeMap::new();
    for (persistence, job) in jobs {
        by_kind.entry((persistence, job.ends)).or_default().extend(split(job, room));
    }
    let mut batches = Vec::new();
    for ((persistence, ends), mut jobs) in by_kind {
        jobs.retain(|job| job.samples > 0);
        jobs.sort_by_key(|job| std::cmp::Reverse(job.bound));
        let empty =
            || Batch { state, persistence, jobs: Vec::new(), connections: 0, bound: Duration::ZERO, ends };
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

/// The batches in the order in which they begin: the longest first, as many as can be open at once but for one server;
/// then half of those that end at once, which use the time in which the others only wait; then the rest of the long ones,
/// and the other half beside them.
pub(super) fn in_order(mut batches: Vec<Batch>, connections: usize, room: usize) -> Vec<Batch> {
    batches.sort_by_key(|batch| std::cmp::Reverse(batch.bound));
    let longest = batches.first().map_or(Duration::ZERO, |batch| batch.bound);
    let (long, short): (Vec<_>, Vec<_>) =
        batches.into_iter().partition(|batch| batch.bound * SHORT_SHARE >= longest);
    let mut open = 0;
    let (first, rest): (Vec<_>, Vec<_>) = long.into_iter().partition(|batch| {
        open += batch.connections;
        open + room <= connections
    });
    // Half of them now and half when the rest of the long ones wait, which must not wait for these.
    let mut now = short;
    let later = now.split_off(now.len().div_ceil(2));
    first.into_iter().chain(now).chain(rest).chain(later).collect()
}

/// A batch of less than this part of the longest one's time ends at once beside it.
const SHORT_SHARE: u32 = 4;
