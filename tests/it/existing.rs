//! A server that exists: started by the tests, not by the audit, and ended with the test.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis_outage_audit::endpoint::Endpoint;

use crate::command::{Ended, Folder};
use crate::processes::until;
use crate::support::script;

/// A policy file for it: quick, with a use of each sort of command.
pub const POLICIES: &str = "version: 1\nservice: shop\nclient: {command_timeout: 150ms}\nuses:\n  - {name: cart-lock, kind: lock, key: 'cart:${id}', ttl: 30s, on_outage: fail_open}\n  - {name: prices, kind: cache, key: 'price:${id}', ttl: 1m, on_outage: {read: fallback, write: fail_open, invalidate: fail_open}}\n";

/// A server program, and the options of its command line.
pub struct Existing {
    child: Child,
    program: PathBuf,
    options: Vec<String>,
    pub dir: tempfile::TempDir,
    pub port: u16,
}

impl Drop for Existing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Existing {
    /// The tests' server on a free port of loopback.
    pub fn start() -> Existing {
        Existing::with(&[])
    }

    /// The same with more options.
    pub fn with(options: &[&str]) -> Existing {
        let program =
            std::env::var_os("AUDIT_TEST_REDIS_SERVER").map_or("redis-server".into(), PathBuf::from);
        Existing::of(which::which(program).unwrap(), options)
    }

    fn of(program: PathBuf, options: &[&str]) -> Existing {
        let dir = tempfile::tempdir().unwrap();
        // Another test may take the port at the same instant.
        for _ in 0..10 {
            let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let options: Vec<String> = options
                .iter()
                .map(|option| option.replace("DIR", &dir.path().display().to_string()))
                .collect();
            let mut child = spawn(&program, port, &options, dir.path());
            let up = until(Duration::from_secs(10), || {
                child.try_wait().unwrap().is_some()
                    || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
            });
            if up && child.try_wait().unwrap().is_none() {
                return Existing { child, program, options, dir, port };
            }
        }
        panic!("no server started");
    }

    /// Kills it and starts it again where it was.
    pub fn restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(&self.program, self.port, &self.options, self.dir.path());
        assert!(
            until(Duration::from_secs(10), || std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok())
        );
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint::plain(self.addr())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks on a connection of its own, which is closed again.
    pub fn ask(&self, command: &[&str]) -> redis::Value {
        self.try_ask(command).unwrap()
    }

    pub fn try_ask(&self, command: &[&str]) -> redis::RedisResult<redis::Value> {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_connection_with_timeout(Duration::from_secs(10))?;
        connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut cmd = redis::Cmd::new();
        command.iter().for_each(|word| {
            cmd.arg(*word);
        });
        cmd.query(&mut connection)
    }

    /// Every setting.
    pub fn settings(&self) -> redis::Value {
        self.ask(&["CONFIG", "GET", "*"])
    }

    /// Whether a PING is answered within this.
    pub fn answers_within(&self, limit: Duration) -> bool {
        let client = redis::Client::open(self.url()).unwrap();
        let Ok(mut connection) = client.get_connection_with_timeout(limit) else { return false };
        connection.set_read_timeout(Some(limit)).unwrap();
        redis::cmd("PING").query::<String>(&mut connection).is_ok()
    }

    /// Waits until nobody but us is listed.
    pub fn is_left_alone(&self) -> bool {
        until(Duration::from_secs(3), || {
            let list: String = redis::from_redis_value(self.ask(&["CLIENT", "LIST"])).unwrap();
            list.lines().count() == 1
        })
    }

    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = redis::from_redis_value(self.ask(&["KEYS", "*"])).unwrap();
        keys.sort();
        keys
    }

    /// Hooks that stop and start it again, as scripts: what they do stands in `hooks.log`.
    pub fn hooks(&self) -> String {
        let dir = self.dir.path();
        let log = dir.join("hooks.log");
        let command = command_line(&self.program, self.port, &self.options, dir);
        let pid = dir.join("pid");
        std::fs::write(&pid, self.pid().to_string()).unwrap();
        let stop = script(
            dir,
            "stop",
            &format!("echo stop >> {0}; kill -9 $(cat {1})", log.display(), pid.display()),
        );
        let start = script(
            dir,
            "start",
            &format!(
                "echo start >> {0}; {command} > /dev/null 2>&1 & echo $! > {1}",
                log.display(),
                pid.display()
            ),
        );
        format!(
            "server: {{hooks: {{stop: [{}], start: [{}], within: 5s}}}}\n",
            stop.display(),
            start.display()
        )
    }

    pub fn hooks_log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("hooks.log")).unwrap_or_default()
    }

    /// Ends what a start hook started.
    pub fn end_hooked(&self) {
        if let Ok(pid) = std::fs::read_to_string(self.dir.path().join("pid")) {
            let _ = Command::new("kill").arg("-9").arg(pid.trim()).stderr(Stdio::null()).status();
        }
    }
}

fn arguments(port: u16, options: &[String], dir: &Path) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["--port", &port.to_string(), "--dir", &dir.display().to_string(), "--save", ""]
            .map(str::to_owned)
            .to_vec();
    arguments.extend(options.iter().cloned());
    arguments
}

fn command_line(program: &Path, port: u16, options: &[String], dir: &Path) -> String {
    let words: Vec<String> = arguments(port, options, dir).iter().map(|word| format!("'{word}'")).collect();
    format!("{} {}", program.display(), words.join(" "))
}

fn spawn(program: &Path, port: u16, options: &[String], dir: &Path) -> Child {
    Command::new(program)
        .args(arguments(port, options, dir))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// An address of this machine that is none of loopback; none where it has no network.
pub fn interface() -> Option<IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: this only asks which way it would go.
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_loopback())
}

impl Folder {
    /// The audit of a server that exists, with its state inside of the folder.
    pub fn attach(&self, args: &[&str]) -> Ended {
        Ended::of(self.attach_command(args).output().unwrap())
    }

    pub fn attach_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_audit"));
        command.args(args).current_dir(self.path()).env("TMPDIR", self.path()).env("CI", "true");
        command.env("XDG_STATE_HOME", self.path().join("state")).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The journals that are there.
    pub fn journals(&self) -> Vec<PathBuf> {
        redis_outage_audit::redis::left_behind(&self.path().join("state/redis-outage-audit"))
    }
}
