//! The dump of a server: made to fail, and made.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::wire::{STEP_WITHIN, Wire};

/// How long a snapshot of a throwaway server may take.
const SAVED_WITHIN: Duration = Duration::from_secs(10);

/// Between two questions whether it is done.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// The dump's name, which no throwaway server changes.
pub(super) const DUMP: &str = "dump.rdb";

/// A folder in the dump's place, and the dump that was there before.
#[derive(Debug)]
pub(super) struct Blocked {
    dump: PathBuf,
    aside: Option<PathBuf>,
}

/// Puts a folder in the dump's place, so that no snapshot can take it.
pub(super) fn block(dir: &Path) -> io::Result<Blocked> {
    let dump = dir.join(DUMP);
    let aside = dump.with_extension("aside");
    let aside = match std::fs::rename(&dump, &aside) {
        Ok(()) => Some(aside),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    std::fs::create_dir(&dump)?;
    Ok(Blocked { dump, aside })
}

impl Blocked {
    /// Takes the folder away.
    pub(super) fn clear(&self) -> io::Result<()> {
        std::fs::remove_dir(&self.dump)
    }

    /// Puts the old dump back; where there was none, there is none.
    pub(super) fn restore(self) -> io::Result<()> {
        match self.aside {
            Some(aside) => std::fs::rename(aside, self.dump),
            None => std::fs::remove_file(self.dump),
        }
    }
}

/// How a snapshot has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saved {
    Yes,
    No,
}

/// Has the server save a snapshot, and waits until it has ended so.
pub(super) async fn save(control: &mut Wire, wanted: Saved) -> io::Result<()> {
    let status = match wanted {
        Saved::Yes => "rdb_last_bgsave_status:ok",
        Saved::No => "rdb_last_bgsave_status:err",
    };
    let started = Instant::now();
    let mut asked = false;
    while started.elapsed() < SAVED_WITHIN {
        let info = control.ask(&["INFO", "persistence"], STEP_WITHIN).await?.text();
        let busy =
            ["rdb_bgsave_in_progress:1", "aof_rewrite_in_progress:1"].iter().any(|line| info.contains(line));
        if !busy && asked && info.contains(status) {
            return Ok(());
        }
        if !busy {
            // Where a child of the server's own was in the way, it is asked for again.
            asked = true;
            control.ask(&["BGSAVE"], STEP_WITHIN).await?;
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
    Err(io::Error::other(format!("no snapshot ended in {status} within {SAVED_WITHIN:?}")))
}
