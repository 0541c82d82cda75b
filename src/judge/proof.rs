//! Which cells can be believed, and why the others can't.

use std::collections::BTreeSet;

use super::found::{Found, Subject};
use crate::observe::{Cell, CellKey, Chain, ChainKey, Proof, ServerInfo};
use crate::plan::FEWEST_PROBES;
use crate::policy::{PolicyFile, RequestCall};
use crate::words::{Code, Reply, Span};

/// One healthy probe in so many may fail before the control has failed: a shared machine may stall once.
const TOLERATED: usize = 20;

/// Which cells and requests can be believed.
pub(super) struct Believable {
    cells: BTreeSet<CellKey>,
    chains: BTreeSet<ChainKey>,
    failed: BTreeSet<(usize, usize)>,
    findings: Vec<Found>,
}

impl Believable {
    /// Looks at proofs, numbers of probes and controls.
    pub(super) fn of(
        file: &PolicyFile,
        server: &ServerInfo,
        cells: &[&Cell],
        chains: &[&Chain],
    ) -> Believable {
        let failed: BTreeSet<(usize, usize)> = cells
            .iter()
            .filter(|cell| !cell.key.state.is_outage() && cell.proof.held() && control_failed(cell))
            .map(|cell| (cell.key.use_index, cell.key.operation_index))
            .collect();
        let mut this = Believable {
            cells: BTreeSet::new(),
            chains: BTreeSet::new(),
            failed: failed.clone(),
            findings: Vec::new(),
        };
        for cell in cells {
            let CellKey { use_index, operation_index, .. } = cell.key;
            let used = &file.uses[use_index];
            let subject = Subject::Operation { use_index, operation_index };
            // What was never probed is no fault of the operation's.
            let doubt = match &cell.proof {
                Proof::Held(_) if failed.contains(&(use_index, operation_index)) => {
                    Some(control(file, server, cells, cell))
                }
                proof => doubt(proof, cell.probes.len(), cell.key.state.is_outage()),
            };
            match doubt {
                Some(doubt) => this.findings.push(doubt.about(subject, cell.key.state, used.at)),
                None => {
                    this.cells.insert(cell.key);
                }
            }
        }
        for chain in chains {
            let request = &file.requests[chain.key.request];
            let failed = request
                .calls
                .iter()
                .find(|call| failed.contains(&(call.use_index, call.operation_index)))
                .filter(|_| chain.proof.held());
            let doubt = match failed {
                Some(call) => Some(control_of_call(file, call)),
                None => doubt(&chain.proof, chain.probes.len(), chain.key.state.is_outage()),
            };
            match doubt {
                Some(doubt) => {
                    let subject = Subject::Request(chain.key.request);
                    this.findings.push(doubt.about(subject, chain.key.state, request.at));
                }
                None => {
                    this.chains.insert(chain.key);
                }
            }
        }
        this
    }

    /// Whether what this cell shows can be believed.
    pub(super) fn cell(&self, key: CellKey) -> bool {
        self.cells.contains(&key)
    }

    /// Whether an operation can be believed at all: its control did not fail.
    pub(super) fn operation(&self, use_index: usize, operation_index: usize) -> bool {
        !self.failed.contains(&(use_index, operation_index))
    }

    /// Whether what this request shows can be believed.
    pub(super) fn chain(&self, key: ChainKey) -> bool {
        self.chains.contains(&key)
    }

    /// Why the others can't.
    pub(super) fn findings(&self) -> &[Found] {
        &self.findings
    }
}

/// Why a cell can't be believed.
struct Doubt {
    code: Code,
    declared: String,
    observed: String,
    cause: String,
    knob: String,
}

impl Doubt {
    fn about(self, subject: Subject, state: crate::words::State, at: Span) -> Found {
        Found {
            code: self.code,
            subject,
            state: Some(state),
            at,
            basis: self.code.basis(),
            seen: None,
            declared: self.declared,
            observed: self.observed,
            cause: self.cause,
            knob: self.knob,
        }
    }
}

fn doubt(proof: &Proof, probes: usize, outage: bool) -> Option<Doubt> {
    if let Some(why) = proof.doubt() {
        let (cause, knob) = why_not_proven(proof);
        return Some(Doubt {
            code: Code::FaultNotProven,
            declared: "the state holds from the first probe to the last".to_owned(),
            observed: why.to_owned(),
            cause: cause.to_owned(),
            knob: knob.to_owned(),
        });
    }
    (outage && probes < FEWEST_PROBES).then(|| Doubt {
        code: Code::TooFewProbes,
        declared: format!("at least {FEWEST_PROBES} probes"),
        observed: format!("{probes} probes"),
        cause: "a few probes can all be lucky".to_owned(),
        knob: format!("`--samples {FEWEST_PROBES}` or more"),
    })
}

/// Why a state was not proven, and what to do about it.
pub(super) fn why_not_proven(proof: &Proof) -> (&'static str, &'static str) {
    match proof {
        Proof::BeyondServer(_) => (
            "this server lacks what brings the state about",
            "audit with a server that can (`--redis-server PATH`), or leave the state out of `--states`",
        ),
        Proof::Held(_) | Proof::NotProven(_) => (
            "the witness beside the probes did not see what the state must show",
            "run again; if it stays, use fewer `--samples`, or `--serial`",
        ),
    }
}

/// A request is no better than its calls.
fn control_of_call(file: &PolicyFile, call: &RequestCall) -> Doubt {
    let used = &file.uses[call.use_index];
    let name = format!("{}.{}", used.name, used.operations[call.operation_index].name());
    Doubt {
        code: Code::ControlFailed,
        declared: format!("{name} is answered by a healthy server"),
        observed: format!("{name}, which it calls, failed on the healthy server"),
        cause: "what fails on a healthy server says nothing about an outage".to_owned(),
        knob: format!("look at the finding on {name}"),
    }
}

/// Whether too many probes of a healthy cell went unanswered.
fn control_failed(cell: &Cell) -> bool {
    let failed = cell.probes.iter().filter(|probe| !probe.reply.is_answer()).count();
    cell.probes.is_empty() || failed * TOLERATED > cell.probes.len()
}

/// Why the control failed: the server lacks a command, or the healthy probes went wrong.
fn control(file: &PolicyFile, server: &ServerInfo, cells: &[&Cell], cell: &Cell) -> Doubt {
    let healthy = cells.iter().find(|other| {
        !other.key.state.is_outage()
            && (other.key.use_index, other.key.operation_index)
                == (cell.key.use_index, cell.key.operation_index)
    });
    let reply = healthy
        .and_then(|healthy| healthy.probes.iter().find(|probe| !probe.reply.is_answer()))
        .map(|probe| &probe.reply);
    let operation = &file.uses[cell.key.use_index].operations[cell.key.operation_index];
    let asked = format!("{} is answered by a healthy server", operation.name());
    match reply {
        Some(Reply::Rejected { message, .. }) if message.to_lowercase().contains("unknown command") => Doubt {
            code: Code::CommandUnavailable,
            declared: asked,
            observed: format!("{} {} answered: {message}", server.name, server.version),
            cause: "the policy file declares a command that this server does not have".to_owned(),
            knob: "audit with the server version of production (`--redis-server PATH`), or declare another command"
                .to_owned(),
        },
        reply => Doubt {
            code: Code::ControlFailed,
            declared: asked,
            observed: match reply {
                Some(Reply::Rejected { message, .. }) => format!("healthy, it was rejected: {message}"),
                Some(reply) => format!("healthy, it was {}", reply.class()),
                None => "there was no healthy probe".to_owned(),
            },
            cause: "what fails on a healthy server says nothing about an outage".to_owned(),
            knob: "look at the use's fields and timeouts; a timeout near the healthy latency fails by itself".to_owned(),
        },
    }
}
