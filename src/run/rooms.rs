//! How many connections the servers that run side by side may open.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::plan::{Batch, Lane, Plan};

/// The connections that batches may open, lane by lane.
#[derive(Clone)]
pub(super) struct Rooms {
    long: Room,
    brief: Room,
}

#[derive(Clone)]
struct Room {
    free: Arc<Semaphore>,
    size: usize,
}

impl Rooms {
    /// The rooms of a plan.
    pub(super) fn of(plan: &Plan) -> Rooms {
        let room = |size| Room { free: Arc::new(Semaphore::new(size)), size };
        match plan.lanes {
            Some(lanes) => Rooms { long: room(lanes.long), brief: room(lanes.brief) },
            // One for all, and each batch fills it.
            None => {
                let only = room(1);
                Rooms { long: only.clone(), brief: only }
            }
        }
    }

    /// What a batch may open; none only if the semaphore were closed, which it never is.
    pub(super) async fn take(&self, batch: &Batch) -> Option<OwnedSemaphorePermit> {
        let room = match batch.lane {
            Lane::Long => &self.long,
            Lane::Brief => &self.brief,
        };
        let wanted = u32::try_from(batch.connections.min(room.size)).unwrap_or(u32::MAX);
        Arc::clone(&room.free).acquire_many_owned(wanted).await.ok()
    }
}
