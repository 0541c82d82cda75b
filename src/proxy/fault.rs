//! What a proxy can be told to do to those who go through it.

use std::time::Duration;

use super::Scope;

/// A fault: what it does, and to whose requests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// What is done.
    pub what: What,
    /// The keys whose requests are harmed; all requests where there is none. A request with several keys is harmed where
    /// one of them matches.
    pub scope: Option<Scope>,
    /// How many requests of a key are harmed before one is spared, over and over; where there is none, all are harmed.
    ///
    /// It is counted for each key by itself, so that a call that is tried again meets the same on each run, however many
    /// others there are. What has no key counts by the name of its command.
    pub failures: Option<u32>,
    /// Whether only connections are harmed that were there when it was set: who connects again is spared.
    pub once: bool,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A round trip takes longer.
    Slow {
        /// By so much, at most a day.
        latency: Duration,
        /// Give or take at most so much.
        jitter: Duration,
    },
    /// The request goes through and runs; its reply is dropped, and the client's connection reset.
    ReplyLost,
    /// The request goes through and runs; the connection is reset in the middle of its reply.
    CutMidReply {
        /// How many bytes of the reply the client gets. Its last byte is never among them.
        after: usize,
    },
    /// Nothing goes through, in either direction, and nothing is lost. Without a scope, new connections hang too.
    BlackHole,
    /// The connection is reset, and the request never reaches the server.
    Flapping,
}

impl Fault {
    /// A fault that harms all requests.
    pub fn new(what: What) -> Fault {
        Fault { what, scope: None, failures: None, once: false }
    }

    /// Connections that fail so many requests of a key, then serve one, and so on.
    pub fn flapping(failures: u32) -> Fault {
        Fault { failures: Some(failures), ..Fault::new(What::Flapping) }
    }

    /// The same, for requests with such keys only.
    #[must_use]
    pub fn on(self, scope: impl Into<Scope>) -> Fault {
        Fault { scope: Some(scope.into()), ..self }
    }

    /// The same, for so many requests of a key in a row.
    #[must_use]
    pub fn failing(self, failures: u32) -> Fault {
        Fault { failures: Some(failures), ..self }
    }

    /// The same, for connections only that are there when it is set.
    #[must_use]
    pub fn once(self) -> Fault {
        Fault { once: true, ..self }
    }

    /// Whether it picks its requests. Otherwise it harms bytes, whatever they mean.
    pub(super) fn picks(&self) -> bool {
        let bytes = matches!(self.what, What::Slow { .. } | What::BlackHole);
        !bytes || self.scope.is_some() || self.failures.is_some()
    }

    /// Whether all is silent.
    pub(super) fn silences(&self) -> bool {
        self.what == What::BlackHole && !self.picks()
    }
}
