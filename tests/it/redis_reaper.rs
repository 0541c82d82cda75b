//! Whatever becomes of the audit, its servers end and its directory goes.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis_outage_audit::policy::Persistence;
use redis_outage_audit::redis::{ROOT_PREFIX, Reaper};

use crate::command::Folder;
use crate::processes::{guard_of, runs, until};
use crate::support::{audit, workshop};

/// How soon nothing may be left once the audit is gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// An audit whose calls wait in a pause on one server, and try again and again on another that is stopped.
fn folder() -> Folder {
    Folder::with(
        "version: 1\nservice: shop\nclient: {command_timeout: 50s, attempts: 900, backoff: 100ms}\nuses:\n  - {name: cart-lock, kind: lock, key: 'cart:${id}', ttl: 30s, on_outage: fail_open}\n",
    )
}

/// What is given to that audit.
const ARGS: [&str; 4] = ["--samples", "5", "--give-up", "50s"];

/// Waits until both states hold: two servers are there, and one of them was killed.
fn wait_for_both_states(folder: &Folder) {
    folder.wait_for_outages(2);
    assert!(until(Duration::from_secs(20), || folder.servers().len() == 1), "{:?}", folder.processes());
    std::thread::sleep(Duration::from_millis(300));
}

fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[track_caller]
fn assert_nothing_is_left_of(folder: &Folder) {
    let clean = folder.is_clean_within(GONE_WITHIN);
    assert!(clean, "{:?} {:?}", folder.processes(), folder.left_behind());
}

#[track_caller]
fn assert_nothing_is_left(root: &Path, pids: &[u32]) {
    let gone = until(GONE_WITHIN, || {
        pids.iter().all(|&pid| !runs(pid)) && !root.exists() && guard_of(root).is_none()
    });
    assert!(
        gone,
        "directory {}, guard {:?}, servers {:?}",
        root.exists(),
        guard_of(root),
        pids.iter().filter(|&&pid| runs(pid)).collect::<Vec<_>>()
    );
}

#[test]
fn the_guard_outlives_the_signals_that_end_the_audit() {
    let folder = folder();
    let mut child = folder.start(&ARGS);
    wait_for_both_states(&folder);
    let guard = guard_of(folder.path()).expect("the guard runs");
    if cfg!(target_os = "linux") {
        let name = std::fs::read_to_string(format!("/proc/{guard}/comm")).unwrap();
        assert_eq!(name.trim(), "outage-reaper", "ending every `audit` by name must leave the guard");
    }
    for signal in ["-HUP", "-INT", "-TERM", "-QUIT"] {
        kill(signal, guard);
    }
    std::thread::sleep(Duration::from_millis(100));
    assert!(runs(guard) && folder.servers().len() == 1, "a signal ended the guard or its server");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_nothing_is_left_of(&folder);
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_after_kill_9_while_a_server_is_frozen() {
    // In a session of its own, as under a terminal that closes, the kernel sends SIGHUP and then SIGCONT to a group
    // that lost its parent while a member is stopped: it would end the guard and wake the server.
    for _ in 0..3 {
        let folder = folder();
        let command = folder.command(&ARGS);
        let mut own_session = Command::new("setsid");
        own_session.arg(command.get_program()).args(command.get_args()).current_dir(folder.path());
        own_session.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut child = own_session.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for_both_states(&folder);
        kill("-STOP", folder.servers()[0]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_nothing_is_left_of(&folder);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_the_audit_froze_is_gone_after_ctrl_c_and_after_kill_9() {
    let is_stopped = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    for signal in ["-INT", "-TERM", "-KILL"] {
        let folder = folder();
        let mut child = folder.start(&[&ARGS[..], &["--states", "frozen"]].concat());
        let frozen = || folder.servers().into_iter().any(is_stopped);
        assert!(until(Duration::from_secs(20), frozen), "{:?}", folder.processes());
        kill(signal, child.id());
        child.wait().unwrap();
        assert_nothing_is_left_of(&folder);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_and_guard_are_in_one_group_that_is_not_the_audits() {
    let workshop = workshop().await;
    let server = workshop.start(Persistence::None).await.unwrap();
    let group = |pid: u32| {
        let out = Command::new("ps").args(["-o", "pgid=", "-p", &pid.to_string()]).output().unwrap();
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    };
    let guard = guard_of(workshop.root()).expect("the guard runs");
    assert_eq!(group(server.pid()), guard.to_string(), "a Ctrl-C at a terminal reaches its own group only");
    assert_ne!(group(server.pid()), group(std::process::id()));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_after_an_ordinary_end_or_a_server_that_was_only_dropped() {
    let workshop = workshop().await;
    let root = workshop.root().to_owned();
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&root).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o700, "nobody else may look into it");
    let (ended, dropped) =
        (workshop.start(Persistence::Aof).await.unwrap(), workshop.start(Persistence::Aof).await.unwrap());
    let pids = [ended.pid(), dropped.pid()];
    ended.shutdown().await;
    drop(dropped);
    drop(workshop);
    assert_nothing_is_left(&root, &pids);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_was_killed_is_an_error_at_the_next_start() {
    let workshop = workshop().await;
    let guard = guard_of(workshop.root()).expect("the guard runs");
    kill("-KILL", guard);
    assert!(until(GONE_WITHIN, || !runs(guard)));
    let error = workshop.start(Persistence::None).await.unwrap_err();
    assert!(error.to_string().contains("the guard process that ends the servers is gone"), "{error}");
}

#[test]
fn a_process_that_is_not_in_the_guards_group_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join(format!("{ROOT_PREFIX}test"));
    std::fs::create_dir(&root).unwrap();
    let mut bystander = Command::new("sleep").arg("30").spawn().unwrap();
    let mut guard =
        Command::new(audit()).arg("reap").arg(&root).stdin(Stdio::piped()).spawn_in_its_own_group().unwrap();
    use std::io::Write;
    writeln!(guard.stdin.take().unwrap(), "{}", bystander.id()).unwrap();
    guard.wait().unwrap();
    assert!(!root.exists(), "the guard did its work");
    assert!(bystander.try_wait().unwrap().is_none(), "a pid that was reused belongs to somebody else");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn started_by_hand_the_guard_touches_nothing() {
    let parent = tempfile::tempdir().unwrap();
    for (name, own_group) in [("documents".to_owned(), true), (format!("{ROOT_PREFIX}test"), false)] {
        let root = parent.path().join(name);
        std::fs::create_dir(&root).unwrap();
        let mut command = Command::new(audit());
        command.arg("reap").arg(&root).stdin(Stdio::null());
        let mut guard = if own_group { command.spawn_in_its_own_group() } else { command.spawn() }.unwrap();
        assert_eq!(guard.wait().unwrap().code(), Some(2));
        assert!(root.exists(), "{} was removed", root.display());
    }
}

#[test]
fn a_guard_that_cant_be_run_is_an_error_that_names_it() {
    let error =
        Reaper::start(std::path::Path::new("/nowhere/audit"), std::path::Path::new("/tmp/x")).unwrap_err();
    assert!(error.to_string().contains("/nowhere/audit reap /tmp/x"), "{error}");
}

trait OwnGroup {
    fn spawn_in_its_own_group(&mut self) -> std::io::Result<Child>;
}

impl OwnGroup for Command {
    fn spawn_in_its_own_group(&mut self) -> std::io::Result<Child> {
        std::os::unix::process::CommandExt::process_group(self, 0).spawn()
    }
}
