//! How many connections the servers that run side by side may open.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::plan::{Batch, Lane, Plan};

/// The connections that batches may open, lane by lane. Once every long batch has begun, the brief ones have what those
/// leave as well.
#[derive(Clone)]
pub(super) struct Rooms {
    long: Room,
    brief: Room,
    /// How many long batches have not begun.
    to_begin: watch::Sender<usize>,
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
        let long = plan.batches.iter().filter(|batch| batch.lane == Lane::Long).count();
        let to_begin = watch::Sender::new(long);
        match plan.lanes {
            Some(lanes) => Rooms { long: room(lanes.long), brief: room(lanes.brief), to_begin },
            // One for all, and each batch fills it.
            None => {
                let only = room(1);
                Rooms { long: only.clone(), brief: only, to_begin }
            }
        }
    }

    /// What a batch may open; none only if a semaphore were closed, which none ever is.
    pub(super) async fn take(&self, batch: &Batch) -> Option<OwnedSemaphorePermit> {
        match batch.lane {
            Lane::Long => {
                let room = self.long.take(batch.connections).await;
                self.to_begin.send_modify(|left| *left = left.saturating_sub(1));
                room
            }
            Lane::Brief => {
                let mut to_begin = self.to_begin.subscribe();
                let of_the_long = async {
                    // The sender is held by us.
                    let _ = to_begin.wait_for(|left| *left == 0).await;
                    self.long.take(batch.connections).await
                };
                tokio::select! {
                    biased;
                    room = self.brief.take(batch.connections) => room,
                    room = of_the_long => room,
                }
            }
        }
    }
}

impl Room {
    async fn take(&self, connections: usize) -> Option<OwnedSemaphorePermit> {
        let wanted = u32::try_from(connections.min(self.size)).unwrap_or(u32::MAX);
        Arc::clone(&self.free).acquire_many_owned(wanted).await.ok()
    }
}
