//! Probes, attempts and proofs, as the run recorded them. Times are microseconds from the run's start.

use serde::{Deserialize, Serialize};

use super::correctness::Replayed;
use super::scene::Scene;
use crate::words::{Decision, Reply, State, Tri, Whose};

/// One try within a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// The command's name, such as `SET`.
    pub command: String,
    /// Which try of this command, from 1.
    pub number: u32,
    /// When it began, the connect of a new connection included.
    pub sent_us: u64,
    /// When its outcome was known.
    pub ended_us: u64,
    /// What the client saw.
    pub reply: Reply,
    /// The local port of the connection that carried it, where there was one.
    pub port: Option<u16>,
    /// Whether the server executed the command.
    pub ran: Tri,
    /// Whether that changed anything.
    pub took_effect: Tri,
}

impl Attempt {
    /// An attempt of which nobody knows yet what the server made of it.
    pub fn new(
        command: String,
        number: u32,
        sent_us: u64,
        ended_us: u64,
        reply: Reply,
        port: Option<u16>,
    ) -> Attempt {
        let (ran, took_effect) = (Tri::Unknown, Tri::Unknown);
        Attempt { command, number, sent_us, ended_us, reply, port, ran, took_effect }
    }
}

/// One call of one operation in one state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The identity that its keys and values carry.
    pub id: String,
    /// When the call began.
    pub sent_us: u64,
    /// When it returned, or was given up.
    pub ended_us: u64,
    /// What the caller was told.
    pub reply: Reply,
    /// Whether its key is its own; callers of a scenario share some.
    pub own_key: bool,
    /// Each try, in order.
    pub attempts: Vec<Attempt>,
}

impl Probe {
    /// What the call cost its caller, in microseconds.
    pub fn cost_us(&self) -> u64 {
        self.ended_us.saturating_sub(self.sent_us)
    }
}

/// Which cell of the table: indices into the plan's files, a file's uses and a use's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellKey {
    /// The policy file.
    pub file: usize,
    /// The use in it.
    pub use_index: usize,
    /// The operation of the use.
    pub operation_index: usize,
    /// The state.
    pub state: State,
}

/// All probes of one operation in one state.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Which.
    pub key: CellKey,
    /// What was seen.
    pub probes: Vec<Probe>,
    /// Whether the state held meanwhile.
    pub proof: Proof,
    /// The longest that a sleeping task beside the probes overslept, in microseconds.
    pub jitter_us: u64,
    /// When the operation first succeeded after the state, on a connection from before it; none where that was not
    /// looked at.
    pub recovery: Option<Recovery>,
}

/// The way back after an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// The first success came this many microseconds after the server answered again.
    After(u64),
    /// There was none within this many microseconds.
    NotWithin(u64),
}

/// Which request in which state: indices into the plan's files and a file's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainKey {
    /// The policy file.
    pub file: usize,
    /// The request in it.
    pub request: usize,
    /// The state.
    pub state: State,
}

/// One request, played call by call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainProbe {
    /// The calls that were made, in order.
    pub calls: Vec<ChainCall>,
    /// Whether the last of them ended the request before its end.
    pub ended_early: bool,
}

/// One call of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainCall {
    /// `use.operation`.
    pub call: String,
    /// What the use then did; none where the call never returned.
    pub decision: Option<Decision>,
    /// The call itself.
    pub probe: Probe,
}

impl ChainProbe {
    /// What the whole request cost, in microseconds.
    pub fn cost_us(&self) -> u64 {
        match (self.calls.first(), self.calls.last()) {
            (Some(first), Some(last)) => last.probe.ended_us.saturating_sub(first.probe.sent_us),
            _ => 0,
        }
    }
}

/// All runs of one request in one state.
#[derive(Debug, Clone)]
pub struct Chain {
    /// Which.
    pub key: ChainKey,
    /// What was seen.
    pub probes: Vec<ChainProbe>,
    /// Whether the state held meanwhile.
    pub proof: Proof,
    /// The longest that a sleeping task beside the probes overslept, in microseconds.
    pub jitter_us: u64,
}

/// Whether a state held from the first probe to the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// It did; this is what showed it.
    Held(String),
    /// It did not, or nobody can say; this is why.
    NotProven(String),
    /// It can't on this server, however often the run is repeated; this is why.
    BeyondServer(String),
}

impl Proof {
    /// Whether it held.
    pub fn held(&self) -> bool {
        matches!(self, Proof::Held(_))
    }

    /// Why it did not hold; none where it did.
    pub fn doubt(&self) -> Option<&str> {
        match self {
            Proof::Held(_) => None,
            Proof::NotProven(why) | Proof::BeyondServer(why) => Some(why),
        }
    }
}

/// The server that was probed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerInfo {
    /// `redis-server` or `valkey-server`.
    pub name: String,
    /// Its version, such as `7.0.15`.
    pub version: String,
    /// Whose it is.
    pub whose: Whose,
}

/// Everything that a run saw.
#[derive(Debug, Clone)]
pub struct Observations {
    /// On what.
    pub server: ServerInfo,
    /// The cells, in the plan's order.
    pub cells: Vec<Cell>,
    /// The requests, in the plan's order.
    pub chains: Vec<Chain>,
    /// The scenarios, in the plan's order.
    pub scenes: Vec<Scene>,
    /// The uses' own protocols, replayed on a healthy server.
    pub replays: Vec<Replayed>,
    /// Keys of the audit's own that could not be removed: none, or something is wrong with the audit.
    pub left_behind: Vec<String>,
    /// How long the run took, in microseconds.
    pub wall_us: u64,
}
