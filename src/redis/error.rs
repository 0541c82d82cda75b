//! What can go wrong with a server of the audit's own: always the environment's doing, never a result.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::Version;
use crate::endpoint::{Endpoint, UrlError};
use crate::words::State;

/// Why there is no server, or no longer the one that was started.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Nothing to start.
    #[error(
        "no redis-server and no valkey-server on PATH; install one, or name it with --redis-server PATH:\n\
         \x20 Debian, Ubuntu: sudo apt-get install redis-server\n\
         \x20 Fedora:         sudo dnf install valkey\n\
         \x20 Alpine:         sudo apk add redis\n\
         \x20 Arch:           sudo pacman -S valkey\n\
         \x20 macOS:          brew install redis"
    )]
    NoBinary,

    /// The named program is not there, or can't be run.
    #[error("{path}: {why}; --redis-server takes the path of a redis-server or valkey-server")]
    BadBinary {
        /// What was named.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },

    /// The program is a server that lacks what the states need.
    #[error("{path}: version {version} has no CLIENT PAUSE ALL; 6.2 or later is needed")]
    TooOld {
        /// Which program.
        path: PathBuf,
        /// What it says of itself.
        version: Version,
    },

    /// A step of ours failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done, with its place.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },

    /// The server ended by itself instead of answering.
    #[error("{path} ended before it answered ({how}); the end of its log:\n{log}")]
    Exited {
        /// Which program.
        path: PathBuf,
        /// Its exit status, in words.
        how: String,
        /// The last lines that it wrote.
        log: String,
    },

    /// The server runs and does not answer.
    #[error("{path} on {addr} did not answer within {within:?} ({last}); the end of its log:\n{log}")]
    NotReady {
        /// Which program.
        path: PathBuf,
        /// Where it should answer.
        addr: SocketAddr,
        /// How long it was given.
        within: Duration,
        /// What it did instead.
        last: String,
        /// The last lines that it wrote.
        log: String,
    },

    /// Something else answers where our server should.
    #[error(
        "{addr} is answered by process {found}, not by process {started}, which was started for it; a wrapper script has to `exec` its server"
    )]
    NotOurs {
        /// Where.
        addr: SocketAddr,
        /// The process that answers.
        found: u32,
        /// The process that was started.
        started: u32,
    },

    /// Every port that was tried was taken meanwhile.
    #[error("no free port on 127.0.0.1: {tries} were taken by others before the server could listen")]
    NoPort {
        /// How many were tried.
        tries: usize,
    },

    /// A state for which a server was not prepared as it needs.
    #[error("the state {0} was not prepared; please report this")]
    NotPrepared(State),

    /// A server that no proxy can stand before.
    #[error("{at}: no proxy can stand before this server: {why}; leave out the states that need one")]
    NoProxy {
        /// Where.
        at: Endpoint,
        /// Why.
        why: &'static str,
    },

    /// The guard process did not start, or is gone.
    #[error("the guard process that ends the servers {0}")]
    Reaper(String),

    /// A server that exists can't be reached, or does not let us look.
    #[error("{at}: {why}; the audit needs a server that it may ask PING, INFO, CLIENT, SCAN and MONITOR")]
    Unreachable {
        /// Where.
        at: Endpoint,
        /// What happened instead.
        why: io::Error,
    },

    /// Nobody listens where a server that exists should be.
    #[error(transparent)]
    Nowhere(#[from] UrlError),

    /// A server that exists may not be audited as it is.
    #[error("{at} is not audited:{}", why.iter().map(|why| format!("\n  {why}")).collect::<String>())]
    Refused {
        /// Where.
        at: String,
        /// Every reason, with what lifts it.
        why: Vec<String>,
    },

    /// A server that exists is not what it was when the audit began.
    #[error("{at} is no longer what it was when the audit began: {why}")]
    Changed {
        /// Where.
        at: Endpoint,
        /// In what.
        why: String,
    },

    /// Only a server of the audit's own is put through this.
    #[error("{at} is not the audit's own, and nobody allowed this; leave out --redis-url")]
    OnlyOwned {
        /// Where.
        at: Endpoint,
    },

    /// A hook did not do what it is for.
    #[error(transparent)]
    Hook(#[from] HookError),

    /// A setting could not be changed.
    #[error(transparent)]
    Setting(#[from] SettingError),

    /// The journal could not be written or read.
    #[error(transparent)]
    Journal(#[from] JournalError),

    /// Something is not as it was, and the audit could not mend it.
    #[error("{at} could not be put back: {why}{}", by_hand.as_ref().map(ToString::to_string).unwrap_or_default())]
    NotPutBack {
        /// Where.
        at: Endpoint,
        /// What.
        why: String,
        /// How to go on; none where no journal lists it.
        by_hand: Option<ByHand>,
    },

    /// A server that should answer again does not.
    #[error("{at} did not answer a fresh connection: {why}")]
    Barrier {
        /// Where.
        at: Endpoint,
        /// What happened instead.
        why: String,
    },
}

/// How to put back by hand what a journal lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByHand {
    /// The journal.
    pub journal: PathBuf,
    /// How the server is started again, where it was stopped.
    pub start: Option<Vec<String>>,
    /// Whether settings were changed.
    pub settings: bool,
}

impl fmt::Display for ByHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\n  once that is mended, run `audit restore`; or do by hand what {} lists: ",
            self.journal.display()
        )?;
        if let Some(start) = &self.start {
            write!(f, "start the server with `{}` where it does not run, ", start.join(" "))?;
        }
        if self.settings {
            f.write_str("CONFIG SET each `name` to what it `was`, the last line first, ")?;
        }
        f.write_str("then remove the file")
    }
}

/// A hook did not do what it is for.
#[derive(Debug, thiserror::Error)]
#[error("the {which} hook `{}` {why}", command.join(" "))]
pub struct HookError {
    /// `start` or `stop`.
    pub which: &'static str,
    /// Its program and arguments.
    pub command: Vec<String>,
    /// What happened.
    pub why: String,
}

/// A setting could not be changed, or not be put back.
#[derive(Debug, thiserror::Error)]
#[error("{at}: the setting {name}: {why}")]
pub struct SettingError {
    /// Where.
    pub at: Endpoint,
    /// Which setting; its value may be a secret.
    pub name: String,
    /// What happened.
    pub why: io::Error,
}

/// The journal could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("the journal {} {why}", path.display())]
pub struct JournalError {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

impl ServerError {
    /// For `map_err`: an I/O error with what was being done.
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> ServerError {
        let doing = doing.into();
        move |source| ServerError::Io { doing, source }
    }
}
