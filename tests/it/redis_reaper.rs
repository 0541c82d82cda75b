//! Whatever becomes of the audit, its servers end and its directory goes.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis_outage_audit::policy::Persistence;
use redis_outage_audit::redis::{ROOT_PREFIX, Reaper, states};
use redis_outage_audit::words::State;

use crate::support::{audit, runs, until, workshop};

/// How soon nothing may be left once the audit is gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Not a test by itself: the process that the tests below kill. It holds a pause and a stop.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by the other tests, in a process of its own"]
async fn a_run_in_the_middle_of_its_states() {
    let workshop = workshop().await;
    let mut paused = workshop.start(Persistence::Aof).await.unwrap();
    let mut stopped = workshop.start(Persistence::Aof).await.unwrap();
    let idle = workshop.start(Persistence::Rdb).await.unwrap();
    let bound = Duration::from_secs(60);
    let _pause = states::enter(State::Paused, &mut paused, bound).await.unwrap();
    let _stop = states::enter(State::Stopped, &mut stopped, bound).await.unwrap();
    println!("\nholding {} {} {}", workshop.root().display(), paused.pid(), idle.pid());
    tokio::time::sleep(bound).await;
}

/// Starts it, and says its directory and its servers once it holds.
fn run() -> (Child, PathBuf, Vec<u32>) {
    run_by(Command::new(std::env::current_exe().unwrap()))
}

fn run_by(mut command: Command) -> (Child, PathBuf, Vec<u32>) {
    let mut child = command
        .args(["--exact", "--ignored", "--nocapture", "redis_reaper::a_run_in_the_middle_of_its_states"])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.map_while(Result::ok).find(|line| line.starts_with("holding ")).unwrap();
    let mut words = line.split(' ').skip(1);
    let root = PathBuf::from(words.next().unwrap());
    let pids: Vec<u32> = words.map(|pid| pid.parse().unwrap()).collect();
    assert!(root.exists() && pids.len() == 2 && pids.iter().all(|&pid| runs(pid)));
    (child, root, pids)
}

/// The guard of a directory, by its command line.
fn guard_of(root: &std::path::Path) -> Option<u32> {
    let all = Command::new("ps").args(["-eo", "pid=,args="]).output().unwrap();
    let all = String::from_utf8_lossy(&all.stdout).into_owned();
    let end = format!(" reap {}", root.display());
    all.lines().find(|line| line.trim_end().ends_with(&end))?.split_whitespace().next()?.parse().ok()
}

async fn assert_nothing_is_left(root: &std::path::Path, pids: &[u32], since: Instant) {
    let gone = until(GONE_WITHIN, || {
        pids.iter().all(|&pid| !runs(pid)) && !root.exists() && guard_of(root).is_none()
    })
    .await;
    assert!(
        gone.is_some() && since.elapsed() < GONE_WITHIN,
        "after {:?}: directory {}, guard {:?}, servers {:?}",
        since.elapsed(),
        root.exists(),
        guard_of(root),
        pids.iter().filter(|&&pid| runs(pid)).collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_two_seconds_after_kill_9_in_the_middle_of_a_pause() {
    let (mut child, root, pids) = run();
    let killed = Instant::now();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_nothing_is_left(&root, &pids, killed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guard_outlives_the_signals_that_end_the_audit() {
    let (mut child, root, pids) = run();
    let guard = guard_of(&root).expect("the guard runs");
    if cfg!(target_os = "linux") {
        let name = std::fs::read_to_string(format!("/proc/{guard}/comm")).unwrap();
        assert_eq!(name.trim(), "outage-reaper", "ending every `audit` by name must leave the guard");
    }
    for signal in ["-HUP", "-INT", "-TERM", "-QUIT"] {
        assert!(Command::new("kill").args([signal, &guard.to_string()]).status().unwrap().success());
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(runs(guard) && pids.iter().all(|&pid| runs(pid)), "a signal ended the guard or its servers");
    let killed = Instant::now();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_nothing_is_left(&root, &pids, killed).await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_after_kill_9_while_a_server_is_frozen() {
    // In a session of its own, as under a terminal that closes, the kernel sends SIGHUP and then SIGCONT to a group
    // that lost its parent while a member is stopped: it would end the guard and wake the server.
    for _ in 0..3 {
        let mut own_session = Command::new("setsid");
        own_session.arg(std::env::current_exe().unwrap());
        let (mut child, root, pids) = run_by(own_session);
        assert!(Command::new("kill").args(["-STOP", &pids[1].to_string()]).status().unwrap().success());
        let killed = Instant::now();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_nothing_is_left(&root, &pids, killed).await;
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
    let since = Instant::now();
    drop(workshop);
    assert_nothing_is_left(&root, &pids, since).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_was_killed_is_an_error_at_the_next_start() {
    let workshop = workshop().await;
    let guard = guard_of(workshop.root()).expect("the guard runs");
    assert!(Command::new("kill").args(["-KILL", &guard.to_string()]).status().unwrap().success());
    assert!(until(GONE_WITHIN, || !runs(guard)).await.is_some());
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
