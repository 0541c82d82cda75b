//! What can go wrong with a server of the audit's own: always the environment's doing, never a result.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::Version;
use crate::endpoint::Endpoint;
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

    /// A state that nothing brings about.
    #[error("the state {0} can't be entered on a server of the audit's own yet")]
    NotYet(State),

    /// The guard process did not start, or is gone.
    #[error("the guard process that ends the servers {0}")]
    Reaper(String),

    /// A server that should answer again does not.
    #[error("{at} did not answer a fresh connection: {why}")]
    Barrier {
        /// Where.
        at: Endpoint,
        /// What happened instead.
        why: String,
    },
}

impl ServerError {
    /// For `map_err`: an I/O error with what was being done.
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> ServerError {
        let doing = doing.into();
        move |source| ServerError::Io { doing, source }
    }
}
