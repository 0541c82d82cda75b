//! An audit of a server that exists: what it refuses, what it leaves, and that it puts everything back.

use std::process::Child;
use std::time::Duration;

use redis_outage_audit::redis::Touch;
use redis_outage_audit::report::json::from_json;
use redis_outage_audit::words::{Code, State, Tri, Whose};
use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Ended, Folder, cell, found};
use crate::existing::{Existing, POLICIES, interface};
use crate::processes::until;

const FEW: [&str; 2] = ["--samples", "5"];

fn folder() -> Folder {
    Folder::with(POLICIES)
}

/// Calls that wait for as long as nobody ends them.
fn patient() -> Folder {
    Folder::with(&POLICIES.replace("150ms", "8s"))
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_server_that_exists_is_audited_and_left_as_it_was() {
    let (server, folder) = (Existing::start(), folder());
    let before = server.settings();
    let url = server.url();
    let args = [&["--redis-url", &url, "--json", "report.json"][..], &FEW].concat();
    let ended = folder.attach(&args);
    assert!(matches!(ended.code, 0 | 1), "{} {}\n{}", ended.code, ended.stdout, ended.stderr);
    let report = from_json(&folder.read("report.json")).unwrap();
    assert_eq!(report.server.whose, Whose::Attached);
    assert_eq!(report.states, [State::Healthy, State::Paused], "what needs more than a flag is left out");
    let paused = cell(&report, "cart-lock.acquire", State::Paused);
    assert!(paused.proof.held(), "{:?}", paused.proof);
    assert!(
        paused.probes.iter().flat_map(|probe| &probe.attempts).all(|attempt| attempt.ran != Tri::Unknown)
    );
    assert!(report.notes.iter().any(|note| note.contains("not the audit's own")), "{:?}", report.notes);
    assert_eq!(server.keys(), Vec::<String>::new());
    assert_eq!(server.settings(), before);
    assert!(server.is_left_alone());
    assert!(folder.journals().is_empty());
    assert!(found(&report, Code::FaultNotProven).is_empty());
}

#[test]
fn another_client_foreign_keys_and_several_guards_at_once_are_refused_with_the_flags_that_lift_them() {
    let (server, folder) = (Existing::start(), folder());
    let url = server.url();
    let audit = |more: &[&str]| folder.attach(&[&["--redis-url", &url][..], &FEW, more].concat());
    server.ask(&["SET", "theirs", "1"]);
    audit(&[]).fails_with(2, &["database 0 holds keys", "--allow-keys"]);
    let client = redis::Client::open(url.as_str()).unwrap();
    let mut other = client.get_connection().unwrap();
    audit(&[]).fails_with(2, &["1 other client is connected", "--allow-other-clients", "--allow-keys"]);
    audit(&["--allow-keys"]).fails_with(2, &["--allow-other-clients"]);
    redis::cmd("SELECT").arg(3).exec(&mut other).unwrap();
    redis::cmd("SET").arg("theirs").arg("1").exec(&mut other).unwrap();
    redis::cmd("FLUSHDB").exec(&mut other).unwrap();
    drop(other);
    server.ask(&["DEL", "theirs"]);
    assert!(server.is_left_alone());
    server.ask(&["SET", "cart:audit-0badcafe-17", "left by an audit that was killed"]);
    let ended = audit(&["--states", "healthy"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(server.keys(), ["cart:audit-0badcafe-17"], "another run's keys are not ours to remove");
}

#[test]
fn with_others_about_their_keys_are_untouched_and_nobody_claims_to_know_what_ran() {
    let (server, folder) = (Existing::start(), folder());
    for number in 0..200 {
        server.ask(&["SET", &format!("theirs:{number}"), "1", "EX", "1000"]);
    }
    server.ask(&["RPUSH", "price:list", "a", "b"]);
    let dumps =
        || -> Vec<redis::Value> { server.keys().iter().map(|key| server.ask(&["DUMP", key])).collect() };
    let (before, keys) = (dumps(), server.keys());
    let other = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let url = server.url();
    let args = ["--redis-url", &url, "--allow-keys", "--allow-other-clients", "--json", "report.json"];
    let ended = folder.attach(&[&args[..], &FEW].concat());
    assert!(matches!(ended.code, 0 | 1), "{} {}\n{}", ended.code, ended.stdout, ended.stderr);
    drop(other);
    assert_eq!((server.keys(), dumps()), (keys, before));
    let report = from_json(&folder.read("report.json")).unwrap();
    let paused = cell(&report, "cart-lock.acquire", State::Paused);
    assert!(paused.proof.held(), "{:?}", paused.proof);
    let mut attempts = paused.probes.iter().flat_map(|probe| &probe.attempts).peekable();
    assert!(attempts.peek().is_some() && attempts.all(|attempt| attempt.ran == Tri::Unknown));
    assert!(report.notes.iter().any(|note| note.contains("which commands ran late is not known")));
}

#[test]
fn a_server_at_an_address_that_is_not_loopback_is_refused_until_its_host_is_allowed() {
    let Some(ip) = interface() else { return };
    let server = Existing::with(&["--bind", "0.0.0.0", "--protected-mode", "no"]);
    let folder = folder();
    let url = format!("redis://{ip}:{}", server.port);
    let refused = folder.attach(&[&["--redis-url", &url][..], &FEW].concat());
    refused.fails_with(2, &["no loopback address", &format!("--allow-host {ip}")]);
    let other = [&["--redis-url", &url, "--allow-host", "10.255.255.1"][..], &FEW].concat();
    folder.attach(&other).fails_with(2, &["no loopback address"]);
    let ip = ip.to_string();
    let allowed = ["--redis-url", &url, "--allow-host", &ip, "--states", "healthy"];
    let ended = folder.attach(&[&allowed[..], &FEW].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn each_state_that_was_asked_for_and_left_out_is_named_with_its_reason_and_no_other_is() {
    let (server, folder) = (Existing::start(), folder());
    let url = server.url();
    let dry = |more: &[&str]| {
        let ended = folder.attach(&[&["--redis-url", &url, "--dry-run"][..], &FEW, more].concat());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let all = dry(&["--states", "all"]);
    for state in State::ALL {
        let says = match Touch::of(*state) {
            Touch::Nothing | Touch::Pause => None,
            Touch::Settings => Some("--allow-config allows it"),
            Touch::Process => Some("hooks:"),
            Touch::OnlyOwned => Some("leave out --redis-url"),
        };
        let left_out = all.split("left out: ").find(|part| part.starts_with(&format!("{state}: ")));
        assert_eq!(left_out.is_some(), says.is_some(), "{state}: {all}");
        assert!(left_out.is_none_or(|part| part.contains(says.unwrap())), "{state}: {all}");
    }
    assert!(dry(&[]).contains("left out: stopped: "), "it is asked for where nothing else is");
    assert!(!dry(&["--states", "paused"]).contains("left out"));

    // What the server itself rules out is left out as well.
    server.ask(&["SET", "theirs", "1"]);
    let hooks = Folder::with(&format!("{POLICIES}{}", server.hooks()));
    let args = ["--redis-url", &url, "--allow-keys", "--json", "report.json"];
    let ended = hooks.attach(&[&args[..], &FEW].concat());
    assert!(matches!(ended.code, 0 | 1), "{} {}", ended.code, ended.stderr);
    let notes = from_json(&hooks.read("report.json")).unwrap().notes;
    let noted = notes.iter().any(|note| note.starts_with("left out: stopped: it holds keys"));
    assert!(noted, "{notes:?}");
    assert_eq!(server.hooks_log(), "");
}

#[test]
fn nobody_connects_to_an_address_that_is_not_allowed_whoever_listens_there() {
    let Some(ip) = interface() else { return };
    let (listener, folder) = (std::net::TcpListener::bind((ip, 0)).unwrap(), folder());
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let nobody = "redis://:s3cret@192.0.2.2:6379".to_owned();
    for url in [format!("redis://:s3cret@{ip}:{port}"), format!("rediss://:s3cret@{ip}:{port}"), nobody] {
        let refused = folder.attach(&["--redis-url", &url, "--allow-host", "10.255.255.1"]);
        refused.fails_with(2, &["is no loopback address", "--allow-host "]);
    }
    let came = listener.accept().map(|(_, from)| from);
    assert_eq!(came.unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "somebody connected");
}

#[test]
fn a_master_with_replicas_and_a_replica_are_refused_and_no_flag_allows_them() {
    let (master, folder) = (Existing::start(), folder());
    let replica = Existing::with(&["--replicaof", "127.0.0.1", &master.port.to_string()]);
    let linked = || {
        let info: String = redis::from_redis_value(master.ask(&["INFO", "replication"])).unwrap();
        info.contains("connected_slaves:1")
    };
    assert!(until(Duration::from_secs(20), linked));
    let all = ["--allow-other-clients", "--allow-keys", "--allow-config"];
    let audit = |url: &str| folder.attach(&[&["--redis-url", url][..], &all, &FEW].concat());
    audit(&master.url()).fails_with(2, &["it has 1 replica", "no flag allows it"]);
    audit(&replica.url()).fails_with(2, &["it is a replica", "no flag allows it"]);
}

#[test]
fn a_server_that_a_sentinel_watches_is_refused() {
    let (server, folder) = (Existing::start(), folder());
    let dir = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let conf = dir.path().join("sentinel.conf");
    let text = format!(
        "port {port}\ndir {}\nsentinel monitor shop 127.0.0.1 {} 1\n",
        dir.path().display(),
        server.port
    );
    std::fs::write(&conf, text).unwrap();
    let mut sentinel = std::process::Command::new("redis-server")
        .arg(&conf)
        .arg("--sentinel")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let watched = until(Duration::from_secs(10), || {
        let list: String = redis::from_redis_value(server.ask(&["CLIENT", "LIST"])).unwrap();
        list.contains("name=sentinel-")
    });
    let ended = folder.attach(&[&["--redis-url", &server.url(), "--allow-other-clients"][..], &FEW].concat());
    sentinel.kill().unwrap();
    sentinel.wait().unwrap();
    assert!(watched);
    ended.fails_with(2, &["a Sentinel watches it", "no flag allows it"]);
}

#[test]
fn states_that_need_more_are_refused_by_name_and_a_pause_that_would_be_too_long_too() {
    let (server, folder) = (Existing::start(), patient());
    let url = server.url();
    let audit = |more: &[&str]| folder.attach(&[&["--redis-url", &url][..], &FEW, more].concat());
    audit(&["--states", "out_of_memory"]).fails_with(2, &["out_of_memory", "--allow-config"]);
    audit(&["--states", "stopped"]).fails_with(2, &["stopped", "hooks:"]);
    audit(&["--states", "frozen"]).fails_with(2, &["frozen", "leave out --redis-url"]);
    audit(&["--states", "paused", "--max-pause", "2s"])
        .fails_with(2, &["paused", "--max-pause", "--give-up"]);
    audit(&["--max-pause", "0s"]).fails_with(2, &["--max-pause"]);
    audit(&["--redis-server", "redis-server"]).fails_with(2, &["cannot be used with"]);
    folder.attach(&["--allow-keys"]).fails_with(2, &["required"]);
    assert!(server.keys().is_empty());
}

#[test]
fn ctrl_c_and_sigterm_in_the_middle_of_a_pause_lift_it_and_leave_no_key() {
    for (name, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (server, folder) = (Existing::start(), patient());
        let url = server.url();
        let args = [
            "--redis-url",
            &url,
            "--states",
            "paused",
            "--max-pause",
            "60s",
            "--samples",
            "5",
            "--allow-other-clients",
        ];
        let child = folder.attach_command(&args).spawn().unwrap();
        assert!(until(Duration::from_secs(20), || !server.answers_within(Duration::from_millis(500))));
        signal(&child, name);
        let ended = Ended::of(child.wait_with_output().unwrap());
        ended.fails_with(code, &["interrupted", "the server is let go"]);
        assert!(server.answers_within(Duration::from_millis(500)), "the pause was lifted");
        assert_eq!(server.keys(), Vec::<String>::new());
    }
}

#[test]
fn kill_9_in_the_middle_of_a_pause_leaves_one_that_ends_at_its_bound() {
    let (server, folder) = (Existing::start(), Folder::with(&POLICIES.replace("150ms", "2500ms")));
    let url = server.url();
    let args = [
        "--redis-url",
        &url,
        "--only",
        "cart-lock",
        "--states",
        "paused",
        "--max-pause",
        "6s",
        "--samples",
        "5",
        "--allow-other-clients",
    ];
    let mut child = folder.attach_command(&args).spawn().unwrap();
    assert!(until(Duration::from_secs(20), || !server.answers_within(Duration::from_millis(500))));
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    assert!(until(Duration::from_secs(8), || server.answers_within(Duration::from_secs(1))));
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing_but_look() {
    let (server, folder) = (Existing::start(), folder());
    let url = server.url();
    let args = ["--redis-url", &url, "--dry-run", "--allow-config", "--states", "paused,out_of_memory"];
    let ended = folder.attach(&args);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for text in
        ["paused: CLIENT PAUSE", "out_of_memory: CONFIG SET", "maxmemory", "SET", "audit-", "connections:"]
    {
        assert!(ended.stdout.contains(text), "{text:?} is missing in:\n{}", ended.stdout);
    }
    let stats: String = redis::from_redis_value(server.ask(&["INFO", "commandstats"])).unwrap();
    for command in
        ["cmdstat_set", "cmdstat_config|set", "cmdstat_client|pause", "cmdstat_monitor", "cmdstat_script"]
    {
        assert!(!stats.contains(command), "{command}: {stats}");
    }
    assert!(folder.journals().is_empty());
}

#[test]
fn a_url_that_is_wrong_is_the_command_lines_fault_and_a_server_that_is_not_there_the_environments() {
    let folder = folder();
    folder.attach(&["--redis-url", "http://x"]).fails_with(2, &["unknown scheme"]);
    folder
        .attach(&["--redis-url-env", "NOT_SET_ANYWHERE"])
        .fails_with(2, &["NOT_SET_ANYWHERE", "is not set"]);
    folder.attach(&["--redis-url-file", "nowhere.txt"]).fails_with(2, &["nowhere.txt"]);
    folder.attach(&["--redis-url", "redis://127.0.0.1:1"]).fails_with(4, &["127.0.0.1:1", "no connection"]);
    let both = ["--redis-url", "redis://h", "--redis-url-env", "X"];
    folder.attach(&both).fails_with(2, &["cannot be used with"]);
}
