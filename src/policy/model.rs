//! A checked policy file: what the rest of the program works with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Request, StateChoice};
use crate::kinds::{Call, Fields, KeyTemplate, Kind, Operation, ProbeId};
use crate::words::{Code, Decision, KnownFrom, OutagePolicy, Place, Reply, Severity, Span, State};

/// A policy file's path and text, for messages that show the line they speak of.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The path as the user gave it.
    pub path: PathBuf,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// The path as messages show it.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// A place in this file.
    pub fn place(&self, span: Span) -> Place {
        Place { file: self.name(), span }
    }
}

/// A checked policy file.
#[derive(Debug, Clone)]
pub struct PolicyFile {
    /// The file itself.
    pub source: Arc<Source>,
    /// The service that it speaks of.
    pub service: String,
    /// What kind of server its uses are probed on.
    pub persistence: Persistence,
    /// How a server that exists is stopped and started.
    pub hooks: Option<Hooks>,
    /// The states that it wants to be audited in, in its order; none where it names none.
    pub states: Vec<StateChoice>,
    /// Its uses, in its order.
    pub uses: Vec<Use>,
    /// Its requests, in its order.
    pub requests: Vec<Request>,
    /// Severities that differ from the defaults.
    pub rules: Rules,
}

impl PolicyFile {
    /// The states that the file is about, in order; the default ones where it names none.
    pub fn audited_states(&self) -> Vec<State> {
        if self.states.is_empty() {
            return State::by_default().collect();
        }
        let mut states: Vec<State> = self.states.iter().map(|choice| choice.state).collect();
        states.push(State::Healthy);
        states.sort_unstable();
        states.dedup();
        states
    }

    /// What the file says of a state, where it names it.
    pub fn state(&self, state: State) -> Option<&StateChoice> {
        self.states.iter().find(|choice| choice.state == state)
    }

    /// A state as the file has it: as it names it, else with the defaults.
    pub fn choice(&self, state: State) -> StateChoice {
        let plain = || StateChoice { state, parameters: BTreeMap::new(), scope: None, at: Span::default() };
        self.state(state).cloned().unwrap_or_else(plain)
    }

    /// Whether a state befalls a use: one with a scope befalls that use alone, and the others go on as if healthy.
    pub fn befalls(&self, state: State, use_index: usize) -> bool {
        self.state(state).and_then(|choice| choice.scope).is_none_or(|scope| scope == use_index)
    }
}

/// The commands that stop and start a server that exists, so that whatever runs it can do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// The program that stops it, and its arguments.
    pub stop: Vec<String>,
    /// The program that starts it, and its arguments.
    pub start: Vec<String>,
    /// How long either may take, and the server after it.
    pub within: Duration,
}

/// How a throwaway server keeps its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Persistence {
    /// An append-only file, so that a killed server comes back with its data.
    #[default]
    Aof,
    /// Snapshots only: a killed server loses what came after the last one.
    Rdb,
    /// Nothing: a killed server comes back empty.
    None,
}

impl Persistence {
    /// Each, and its word in policy files.
    pub const ALL: [(&'static str, Persistence); 3] =
        [("aof", Persistence::Aof), ("rdb", Persistence::Rdb), ("none", Persistence::None)];
}

/// How the service's client behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    /// How long opening a connection may take, the handshake included; none waits for ever.
    pub connect_timeout: Option<Duration>,
    /// How long a command's answer may take; none waits for ever.
    pub command_timeout: Option<Duration>,
    /// How often a call is tried in all; 1 is no retry.
    pub attempts: u32,
    /// How long it waits between two attempts.
    pub backoff: Backoff,
    /// What becomes of the connection on which a command timed out.
    pub on_timeout: OnTimeout,
    /// How a lost connection is replaced.
    pub reconnect: Reconnect,
    /// What is sent on a new connection before the first command.
    pub handshake: Handshake,
    /// Where the file sets the command timeout that is in force here.
    pub command_timeout_at: Span,
    /// Where the file sets the attempts that are in force here, or `command_timeout_at` where it does not.
    pub attempts_at: Span,
}

/// The wait between two attempts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// None.
    None,
    /// The same each time.
    Fixed(Duration),
    /// `base` doubled each time up to `cap`; each wait is then shortened at random by up to `jitter` of itself.
    Exponential {
        /// The first wait.
        base: Duration,
        /// The longest wait.
        cap: Duration,
        /// From 0 (none) to 1 (anything down to no wait).
        jitter: f64,
    },
}

/// What becomes of the connection on which a command timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// It is closed: a server that is paused then drops the command.
    Close,
    /// It stays in use: the command may still run later.
    Keep,
}

impl OnTimeout {
    /// Each, and its word in policy files.
    pub const ALL: [(&'static str, OnTimeout); 2] = [("close", OnTimeout::Close), ("keep", OnTimeout::Keep)];
}

/// How a lost connection is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reconnect {
    /// Never: every later call fails at once.
    Never,
    /// By the next attempt, which waits for it.
    NextUse,
    /// At once and beside the calls; an attempt that finds no connection fails at once.
    Background,
}

impl Reconnect {
    /// Each, and its word in policy files.
    pub const ALL: [(&'static str, Reconnect); 3] = [
        ("never", Reconnect::Never),
        ("next_use", Reconnect::NextUse),
        ("background", Reconnect::Background),
    ];
}

/// What is sent on a new connection before the first command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Handshake {
    /// Nothing.
    None,
    /// `CLIENT SETINFO`: known to servers from 7.2 on. Redis 7.0 rejects it at once, even in a pause.
    Setinfo,
    /// `HELLO 3`, then `CLIENT SETINFO`.
    Hello,
}

impl Handshake {
    /// Each, and its word in policy files.
    pub const ALL: [(&'static str, Handshake); 3] =
        [("none", Handshake::None), ("setinfo", Handshake::Setinfo), ("hello", Handshake::Hello)];
}

/// One purpose for which the service uses Redis.
#[derive(Debug, Clone)]
pub struct Use {
    /// The name, unique in the file.
    pub name: String,
    /// Where the name stands.
    pub at: Span,
    /// What sort of use it is.
    pub kind: Kind,
    /// How its keys are built.
    pub key: KeyTemplate,
    /// The fields of its kind.
    pub fields: Fields,
    /// Its operations, in the order of the kind.
    pub operations: Vec<UseOperation>,
    /// How its client behaves: the file's settings, with the use's own on top.
    pub client: Client,
    /// Whether it touches Redis at all.
    pub backend: Backend,
    /// The findings that it accepts.
    pub accepts: Vec<Acceptance>,
    /// How often a caller that was turned away comes again by itself.
    pub repeats_every: Option<Duration>,
}

/// Whether a use touches Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// It does.
    Redis,
    /// It lives in the process: it goes on working, and each instance counts for itself.
    InMemory,
}

impl Backend {
    /// Each, and its word in policy files.
    pub const ALL: [(&'static str, Backend); 2] =
        [("redis", Backend::Redis), ("in_memory", Backend::InMemory)];
}

/// An operation of a use, and what is declared for it.
#[derive(Debug, Clone)]
pub struct UseOperation {
    /// Which one.
    pub operation: Operation,
    /// What it does when Redis does not answer.
    pub on_outage: OutagePolicy,
    /// Where that is declared; the use's name where it was left out.
    pub on_outage_at: Span,
    /// The longest it may take.
    pub budget: Budget,
    /// The place in the service's code.
    pub code: Option<String>,
    /// How the declaration is known.
    pub known_from: KnownFrom,
    /// Why it was decided so.
    pub because: Option<String>,
}

impl UseOperation {
    /// The name in policy files.
    pub fn name(&self) -> &str {
        self.operation.name()
    }

    /// What the use does after a reply: what Redis answered decides, else the declared policy; nothing where the call
    /// never returned.
    pub fn decision(&self, reply: &Reply) -> Option<Decision> {
        match reply {
            Reply::Answered(_) => Some(Decision::Answered),
            Reply::NeverReturned => None,
            _ => Some(self.on_outage.decision()),
        }
    }
}

impl Use {
    /// The index of the operation of this name.
    pub fn operation(&self, name: &str) -> Option<usize> {
        self.operations.iter().position(|operation| operation.name() == name)
    }

    /// A call of one of its operations, by one probe, on a key of its own.
    pub fn call<'a>(&'a self, probe: &'a ProbeId) -> Call<'a> {
        Call { fields: &self.fields, key: &self.key, slot: probe, probe }
    }
}

/// The longest that something may take, state by state. A state without a line has no budget.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    /// The longest a call may take in a state.
    pub states: BTreeMap<State, BudgetLine>,
    /// The longest it may take after an outage until a call succeeds again.
    pub recovery: Option<BudgetLine>,
}

impl Budget {
    /// The line for a state.
    pub fn get(&self, state: State) -> Option<BudgetLine> {
        self.states.get(&state).copied()
    }
}

/// One limit, and where it is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLine {
    /// The longest.
    pub limit: Duration,
    /// Where the file says so.
    pub at: Span,
}

/// A finding that the file accepts.
#[derive(Debug, Clone)]
pub struct Acceptance {
    /// Which.
    pub finding: Code,
    /// On which operations; all where empty.
    pub operations: Vec<String>,
    /// In which states; all outage states where empty.
    pub states: Vec<State>,
    /// Why.
    pub because: String,
    /// Where it stands.
    pub at: Span,
}

/// Severities that differ from the defaults.
#[derive(Debug, Clone, Default)]
pub struct Rules(pub BTreeMap<Code, Severity>);

impl Rules {
    /// How much a finding of this code counts.
    pub fn severity(&self, code: Code) -> Severity {
        self.0.get(&code).copied().unwrap_or_else(|| code.default_severity())
    }
}
