//! What the tests share: servers, and a client that says exactly what it is told.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use redis_outage_audit::observe::Proof;
use redis_outage_audit::policy::Persistence;
use redis_outage_audit::redis::states::{self, Holding, Left};
use redis_outage_audit::redis::{Server, ServerBinary, Workshop};
use redis_outage_audit::words::State;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The program under test.
pub fn audit() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_audit"))
}

/// The server that `AUDIT_TEST_REDIS_SERVER` names, else the one on PATH.
pub async fn binary() -> ServerBinary {
    let given = std::env::var_os("AUDIT_TEST_REDIS_SERVER").map(PathBuf::from);
    ServerBinary::find(given.as_deref()).await.unwrap()
}

/// Whether the tests' server is older than 7.0, on which scripts are rejected otherwise, and which can't load slowly.
pub fn is_older_than_7() -> bool {
    let given = std::env::var("AUDIT_TEST_REDIS_SERVER").unwrap_or_default();
    let program = if given.is_empty() { "redis-server".to_owned() } else { given };
    let said = std::process::Command::new(program).arg("--version").output();
    said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains(" v=6."))
}

pub async fn workshop() -> Arc<Workshop> {
    Workshop::open(binary().await, audit()).await.unwrap()
}

pub async fn server(persistence: Persistence) -> Server {
    workshop().await.start(persistence).await.unwrap()
}

/// Where a server listens; those of the tests do so on loopback.
pub trait Listens {
    fn addr(&self) -> SocketAddr;
}

impl Listens for Server {
    fn addr(&self) -> SocketAddr {
        self.endpoint().addr().unwrap()
    }
}

/// Puts a server into a state.
pub async fn enter_for(state: State, server: &mut Server, bound: Duration) -> Holding {
    let ready = states::prepare(state, server).await.unwrap();
    states::enter(ready, server, bound).await.unwrap()
}

/// What showed that the state held.
pub fn held(left: &Left) -> &str {
    match &left.proof {
        Proof::Held(shown) => shown,
        Proof::NotProven(why) | Proof::BeyondServer(why) => panic!("not proven: {why}"),
    }
}

/// What spoke against the state.
pub fn not_proven(left: &Left) -> &str {
    match &left.proof {
        Proof::Held(shown) => panic!("it did not hold, and still: {shown}"),
        Proof::NotProven(why) | Proof::BeyondServer(why) => why,
    }
}

/// A bare client.
pub struct Client(TcpStream);

impl Client {
    pub async fn connect(addr: SocketAddr) -> Client {
        Client(TcpStream::connect(addr).await.unwrap())
    }

    pub async fn send(&mut self, command: &str) {
        self.0.write_all(format!("{command}\r\n").as_bytes()).await.unwrap();
    }

    /// What arrives next, at most this long from now; none where nothing did. Ends in "closed" at the end.
    pub async fn receive(&mut self, within: Duration) -> Option<String> {
        let mut buffer = vec![0; 64 * 1024];
        match tokio::time::timeout(within, self.0.read(&mut buffer)).await {
            Err(_) => None,
            Ok(Ok(0) | Err(_)) => Some("closed".to_owned()),
            Ok(Ok(n)) => Some(String::from_utf8_lossy(&buffer[..n]).into_owned()),
        }
    }

    pub async fn ask(&mut self, command: &str) -> String {
        self.send(command).await;
        self.receive(Duration::from_secs(10)).await.unwrap_or_else(|| panic!("{command} was not answered"))
    }
}

/// Asks on a connection of its own.
pub async fn ask(addr: SocketAddr, command: &str) -> String {
    Client::connect(addr).await.ask(command).await
}

/// Writes a shell script that can be run.
pub fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}
