//! Busy: a script runs beyond its time limit, and every command is rejected until it is killed.
//!
//! The state begins once the server says BUSY: the silence before that is what `paused` shows.

use std::io;
use std::time::{Duration, Instant};

use super::super::wire::{STEP_WITHIN, Wire, WireReply, bounded};
use super::super::{Server, ServerError};
use super::Verdict;
use super::configured::{expect_ok, setting};
use super::look::{Look, Looking, READ, Told, WRITE, Where};
use super::watch::Watch;

/// The setting that every supported version knows by this name; later ones call it busy-reply-threshold as well.
const LIMIT: &str = "lua-time-limit";

/// Milliseconds after which a script counts as slow here.
const LIMIT_MS: &str = "5";

/// How long the server may take to say so.
const BUSY_WITHIN: Duration = Duration::from_secs(10);

const LOOKS: &[Look] =
    &[Look { ask: READ, told: Told::Error("BUSY") }, Look { ask: WRITE, told: Told::Error("BUSY") }];

/// A script that runs.
#[derive(Debug)]
pub(super) struct Busy {
    running: Result<Running, String>,
}

#[derive(Debug)]
struct Running {
    /// The connection that waits for the script.
    script: Wire,
    control: Wire,
    limit: String,
    watch: Watch<Looking>,
}

impl Busy {
    pub(super) async fn enter(server: &Server) -> Busy {
        Busy {
            running: begin(server).await.map_err(|error| format!("no script kept the server busy: {error}")),
        }
    }

    /// Looks a last time, kills the script and puts the limit back.
    pub(super) async fn leave(self, server: &Server) -> (Verdict, Result<(), ServerError>) {
        let Running { mut script, mut control, limit, watch } = match self.running {
            Ok(running) => running,
            Err(why) => return (Err(why), Ok(())),
        };
        let verdict = match watch.stop().await {
            Some(looking) => looking.last().await,
            None => Err("the task that watched the state broke".to_owned()),
        };
        let ended = end(&mut script, &mut control, &limit).await;
        (verdict, ended.map_err(ServerError::io(format!("killing the script on {}", server.endpoint()))))
    }
}

async fn begin(server: &Server) -> io::Result<Running> {
    let endpoint = server.endpoint();
    let mut control = Wire::connect(endpoint, STEP_WITHIN).await?;
    let mut script = Wire::connect(endpoint, STEP_WITHIN).await?;
    let limit = setting(&mut control, LIMIT).await?;
    expect_ok(control.ask(&["CONFIG", "SET", LIMIT, LIMIT_MS], STEP_WITHIN).await?)?;
    script.send(&["EVAL", "while true do end", "0"]).await?;
    let started = Instant::now();
    loop {
        match control.ask(READ, BUSY_WITHIN).await? {
            WireReply::Error(text) if text.starts_with("BUSY") => break,
            other if started.elapsed() > BUSY_WITHIN => {
                return Err(io::Error::other(format!("it was told {other:?} for {BUSY_WITHIN:?}")));
            }
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
    let place = Where::On(Box::new(Wire::connect(endpoint, STEP_WITHIN).await?));
    Ok(Running { script, control, limit, watch: Looking::start(place, LOOKS).await })
}

async fn end(script: &mut Wire, control: &mut Wire, limit: &str) -> io::Result<()> {
    match control.ask(&["SCRIPT", "KILL"], STEP_WITHIN).await? {
        reply if reply.is("OK") => {}
        // It ended by itself, or somebody else killed it.
        WireReply::Error(text) if text.starts_with("NOTBUSY") => {}
        other => return Err(io::Error::other(format!("SCRIPT KILL was answered by {other:?}"))),
    }
    bounded(STEP_WITHIN, script.reply()).await?;
    expect_ok(control.ask(&["CONFIG", "SET", LIMIT, limit], STEP_WITHIN).await?)
}
