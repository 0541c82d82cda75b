//! Looking at processes, and waiting for what they do.

use std::path::Path;
use std::time::{Duration, Instant};

/// A process, as far as tests look at it.
#[derive(Debug)]
pub struct Process {
    pub pid: u32,
    pub line: String,
}

impl Process {
    /// Whether it is a Redis or Valkey server, and not one that only says its version.
    pub fn is_server(&self) -> bool {
        // The program, and not an argument that names one.
        let program = self.line.split(' ').next().unwrap_or_default();
        program.ends_with("-server") && !self.line.contains("--version")
    }

    /// Whether it is the guard that ends the servers.
    pub fn is_guard(&self) -> bool {
        self.line.contains(" reap ")
    }
}

/// The processes whose command line names this folder or whose working directory lies in it.
pub fn processes_of(folder: &Path) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        let Ok(directory) = std::fs::read_link(entry.path().join("cwd")) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if directory.starts_with(folder) || line.contains(&*folder.to_string_lossy()) {
            found.push(Process { pid, line });
        }
    }
    found
}

/// The guard of a directory.
pub fn guard_of(root: &Path) -> Option<u32> {
    processes_of(root).into_iter().find(Process::is_guard).map(|process| process.pid)
}

/// Whether a process runs; one that ended and was not waited for does not.
pub fn runs(pid: u32) -> bool {
    let stat =
        std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let stat = String::from_utf8_lossy(&stat.stdout).trim().to_owned();
    !stat.is_empty() && !stat.starts_with('Z')
}

/// Waits until it is so, and says whether it came to be in time.
pub fn until(within: Duration, mut so: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !so() {
        if started.elapsed() > within {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}
