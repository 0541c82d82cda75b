//! How late this machine wakes its tasks: measured beside the probes, by one that only sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How long the task sleeps at a time.
const NAP: Duration = Duration::from_millis(5);

/// A task that sleeps and notes by how much it overslept. Dropping it ends the task.
pub(super) struct Jitter {
    worst_us: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Jitter {
    /// Begins to measure.
    pub(super) fn start() -> Jitter {
        let worst_us = Arc::new(AtomicU64::new(0));
        let worst = Arc::clone(&worst_us);
        let task = tokio::spawn(async move {
            loop {
                let due = Instant::now() + NAP;
                tokio::time::sleep_until(due).await;
                let late = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
                worst.fetch_max(late, Ordering::Relaxed);
            }
        });
        Jitter { worst_us, task }
    }

    /// The longest that it overslept so far, in microseconds.
    pub(super) fn worst_us(&self) -> u64 {
        self.worst_us.load(Ordering::Relaxed)
    }
}

impl Drop for Jitter {
    fn drop(&mut self) {
        self.task.abort();
    }
}
