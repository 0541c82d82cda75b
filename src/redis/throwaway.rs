//! One throwaway server: started, killed, started again where it was, ended.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use super::config::config;
use super::identity::{Identity, identify};
use super::port::HeldPort;
use super::{ServerError, Workshop};
use crate::endpoint::Endpoint;
use crate::policy::Persistence;

/// How long a server may take until it answers, its data loaded.
const READY_WITHIN: Duration = Duration::from_secs(15);

/// Between two questions whether it is ready.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// How many ports are tried before the machine is called full.
const PORT_TRIES: usize = 10;

/// How many lines of a server's log an error carries.
const LOG_LINES: usize = 8;

/// A server of the audit's own, on loopback. Dropping it kills it.
#[derive(Debug)]
pub struct Throwaway {
    // Dropped first: the directory and the guard go after the process.
    process: Child,
    identity: Identity,
    addr: SocketAddr,
    endpoint: Endpoint,
    dir: PathBuf,
    /// Held from a kill until the next start.
    held: Option<HeldPort>,
    workshop: Arc<Workshop>,
}

impl Throwaway {
    pub(super) async fn start(
        workshop: Arc<Workshop>,
        dir: PathBuf,
        persistence: Persistence,
    ) -> Result<Throwaway, ServerError> {
        for _ in 0..PORT_TRIES {
            let held = HeldPort::any().map_err(ServerError::io("holding a free port on 127.0.0.1"))?;
            let addr = held.addr().map_err(ServerError::io("reading the port that is held"))?;
            let conf = dir.join("redis.conf");
            std::fs::write(&conf, config(addr, persistence))
                .map_err(ServerError::io(format!("writing {}", conf.display())))?;
            match launch(&workshop, &dir, addr, held).await {
                Ok((process, identity)) => {
                    let endpoint = Endpoint::plain(addr);
                    return Ok(Throwaway { workshop, dir, addr, endpoint, process, identity, held: None });
                }
                Err(error) if says_port_taken(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(ServerError::NoPort { tries: PORT_TRIES })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// How to get in.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its process; another one after it was started again.
    pub fn pid(&self) -> u32 {
        self.identity.pid
    }

    /// The random name that it gave itself when it last started.
    pub fn run_id(&self) -> &str {
        &self.identity.run_id
    }

    /// How many connections it accepts.
    pub fn max_clients(&self) -> usize {
        self.identity.max_clients
    }

    /// The directory that its data is in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// How it ended, where its process is gone.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    /// Kills the process (SIGKILL), waits until it is gone, and holds its port, which refuses from then on.
    ///
    /// # Errors
    /// Where the process can't be waited for, and where another program took the port at that instant.
    pub async fn kill(&mut self) -> Result<(), ServerError> {
        self.process.kill().await.map_err(ServerError::io(format!("killing the server on {}", self.addr)))?;
        let held = HeldPort::again(self.addr).await;
        self.held = Some(
            held.map_err(ServerError::io(format!("holding {} after its server was killed", self.addr)))?,
        );
        Ok(())
    }

    /// Starts it again on the same port and in the same directory, and waits until its data is loaded.
    ///
    /// # Errors
    /// Where it still runs, ends by itself, or does not answer in time.
    pub async fn start_again(&mut self) -> Result<(), ServerError> {
        let Some(held) = self.held.take() else {
            let source = std::io::Error::other("it was not killed before");
            return Err(ServerError::Io {
                doing: format!("starting the server on {} again", self.addr),
                source,
            });
        };
        (self.process, self.identity) = launch(&self.workshop, &self.dir, self.addr, held).await?;
        Ok(())
    }

    /// Ends it; its data is thrown away, so nothing is saved.
    pub async fn shutdown(mut self) {
        let _ = self.process.kill().await;
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Runs the program on a held port until it answers.
async fn launch(
    workshop: &Workshop,
    dir: &Path,
    addr: SocketAddr,
    held: HeldPort,
) -> Result<(Child, Identity), ServerError> {
    let path = &workshop.binary().path;
    let log = dir.join("server.log");
    let output = std::fs::File::create(&log).map_err(ServerError::io(format!("making {}", log.display())))?;
    let errors = output.try_clone().map_err(ServerError::io(format!("opening {} twice", log.display())))?;
    // On Linux a server can listen on a port that such a socket still holds, so that nobody can come in between.
    // Elsewhere the port has to be let go first.
    let held = cfg!(target_os = "linux").then_some(held);
    let process = Command::new(path)
        .arg("redis.conf")
        .current_dir(dir)
        // A locale that the machine lacks ends a server at once.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .process_group(workshop.reaper().group())
        .kill_on_drop(true)
        .spawn();
    // A group that lost its guard takes no new members, and would say so less plainly.
    workshop.reaper().check()?;
    let mut process = process.map_err(ServerError::io(format!("starting {}", path.display())))?;
    let pid = process.id().unwrap_or_default();
    workshop.reaper().tell(pid)?;
    let (endpoint, started) = (Endpoint::plain(addr), Instant::now());
    loop {
        if let Ok(Some(status)) = process.try_wait() {
            return Err(ServerError::Exited { path: path.clone(), how: status.to_string(), log: tail(&log) });
        }
        let left = READY_WITHIN.saturating_sub(started.elapsed());
        let last = match identify(&endpoint, left).await {
            Ok(identity) if identity.pid == pid => {
                drop(held);
                workshop.reaper().check()?;
                return Ok((process, identity));
            }
            Ok(identity) => return Err(ServerError::NotOurs { addr, found: identity.pid, started: pid }),
            Err(error) => error.to_string(),
        };
        if started.elapsed() + ASK_EVERY >= READY_WITHIN {
            let (path, log) = (path.clone(), tail(&log));
            return Err(ServerError::NotReady { path, addr, within: READY_WITHIN, last, log });
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

fn says_port_taken(error: &ServerError) -> bool {
    matches!(error, ServerError::Exited { log, .. } if log.contains("Address already in use"))
}

fn tail(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.as_slice() {
        [] => "(it wrote nothing)".to_owned(),
        lines => lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"),
    }
}
