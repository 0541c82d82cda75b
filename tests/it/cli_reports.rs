//! Reports as files, on standard output, and as a gate.

use redis_outage_audit::words::State;

use crate::command::{Folder, cell};

const POLICIES: &str = "version: 1\nservice: shop\nclient: {command_timeout: 300ms}\nbudget: 200ms\nuses:\n  - name: cart-lock\n    kind: lock\n    key: cart:${id}\n    ttl: 30s\n    on_outage: fail_open\n    where: src/cart.rs:40\n    known_from: code\n  - {name: tiles, kind: cache, key: 'tile:${id}', ttl: 1m, on_outage: fallback}\n";

#[test]
fn a_table_just_written_agrees_with_the_next_runs_and_not_with_other_settings() {
    let folder = Folder::with(POLICIES);
    folder.write(
        "README.md",
        "# Shop\r\n\r\n<!-- audit:begin -->\r\n<!-- audit:end -->\r\nlast line without an end",
    );
    let written = folder.audit(&["--markdown", "README.md", "--samples", "10"]);
    assert_eq!(written.code, 1, "{}", written.stderr);
    let text = folder.read("README.md");
    assert!(text.starts_with("# Shop\r\n\r\n<!-- audit:begin -->"), "{text}");
    assert!(text.ends_with("<!-- audit:end -->\r\nlast line without an end"), "{text}");
    assert!(text.contains("cart-lock") && text.contains("src/cart.rs:40"), "{text}");
    for _ in 0..3 {
        let checked = folder.audit(&["--check", "README.md", "--samples", "10"]);
        assert!(!checked.stderr.contains("stale:"), "{}", checked.stderr);
    }
    assert_eq!(folder.read("README.md"), text, "a check writes nothing");

    folder.write("policies.yaml", POLICIES.replace("300ms", "600ms").replace("fail_open", "fail_closed"));
    let stale = folder.audit(&["--check", "README.md", "--samples", "10"]);
    stale.fails_with(1, &["stale:", "README.md", "cart-lock.acquire", "--markdown README.md"]);
}

#[test]
fn a_report_on_standard_output_sends_the_table_to_standard_error() {
    let folder = Folder::with(POLICIES);
    let ended = folder.audit(&["--json", "-", "--samples", "5"]);
    let report = redis_outage_audit::report::json::from_json(&ended.stdout).unwrap();
    let paused = cell(&report, "tiles.read", State::Paused);
    assert_eq!(paused.probes.len(), 5);
    assert!(paused.probes.iter().all(|probe| probe.attempts.len() == 1), "each attempt is kept");
    assert!(ended.stderr.contains("cart-lock") && ended.stderr.contains("departs"), "{}", ended.stderr);
    let markdown = folder.audit(&["--markdown", "-", "--samples", "5"]);
    assert!(
        markdown.stdout.contains("| cart-lock") || markdown.stdout.contains("cart-lock"),
        "{}",
        markdown.stdout
    );
}

#[test]
fn several_policy_files_make_one_table_and_only_narrows_it() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("policies")).unwrap();
    folder.write("policies/a.yaml", POLICIES);
    folder.write(
        "policies/b.yaml",
        POLICIES.replace("service: shop", "service: depot\nserver: {persistence: none}"),
    );
    let (_, report) = folder.report(&["--samples", "5"]);
    let services: Vec<&str> = report.services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(services, ["shop", "depot"]);
    let (ended, narrow) = folder.report(&["--samples", "5", "--only", "tiles", "--states", "stopped"]);
    let rows = narrow.services.iter().flat_map(|service| &service.rows);
    assert!(rows.clone().count() == 6 && rows.clone().all(|row| row.use_name == "tiles"));
    assert_eq!(narrow.states, [State::Healthy, State::Stopped]);
    // Its invalidation is lost with the stopped server, and nothing else is found.
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    let denied = narrow.services.iter().flat_map(|service| &service.findings).filter(|one| one.departs());
    assert!(denied.into_iter().all(|one| one.code == redis_outage_audit::words::Code::StaleAfterRecovery));
}

#[test]
fn the_table_fits_eighty_columns_and_carries_no_colour_into_a_pipe() {
    let folder = Folder::with(POLICIES);
    let ended = folder.audit(&["--samples", "5"]);
    assert!(!ended.stdout.contains('\u{1b}'), "{}", ended.stdout);
    let quiet = folder.audit(&["--samples", "5", "--quiet"]);
    assert!(quiet.stdout.lines().count() < ended.stdout.lines().count() / 2, "{}", quiet.stdout);
    assert!(quiet.stdout.contains("budget-exceeded"), "{}", quiet.stdout);
}

#[test]
fn check_reads_and_lints_without_any_redis() {
    let folder = Folder::with(POLICIES);
    let mut command = folder.command(&["check"]);
    let ended = crate::command::Ended::of(command.env("PATH", "/nowhere").output().unwrap());
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    assert!(ended.stdout.contains("budget-unreachable"), "{}", ended.stdout);
    folder.write("policies.yaml", POLICIES.replace("budget: 200ms", "budget: 400ms"));
    let fine = folder.audit(&["check"]);
    assert_eq!(fine.code, 0, "{}", fine.stdout);
}

#[test]
fn the_starter_file_is_a_policy_file_and_is_never_written_over_another() {
    let folder = Folder::new();
    assert_eq!(folder.audit(&["init", "policies.yaml"]).code, 0);
    assert!(folder.audit(&["check"]).code <= 1);
    folder.audit(&["init", "policies.yaml"]).fails_with(4, &["policies.yaml", "give another name"]);
    assert!(folder.audit(&["init"]).stdout.contains("version: 1"));
}

#[test]
fn what_there_is_can_be_listed() {
    let folder = Folder::new();
    for (args, says) in [
        (vec!["kinds"], "heartbeat_dedup"),
        (vec!["kinds", "lock"], "compare_and_delete"),
        (vec!["states"], "CLIENT PAUSE ALL"),
        (vec!["explain"], "budget-exceeded"),
        (vec!["explain", "undecided"], "nobody decided"),
        (vec!["completions", "bash"], "_audit"),
        (vec!["--help"], "Exit codes"),
    ] {
        let ended = folder.audit_plain(&args);
        assert!(ended.code == 0 && ended.stdout.contains(says), "{args:?}: {}{}", ended.stdout, ended.stderr);
    }
    assert_eq!(folder.audit_plain(&["man", "man"]).code, 0);
    assert!(folder.read("man/audit.1").contains("audit"));
}

impl Folder {
    fn audit_plain(&self, args: &[&str]) -> crate::command::Ended {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_audit"));
        crate::command::Ended::of(command.args(args).current_dir(self.path()).output().unwrap())
    }
}
