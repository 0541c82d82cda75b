//! What an audit changes on a server that exists, and that it is put back whatever becomes of the audit.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use redis_outage_audit::endpoint::Endpoint;
use redis_outage_audit::policy::Persistence;
use redis_outage_audit::redis::{Allow, Attached, LeftOver, ServerError, Servers, Touch, restore, states};
use redis_outage_audit::words::State;
use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Ended, Folder, cell};
use crate::existing::{Existing, POLICIES};
use crate::processes::until;

fn allow(journal: PathBuf) -> Allow {
    Allow {
        hosts: Vec::new(),
        other_clients: false,
        keys: false,
        config: true,
        max_pause: Duration::from_secs(10),
        hooks: None,
        journal: Some(journal),
    }
}

async fn attach(server: &Existing, journal: PathBuf) -> Arc<Attached> {
    Attached::open(&server.endpoint().into(), allow(journal), "0badcafe").await.unwrap()
}

/// The states that change settings.
fn changing() -> impl Iterator<Item = State> {
    State::ALL.iter().copied().filter(|state| Touch::of(*state) == Touch::Settings)
}

/// Puts the server into the state and leaves it there, as an audit does that is called off.
async fn enter_and_drop(attached: &Arc<Attached>, state: State) {
    let servers = Servers::Attached(Arc::clone(attached));
    let mut server = servers.start(Persistence::Aof).await.unwrap();
    let ready = states::prepare(state, &server).await.unwrap();
    let holding = states::enter(ready, &mut server, Duration::from_secs(5)).await.unwrap();
    drop(holding);
    drop(server);
}

/// What a state must leave as it was, asked by whoever gets in.
fn standing(server: &Existing) -> (redis::Value, String) {
    let info: String = redis::from_redis_value(server.ask(&["INFO", "replication"])).unwrap();
    let role = info.lines().find(|line| line.starts_with("role:")).unwrap().to_owned();
    (server.settings(), role)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_state_that_changes_settings_is_put_back_when_it_is_called_off_and_after_a_kill_9() {
    assert!(changing().count() >= 6);
    let folder = tempfile::tempdir().unwrap();
    for state in changing() {
        let server = Existing::start();
        let before = standing(&server);
        let journal = folder.path().join(format!("{state}.journal"));
        assert!(server.is_left_alone());

        let attached = attach(&server, journal.clone()).await;
        enter_and_drop(&attached, state).await;
        assert!(journal.exists(), "{state}");
        attached.put_back().await.unwrap();
        assert_eq!(standing(&server), before, "{state}");
        assert!(!journal.exists(), "{state}");
        attached.put_back().await.unwrap();

        assert!(server.is_left_alone());
        enter_and_drop(&attached, state).await;
        assert_eq!(restore(&journal, None).await.unwrap(), LeftOver::InUse);
        // As a kill does, this ends the audit's hold on the journal without a word.
        drop(attached);
        match restore(&journal, Some(&server.endpoint().into())).await.unwrap() {
            LeftOver::PutBack(restored) => assert_eq!(restored.settings, states::settings(state)),
            other => panic!("{other:?}"),
        }
        assert_eq!(standing(&server), before, "{state}");
        assert!(!journal.exists(), "{state}");
        restore(&journal, None).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_server_that_was_restarted_is_not_lent_nor_changed() {
    let mut server = Existing::start();
    let folder = tempfile::tempdir().unwrap();
    let attached = attach(&server, folder.path().join("a.journal")).await;
    let servers = Servers::Attached(Arc::clone(&attached));
    let mut lent = servers.start(Persistence::Aof).await.unwrap();
    server.restart();
    for state in [State::Paused, State::OutOfMemory] {
        let ready = states::prepare(state, &lent).await.unwrap();
        let refused = states::enter(ready, &mut lent, Duration::from_secs(5)).await.unwrap_err();
        assert!(matches!(refused, ServerError::Changed { .. }), "{refused}");
        assert!(refused.to_string().contains("run_id"), "{refused}");
    }
    drop(lent);
    let refused = servers.start(Persistence::Aof).await.unwrap_err();
    assert!(matches!(refused, ServerError::Changed { .. }), "{refused}");
    attached.put_back().await.unwrap();
    assert!(server.answers_within(Duration::from_secs(1)));
}

#[tokio::test]
async fn a_server_that_somebody_connected_to_meanwhile_is_not_lent() {
    let server = Existing::start();
    let folder = tempfile::tempdir().unwrap();
    let attached = attach(&server, folder.path().join("a.journal")).await;
    let other = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let servers = Servers::Attached(Arc::clone(&attached));
    let refused = servers.start(Persistence::Aof).await.unwrap_err().to_string();
    assert!(refused.contains("1 other client is connected"), "{refused}");
    drop(other);
    servers.start(Persistence::Aof).await.unwrap();
}

#[tokio::test]
async fn what_is_not_allowed_cannot_be_entered_even_by_mistake() {
    let server = Existing::start();
    let folder = tempfile::tempdir().unwrap();
    let allowed = Allow { config: false, ..allow(folder.path().join("a.journal")) };
    let attached = Attached::open(&server.endpoint().into(), allowed, "0badcafe").await.unwrap();
    let servers = Servers::Attached(attached);
    let mut lent = servers.start(Persistence::Aof).await.unwrap();
    let before = server.settings();
    for &state in
        State::ALL.iter().filter(|state| !matches!(Touch::of(**state), Touch::Nothing | Touch::Pause))
    {
        if let Ok(ready) = states::prepare(state, &lent).await {
            let refused = states::enter(ready, &mut lent, Duration::from_secs(1)).await.unwrap_err();
            assert!(matches!(refused, ServerError::OnlyOwned { .. }), "{state}: {refused}");
        }
    }
    assert_eq!(server.settings(), before);
}

#[tokio::test]
async fn a_restore_that_cannot_be_keeps_the_journal_and_says_what_to_do() {
    let mut server = Existing::start();
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("a.journal");
    let attached = attach(&server, journal.clone()).await;
    enter_and_drop(&attached, State::OutOfMemory).await;
    drop(attached);
    let elsewhere = Endpoint::plain(([127, 0, 0, 1], 1).into());
    let other = restore(&journal, Some(&elsewhere.into())).await.unwrap();
    assert_eq!(other, LeftOver::OfAnother(server.endpoint().to_string()));

    // Another life, with other settings: nobody knows whether what was before is what it should be.
    server.restart();
    server.ask(&["CONFIG", "SET", "maxmemory", "123456789"]);
    let changed = restore(&journal, None).await.unwrap_err();
    assert!(matches!(changed, ServerError::NotPutBack { .. }));
    for text in ["run_id", "audit restore", "a.journal", "CONFIG SET"] {
        assert!(changed.to_string().contains(text), "{changed}");
    }
    assert!(journal.exists());

    // A restart put everything back itself.
    server.restart();
    assert!(matches!(restore(&journal, None).await.unwrap(), LeftOver::PutBack(_)));
    assert!(!journal.exists());
}

/// A use that waits on the server, so that the states in which it is answered last a while.
const WAITING: &str = "version: 1\nservice: shop\nclient: {command_timeout: 5s}\nuses:\n  - {name: jobs, kind: custom, on_outage: propagate, commands: {wait: {run: [[BLPOP, 'jobs:${id}', '0.5']], writes: false}}}\n";

#[test]
fn ctrl_c_and_kill_9_in_the_middle_of_a_state_that_changes_settings_leave_nothing_that_cannot_be_put_back() {
    let server = Existing::start();
    let before = server.settings();
    let url = server.url();
    // Who looks whether it is in the state is another client.
    let args = [
        "--redis-url",
        &url,
        "--allow-config",
        "--allow-other-clients",
        "--states",
        "out_of_memory",
        "--samples",
        "1",
    ];
    let memory =
        || -> Vec<String> { redis::from_redis_value(server.ask(&["CONFIG", "GET", "maxmemory"])).unwrap() };
    for (signal, code) in [(Signal::INT, 130), (Signal::KILL, -1)] {
        let folder = Folder::with(WAITING);
        let child = folder.attach_command(&args).spawn().unwrap();
        assert!(until(Duration::from_secs(30), || memory()[1] == "1"));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = Ended::of(child.wait_with_output().unwrap());
        assert_eq!(ended.code, code, "{}", ended.stderr);
        assert_eq!(folder.journals().len(), usize::from(signal == Signal::KILL));
        if signal == Signal::KILL {
            assert_eq!(memory()[1], "1");
            assert!(server.is_left_alone());
            folder.attach(&args).fails_with(2, &["an audit that died left it changed", "audit restore"]);
            let restored = folder.attach(&["restore"]);
            assert_eq!(restored.code, 0, "{}", restored.stderr);
            assert!(restored.stdout.contains("put back maxmemory"), "{}", restored.stdout);
            let again = folder.attach(&["restore"]);
            assert_eq!((again.code, again.stdout.contains("nothing to put back")), (0, true));
        }
        assert_eq!(server.settings(), before);
        assert!(folder.journals().is_empty());
        assert!(server.is_left_alone());
    }
}

#[test]
fn a_state_that_changes_settings_is_audited_and_the_server_is_as_it_was() {
    let (server, folder) = (Existing::start(), Folder::with(POLICIES));
    let before = standing(&server);
    let url = server.url();
    let states = changing().map(State::name).collect::<Vec<_>>().join(",");
    let args = [
        "--redis-url",
        &url,
        "--allow-config",
        "--states",
        &states,
        "--samples",
        "5",
        "--json",
        "report.json",
    ];
    let ended = folder.attach(&args);
    assert!(matches!(ended.code, 0 | 1), "{} {}\n{}", ended.code, ended.stdout, ended.stderr);
    let report = redis_outage_audit::report::json::from_json(&folder.read("report.json")).unwrap();
    for state in changing() {
        let cell = cell(&report, "cart-lock.acquire", state);
        assert!(cell.proof.held(), "{state}: {:?}", cell.proof);
    }
    assert_eq!(standing(&server), before);
    assert_eq!(server.keys(), Vec::<String>::new());
    assert!(folder.journals().is_empty());
}

#[test]
fn hooks_stop_and_start_the_server() {
    let server = Existing::with(&["--appendonly", "yes"]);
    let folder = Folder::with(&format!("{POLICIES}{}", server.hooks()));
    let url = server.url();
    let args = ["--redis-url", &url, "--states", "stopped", "--samples", "5", "--json", "report.json"];
    let ended = folder.attach(&args);
    let log = server.hooks_log();
    assert!(matches!(ended.code, 0 | 1), "{} {}\n{}", ended.code, ended.stdout, ended.stderr);
    assert_eq!(log, "stop\nstart\n");
    let report = redis_outage_audit::report::json::from_json(&folder.read("report.json")).unwrap();
    let stopped = cell(&report, "cart-lock.acquire", State::Stopped);
    assert!(stopped.proof.held(), "{:?}", stopped.proof);
    assert!(server.answers_within(Duration::from_secs(1)));
    assert!(server.keys().is_empty() && folder.journals().is_empty());
    server.end_hooked();
}

#[test]
fn a_hook_that_fails_or_hangs_is_exit_4_and_the_start_hook_is_run_all_the_same() {
    for (broken, says) in [("exit 7", "exit status: 7"), ("sleep 30", "did not end within")] {
        let server = Existing::with(&["--appendonly", "yes"]);
        let hooks = server.hooks().replace("within: 5s", "within: 1s");
        let folder = Folder::with(&format!("{POLICIES}{hooks}"));
        crate::support::script(
            server.dir.path(),
            "stop",
            &format!("echo stop >> {0}/hooks.log; {broken}", server.dir.path().display()),
        );
        let start = "echo start >> ".to_owned() + &server.dir.path().join("hooks.log").display().to_string();
        crate::support::script(server.dir.path(), "start", &start);
        let ended = folder.attach(&["--redis-url", &server.url(), "--states", "stopped", "--samples", "5"]);
        ended.fails_with(4, &["the stop hook", says]);
        assert_eq!(server.hooks_log(), "stop\nstart\n");
        assert!(folder.journals().is_empty());
        assert!(server.keys().is_empty());
    }
}

#[test]
fn ctrl_c_while_the_server_is_stopped_starts_it_and_a_start_hook_that_fails_is_exit_5() {
    let server = Existing::with(&["--appendonly", "yes"]);
    let slow = POLICIES.replace("150ms", "150ms, attempts: 40, backoff: 200ms");
    let hooks = server.hooks();
    let folder = Folder::with(&format!("{slow}{hooks}"));
    let url = server.url();
    let args = ["--redis-url", &url, "--states", "stopped", "--samples", "5", "--give-up", "9s"];
    let in_the_middle = || {
        let child = folder.attach_command(&args).spawn().unwrap();
        let log = || server.hooks_log();
        let stops = log().matches("stop").count();
        assert!(until(Duration::from_secs(20), || log().matches("stop").count() > stops));
        std::thread::sleep(Duration::from_millis(300));
        child
    };
    let child = in_the_middle();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    Ended::of(child.wait_with_output().unwrap()).fails_with(130, &["interrupted"]);
    assert!(server.answers_within(Duration::from_secs(1)));
    assert_eq!(server.hooks_log(), "stop\nstart\n");

    // After a kill the journal knows how it is started.
    let mut child = in_the_middle();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_eq!(folder.journals().len(), 1);
    let restored = folder.attach(&["restore"]);
    assert_eq!(restored.code, 0, "{}", restored.stderr);
    assert!(restored.stdout.contains("started again"), "{}", restored.stdout);
    assert!(server.answers_within(Duration::from_secs(1)));

    let child = in_the_middle();
    crate::support::script(server.dir.path(), "start", "echo no such container; exit 9");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("no such container") && ended.stderr.contains("audit restore"),
        "{}",
        ended.stderr
    );
    let start = format!("start the server with `{}/start`", server.dir.path().display());
    let refused = folder.attach(&["restore"]);
    refused.fails_with(5, &["no such container", "audit restore", &start]);
    assert!(!refused.stderr.contains("CONFIG SET"), "no setting was changed:\n{}", refused.stderr);
    server.end_hooked();
}

#[test]
fn a_server_that_asks_for_a_password_and_was_left_stopped_is_named_by_the_next_audit_and_started_by_restore()
{
    let server = Existing::with(&["--appendonly", "yes", "--requirepass", "s3cret"]);
    let slow = POLICIES.replace("150ms", "150ms, attempts: 40, backoff: 200ms");
    let folder = Folder::with(&format!("{slow}{}", server.hooks()));
    let url = format!("redis://:s3cret@localhost:{}", server.port);
    let audit = ["--redis-url", &url, "--states", "stopped", "--samples", "5", "--give-up", "9s"];
    let mut child = folder.attach_command(&audit).spawn().unwrap();
    assert!(until(Duration::from_secs(20), || server.hooks_log().contains("stop")));
    let refuses = || std::net::TcpStream::connect(server.addr()).is_err();
    assert!(until(Duration::from_secs(5), refuses));
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();

    let by_address = url.replace("localhost", "127.0.0.1");
    for url in [&url, &by_address] {
        let again = folder.attach(&["--redis-url", url]);
        again.fails_with(2, &["an audit that died left it changed", "audit restore"]);
    }
    folder.attach(&["restore"]).fails_with(5, &["--redis-url"]);
    let restored = folder.attach(&["restore", "--redis-url", &by_address]);
    assert_eq!(restored.code, 0, "{}", restored.stderr);
    assert!(restored.stdout.contains("started again"), "{}", restored.stdout);
    assert_eq!(server.hooks_log(), "stop\nstart\n");
    assert!(folder.journals().is_empty());
    let ended = folder.attach(&["--redis-url", &url, "--states", "healthy", "--samples", "1"]);
    server.end_hooked();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn the_next_audit_names_restore_whatever_the_server_that_was_left_changed_would_answer() {
    let slow = POLICIES.replace("150ms", "150ms, attempts: 40, backoff: 200ms");
    for (state, left) in [("auth_rejected", "NOAUTH"), ("replica_cut_off", "MASTERDOWN")] {
        let (server, folder) = (Existing::start(), Folder::with(&slow));
        let before = standing(&server);
        let url = server.url();
        let args = ["--redis-url", &url, "--allow-config", "--allow-other-clients", "--states", state];
        let mut child = folder.attach_command(&args).spawn().unwrap();
        let changed = || matches!(server.try_ask(&["GET", "x"]), Err(error) if error.code() == Some(left));
        assert!(until(Duration::from_secs(30), changed), "{state}");
        kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        let again = folder.attach(&["--redis-url", &url]);
        again.fails_with(2, &["an audit that died left it changed", "audit restore"]);
        let restored = folder.attach(&["restore"]);
        assert_eq!(restored.code, 0, "{}", restored.stderr);
        assert_eq!(standing(&server), before, "{state}");
    }
}
