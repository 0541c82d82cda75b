//! Loading: the server is killed and starts again with so much data that it takes a while to read it.
//!
//! The data is filler of the audit's own, which goes again once it is read; a delay for each key makes little of it last
//! long, and is lifted to end the state.

use std::io;
use std::time::{Duration, Instant};

use super::super::wire::{STEP_WITHIN, Wire, WireReply, bounded};
use super::super::{Server, ServerError};
use super::dump::{self, DUMP, Saved};
use super::look::{Look, Looking, READ, Told, WRITE, Where};
use super::watch::Watch;
use super::{Verdict, configured};
use crate::policy::Persistence;

/// How long the server waits at each key: it answers between two of them, so this is also what an answer may take.
const EACH_KEY: Duration = Duration::from_millis(1);

/// A key's value is longer than what the server reads between two looks at its clients.
const VALUE_LEN: usize = 1_100;

/// How many keys are sent or removed at once.
const PIPELINE: usize = 200;

/// How long rewriting, saving and reading the data may take.
const DONE_WITHIN: Duration = Duration::from_secs(30);

/// Between two questions whether it is done.
const ASK_EVERY: Duration = Duration::from_millis(5);

const LOOKS: &[Look] =
    &[Look { ask: READ, told: Told::Error("LOADING") }, Look { ask: WRITE, told: Told::Error("LOADING") }];

/// What the server is started with, and the names of the settings that have to be put back.
const DELAY: &str = "key-load-delay";
const INTERVAL: &str = "loading-process-events-interval-bytes";

/// A server that reads its data.
#[derive(Debug)]
pub(super) struct Loading {
    /// None where this server can't be made to load slowly and answer meanwhile.
    running: Result<Running, String>,
}

#[derive(Debug)]
struct Running {
    keys: usize,
    before: Vec<(&'static str, String)>,
    /// Whether the dump is only there for the state.
    own_dump: bool,
    watch: Watch<Looking>,
}

impl Loading {
    pub(super) async fn enter(server: &mut Server, bound: Duration) -> Result<Loading, ServerError> {
        let filling = || ServerError::io(format!("filling {} with data to load", server.addr()));
        let mut control = Wire::connect(server.addr(), STEP_WITHIN).await.map_err(filling())?;
        let mut before = Vec::new();
        for name in [DELAY, INTERVAL] {
            match configured::setting(&mut control, name).await {
                Ok(value) => before.push((name, value)),
                Err(error) => {
                    let why =
                        format!("this server can't be slowed down while it loads, which takes 7.0: {error}");
                    return Ok(Loading { running: Err(why) });
                }
            }
        }
        let keys = usize::try_from(bound.as_millis() / EACH_KEY.as_millis()).unwrap_or(usize::MAX).max(1);
        let value = "x".repeat(VALUE_LEN);
        let set = |key| vec!["SET".to_owned(), key, value.clone()];
        pipelined(&mut control, keys, set).await.map_err(filling())?;
        let own_dump = server.persistence() == Persistence::None && !server.dir().join(DUMP).exists();
        match server.persistence() {
            Persistence::Aof => rewritten(&mut control).await,
            Persistence::Rdb | Persistence::None => dump::save(&mut control, Saved::Yes).await,
        }
        .map_err(filling())?;
        let delay = EACH_KEY.as_micros().to_string();
        let (delay_name, interval_name) = (format!("--{DELAY}"), format!("--{INTERVAL}"));
        let options = [delay_name.as_str(), delay.as_str(), interval_name.as_str(), "1024"];
        server.kill().await?;
        server.start_with(&options).await?;
        let wire = Wire::connect(server.addr(), STEP_WITHIN).await;
        let wire = wire.map_err(ServerError::io(format!("connecting to {}", server.addr())))?;
        let watch = Looking::start(Where::On(Box::new(wire)), LOOKS).await;
        Ok(Loading { running: Ok(Running { keys, before, own_dump, watch }) })
    }

    /// Whether the server was killed and started again.
    pub(super) fn began(&self) -> bool {
        self.running.is_ok()
    }

    /// Looks a last time, lets the server read the rest at once, and removes what was only there to be read.
    pub(super) async fn leave(self, server: &Server) -> (Verdict, Result<(), ServerError>) {
        let Running { keys, before, own_dump, watch } = match self.running {
            Ok(running) => running,
            Err(why) => return (Err(why), Ok(())),
        };
        let verdict = match watch.stop().await {
            Some(looking) => looking.last().await,
            None => Err("the task that watched the state broke".to_owned()),
        };
        let ended = end(server, keys, &before, own_dump).await;
        (verdict, ended.map_err(ServerError::io(format!("ending the loading of {}", server.addr()))))
    }
}

async fn end(
    server: &Server,
    keys: usize,
    before: &[(&'static str, String)],
    own_dump: bool,
) -> io::Result<()> {
    let mut control = Wire::connect(server.addr(), STEP_WITHIN).await?;
    configured::expect_ok(control.ask(&["CONFIG", "SET", DELAY, "0"], STEP_WITHIN).await?)?;
    let started = Instant::now();
    while !control.ask(&["PING"], STEP_WITHIN).await?.is("PONG") {
        if started.elapsed() > DONE_WITHIN {
            return Err(io::Error::other(format!("it still loaded after {DONE_WITHIN:?}")));
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
    for (name, value) in before {
        configured::expect_ok(control.ask(&["CONFIG", "SET", name, value], STEP_WITHIN).await?)?;
    }
    pipelined(&mut control, keys, |key| vec!["DEL".to_owned(), key]).await?;
    if own_dump {
        std::fs::remove_file(server.dir().join(DUMP))?;
    }
    Ok(())
}

/// Sends a command for each filler key, so many at once.
async fn pipelined(
    control: &mut Wire,
    keys: usize,
    command: impl Fn(String) -> Vec<String>,
) -> io::Result<()> {
    for first in (0..keys).step_by(PIPELINE) {
        let last = keys.min(first + PIPELINE);
        for key in first..last {
            let words = command(format!("audit-filler:{key}"));
            control.send(&words.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        }
        for _ in first..last {
            if let WireReply::Error(error) = bounded(STEP_WITHIN, control.reply()).await? {
                return Err(io::Error::other(error));
            }
        }
    }
    Ok(())
}

/// Has the server rewrite its append-only file, which is read faster command by command than key by key, and waits for it.
async fn rewritten(control: &mut Wire) -> io::Result<()> {
    let started = Instant::now();
    let mut asked = false;
    while started.elapsed() < DONE_WITHIN {
        let info = control.ask(&["INFO", "persistence"], STEP_WITHIN).await?.text();
        let busy = ["aof_rewrite_in_progress:1", "aof_rewrite_scheduled:1", "rdb_bgsave_in_progress:1"];
        if !busy.iter().any(|line| info.contains(line)) {
            if asked && info.contains("aof_last_bgrewrite_status:ok") {
                return Ok(());
            }
            asked = true;
            control.ask(&["BGREWRITEAOF"], STEP_WITHIN).await?;
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
    Err(io::Error::other(format!("the append-only file was not rewritten within {DONE_WITHIN:?}")))
}
