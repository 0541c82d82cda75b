//! A task that looks after a state while it holds, and hands back what it saw.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How often a witness looks.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A watching task. It is told to stop, and stops by itself where this is dropped.
#[derive(Debug)]
pub(super) struct Watch<T> {
    stop: oneshot::Sender<()>,
    task: JoinHandle<T>,
}

impl<T: Send + 'static> Watch<T> {
    /// Starts a task from what tells it to stop.
    pub(super) fn start<F>(task: impl FnOnce(oneshot::Receiver<()>) -> F) -> Watch<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        Watch { stop, task: tokio::spawn(task(stopped)) }
    }

    /// Tells it to stop and takes what it saw; none where the task itself broke.
    pub(super) async fn stop(self) -> Option<T> {
        let _ = self.stop.send(());
        self.task.await.ok()
    }
}
