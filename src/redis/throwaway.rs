//! One throwaway server: started, killed, started again where it was, ended.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use super::config::config;
use super::identity::{Identity, identify, identify_loading};
use super::port::HeldPort;
use super::wire::{STEP_WITHIN, Wire};
use super::{ServerError, Workshop};
use crate::endpoint::Endpoint;
use crate::policy::Persistence;

/// How long a server may take until it answers, its data loaded.
const READY_WITHIN: Duration = Duration::from_secs(15);

/// Between two questions whether it is ready.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// The names of its configuration and its log in its directory.
const CONFIG: &str = "redis.conf";
const LOG: &str = "server.log";

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
    persistence: Persistence,
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
            let conf = dir.join(CONFIG);
            std::fs::write(&conf, config(addr, persistence))
                .map_err(ServerError::io(format!("writing {}", conf.display())))?;
            match launch(&workshop, &dir, addr, held, &[]).await {
                Ok((process, identity)) => {
                    let endpoint = Endpoint::plain(addr);
                    return Ok(Throwaway {
                        workshop,
                        dir,
                        persistence,
                        addr,
                        endpoint,
                        process,
                        identity,
                        held: None,
                    });
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

    /// How it keeps its data.
    pub fn persistence(&self) -> Persistence {
        self.persistence
    }

    /// Another server from the same workshop, which keeps its data as this one does.
    ///
    /// # Errors
    /// Where it does not start.
    pub(super) async fn another(&self) -> Result<Throwaway, ServerError> {
        self.workshop.process(self.persistence).await
    }

    /// Sends a signal to its process.
    ///
    /// # Errors
    /// Where the process is gone.
    pub(super) fn signal(&self, signal: Signal) -> std::io::Result<()> {
        let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
        // Only a process that was not waited for yet has an id that can't be another's.
        let pid = self.process.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        Ok(kill_process(pid.ok_or_else(gone)?, signal)?)
    }

    /// Throws away all data of a server that was killed.
    ///
    /// # Errors
    /// Where its files can't be removed.
    pub(super) fn wipe(&self) -> Result<(), ServerError> {
        let entries = std::fs::read_dir(&self.dir).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let removed = entries.and_then(|entries| {
            for entry in entries {
                let (path, name) = (entry.path(), entry.file_name());
                if name == CONFIG || name == LOG {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    std::fs::remove_dir_all(path)?;
                } else {
                    std::fs::remove_file(path)?;
                }
            }
            Ok(())
        });
        removed.map_err(ServerError::io(format!("throwing away the data in {}", self.dir.display())))
    }

    /// Takes the place of a server that was killed: `other` listens at this one's address from now on, and is this one.
    ///
    /// # Errors
    /// Where it does not listen there.
    pub(super) async fn replace_by(&mut self, other: Throwaway) -> Result<(), ServerError> {
        let moving = || ServerError::io(format!("letting another server listen on {}", self.addr));
        let port = self.addr.port().to_string();
        let mut control = Wire::connect(&other.endpoint, STEP_WITHIN).await.map_err(moving())?;
        let reply = control.ask(&["CONFIG", "SET", "port", &port], STEP_WITHIN).await.map_err(moving())?;
        if !reply.is("OK") {
            return Err(moving()(std::io::Error::other(format!(
                "CONFIG SET port was answered by {reply:?}"
            ))));
        }
        let identity = identify(&self.endpoint, STEP_WITHIN).await.map_err(moving())?;
        let Throwaway { process, dir, .. } = other;
        (self.process, self.dir, self.identity, self.held) = (process, dir, identity, None);
        Ok(())
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
        self.start_with(&[]).await
    }

    /// [`Throwaway::start_again`] with options of the command line. A server that is still loading its data is ready too where
    /// there are any.
    pub(super) async fn start_with(&mut self, options: &[&str]) -> Result<(), ServerError> {
        let Some(held) = self.held.take() else {
            let source = std::io::Error::other("it was not killed before");
            return Err(ServerError::Io {
                doing: format!("starting the server on {} again", self.addr),
                source,
            });
        };
        (self.process, self.identity) = launch(&self.workshop, &self.dir, self.addr, held, options).await?;
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
    options: &[&str],
) -> Result<(Child, Identity), ServerError> {
    let path = &workshop.binary().path;
    let log = dir.join(LOG);
    let output = std::fs::File::create(&log).map_err(ServerError::io(format!("making {}", log.display())))?;
    let errors = output.try_clone().map_err(ServerError::io(format!("opening {} twice", log.display())))?;
    // On Linux a server can listen on a port that such a socket still holds, so that nobody can come in between.
    // Elsewhere the port has to be let go first.
    let held = cfg!(target_os = "linux").then_some(held);
    let process = Command::new(path)
        .arg(CONFIG)
        .args(options)
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
        let asked = match options {
            [] => identify(&endpoint, left).await,
            _ => identify_loading(&endpoint, left).await,
        };
        let last = match asked {
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
