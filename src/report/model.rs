//! The report model: everything that any report shows, and what `--json` writes.
//!
//! It stands alone: rendering needs neither the policy files nor Redis. Field names ending in `_us` are
//! microseconds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::observe::{
    ChainProbe, Cost, Played, Probe, Proof, Protocol, Recovery, ReplayedStep, ServerInfo, Snapshot, Timing,
};
use crate::policy::{Backend, Persistence};
use crate::words::{
    Basis, Code, Decision, Evidence, Finding, KnownFrom, OutagePolicy, State, Verdict, Whose,
};

/// The version of this model; a reader refuses another.
pub const REPORT_VERSION: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub version: u32,
    /// The tool and its version.
    pub tool: String,
    /// The run's identity, as keys carry it.
    pub run: String,
    /// The seed of everything random in the run.
    pub seed: u64,
    /// How long the run took.
    pub wall_us: u64,
    /// The server that was probed.
    pub server: ServerInfo,
    /// The states that were asked for, in order.
    pub states: Vec<State>,
    /// What a reader should know of this run as a whole, such as samples that had to be lowered.
    pub notes: Vec<String>,
    /// One service a policy file.
    pub services: Vec<Service>,
    /// What the run comes to.
    pub verdict: Verdict,
}

/// A policy file and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The service's name.
    pub name: String,
    /// The policy file as given.
    pub file: String,
    /// What kind of server its uses were probed on.
    pub persistence: Persistence,
    /// A row for each operation of each use, in the file's order.
    pub rows: Vec<Row>,
    /// What became of each use as a whole, in the file's order; only those that touch Redis.
    pub uses: Vec<UseReport>,
    /// The requests, in the file's order.
    pub requests: Vec<RequestRow>,
    /// The scenarios that were played, run by run.
    pub scenes: Vec<SceneReport>,
    /// The uses' own protocols, replayed on a healthy server.
    pub replays: Vec<ReplayReport>,
    /// All findings: those that count most first, then in the file's order.
    pub findings: Vec<Finding>,
}

/// A use as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UseReport {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// What a use of this kind promises.
    pub guarantee: String,
    /// A cell for each state, in order.
    pub cells: Vec<UseCell>,
    /// What callers that come again by themselves add up to, where the file says that there are such.
    pub repeats: Option<Repeats>,
}

/// What became of a use in a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UseCell {
    /// The state.
    pub state: State,
    /// Whether anything can be said at all; where not, the lists are empty and mean nothing.
    pub proven: bool,
    /// What broke the guarantee; empty where it was kept.
    pub guarantee: Vec<Loss>,
    /// What kept legitimate users from being served; empty where they were.
    pub availability: Vec<Loss>,
}

/// A finding that took something away from a use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Which.
    pub code: Code,
    /// What it rests on.
    pub basis: Basis,
    /// In how many runs it was seen, where that was counted.
    pub seen: Option<usize>,
    /// Of how many.
    pub of: Option<usize>,
}

/// What one caller that comes again by itself adds up to, by arithmetic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeats {
    /// How often it comes again.
    pub every_us: u64,
    /// How many of its calls meet an outage of a minute.
    pub calls_in_a_minute: u64,
    /// How many of its calls meet an outage of an hour.
    pub calls_in_an_hour: u64,
}

/// One run of a use's scenario in a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneReport {
    /// The use.
    #[serde(rename = "use")]
    pub use_name: String,
    /// The state.
    pub state: State,
    /// Whether the state outlasted the calls, or ended inside of them.
    pub timing: Timing,
    /// How many times as long as declared the use's durations were.
    pub scaled: u32,
    /// Whether a key that nobody touched was still there after the state.
    pub canary_survived: bool,
    /// Every call, in order.
    pub calls: Vec<Played>,
    /// What each key of the scenario held once the server answered again.
    pub after: BTreeMap<String, Snapshot>,
    /// What it held at the end.
    pub end: BTreeMap<String, Snapshot>,
    /// Whether the state held.
    pub proof: Proof,
}

/// One replay of a use's own protocol on a healthy server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayReport {
    /// The use.
    #[serde(rename = "use")]
    pub use_name: String,
    /// What was replayed, and what came of it.
    pub what: Protocol,
    /// What was done, in order.
    pub steps: Vec<ReplayedStep>,
}

/// A use and an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The use.
    #[serde(rename = "use")]
    pub use_name: String,
    /// Its kind.
    pub kind: String,
    /// The operation.
    pub operation: String,
    /// Whether it touches Redis.
    pub backend: Backend,
    /// What it is declared to do when Redis does not answer; none where Redis is not asked.
    pub declared: Option<OutagePolicy>,
    /// That, in plain words: "token refused".
    pub meaning: String,
    /// The place in the service's code.
    #[serde(rename = "where")]
    pub code: Option<String>,
    /// How the declaration is known.
    pub known_from: KnownFrom,
    /// Why it was decided so.
    pub because: Option<String>,
    /// The configured command timeout; none waits for ever.
    pub command_timeout_us: Option<u64>,
    /// A cell for each state, in order; empty for a use that does not touch Redis.
    pub cells: Vec<CellReport>,
}

/// An operation in a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellReport {
    /// The state.
    pub state: State,
    /// How far the cell can be believed.
    pub evidence: Evidence,
    /// On whose server it was observed.
    pub whose: Whose,
    /// Replies by class (`timed out`, `answered`), the most frequent first.
    pub replies: Vec<ReplyCount>,
    /// What the use did, where all probes came to the same; none otherwise, and where none returned.
    pub decision: Option<Decision>,
    /// What a call cost; none where there was no probe.
    pub cost: Option<Cost>,
    /// The longest that a call can take here by arithmetic; none where it can take for ever.
    pub worst_case_us: Option<u64>,
    /// The budget in force.
    pub budget_us: Option<u64>,
    /// The scheduling jitter beside the probes; an excess within it (at most 25 ms) does not count.
    pub jitter_us: u64,
    /// When the operation first succeeded after the state, on a connection from before it; none where that was not
    /// looked at.
    pub recovery: Option<Recovery>,
    /// Whether the state held.
    pub proof: Proof,
    /// What the cell comes to.
    pub verdict: Verdict,
    /// The codes of the findings that count here, accepted ones left out.
    pub findings: Vec<Code>,
    /// The codes of the findings that the file accepts here.
    pub accepted: Vec<Code>,
    /// Every probe, with every attempt.
    pub probes: Vec<Probe>,
}

/// How many probes got replies of one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyCount {
    /// The class, such as `timed out`.
    pub reply: String,
    /// How many.
    pub count: usize,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestRow {
    /// Its name.
    pub name: String,
    /// Its calls in order, as the file has them: `dataset-lock.acquire`, `cache.read x 3`.
    pub calls: Vec<String>,
    /// How many arrive in a second, where declared.
    pub rate: Option<f64>,
    /// How many threads serve them, where declared.
    pub threads: Option<u32>,
    /// A cell for each state, in order.
    pub cells: Vec<RequestCell>,
}

/// A request in a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestCell {
    /// The state.
    pub state: State,
    /// On whose server it was observed.
    pub whose: Whose,
    /// How it ended: "runs to its end", "ends at jwt-revocation.check: denied", in words.
    pub ends: String,
    /// What the whole request cost; none where there was no run of it.
    pub cost: Option<Cost>,
    /// What the arithmetic predicts for it; none where it can take for ever.
    pub predicted_us: Option<u64>,
    /// The budget in force.
    pub budget_us: Option<u64>,
    /// How many requests wait at once (rate times median cost), where a rate is declared.
    pub waiting: Option<f64>,
    /// The scheduling jitter beside the runs.
    pub jitter_us: u64,
    /// Whether the state held.
    pub proof: Proof,
    /// What the cell comes to.
    pub verdict: Verdict,
    /// The codes of the findings that count here.
    pub findings: Vec<Code>,
    /// Every run of it, call by call.
    pub probes: Vec<ChainProbe>,
}
