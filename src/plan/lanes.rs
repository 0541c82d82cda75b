//! Two lanes for the servers that run side by side: what mostly waits, and what is over at once beside it. Neither holds
//! up the other.

use std::time::Duration;

use super::{Job, Limits};

/// Batches share their connections with those of their lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Those that mostly wait.
    Long,
    /// Those that are over at once beside them.
    Brief,
}

/// How many connections each lane may have open at once.
#[derive(Debug, Clone, Copy)]
pub struct Lanes {
    /// In the lane of those that mostly wait.
    pub long: usize,
    /// In the other.
    pub brief: usize,
    /// What takes less is brief.
    threshold: Duration,
    /// The most connections on one server.
    most: usize,
}

/// What takes less than this part of the longest job's time is over at once beside it.
const BRIEF_SHARE: u32 = 4;

/// The brief ones have this part of all connections, where the long ones could use all.
const FEWEST_BRIEF: usize = 16;

impl Lanes {
    /// The lanes for these jobs.
    pub(super) fn of<'a>(limits: Limits, jobs: impl Iterator<Item = &'a Job> + Clone) -> Lanes {
        if limits.servers == 1 {
            // One after the other, each with all that there is.
            return Lanes { most: limits.connections, ..Lanes::without_end() };
        }
        let longest = jobs.clone().map(|job| job.bound).max().unwrap_or_default();
        let lanes =
            Lanes { threshold: longest / BRIEF_SHARE, most: limits.per_server(), ..Lanes::without_end() };
        let long: usize =
            jobs.filter(|job| lanes.lane(job.bound) == Lane::Long).map(|job| job.connections).sum();
        let all = limits.connections;
        let brief = all.saturating_sub(long).max(all / FEWEST_BRIEF).max(1);
        Lanes { long: all.saturating_sub(brief).max(1), brief, ..lanes }
    }

    /// One server takes everything.
    pub(super) fn without_end() -> Lanes {
        Lanes { long: usize::MAX, brief: usize::MAX, threshold: Duration::ZERO, most: usize::MAX }
    }

    /// The lane of what takes so long.
    pub(super) fn lane(&self, bound: Duration) -> Lane {
        if bound < self.threshold { Lane::Brief } else { Lane::Long }
    }

    /// The most connections on one server. The next brief one begins while the last one's clients find their way back.
    pub(super) fn server(&self, lane: Lane) -> usize {
        match lane {
            Lane::Long => self.most,
            Lane::Brief => self.most.min(self.brief / 4 * 3).max(1),
        }
    }
}
