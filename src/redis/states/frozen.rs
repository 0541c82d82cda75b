//! Frozen: the process is stopped by a signal. Its kernel goes on accepting connections, and keeps what they send.
//!
//! No connection is answered, the monitor's included, so the proof is the operating system's: the process is stopped at
//! the start and at the end, and a PING that was sent into the freeze is answered only after it.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::oneshot;

use super::super::wire::{STEP_WITHIN, Wire, bounded};
use super::super::{Server, ServerError};
use super::Verdict;
use super::watch::{LOOK_EVERY, Watch};

/// How long the system may take to stop a process.
const STOPPED_WITHIN: Duration = Duration::from_secs(2);

/// A process that is stopped. The server is killed with its workshop where nobody lets it go on.
#[derive(Debug)]
pub(super) struct Frozen {
    watch: Result<Watch<Seen>, String>,
}

/// What was seen of the connection that waits.
#[derive(Debug)]
struct Seen {
    waiting: Wire,
    against: Option<String>,
}

impl Frozen {
    pub(super) async fn enter(server: &Server) -> Frozen {
        let waiting =
            freeze(server).await.map_err(|error| format!("the process could not be frozen: {error}"));
        Frozen { watch: waiting.map(|waiting| Watch::start(move |stopped| watch(waiting, stopped))) }
    }

    /// Looks a last time and lets the process go on.
    pub(super) async fn leave(self, server: &Server) -> (Verdict, Result<(), ServerError>) {
        let seen = match self.watch {
            Ok(watch) => watch.stop().await.ok_or("the task that watched the freeze broke".to_owned()),
            Err(why) => Err(why),
        };
        let held = seen.and_then(|seen| match seen.against {
            Some(why) => Err(why),
            None => still_stopped(server).map(|()| seen.waiting),
        });
        // Whatever was seen, it has to go on.
        let goes_on = signal(server, Signal::CONT);
        let verdict = match held {
            Ok(mut waiting) => answered(&mut waiting).await,
            Err(why) => Err(why),
        };
        let shown = format!(
            "process {} was stopped at the start and at the end, and a PING sent at the start was answered only after it went on",
            server.pid()
        );
        let goes_on = goes_on.map_err(ServerError::io(format!("letting process {} go on", server.pid())));
        (verdict.map(|()| shown), goes_on)
    }
}

fn signal(server: &Server, signal: Signal) -> io::Result<()> {
    server.own().map_err(io::Error::other)?.signal(signal)
}

async fn freeze(server: &Server) -> io::Result<Wire> {
    let mut waiting = Wire::connect(server.endpoint(), STEP_WITHIN).await?;
    if !waiting.ask(&["PING"], STEP_WITHIN).await?.is("PONG") {
        return Err(io::Error::other("it did not answer before"));
    }
    signal(server, Signal::STOP)?;
    let started = Instant::now();
    while !is_stopped(server.pid())? {
        if started.elapsed() > STOPPED_WITHIN {
            return Err(io::Error::other(format!("it still ran {STOPPED_WITHIN:?} after the signal")));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    waiting.send(&["PING"]).await?;
    Ok(waiting)
}

async fn answered(waiting: &mut Wire) -> Result<(), String> {
    match bounded(STEP_WITHIN, waiting.reply()).await {
        Ok(reply) if reply.is("PONG") => Ok(()),
        Ok(other) => Err(format!("the PING that waited was answered by {other:?}")),
        Err(error) => {
            Err(format!("the PING that waited was not answered after the process went on: {error}"))
        }
    }
}

async fn watch(mut waiting: Wire, mut stopped: oneshot::Receiver<()>) -> Seen {
    let against = loop {
        tokio::select! {
            _ = &mut stopped => return Seen { waiting, against: None },
            reply = waiting.reply() => break match reply {
                Ok(_) => "a PING sent into the freeze was answered before the process went on".to_owned(),
                Err(error) => format!("the connection that waited in the freeze was lost: {error}"),
            },
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    };
    let _ = stopped.await;
    Seen { waiting, against: Some(against) }
}

fn still_stopped(server: &Server) -> Result<(), String> {
    match is_stopped(server.pid()) {
        Ok(true) => Ok(()),
        Ok(false) => Err("the process ran at the end of the freeze".to_owned()),
        Err(error) => Err(format!("whether the process was still stopped at the end is not known: {error}")),
    }
}

/// Whether the system says that a process is stopped.
fn is_stopped(pid: u32) -> io::Result<bool> {
    if cfg!(target_os = "linux") {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name before it stands in brackets, and may hold anything.
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        return Ok(state == Some('T'));
    }
    let output = std::process::Command::new("ps").args(["-o", "state=", "-p", &pid.to_string()]).output()?;
    Ok(output.stdout.starts_with(b"T"))
}
