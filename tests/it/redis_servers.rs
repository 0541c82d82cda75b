//! Throwaway servers: started, killed, started again, and what is said when that fails.

use std::path::Path;
use std::time::Duration;

use redis_outage_audit::policy::Persistence;
use redis_outage_audit::redis::{ServerBinary, ServerError, Workshop, open_file_limit};
use tokio::net::TcpSocket;

use crate::processes::{runs, until};
use crate::support::{Client, Listens, ask, audit, binary, script, server, workshop};

/// A stand-in for a server program: says a version, then runs this.
async fn stand_in(dir: &Path, text: &str) -> std::sync::Arc<Workshop> {
    let real = binary().await;
    let version = format!(
        r#"if [ "$1" = --version ]; then exec {} --version; fi; REAL={}"#,
        real.path.display(),
        real.path.display()
    );
    let path = script(dir, "redis-server", &format!("{version}\n{text}"));
    Workshop::open(ServerBinary::find(Some(&path)).await.unwrap(), audit()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_answers_as_soon_as_it_is_handed_over_and_is_gone_after_shutdown() {
    let server = server(Persistence::None).await;
    let (addr, pid) = (server.addr(), server.pid());
    assert!(addr.ip().is_loopback());
    assert_eq!(ask(addr, "PING").await, "+PONG\r\n");
    assert!(server.max_clients() >= 1_000.min(open_file_limit() as usize / 2), "{}", server.max_clients());
    let dir = server.own().unwrap().dir().to_owned();
    server.shutdown().await;
    assert!(!runs(pid) && !dir.exists());
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_side_by_side_have_ports_and_data_of_their_own() {
    let workshop = workshop().await;
    let started = (0..6).map(|_| {
        let workshop = workshop.clone();
        tokio::spawn(async move { workshop.start(Persistence::None).await.unwrap() })
    });
    let mut servers = Vec::new();
    for task in started.collect::<Vec<_>>() {
        servers.push(task.await.unwrap());
    }
    for (n, server) in servers.iter().enumerate() {
        assert_eq!(ask(server.addr(), &format!("SET whose {n}")).await, "+OK\r\n");
    }
    for (n, server) in servers.iter().enumerate() {
        assert_eq!(ask(server.addr(), "GET whose").await, format!("$1\r\n{n}\r\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_with_an_append_only_file_comes_back_with_all_of_its_keys() {
    let mut server = server(Persistence::Aof).await;
    let (addr, first) = (server.addr(), server.pid());
    let mut client = Client::connect(addr).await;
    for n in 0..1_000 {
        assert_eq!(client.ask(&format!("SET key:{n} {n}")).await, "+OK\r\n");
    }
    server.kill().await.unwrap();
    assert!(!runs(first), "the kill is waited for");
    server.start_again().await.unwrap();
    assert_eq!(server.addr(), addr, "the port is the same");
    assert_ne!(server.pid(), first);
    assert_eq!(ask(addr, "DBSIZE").await, ":1000\r\n");
    assert_eq!(ask(addr, "GET key:999").await, "$3\r\n999\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_without_persistence_comes_back_empty() {
    let mut server = server(Persistence::None).await;
    assert_eq!(ask(server.addr(), "SET a 1").await, "+OK\r\n");
    server.kill().await.unwrap();
    server.start_again().await.unwrap();
    assert_eq!(ask(server.addr(), "DBSIZE").await, ":0\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_with_snapshots_keeps_what_the_last_one_holds() {
    let mut server = server(Persistence::Rdb).await;
    assert_eq!(ask(server.addr(), "SET a 1").await, "+OK\r\n");
    let snapshot = server.own().unwrap().dir().join("dump.rdb");
    assert!(until(Duration::from_secs(10), || snapshot.exists()), "no snapshot came by itself");
    assert_eq!(ask(server.addr(), "SET b 1").await, "+OK\r\n");
    server.kill().await.unwrap();
    server.start_again().await.unwrap();
    assert_eq!(ask(server.addr(), "EXISTS a").await, ":1\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_port_of_a_killed_server_refuses_and_is_given_to_nobody() {
    let mut server = server(Persistence::None).await;
    let addr = server.addr();
    let open: Vec<_> = {
        let mut open = Vec::new();
        for _ in 0..20 {
            open.push(Client::connect(addr).await);
        }
        open
    };
    server.kill().await.unwrap();
    let refused = tokio::net::TcpStream::connect(addr).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let taken = TcpSocket::new_v4().unwrap().bind(addr).unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
    for mut client in open {
        assert_eq!(client.receive(Duration::from_secs(5)).await.as_deref(), Some("closed"));
    }
    server.start_again().await.unwrap();
    assert_eq!(ask(addr, "PING").await, "+PONG\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_by_itself_is_told_with_its_exit_and_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let workshop = stand_in(dir.path(), "echo 'something is wrong here' >&2; exit 7").await;
    let error = workshop.start(Persistence::None).await.unwrap_err();
    assert!(matches!(error, ServerError::Exited { .. }), "{error}");
    let text = error.to_string();
    for part in [dir.path().to_str().unwrap(), "exit status: 7", "something is wrong here"] {
        assert!(text.contains(part), "{part} is missing from {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_was_taken_meanwhile_is_replaced_by_another() {
    let dir = tempfile::tempdir().unwrap();
    let once = dir.path().join("once");
    let text = format!(
        "if [ ! -e {once} ]; then touch {once}; echo 'bind: Address already in use'; exit 1; fi; exec $REAL \"$@\"",
        once = once.display()
    );
    let server = stand_in(dir.path(), &text).await.start(Persistence::None).await.unwrap();
    assert!(once.exists());
    assert_eq!(ask(server.addr(), "PING").await, "+PONG\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrapper_that_hides_its_server_is_refused_with_the_mend() {
    let dir = tempfile::tempdir().unwrap();
    let error = stand_in(dir.path(), "$REAL \"$@\"").await.start(Persistence::None).await.unwrap_err();
    assert!(matches!(error, ServerError::NotOurs { .. }), "{error}");
    assert!(error.to_string().contains("`exec`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_noticed_when_it_ends_behind_our_back() {
    let mut server = server(Persistence::None).await;
    assert!(server.exited().is_none());
    let _ = tokio::time::timeout(Duration::from_secs(5), ask_quietly(server.addr(), "SHUTDOWN NOSAVE")).await;
    assert!(until(Duration::from_secs(5), || server.exited().is_some()));
}

async fn ask_quietly(addr: std::net::SocketAddr, command: &str) {
    let mut client = Client::connect(addr).await;
    client.send(command).await;
    client.receive(Duration::from_secs(5)).await;
}
