//! Every state on a server of the audit's own: what a read, a write and a script are told in it, what is left of it
//! afterwards, and what its witness says where it does not hold.

use std::collections::BTreeMap;
use std::time::Duration;

use redis_outage_audit::policy::Persistence;
use redis_outage_audit::redis::Server;
use redis_outage_audit::words::{By, Keeps, State};

use crate::support::{Client, Listens, ask, enter_for, held, is_older_than_7, not_proven, server};

/// The longest that a state may last; loading prepares as much data as that takes to read.
const BOUND: Duration = Duration::from_secs(4);
const SHORT: Duration = Duration::from_millis(250);

const READ: &str = "GET kept";
const WRITE: &str = "SET new 1";
const SCRIPT: &str = "EVAL \"return redis.call('INCR',KEYS[1])\" 1 counter";

/// What came of a command: an answer begins so, or nothing came.
type Told = Option<&'static str>;

/// What a read, a write and a script that writes are told in a state; none for one that answers none of them and refuses.
fn told(state: State) -> Option<[Told; 3]> {
    let silent = None;
    Some(match state {
        State::Healthy | State::ConnectionsKilled => [Some("$1\r\n1"), Some("+OK"), Some(":1")],
        State::Paused | State::PausedCold | State::Frozen | State::FrozenCold => [silent; 3],
        State::WritesPaused => [Some("$1\r\n1"), silent, silent],
        State::Stopped | State::NeverUp => return None,
        State::RestartedEmpty => [Some("$-1"), Some("+OK"), Some(":1")],
        // What the test wrote before the replica was cut off is there.
        State::FailoverLostWrite => [Some("$1\r\n1"), Some("+OK"), Some(":1")],
        State::Loading => [Some("-LOADING"); 3],
        State::Busy => [Some("-BUSY"); 3],
        State::OutOfMemory => [Some("$1\r\n1"), Some("-OOM"), Some("-OOM")],
        State::ReadOnly => [Some("$1\r\n1"), Some("-READONLY"), Some("-READONLY")],
        State::ReplicaCutOff => [Some("-MASTERDOWN"), Some("-READONLY"), Some("-MASTERDOWN")],
        State::NoReplicas => [Some("$1\r\n1"), Some("-NOREPLICAS"), Some("-NOREPLICAS")],
        State::DiskFailed => [Some("$1\r\n1"), Some("-MISCONF"), Some("-MISCONF")],
        State::AuthRejected => [Some("-NOAUTH"); 3],
        State::TooManyClients => [Some("-ERR max number of clients reached"); 3],
        State::Slow | State::ReplyLost | State::CutMidReply | State::BlackHole | State::Flapping => {
            unreachable!("{state} is brought about in front of the server")
        }
    })
}

fn on_the_server() -> impl Iterator<Item = State> {
    State::ALL.iter().copied().filter(|state| state.facts().by == By::Server)
}

/// All settings, the role, the users and whether there is a dump: what the way back must leave as it was.
async fn all_there_is(server: &Server) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let settings = ask(server.addr(), "CONFIG GET *").await;
    let words: Vec<&str> = settings.split("\r\n").filter(|word| !word.starts_with(['$', '*'])).collect();
    for pair in words.chunks(2).filter(|pair| pair.len() == 2) {
        all.insert(format!("config {}", pair[0]), pair[1].to_owned());
    }
    assert!(all.len() > 100, "{all:?}");
    all.insert("role".to_owned(), ask(server.addr(), "ROLE").await.lines().take(3).collect());
    all.insert("users".to_owned(), ask(server.addr(), "ACL LIST").await);
    all.insert(
        "dump".to_owned(),
        format!(
            "{:?}",
            server.own().unwrap().dir().join("dump.rdb").metadata().map(|dump| dump.is_file()).ok()
        ),
    );
    all
}

async fn goes_through(state: State, persistence: Persistence) {
    let mut server = server(persistence).await;
    assert_eq!(ask(server.addr(), "SET kept 1").await, "+OK\r\n");
    let before = all_there_is(&server).await;
    // Somebody is connected, as in an audit.
    let mut other = Client::connect(server.addr()).await;
    assert_eq!(other.ask("PING").await, "+PONG\r\n");
    let holding = enter_for(state, &mut server, BOUND).await;
    if state == State::Loading && is_older_than_7() {
        let left = holding.leave(&mut server).await;
        assert!(not_proven(&left).contains("takes 7.0"), "{:?}", left.proof);
        return left.barrier.unwrap();
    }
    match told(state) {
        None => assert!(tokio::net::TcpStream::connect(server.addr()).await.is_err(), "{state}"),
        Some(told) => {
            for (command, told) in [READ, WRITE, SCRIPT].into_iter().zip(told) {
                let mut client = Client::connect(server.addr()).await;
                client.send(command).await;
                let within = if told.is_some() { Duration::from_secs(3) } else { SHORT };
                let came = client.receive(within).await;
                match told {
                    // Redis 6.2 runs a script up to what is rejected, and lets one write without replicas.
                    Some(start) if command == SCRIPT && is_older_than_7() && start.starts_with('-') => {
                        assert!(
                            state == State::NoReplicas
                                || came.as_deref().is_some_and(|came| came.contains(start)),
                            "{state}: {command} was told {came:?} and not {start}"
                        )
                    }
                    Some(start) => assert!(
                        came.as_deref().is_some_and(|came| came.starts_with(start)),
                        "{state}: {command} was told {came:?} and not {start}"
                    ),
                    None => assert_eq!(came, None, "{state}: {command}"),
                }
            }
        }
    }
    tokio::time::sleep(SHORT).await;
    let left = holding.leave(&mut server).await;
    held(&left);
    left.barrier.unwrap();
    assert!(left.held_for >= SHORT, "{state}: {:?}", left.held_for);
    assert!(left.ran_while_held.is_empty(), "{state}: {:?}", left.ran_while_held);
    let mut after = all_there_is(&server).await;
    if state == State::FailoverLostWrite {
        // Another process with a directory of its own.
        after.insert("config dir".to_owned(), before["config dir"].clone());
        if is_older_than_7() {
            // It writes what it synchronised from once more.
            after.insert("dump".to_owned(), before["dump"].clone());
        }
    }
    for (what, was) in &before {
        assert_eq!(after.get(what), Some(was), "{state}, {persistence:?}: {what}");
    }
    let kept =
        state.facts().keeps != Keeps::Nothing && (persistence == Persistence::Aof || told(state).is_some());
    let found = ask(server.addr(), READ).await;
    assert_eq!(found, if kept { "$1\r\n1\r\n" } else { "$-1\r\n" }, "{state}, {persistence:?}");
    let fillers = ask(server.addr(), "KEYS audit-*").await;
    assert_eq!(fillers, "*0\r\n", "{state} leaves nothing of its own");
    assert_eq!(ask(server.addr(), "SET again 1").await, "+OK\r\n", "{state}: writes are taken again");
}

macro_rules! goes_through {
    ($($name:ident $state:ident;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                goes_through(State::$state, Persistence::Aof).await;
                goes_through(State::$state, Persistence::None).await;
            }
        )*

        #[test]
        fn every_state_on_the_server_is_gone_through() {
            assert_eq!(on_the_server().collect::<Vec<_>>(), [$(State::$state,)*]);
        }
    };
}

goes_through! {
    healthy_is_told_what_it_must_be_and_is_left_as_it_was Healthy;
    paused_is_told_what_it_must_be_and_is_left_as_it_was Paused;
    paused_cold_is_told_what_it_must_be_and_is_left_as_it_was PausedCold;
    writes_paused_is_told_what_it_must_be_and_is_left_as_it_was WritesPaused;
    frozen_is_told_what_it_must_be_and_is_left_as_it_was Frozen;
    frozen_cold_is_told_what_it_must_be_and_is_left_as_it_was FrozenCold;
    stopped_is_told_what_it_must_be_and_is_left_as_it_was Stopped;
    never_up_is_told_what_it_must_be_and_is_left_as_it_was NeverUp;
    restarted_empty_is_told_what_it_must_be_and_is_left_as_it_was RestartedEmpty;
    failover_lost_write_is_told_what_it_must_be_and_is_left_as_it_was FailoverLostWrite;
    connections_killed_is_told_what_it_must_be_and_is_left_as_it_was ConnectionsKilled;
    loading_is_told_what_it_must_be_and_is_left_as_it_was Loading;
    busy_is_told_what_it_must_be_and_is_left_as_it_was Busy;
    out_of_memory_is_told_what_it_must_be_and_is_left_as_it_was OutOfMemory;
    read_only_is_told_what_it_must_be_and_is_left_as_it_was ReadOnly;
    replica_cut_off_is_told_what_it_must_be_and_is_left_as_it_was ReplicaCutOff;
    no_replicas_is_told_what_it_must_be_and_is_left_as_it_was NoReplicas;
    disk_failed_is_told_what_it_must_be_and_is_left_as_it_was DiskFailed;
    auth_rejected_is_told_what_it_must_be_and_is_left_as_it_was AuthRejected;
    too_many_clients_is_told_what_it_must_be_and_is_left_as_it_was TooManyClients;
}

/// A state that somebody else ends on a connection that was opened before it; what the witness then says.
async fn broken(state: State, commands: &[&str]) -> String {
    let mut server = server(Persistence::Aof).await;
    // A connection that monitors is killed by nobody, and its commands run in every state that runs any.
    let mut saboteur = Client::connect(server.addr()).await;
    saboteur.ask("MONITOR").await;
    let holding = enter_for(state, &mut server, BOUND).await;
    for command in commands {
        saboteur.send(command).await;
        saboteur.receive(SHORT).await;
    }
    tokio::time::sleep(SHORT).await;
    let left = holding.leave(&mut server).await;
    left.barrier.as_ref().unwrap();
    not_proven(&left).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_ended_behind_the_witness_is_not_believed() {
    for (state, command, why) in [
        (State::OutOfMemory, "CONFIG SET maxmemory 0", "and not OOM"),
        (State::ReadOnly, "REPLICAOF NO ONE", "and not READONLY"),
        (State::ReplicaCutOff, "CONFIG SET replica-serve-stale-data yes", "and not MASTERDOWN"),
        (State::NoReplicas, "CONFIG SET min-replicas-to-write 0", "and not NOREPLICAS"),
        (State::DiskFailed, "CONFIG SET stop-writes-on-bgsave-error no", "and not MISCONF"),
        (State::AuthRejected, "CONFIG SET requirepass \"\"", "and not NOAUTH"),
        (State::TooManyClients, "CONFIG SET maxclients 100", "a new connection was not told"),
        (State::Busy, "SCRIPT KILL", "and not BUSY"),
        (State::WritesPaused, "CLIENT UNPAUSE", "before the pause was lifted"),
    ] {
        if state == State::Busy && is_older_than_7() {
            // A connection that monitors can't kill a script there.
            continue;
        }
        let said = broken(state, &[command]).await;
        assert!(said.contains(why), "{state} ended by {command}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_goes_on_or_a_server_that_loads_too_fast_is_not_believed() {
    let mut server = server(Persistence::Aof).await;
    let holding = enter_for(State::Frozen, &mut server, BOUND).await;
    let pid = server.pid().to_string();
    assert!(std::process::Command::new("kill").args(["-CONT", &pid]).status().unwrap().success());
    tokio::time::sleep(SHORT).await;
    let left = holding.leave(&mut server).await;
    assert!(not_proven(&left).contains("before the process went on"), "{:?}", left.proof);
    left.barrier.unwrap();

    if is_older_than_7() {
        return;
    }
    let holding = enter_for(State::Loading, &mut server, BOUND).await;
    ask(server.addr(), "CONFIG SET key-load-delay 0").await;
    tokio::time::sleep(2 * SHORT).await;
    let left = holding.leave(&mut server).await;
    assert!(not_proven(&left).contains("and not LOADING"), "{:?}", left.proof);
    left.barrier.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_server_runs_what_it_was_sent_even_where_the_client_has_closed() {
    let mut server = server(Persistence::None).await;
    let mut client = Client::connect(server.addr()).await;
    client.ask("PING").await;
    let holding = enter_for(State::Frozen, &mut server, BOUND).await;
    client.send("INCR counter").await;
    drop(client);
    let mut again = Client::connect(server.addr()).await;
    again.send("INCR counter").await;
    assert_eq!(again.receive(SHORT).await, None);
    let left = holding.leave(&mut server).await;
    held(&left);
    assert_eq!(again.receive(Duration::from_secs(3)).await.as_deref(), Some(":2\r\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_dropped_leaves_no_server_behind() {
    for state in [State::Frozen, State::Busy, State::Loading, State::WritesPaused, State::FailoverLostWrite] {
        let mut server = server(Persistence::None).await;
        let holding = enter_for(state, &mut server, BOUND).await;
        let pid = server.pid();
        drop(holding);
        server.shutdown().await;
        assert!(!crate::processes::runs(pid), "{state}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_paused_lets_scripts_run_that_say_they_only_read() {
    let mut server = server(Persistence::None).await;
    ask(server.addr(), "SET kept 1").await;
    let holding = enter_for(State::WritesPaused, &mut server, BOUND).await;
    let mut client = Client::connect(server.addr()).await;
    client.send("EVAL_RO \"return redis.call('GET',KEYS[1])\" 1 kept").await;
    let told = client.receive(Duration::from_secs(3)).await.unwrap_or_default();
    // Redis 6.2 has no EVAL_RO.
    assert!(told.starts_with("$1\r\n1") || told.contains("unknown command"), "{told}");
    held(&holding.leave(&mut server).await);
}
