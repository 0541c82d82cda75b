//! The audit as a user runs it: a command, a folder, what it printed, and its exit code.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use redis_outage_audit::report::json::from_json;
use redis_outage_audit::report::{CellReport, Report, RequestCell, Row};
use redis_outage_audit::words::{Code, Finding, State};

use crate::processes::{Process, processes_of, until};

/// A folder of its own, gone with the test, in which the audit runs.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// A folder with a `policies.yaml` of this text.
    pub fn with(policies: &str) -> Folder {
        let folder = Folder::new();
        folder.write("policies.yaml", policies);
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// The audit in this folder, on the tests' server, with its temporary files inside of it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_audit"));
        command.args(args).current_dir(self.path()).env("TMPDIR", self.path()).env("CI", "true");
        if let Some(server) = std::env::var_os("AUDIT_TEST_REDIS_SERVER")
            && !args.iter().any(|arg| ["check", "init", "kinds", "states", "explain"].contains(arg))
        {
            command.arg("--redis-server").arg(server);
        }
        command
    }

    pub fn audit(&self, args: &[&str]) -> Ended {
        Ended::of(self.command(args).output().unwrap())
    }

    /// Starts the audit and gives it back while it runs.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the audit with `--json` and reads the report.
    pub fn report(&self, args: &[&str]) -> (Ended, Report) {
        let ended = self.audit(&[args, &["--json", "report.json"]].concat());
        assert!(matches!(ended.code, 0 | 1 | 3), "{} {}", ended.code, ended.stderr);
        let report = from_json(&self.read("report.json")).unwrap();
        (ended, report)
    }

    /// The processes of audits in this folder.
    pub fn processes(&self) -> Vec<Process> {
        processes_of(self.path())
    }

    /// The servers among them.
    pub fn servers(&self) -> Vec<u32> {
        self.processes().into_iter().filter(Process::is_server).map(|process| process.pid).collect()
    }

    /// What is left of the audit's temporary directories.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path()).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).collect()
    }

    /// Waits for this long at most until nothing of the audit runs or lies about.
    pub fn is_clean_within(&self, limit: Duration) -> bool {
        until(limit, || self.processes().is_empty() && self.left_behind().is_empty())
    }

    /// The numbers of the audit's servers that have not been shut down, stopped ones too; 0 is the healthy control.
    pub fn server_numbers(&self) -> Vec<usize> {
        let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
        let inside = entries(self.path()).flat_map(|root| entries(&root.path()).collect::<Vec<_>>());
        inside.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("server-")?.parse().ok()).collect()
    }

    /// Waits until the healthy control has ended and so many servers of the outage states are there.
    pub fn wait_for_outages(&self, count: usize) {
        let begun = until(Duration::from_secs(20), || {
            let numbers = self.server_numbers();
            numbers.len() >= count && !numbers.contains(&0)
        });
        assert!(begun, "no {count} servers in trouble within 20 s: {:?}", self.processes());
    }

    /// Waits until so many of the audit's servers are up.
    pub fn wait_for_servers(&self, count: usize) {
        let up = until(Duration::from_secs(20), || self.servers().len() >= count);
        assert!(up, "no {count} servers within 20 s: {:?}", self.processes());
    }
}

/// What a command came to.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn of(output: Output) -> Ended {
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts the exit code, and that these texts stand on standard error.
    #[track_caller]
    pub fn fails_with(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is missing in:\n{}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

/// The row of `use.operation`.
pub fn row<'a>(report: &'a Report, name: &str) -> &'a Row {
    report
        .services
        .iter()
        .flat_map(|service| &service.rows)
        .find(|row| format!("{}.{}", row.use_name, row.operation) == name)
        .unwrap_or_else(|| panic!("no row {name}"))
}

/// The cell of `use.operation` in a state.
pub fn cell<'a>(report: &'a Report, name: &str, state: State) -> &'a CellReport {
    row(report, name).cells.iter().find(|cell| cell.state == state).unwrap()
}

/// A request in a state.
pub fn request<'a>(report: &'a Report, name: &str, state: State) -> &'a RequestCell {
    let requests = report.services.iter().flat_map(|service| &service.requests);
    let row = requests.into_iter().find(|row| row.name == name).unwrap();
    row.cells.iter().find(|cell| cell.state == state).unwrap()
}

/// All findings of a code.
pub fn found(report: &Report, code: Code) -> Vec<&Finding> {
    let findings = report.services.iter().flat_map(|service| &service.findings);
    findings.filter(|finding| finding.code == code).collect()
}

/// The median cost in a cell, in milliseconds.
pub fn p50_ms(cell: &CellReport) -> f64 {
    cell.cost.unwrap().p50_us as f64 / 1_000.0
}
