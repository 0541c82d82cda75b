//! How many connections a run may have open, and what that leaves for samples.

use std::time::Duration;

/// An outage cell with fewer probes is not believed.
pub const FEWEST_PROBES: usize = 5;

/// The most connections that a run opens at once however much the machine allows: each costs about 16 KiB here and as
/// much again in the server.
const MOST_CONNECTIONS: usize = 5_800;

/// Open files that are not probes' connections: servers' pipes and logs, the witness, the runtime.
const OTHER_FILES: usize = 200;

/// How many servers share the connections, so that the next batch can begin as soon as one ends.
const SERVERS_AT_ONCE: usize = 12;

/// How many times in a row the connections may be used up in one state before the samples are lowered.
const WAVES: usize = 2;

/// The most healthy calls in all: they run one after the other, at some 15,000 a second.
const MOST_HEALTHY_CALLS: usize = 10_000;

/// A healthy cell has no fewer probes: its median then is one that was measured, and one stray does not move it.
const FEWEST_HEALTHY: usize = 3;

/// How many clients the audit itself uses on a server for its own calls, beside a connection each for what they read back.
pub const OWN_CLIENTS: usize = 12;

/// What the machine allows.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many connections may be open at once.
    pub connections: usize,
    /// How many servers share them.
    pub(super) servers: usize,
}

/// What outages take.
pub(super) struct Needed {
    /// How many connections, in the state that needs most.
    pub(super) connections: usize,
    /// For how long connections are held, those of all states added up.
    pub(super) held: Duration,
    /// How long the longest job takes.
    pub(super) longest: Duration,
}

impl Limits {
    /// The limits of a machine with this many open files a process, which is also what bounds a server's clients, and
    /// this many ports.
    pub fn of(open_files: u64, ports: usize) -> Limits {
        let by_files = usize::try_from(open_files).unwrap_or(usize::MAX).saturating_sub(OTHER_FILES);
        // A closed connection holds its port for a minute, and each state has a server of its own.
        let connections = MOST_CONNECTIONS.min(by_files).min(ports / 4);
        Limits { connections: connections.max(1), servers: SERVERS_AT_ONCE }
    }

    /// The same where there is one server, which has room for this many connections.
    pub fn on_one_server(self, room: usize) -> Limits {
        Limits { connections: self.connections.min(room).max(1), servers: 1 }
    }

    /// The most connections on one server.
    pub(super) fn per_server(self) -> usize {
        (self.connections / self.servers).max(1)
    }

    /// The samples that fit, given what so many need: what was wished for, or less where that would use up the connections
    /// more than twice over or make the run longer than its longest job, but no fewer than make a cell believable.
    pub(super) fn samples(self, wished: usize, needed: impl Fn(usize) -> Needed) -> usize {
        let fits = |samples| {
            let Needed { connections, held, longest } = needed(samples);
            connections <= self.connections * WAVES && held <= longest.mul_f64(self.connections as f64)
        };
        if wished <= FEWEST_PROBES || fits(wished) {
            return wished;
        }
        let (mut fitting, mut too_many) = (FEWEST_PROBES, wished);
        while too_many - fitting > 1 {
            let middle = usize::midpoint(fitting, too_many);
            if fits(middle) { fitting = middle } else { too_many = middle }
        }
        fitting
    }

    /// The healthy samples that fit, given how many calls one sample of everything takes.
    pub(super) fn healthy_samples(self, wished: usize, one_of_each: usize) -> usize {
        wished.min((MOST_HEALTHY_CALLS / one_of_each.max(1)).max(FEWEST_HEALTHY))
    }

    /// How often each request runs on the healthy server beside so many probes of each operation, given how many calls
    /// one sample of everything takes: as often, or less where that would be too many calls, but at least once.
    pub(super) fn healthy_runs(self, healthy_samples: usize, one_of_each: usize) -> usize {
        let affordable = MOST_HEALTHY_CALLS / one_of_each.max(1);
        if affordable >= healthy_samples { healthy_samples } else { affordable.max(1) }
    }
}
