//! However the audit ends, it says why, with the right exit code, and leaves nothing running.

use std::os::unix::fs::PermissionsExt;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Ended, Folder};

const USE: &str = "uses:\n  - {name: cart-lock, kind: lock, key: 'cart:${id}', ttl: 30s, operations: [acquire], on_outage: fail_open}\n";

fn slow() -> Folder {
    Folder::with(&format!("version: 1\nservice: shop\nclient: {{command_timeout: 10s}}\n{USE}"))
}

fn quick() -> Folder {
    Folder::with(&format!("version: 1\nservice: shop\nclient: {{command_timeout: 100ms}}\n{USE}"))
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// In the middle of a pause, in which probes wait for 10 s.
fn in_the_middle(folder: &Folder) -> Child {
    let child = folder.start(&["--samples", "5"]);
    folder.wait_for_outages(1);
    std::thread::sleep(Duration::from_millis(500));
    child
}

#[test]
fn ctrl_c_and_sigterm_in_the_middle_of_a_pause_leave_nothing_running() {
    for (name, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = slow();
        let child = in_the_middle(&folder);
        signal(&child, name);
        let ended = Ended::of(child.wait_with_output().unwrap());
        ended.fails_with(code, &["interrupted"]);
        assert!(folder.is_clean_within(Duration::from_secs(2)), "{:?}", folder.processes());
    }
}

#[test]
fn ctrl_c_while_the_healthy_control_runs_leaves_nothing_running() {
    let uses: String =
        (0..400).map(|n| USE["uses:\n".len()..].replace("cart-lock", &format!("lock-{n}"))).collect();
    let folder =
        Folder::with(&format!("version: 1\nservice: shop\nclient: {{command_timeout: 1s}}\nuses:\n{uses}"));
    let child = folder.start(&["--samples", "50"]);
    folder.wait_for_servers(1);
    signal(&child, Signal::INT);
    Ended::of(child.wait_with_output().unwrap()).fails_with(130, &["interrupted"]);
    assert!(folder.is_clean_within(Duration::from_secs(2)), "{:?}", folder.processes());
}

#[test]
fn a_server_that_ends_in_the_middle_of_a_pause_is_exit_4() {
    let folder = slow();
    let child = folder.start(&["--samples", "5", "--states", "paused", "--give-up", "3s"]);
    folder.wait_for_outages(1);
    std::thread::sleep(Duration::from_millis(500));
    for pid in folder.servers() {
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    }
    Ended::of(child.wait_with_output().unwrap()).fails_with(4, &["did not answer a fresh connection"]);
    assert!(folder.is_clean_within(Duration::from_secs(2)), "{:?}", folder.processes());
}

#[test]
fn a_deadline_in_the_control_leaves_every_cell_inconclusive_and_says_that_it_ran_out() {
    let folder = quick();
    let ended = folder.audit(&["--deadline", "1ms", "--json", "report.json"]);
    assert_eq!(ended.code, 3, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("the deadline of 1 ms ran out"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("control-failed"), "{}", ended.stdout);
    assert_eq!(folder.audit(&["--deadline", "1ms", "--inconclusive", "ok"]).code, 0);
}

#[test]
fn kill_9_in_the_middle_of_a_pause_leaves_no_server_after_two_seconds() {
    let folder = slow();
    let mut child = in_the_middle(&folder);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    assert!(
        folder.is_clean_within(Duration::from_secs(2)),
        "{:?} {:?}",
        folder.processes(),
        folder.left_behind()
    );
}

#[test]
fn a_wrong_policy_file_is_exit_2_with_the_place_and_the_mend() {
    let folder = Folder::new();
    folder.audit(&["--policies", "nowhere.yaml"]).fails_with(2, &["nowhere.yaml"]);
    folder.audit(&[]).fails_with(2, &["policies.yaml", "audit init"]);
    std::fs::create_dir(folder.path().join("none")).unwrap();
    folder.audit(&["--policies", "none"]).fails_with(2, &["none"]);

    let header = "version: 1\nservice: shop\nclient: {command_timeout: 100ms}\n";
    let long = format!("# {}\n{header}{USE}", "x".repeat(5 * 1024 * 1024));
    let bomb = format!(
        "a: &a [x, x, x, x, x, x, x, x, x]\n{}",
        (0..12)
            .map(|n| format!(
                "b{n}: &b{n} [{}]\n",
                vec![if n == 0 { "*a".to_owned() } else { format!("*b{}", n - 1) }; 9].join(", ")
            ))
            .collect::<String>()
    );
    for (what, text, says) in [
        ("empty", String::new(), vec!["empty"]),
        ("tabs", format!("{header}uses:\n\t- name: a\n"), vec!["bad.yaml:5"]),
        ("5 MB", long, vec!["4 MiB"]),
        ("bomb", bomb, vec!["bad.yaml"]),
        ("unknown", format!("{header}{USE}nonsense: 1\n"), vec!["bad.yaml:6:1", "nonsense"]),
        ("misspelt", format!("{header}{}", USE.replace("on_outage", "on_outtage")), vec!["on_outage"]),
        ("missing", format!("{header}{}", USE.replace("ttl: 30s, ", "")), vec!["bad.yaml:5", "ttl"]),
        ("doubled", format!("{header}service: shop\n{USE}"), vec!["bad.yaml:4", "service"]),
        ("negative", format!("{header}{}", USE.replace("30s", "-30s")), vec!["bad.yaml:5", "-30s"]),
        ("unitless", format!("{header}{}", USE.replace("30s", "30")), vec!["bad.yaml:5", "30s"]),
    ] {
        folder.write("bad.yaml", text);
        let ended = folder.audit(&["--policies", "bad.yaml"]);
        assert_eq!(ended.code, 2, "{what}: {}", ended.stderr);
        ended.fails_with(2, &says);
    }
    folder.write("bad.yaml", b"version: 1\nservice: \xff\xfe\n");
    folder.audit(&["--policies", "bad.yaml"]).fails_with(2, &["bad.yaml:2:10", "UTF-8"]);
}

#[test]
fn names_of_states_are_trimmed_and_an_empty_one_is_told() {
    let folder = quick();
    for states in ["", "paused, ,stopped"] {
        folder
            .audit(&["--states", states])
            .fails_with(2, &["--states: a name is empty", "--states paused,stopped"]);
    }
    folder.audit(&["--states", " pausd"]).fails_with(2, &["--states pausd: no such state", "`paused`"]);
}

#[test]
fn a_policy_file_may_come_on_standard_input_and_a_pipe_that_nobody_writes_to_is_refused() {
    let folder = quick();
    let pipe = folder.path().join("pipe.yaml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    folder
        .audit(&["check", "--policies", "pipe.yaml"])
        .fails_with(2, &["pipe.yaml", "neither a file nor a folder", "--policies -"]);
    folder.audit(&["check", "--policies", "/dev/zero"]).fails_with(2, &["/dev/zero"]);
    for name in ["-", "/dev/stdin"] {
        let mut command = folder.command(&["check", "--policies", name]);
        command.stdin(std::fs::File::open(folder.path().join("policies.yaml")).unwrap());
        let ended = Ended::of(command.output().unwrap());
        assert_eq!(ended.code, 0, "{name}: {}", ended.stderr);
        assert!(ended.stdout.starts_with("shop"), "{}", ended.stdout);
    }
}

#[test]
fn several_problems_are_all_told_at_once() {
    let folder = Folder::with(
        "version: 1\nservice: shop\nclient: {command_timeout: 5}\nuses:\n  - {name: a, kind: lok, key: k}\n  - {name: a, kind: lock, key: k, ttl: 1s, on_outage: fail_opn}\n",
    );
    folder
        .audit(&["check"])
        .fails_with(2, &[":3:", ":5:", ":6:", "`lock`", "`fail_open`", "write `5ms` or `5s`"]);
}

#[test]
fn a_wrong_command_line_is_exit_2() {
    let folder = quick();
    folder.audit(&["--states", "pauzed"]).fails_with(2, &["did you mean `paused`"]);
    folder.audit(&["--only", "cart-lok"]).fails_with(2, &["did you mean `cart-lock`"]);
    folder.audit(&["--samples", "0"]).fails_with(2, &["--samples"]);
    folder.audit(&["--give-up", "3"]).fails_with(2, &["--give-up"]);
    let both = ["--markdown", "-", "--json", "-"];
    folder.audit(&both).fails_with(2, &["--markdown and --json both name -"]);
    folder.audit(&["explain", "budget-exeeded"]).fails_with(2, &["did you mean `budget-exceeded`"]);
}

#[test]
fn without_a_server_it_is_exit_4_with_the_install_lines() {
    let folder = quick();
    let mut bare = std::process::Command::new(env!("CARGO_BIN_EXE_audit"));
    bare.current_dir(folder.path()).env("PATH", folder.path()).env("TMPDIR", folder.path());
    let ended = Ended::of(bare.output().unwrap());
    ended.fails_with(4, &["apt-get install", "dnf install", "apk add", "pacman -S", "brew install"]);

    folder.audit_on("nowhere/redis-server").fails_with(4, &["nowhere/redis-server"]);
    let dies = folder.write("redis-server", "#!/bin/sh\n[ \"$1\" = --version ] && exec echo 'Redis server v=7.0.15 sha=0:0'\necho out of luck\nexit 3\n");
    std::fs::set_permissions(&dies, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder.audit_on("./redis-server").fails_with(4, &["redis-server", "out of luck"]);
    assert!(folder.is_clean_within(Duration::from_secs(2)), "{:?}", folder.processes());
}

#[test]
fn a_report_that_cannot_be_written_is_exit_4_before_anything_runs() {
    let folder = quick();
    let args = ["--samples", "5", "--markdown", "nowhere/table.md", "--json", "report.json"];
    folder.audit(&args).fails_with(4, &["nowhere/table.md"]);
    assert!(!folder.path().join("report.json").exists());
    folder.write("document.md", "# Ours\n");
    folder.audit(&["--markdown", "document.md"]).fails_with(4, &["document.md", "audit:begin"]);
    assert_eq!(folder.read("document.md"), "# Ours\n");
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    folder.audit(&["--samples", "5", "--json", "folder"]).fails_with(4, &["folder"]);
    std::fs::remove_dir(folder.path().join("folder")).unwrap();
    assert!(folder.is_clean_within(Duration::from_secs(2)));
}

impl Folder {
    /// The audit on this server, whatever the tests were told to use.
    fn audit_on(&self, server: &str) -> Ended {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_audit"));
        command.args(["--redis-server", server]).current_dir(self.path()).env("TMPDIR", self.path());
        Ended::of(command.output().unwrap())
    }
}

#[test]
fn standard_output_that_cannot_be_written_is_exit_4_and_a_reader_that_went_away_is_none() {
    let folder = quick();
    for args in [vec!["kinds"], vec!["check"], vec!["--samples", "5", "--json", "-"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let Ok(full) = full else { return };
        let output = folder.command(&args).stdout(full).output().unwrap();
        Ended::of(output).fails_with(4, &["standard output cannot be written"]);
    }
    let mut child = folder.start(&["--samples", "5"]);
    drop(child.stdout.take());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "the audit is judged all the same");
}

#[test]
fn a_file_to_check_that_is_not_there_is_named_once() {
    let folder = quick();
    let ended = folder.audit(&["--check", "missing.md"]);
    ended.fails_with(4, &["missing.md: cannot be read", "--markdown FILE"]);
    assert_eq!(ended.stderr.matches("missing.md").count(), 1, "{}", ended.stderr);
}
