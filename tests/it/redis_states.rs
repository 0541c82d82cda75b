//! Each state begins, holds and ends as it says; and where it does not, the witness says so.

use std::time::{Duration, Instant};

use redis_outage_audit::policy::Persistence;
use redis_outage_audit::redis::states;
use redis_outage_audit::redis::{Monitor, Server};
use redis_outage_audit::words::State;

use crate::processes::runs;
use crate::support::{Client, Listens, ask, binary, enter_for, held, not_proven, server};

const BOUND: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(250);

async fn enter(state: State, server: &mut Server) -> states::Holding {
    enter_for(state, server, BOUND).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_state_holds_and_the_server_answers_afterwards() {
    for state in State::by_default() {
        let mut server = server(Persistence::Aof).await;
        assert_eq!(ask(server.addr(), "SET kept 1").await, "+OK\r\n");
        let holding = enter(state, &mut server).await;
        tokio::time::sleep(SHORT).await;
        let left = holding.leave(&mut server).await;
        held(&left);
        left.barrier.unwrap();
        assert!(left.held_for >= SHORT, "{state}: {:?}", left.held_for);
        assert!(left.ran_while_held.is_empty(), "{state}: {:?}", left.ran_while_held);
        assert_eq!(ask(server.addr(), "GET kept").await, "$1\r\n1\r\n", "{state} loses no data");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_answers_nothing_and_is_lifted_long_before_its_bound() {
    let mut server = server(Persistence::None).await;
    let mut client = Client::connect(server.addr()).await;
    let holding = enter(State::Paused, &mut server).await;
    client.send("GET a").await;
    assert_eq!(client.receive(SHORT).await, None, "a paused server answers nothing");
    let mut fresh = Client::connect(server.addr()).await;
    fresh.send("PING").await;
    assert_eq!(fresh.receive(SHORT).await, None, "a new connection is accepted and not answered");
    let leaving = Instant::now();
    let left = holding.leave(&mut server).await;
    assert!(leaving.elapsed() < BOUND / 4, "{:?}", leaving.elapsed());
    assert!(held(&left).contains("answered only after the pause was lifted"), "{:?}", left.proof);
    assert_eq!(client.receive(BOUND).await.as_deref(), Some("$-1\r\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waited_in_a_pause_runs_late_on_a_kept_connection_and_never_on_a_closed_one() {
    let mut server = server(Persistence::None).await;
    let (mut kept, mut closed) = (Client::connect(server.addr()).await, Client::connect(server.addr()).await);
    let holding = enter(State::Paused, &mut server).await;
    kept.send("SET kept 1").await;
    closed.send("SET closed 1").await;
    assert_eq!(closed.receive(SHORT).await, None);
    drop(closed);
    let left = holding.leave(&mut server).await;
    held(&left);
    left.barrier.unwrap();
    assert_eq!(kept.receive(BOUND).await.as_deref(), Some("+OK\r\n"));
    assert_eq!(ask(server.addr(), "EXISTS kept").await, ":1\r\n");
    assert_eq!(ask(server.addr(), "EXISTS closed").await, ":0\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_pause_waits_for_the_first_and_adds_to_it() {
    let server = server(Persistence::None).await;
    let started = Instant::now();
    assert_eq!(ask(server.addr(), "CLIENT PAUSE 300 ALL").await, "+OK\r\n");
    assert_eq!(ask(server.addr(), "CLIENT PAUSE 300 ALL").await, "+OK\r\n");
    assert_eq!(ask(server.addr(), "PING").await, "+PONG\r\n");
    assert!(started.elapsed() >= Duration::from_millis(590), "{:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_monitor_connection_lives_through_a_pause_and_lists_what_ran_by_port() {
    let server = server(Persistence::None).await;
    let mut monitor = Monitor::open(server.endpoint()).await.unwrap();
    assert_eq!(ask(server.addr(), "CLIENT PAUSE 20000 ALL").await, "+OK\r\n");
    let client = tokio::net::TcpStream::connect(server.addr()).await.unwrap();
    let port = client.local_addr().unwrap().port();
    client.try_write(b"SET late 1\r\n").unwrap();
    monitor.ping(Duration::from_secs(5)).await.unwrap();
    monitor.ping(Duration::from_secs(5)).await.unwrap();
    assert_eq!(monitor.count(), 0, "{:?}", monitor.since(0));
    monitor.unpause().await.unwrap();
    assert_eq!(ask(server.addr(), "PING").await, "+PONG\r\n");
    monitor.ping(Duration::from_secs(5)).await.unwrap();
    let lines = monitor.since(0);
    assert!(lines.iter().any(|line| line.command() == "SET" && line.port() == Some(port)), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_somebody_else_lifts_is_not_proven() {
    let mut server = server(Persistence::None).await;
    let mut intruder = Monitor::open(server.endpoint()).await.unwrap();
    let holding = enter(State::Paused, &mut server).await;
    tokio::time::sleep(SHORT).await;
    intruder.unpause().await.unwrap();
    tokio::time::sleep(SHORT).await;
    let left = holding.leave(&mut server).await;
    assert!(not_proven(&left).contains("before the pause was lifted"), "{:?}", left.proof);
    left.barrier.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_somebody_lifts_and_renews_between_two_looks_is_not_proven() {
    let mut server = server(Persistence::None).await;
    let mut intruder = Monitor::open(server.endpoint()).await.unwrap();
    let holding = enter(State::Paused, &mut server).await;
    // Waits in the pause and renews it at once when it is lifted.
    let mut renewing = Client::connect(server.addr()).await;
    renewing.send("CLIENT PAUSE 400 ALL").await;
    tokio::time::sleep(SHORT).await;
    intruder.unpause().await.unwrap();
    let left = holding.leave(&mut server).await;
    not_proven(&left);
    left.barrier.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_whose_bound_runs_out_before_the_last_probe_is_not_proven() {
    let mut server = server(Persistence::None).await;
    let holding = enter_for(State::Paused, &mut server, Duration::from_millis(150)).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    let left = holding.leave(&mut server).await;
    not_proven(&left);
    left.barrier.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_of_a_server_that_dies_is_not_proven_and_its_barrier_fails() {
    let mut server = server(Persistence::None).await;
    let holding = enter(State::Paused, &mut server).await;
    server.kill().await.unwrap();
    let left = holding.leave(&mut server).await;
    not_proven(&left);
    let error = left.barrier.unwrap_err().to_string();
    assert!(error.contains(&server.addr().to_string()) && error.contains("its process ended"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_the_server_refuses_is_not_proven_and_leaves_the_server_alone() {
    let mut server = server(Persistence::None).await;
    assert_eq!(ask(server.addr(), "ACL SETUSER default -client").await, "+OK\r\n");
    let holding = enter(State::Paused, &mut server).await;
    let left = holding.leave(&mut server).await;
    assert!(not_proven(&left).contains("NOPERM"), "{:?}", left.proof);
    left.barrier.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_is_dropped_instead_of_left_ends_at_its_bound() {
    let mut server = server(Persistence::None).await;
    let holding = enter_for(State::Paused, &mut server, 2 * SHORT).await;
    drop(holding);
    assert_eq!(ask(server.addr(), "PING").await, "+PONG\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_resets_its_clients_and_refuses_until_it_is_left() {
    let mut server = server(Persistence::Aof).await;
    let first = server.pid();
    let mut client = Client::connect(server.addr()).await;
    let holding = enter(State::Stopped, &mut server).await;
    assert!(!runs(first));
    assert_eq!(client.receive(BOUND).await.as_deref(), Some("closed"));
    tokio::time::sleep(SHORT).await;
    let refused = tokio::net::TcpStream::connect(server.addr()).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let left = holding.leave(&mut server).await;
    assert!(held(&left).contains(&first.to_string()), "{:?}", left.proof);
    left.barrier.unwrap();
    assert_ne!(server.pid(), first);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_that_somebody_starts_again_behind_our_back_is_not_proven() {
    let mut server = server(Persistence::None).await;
    let holding = enter(State::Stopped, &mut server).await;
    let mut intruder = tokio::process::Command::new(binary().await.path)
        .args(["--bind", "127.0.0.1", "--save", "", "--port", &server.addr().port().to_string()])
        .current_dir(server.own().unwrap().dir())
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let started = Instant::now();
    while tokio::net::TcpStream::connect(server.addr()).await.is_err() {
        assert!(started.elapsed() < BOUND, "the intruder does not listen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(SHORT).await;
    intruder.kill().await.unwrap();
    let left = holding.leave(&mut server).await;
    assert!(not_proven(&left).contains("was accepted"), "{:?}", left.proof);
    left.barrier.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_server_that_was_replaced_meanwhile_is_not_proven() {
    let mut server = server(Persistence::Aof).await;
    let holding = enter(State::Healthy, &mut server).await;
    server.kill().await.unwrap();
    server.start_again().await.unwrap();
    let left = holding.leave(&mut server).await;
    assert!(not_proven(&left).contains("is not the one"), "{:?}", left.proof);
    left.barrier.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_server_is_left_alone_while_it_is_measured() {
    let mut server = server(Persistence::None).await;
    let holding = enter(State::Healthy, &mut server).await;
    let processed = "INFO stats";
    let count = |text: String| -> u64 {
        let line =
            text.lines().find_map(|line| line.strip_prefix("total_commands_processed:").map(str::to_owned));
        line.unwrap().trim().parse().unwrap()
    };
    let before = count(ask(server.addr(), processed).await);
    tokio::time::sleep(SHORT).await;
    let after = count(ask(server.addr(), processed).await);
    assert_eq!(after, before + 1, "only the question itself");
    held(&holding.leave(&mut server).await);
}

#[test]
fn the_page_on_states_has_a_part_for_each_with_what_the_program_says_of_it() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/states.md")).unwrap();
    for &state in State::ALL {
        let part = page.split("\n## ").find(|part| part.lines().next() == Some(state.name()));
        let part = part.unwrap_or_else(|| panic!("docs/states.md has no part `## {state}`"));
        let said = part.split_whitespace().collect::<Vec<_>>().join(" ");
        let facts = state.facts();
        for text in [facts.how, facts.reproduces, facts.lacks, facts.fate, facts.systems, facts.reported] {
            assert!(said.contains(text), "the part on {state} lacks: {text}");
        }
    }
}
