//! Findings: what departs from what was declared, and why. Needs no clock and no Redis.

mod accept;
mod aftermath;
mod correctness;
mod cost;
mod declared;
mod explain;
mod found;
mod harm;
mod implied;
mod merge;
mod proof;
mod request;

use std::collections::BTreeMap;

use crate::observe::{CellKey, ChainKey, Observations};
use crate::plan::Plan;
use crate::policy::PolicyFile;
use crate::words::{Code, Finding, Severity, State, Verdict};

pub use explain::explain;
use found::Subject;
pub use harm::Harmed;
pub use request::waiting;

/// What a policy file's observations come to.
#[derive(Debug)]
pub struct Judgement {
    /// The findings, merged where they say the same of one place; what counts most stands first.
    pub findings: Vec<Finding>,
    cells: BTreeMap<CellKey, Mark>,
    chains: BTreeMap<ChainKey, Mark>,
    harms: BTreeMap<(usize, State), Vec<Harmed>>,
}

/// What one cell comes to.
#[derive(Debug, Clone, Default)]
pub struct Mark {
    /// The codes that count here.
    pub findings: Vec<Code>,
    /// The codes that the file accepts here.
    pub accepted: Vec<Code>,
    worst: Option<Severity>,
    inconclusive: bool,
}

impl Mark {
    /// The cell's verdict: a cell that proves nothing is inconclusive whatever else holds.
    pub fn verdict(&self) -> Verdict {
        match self.worst {
            _ if self.inconclusive => Verdict::Inconclusive,
            Some(Severity::Deny) => Verdict::Departs,
            _ => Verdict::Conforms,
        }
    }

    fn add(&mut self, code: Code, severity: Severity, accepted: bool) {
        let list = if accepted { &mut self.accepted } else { &mut self.findings };
        if !list.contains(&code) {
            list.push(code);
        }
        if !accepted {
            self.worst = self.worst.max(Some(severity));
            self.inconclusive |= severity == Severity::Inconclusive;
        }
    }
}

impl Judgement {
    /// What a cell comes to.
    pub fn cell(&self, key: CellKey) -> Mark {
        self.cells.get(&key).cloned().unwrap_or_default()
    }

    /// What a request in a state comes to.
    pub fn chain(&self, key: ChainKey) -> Mark {
        self.chains.get(&key).cloned().unwrap_or_default()
    }

    /// What was taken away from a use in a state, accepted or not: what was seen first, then what is implied.
    pub fn harms(&self, use_index: usize, state: State) -> &[Harmed] {
        self.harms.get(&(use_index, state)).map(Vec::as_slice).unwrap_or_default()
    }

    /// What the file as a whole comes to.
    pub fn verdict(&self) -> Verdict {
        verdict(&self.findings)
    }
}

/// What a list of findings comes to: departing beats inconclusive.
pub fn verdict(findings: &[Finding]) -> Verdict {
    if findings.iter().any(Finding::departs) {
        Verdict::Departs
    } else if findings.iter().any(Finding::is_inconclusive) {
        Verdict::Inconclusive
    } else {
        Verdict::Conforms
    }
}

/// What a policy file says without any Redis: decisions nobody made, budgets that arithmetic rules out, retries that
/// do harm.
pub fn lint(file: &PolicyFile) -> Vec<Finding> {
    let found = declared::findings(file, &file.audited_states(), None);
    merge::merge(file, accept::accept(file, found))
}

/// Judges what was seen of one of the plan's files. `setinfo` says whether `CLIENT SETINFO` waits in a pause.
pub fn judge(plan: &Plan, file_index: usize, observations: &Observations, setinfo: bool) -> Judgement {
    let file = &plan.files[file_index];
    let cells: Vec<_> = observations.cells.iter().filter(|cell| cell.key.file == file_index).collect();
    let chains: Vec<_> = observations.chains.iter().filter(|chain| chain.key.file == file_index).collect();

    let believable = proof::Believable::of(file, &observations.server, &cells, &chains);
    let mut found = believable.findings().to_vec();
    let measured = cost::findings(file, &cells, &believable);
    let measured_requests = request::findings(file, &chains, &believable);
    // What was measured says more than the arithmetic that predicted it.
    let predicted = declared::findings(file, &plan.states, Some(setinfo));
    found.extend(predicted.into_iter().filter(|predicted| is_wanted(plan, file, predicted.subject)).filter(
        |predicted| !measured.iter().chain(&measured_requests).any(|measured| measured.supersedes(predicted)),
    ));
    found.extend(measured);
    found.extend(measured_requests);
    found.extend(implied::findings(file, &cells, &believable));
    let scenes: Vec<_> = observations.scenes.iter().filter(|scene| scene.key.file == file_index).collect();
    found.extend(aftermath::findings(file, &scenes, &cells, &believable));
    let replays: Vec<_> = observations.replays.iter().filter(|replay| replay.file == file_index).collect();
    found.extend(correctness::findings(file, &replays, &believable));
    found.extend(accept::stale(file, &found, &cells, &believable));

    let accepted = accept::accept(file, found);
    let mut judgement = Judgement {
        findings: Vec::new(),
        cells: BTreeMap::new(),
        chains: BTreeMap::new(),
        harms: harm::by_use(file, &accepted),
    };
    for (found, reason) in &accepted {
        let severity = file.rules.severity(found.code);
        for cell in cells.iter().filter(|cell| found.marks(cell.key)) {
            judgement.cells.entry(cell.key).or_default().add(found.code, severity, reason.is_some());
        }
        for chain in &chains {
            if found.subject == Subject::Request(chain.key.request) && found.holds_in(chain.key.state) {
                judgement.chains.entry(chain.key).or_default().add(found.code, severity, reason.is_some());
            }
        }
    }
    judgement.findings = merge::merge(file, accepted);
    judgement
}

/// Whether the run is about this subject: `--only` leaves out what the file declares elsewhere, too.
fn is_wanted(plan: &Plan, file: &PolicyFile, subject: Subject) -> bool {
    match subject {
        Subject::Operation { use_index, .. } | Subject::Use(use_index) => plan.wants(&file.uses[use_index]),
        Subject::Request(index) => plan.wants_request(file, &file.requests[index]),
    }
}

#[cfg(test)]
mod tests;
