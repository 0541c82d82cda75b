//! Puts jobs on servers.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Batch, Job, Lane, Lanes};
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
        let empty = || Batch {
            state,
            persistence,
            jobs: Vec::new(),
            connections: 0,
            bound: Duration::ZERO,
            ends,
            lane: Lane::Long,
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

/// The lanes of these batches, and the batches in the order in which they begin, the longest first: what ends at once runs
/// in the time in which the others only wait, and holds none of them up.
pub(super) fn lanes(mut batches: Vec<Batch>, connections: usize, room: usize) -> (Lanes, Vec<Batch>) {
    batches.sort_by_key(|batch| std::cmp::Reverse(batch.bound));
    let longest = batches.first().map_or(Duration::ZERO, |batch| batch.bound);
    let mut long = 0;
    for batch in &mut batches {
        batch.lane = if batch.bound * BRIEF_SHARE >= longest { Lane::Long } else { Lane::Brief };
        long += if batch.lane == Lane::Long { batch.connections } else { 0 };
    }
    let brief = connections.saturating_sub(long).max(room).min(connections / 2);
    (Lanes { long: connections - brief, brief }, batches)
}

/// A batch of less than this part of the longest one's time ends at once beside it.
const BRIEF_SHARE: u32 = 4;
