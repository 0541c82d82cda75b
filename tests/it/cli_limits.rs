//! What a run takes of the machine: no more than the machine allows.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use redis_outage_audit::report::json::from_json;
use redis_outage_audit::words::Verdict;

use crate::command::{Ended, Folder};

const OPEN_FILES: usize = 300;

/// What `Limits::of` leaves for probes of this many open files.
const CONNECTIONS: usize = 100;

/// Connections that are not probes': the witnesses and the preparation of the servers that run at once.
const OTHER_CONNECTIONS: usize = 60;

/// How many sockets a process has open now.
fn sockets(pid: u32) -> usize {
    let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return 0 };
    let links = open.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

#[test]
fn a_run_keeps_within_the_open_files_that_it_is_allowed_and_says_what_that_cost_it() {
    let mut policies = "version: 1\nservice: shop\nclient: {command_timeout: 150ms}\nuses:\n".to_owned();
    for number in 0..10 {
        let key = format!("'l{number}:${{id}}'");
        writeln!(
            policies,
            "  - {{name: s{number}, kind: session, key: {key}, ttl: 30m, on_outage: propagate}}"
        )
        .unwrap();
    }
    let folder = Folder::with(&policies);
    let audit = folder.command(&["--json", "report.json"]);
    // The shell lowers the limit for good, and becomes the audit.
    let mut limited = Command::new("sh");
    limited.arg("-c").arg(format!("ulimit -n {OPEN_FILES} && exec \"$0\" \"$@\"")).arg(audit.get_program());
    limited.args(audit.get_args()).current_dir(folder.path());
    limited.envs(audit.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child =
        limited.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(sockets(child.id()));
        std::thread::sleep(Duration::from_millis(2));
    }
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!((CONNECTIONS / 2..CONNECTIONS + OTHER_CONNECTIONS).contains(&most), "{most} sockets at once");
    let report = from_json(&folder.read("report.json")).unwrap();
    // Twenty operations with twenty probes each would use the connections up four times over, and take four times as long
    // as the longest call.
    assert!(
        report.notes.iter().any(|note| note.contains("5 probes a cell instead of 20")),
        "{:?}",
        report.notes
    );
    let cells = report.services[0].rows.iter().flat_map(|row| &row.cells);
    let outages: Vec<_> = cells.filter(|cell| cell.state.is_outage()).collect();
    assert_eq!(outages.len(), 40);
    for cell in outages {
        assert_eq!((cell.probes.len(), cell.verdict), (5, Verdict::Conforms), "{:?}", cell.proof);
    }
}
