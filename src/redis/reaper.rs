//! The guard process: whatever becomes of the audit, its servers end and their directory goes.
//!
//! The audit runs its own program once more, in a process group of its own, and holds a pipe to it. Servers are
//! started into that group. When the audit ends, even by SIGKILL, the pipe ends, and the guard ends the group.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgid, getpgrp, getpid, kill_process, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

use super::ServerError;

/// How the name of every directory begins that the guard may remove.
pub const ROOT_PREFIX: &str = "redis-outage-audit-";

/// How long servers that were just killed may go on writing into their directory.
const REMOVE_WITHIN: Duration = Duration::from_secs(1);

/// How long the guard may take to end after its pipe has.
const END_WITHIN: Duration = Duration::from_secs(3);

/// The audit's side of the guard process.
#[derive(Debug)]
pub struct Reaper {
    group: i32,
    guard: Mutex<Guard>,
}

#[derive(Debug)]
struct Guard {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Reaper {
    /// Runs `exe reap ROOT`, which has to call [`Reaper::main`].
    ///
    /// # Errors
    /// Where the program can't be run.
    pub fn start(exe: &Path, root: &Path) -> Result<Arc<Reaper>, ServerError> {
        let failed = |error: io::Error| {
            ServerError::Reaper(format!(
                "can't be run as `{} reap {}`: {error}",
                exe.display(),
                root.display()
            ))
        };
        let mut process = Command::new(exe)
            .arg("reap")
            .arg(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let pipe = process.stdin.take();
        let group = i32::try_from(process.id()).unwrap_or(i32::MAX);
        Ok(Arc::new(Reaper { group, guard: Mutex::new(Guard { process, pipe }) }))
    }

    /// The process group that servers are started into.
    pub(super) fn group(&self) -> i32 {
        self.group
    }

    /// Tells the guard of a server that was started into its group.
    pub(super) fn tell(&self, pid: u32) -> Result<(), ServerError> {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let told = match &mut guard.pipe {
            Some(pipe) => writeln!(pipe, "{pid}"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        told.map_err(|error| ServerError::Reaper(format!("is gone: {error}")))
    }

    /// Whether the guard still stands by.
    pub(super) fn check(&self) -> Result<(), ServerError> {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        match guard.process.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(ServerError::Reaper(format!("is gone: it ended by itself ({status})"))),
            Err(error) => Err(ServerError::Reaper(format!("can't be asked whether it runs: {error}"))),
        }
    }

    /// The guard process itself: waits for the end of its standard input, then ends its group and removes `root`.
    ///
    /// It returns only where it was not started by the audit; otherwise it ends with its group.
    pub fn main(root: &Path) -> ExitCode {
        // Started by hand, it could remove anything and kill the terminal's own job.
        let ours =
            root.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(ROOT_PREFIX));
        if !ours || getpgrp() != getpid() {
            return ExitCode::from(2);
        }
        // The name that `killall` goes by, so that ending every audit by name leaves the guards to do their work.
        let _ = std::fs::write("/proc/self/comm", "outage-reaper");
        // A signal must not end the guard before its servers. The kernel sends SIGHUP by itself to a group that
        // lost its parent while a member is stopped.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let _caught = runtime.as_ref().ok().map(|runtime| {
            let _inside = runtime.enter();
            [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit()]
                .map(|kind| signal(kind).ok())
        });
        let pids = told(io::stdin().lock());
        end(&pids, root);
        ExitCode::SUCCESS
    }
}

/// The pids told, once the pipe has ended.
fn told(pipe: impl BufRead) -> Vec<Pid> {
    let positive = |line: String| line.trim().parse::<i32>().ok().filter(|&pid| pid > 0);
    pipe.lines().map_while(Result::ok).filter_map(positive).filter_map(Pid::from_raw).collect()
}

fn end(pids: &[Pid], root: &Path) {
    let group = getpgrp();
    for &pid in pids.iter().filter(|&&pid| pid != getpid()) {
        // A pid may have been reused since; its new owner is in another group.
        if getpgid(Some(pid)).is_ok_and(|its| its == group) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    let started = Instant::now();
    while let Err(error) = std::fs::remove_dir_all(root) {
        if error.kind() == io::ErrorKind::NotFound || started.elapsed() > REMOVE_WITHIN {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // A server that was started and not told yet, a server's own children, and this process.
    let _ = kill_process_group(group, Signal::KILL);
}

impl Drop for Reaper {
    fn drop(&mut self) {
        let guard = self.guard.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(guard.pipe.take());
        let started = Instant::now();
        while let Ok(None) = guard.process.try_wait() {
            if started.elapsed() > END_WITHIN {
                let _ = guard.process.kill();
                let _ = guard.process.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_are_read_until_the_pipe_ends_and_nothing_else_is_taken_for_one() {
        let pids = told(&b"12\n\n-1\n0\nx\n 34 \n99999999999\n56"[..]);
        assert_eq!(pids.iter().map(|pid| pid.as_raw_nonzero().get()).collect::<Vec<_>>(), [12, 34, 56]);
    }
}
