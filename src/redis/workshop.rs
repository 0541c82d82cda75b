//! Where throwaway servers are made: one directory and one guard process a run.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use super::reaper::ROOT_PREFIX;
use super::{Reaper, Server, ServerBinary, ServerError, Throwaway, open_file_limit};
use crate::policy::Persistence;

/// Makes throwaway servers, and outlives each of them.
#[derive(Debug)]
pub struct Workshop {
    binary: ServerBinary,
    // Dropped in this order: the guard removes whatever is left of the directory after the audit itself has.
    root: TempDir,
    reaper: Arc<Reaper>,
    made: AtomicUsize,
}

impl Workshop {
    /// Makes the directory and starts the guard: `exe reap DIRECTORY` has to call [`Reaper::main`].
    ///
    /// # Errors
    /// Where either can't be done.
    pub async fn open(binary: ServerBinary, exe: PathBuf) -> Result<Arc<Self>, ServerError> {
        // Before the first server starts, which inherits the limit.
        open_file_limit();
        let root = tempfile::Builder::new()
            .prefix(ROOT_PREFIX)
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(ServerError::io(format!("making a directory in {}", std::env::temp_dir().display())))?;
        let reaper = Reaper::start(&exe, root.path())?;
        Ok(Arc::new(Workshop { binary, root, reaper, made: AtomicUsize::new(0) }))
    }

    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// Where it ends by itself, or does not answer in time.
    pub async fn start(self: &Arc<Self>, persistence: Persistence) -> Result<Server, ServerError> {
        self.process(persistence).await.map(Server::owned)
    }

    /// [`Workshop::start`], without what a state needs of any server.
    pub(super) async fn process(
        self: &Arc<Self>,
        persistence: Persistence,
    ) -> Result<Throwaway, ServerError> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let dir = self.root.path().join(format!("server-{number}"));
        std::fs::create_dir(&dir).map_err(ServerError::io(format!("making {}", dir.display())))?;
        Throwaway::start(Arc::clone(self), dir, persistence).await
    }

    /// The program that its servers run.
    pub fn binary(&self) -> &ServerBinary {
        &self.binary
    }

    /// The directory in which its servers live.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub(super) fn reaper(&self) -> &Reaper {
        &self.reaper
    }
}
