//! What a renderer reads off a report; nothing is decided here.

use std::collections::BTreeMap;

use super::{CellReport, Report, RequestCell, RequestRow, Row, Service, UseCell, UseReport};
use crate::observe::{ChainProbe, Cost, Probe, Proof, Recovery};
use crate::words::{Code, Decision, Finding, OutagePolicy, Reply, Severity, State, Verdict, Waits, human_us};

/// What stands in place of the cost, and of all else that was seen, where it cannot be believed.
pub(super) const INCONCLUSIVE: &str = "inconclusive";

impl Row {
    /// The use and the operation: `dataset-lock.acquire`.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.use_name, self.operation)
    }

    /// The cell of a state, where the row has one.
    pub(super) fn cell(&self, state: State) -> Option<&CellReport> {
        self.cells.iter().find(|cell| cell.state == state)
    }
}

impl RequestCell {
    /// Whether what was seen here cannot be believed, whatever else the cell comes to.
    pub(super) fn is_unproven(&self) -> bool {
        is_unproven(self.verdict, &self.proof, &self.findings)
    }

    /// Whether no wait is part of what the request costs in this outage.
    pub(super) fn ends_at_once(&self) -> bool {
        ends_at_once(self.state, self.predicted_us)
    }

    /// Whether round trips alone are what the request costs in this outage, be they slow ones.
    pub(super) fn is_round_trips(&self) -> bool {
        self.ends_at_once() || is_slow(self.state)
    }

    /// How the runs ended; nothing where that cannot be believed.
    pub(super) fn ending(&self) -> &str {
        if self.is_unproven() { "-" } else { &self.ends }
    }

    /// The wait after which a call of the median run was given up; none where the run came to an end.
    pub(super) fn gave_up_us(&self) -> Option<u64> {
        let last = |run: &ChainProbe| run.calls.last().map(|call| call.probe.clone());
        let given_up: Vec<Probe> =
            self.probes.iter().filter_map(last).filter(|probe| probe.reply == Reply::NeverReturned).collect();
        if given_up.len() * 2 < self.probes.len() {
            return None;
        }
        given_up.iter().map(Probe::cost_us).min()
    }
}

/// A cell that departs for a reason of its own (nobody decided) can be unproven as well.
fn is_unproven(verdict: Verdict, proof: &Proof, findings: &[Code]) -> bool {
    verdict == Verdict::Inconclusive || !proof.held() || findings.iter().copied().any(is_about_the_run)
}

/// Whether a code says that something could not be proven, and nothing of the use.
pub(super) fn is_about_the_run(code: Code) -> bool {
    code.default_severity() == Severity::Inconclusive
}

impl CellReport {
    /// The wait after which the median probe was given up; none where it returned.
    pub(super) fn gave_up_us(&self) -> Option<u64> {
        let class = Reply::NeverReturned.class();
        let all: usize = self.replies.iter().map(|reply| reply.count).sum();
        let never = self.replies.iter().find(|reply| reply.reply == class)?.count;
        if never * 2 < all.max(1) {
            return None;
        }
        let given_up = self.probes.iter().filter(|probe| probe.reply == Reply::NeverReturned);
        given_up.map(Probe::cost_us).min().or(self.cost.map(|cost| cost.max_us))
    }

    /// Whether what was seen here cannot be believed, whatever else the cell comes to.
    pub(super) fn is_unproven(&self) -> bool {
        is_unproven(self.verdict, &self.proof, &self.findings)
    }

    /// Whether no wait is part of what a call costs in this outage.
    pub(super) fn ends_at_once(&self) -> bool {
        ends_at_once(self.state, self.worst_case_us)
    }

    /// Whether round trips alone are what a call costs in this outage, be they slow ones.
    pub(super) fn is_round_trips(&self) -> bool {
        self.ends_at_once() || is_slow(self.state)
    }

    /// What the use did, in a word.
    pub(super) fn outcome(&self) -> &'static str {
        match self.decision {
            Some(decision) => decision.name(),
            None if self.cost.is_none() => "no probe",
            None if self.gave_up_us().is_some() => "no return",
            None => "mixed",
        }
    }

    /// Whether the use did what the policy makes it do once Redis does not answer (or, healthy, got its answer).
    pub(super) fn is_as_expected(&self, row: &Row) -> bool {
        let declared = row.declared.filter(|_| self.state.is_outage());
        let expected = declared.map_or(Decision::Answered, OutagePolicy::decision);
        self.decision == Some(expected)
    }
}

impl Service {
    /// The findings about an operation, each code once and in order, and whether all of its findings are accepted.
    pub(super) fn codes_of(&self, row: &Row) -> BTreeMap<Code, bool> {
        let is_request = self.requests.iter().any(|request| request.name == row.use_name);
        let about_row = |finding: &&Finding| {
            finding.subject == row.use_name
                && (finding.operations.contains(&row.operation)
                    || (finding.operations.is_empty() && !is_request))
        };
        let mut codes = BTreeMap::new();
        let counting = |finding: &&Finding| finding.severity != Severity::Allow;
        for finding in self.findings.iter().filter(about_row).filter(counting) {
            *codes.entry(finding.code).or_insert(true) &= finding.accepted.is_some();
        }
        for cell in &row.cells {
            for code in &cell.accepted {
                codes.entry(*code).or_insert(true);
            }
            for code in &cell.findings {
                codes.insert(*code, false);
            }
        }
        codes
    }
}

impl Service {
    /// Whether the file accepts a code of a use in a state, wherever it was found there.
    pub(super) fn accepts(&self, use_name: &str, code: Code, state: State) -> bool {
        let about = |finding: &&Finding| {
            finding.code == code
                && finding.subject == use_name
                && (finding.states.is_empty() || finding.states.contains(&state))
        };
        let mut found = self.findings.iter().filter(about).peekable();
        found.peek().is_some() && found.all(|finding| finding.accepted.is_some())
    }
}

impl UseReport {
    /// The cell of a state, where the use has one.
    pub(super) fn cell(&self, state: State) -> Option<&UseCell> {
        self.cells.iter().find(|cell| cell.state == state)
    }
}

impl UseCell {
    /// Whether anything is known to have been lost.
    pub(super) fn loses(&self) -> bool {
        self.proven && !(self.guarantee.is_empty() && self.availability.is_empty())
    }
}

impl Report {
    /// Every finding of every service.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.services.iter().flat_map(|service| &service.findings)
    }
}

/// How many probes the cells of a state got: the usual number, and the cells that got another.
pub(super) struct Samples {
    /// The state.
    pub(super) state: State,
    /// What most cells got.
    pub(super) usual: u64,
    /// The others, by name.
    pub(super) others: Vec<(String, u64)>,
}

/// The samples of each state that has any, from the name and the number of probes of each cell.
pub(super) fn samples(cells: &[(String, State, u64)]) -> Vec<Samples> {
    let mut states: Vec<State> = cells.iter().map(|(_, state, _)| *state).collect();
    states.sort_unstable();
    states.dedup();
    let of_state = |state| {
        let cells: Vec<_> = cells.iter().filter(|cell| cell.1 == state).collect();
        let mut counts = BTreeMap::<u64, usize>::new();
        for (_, _, n) in &cells {
            *counts.entry(*n).or_default() += 1;
        }
        let usual = counts.iter().max_by_key(|(_, cells)| **cells).map_or(0, |(n, _)| *n);
        let others = cells.iter().filter(|cell| cell.2 != usual);
        Samples { state, usual, others: others.map(|(name, _, n)| (name.clone(), *n)).collect() }
    };
    states.into_iter().map(of_state).collect()
}

/// More cells than this with another number of probes are counted and not named.
const MOST_NAMED: usize = 4;

/// Samples in words: `healthy 200, paused 20, stopped 20 (cache.read 18)`.
pub(super) fn samples_in_words(cells: &[(String, State, u64)]) -> String {
    let in_words = |Samples { usual, others, .. }: Samples| {
        let numbers = || others.iter().map(|(_, n)| *n);
        match (numbers().min(), numbers().max()) {
            (Some(least), Some(most)) if others.len() > MOST_NAMED => {
                format!("{usual} ({} cells {least} to {most})", others.len())
            }
            (Some(_), Some(_)) => {
                let named: Vec<String> = others.iter().map(|(name, n)| format!("{name} {n}")).collect();
                format!("{usual} ({})", named.join(", "))
            }
            _ => usual.to_string(),
        }
    };
    let mut groups: Vec<(String, Vec<State>)> = Vec::new();
    for (state, words) in samples(cells).into_iter().map(|samples| (samples.state, in_words(samples))) {
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, states)) => states.push(state),
            None => groups.push((words, vec![state])),
        }
    }
    // What holds for most states is told once, where there are many.
    let in_groups = |(words, states): (String, Vec<State>)| match states.as_slice() {
        [first, .., last] if states.len() > MOST_NAMED => {
            format!("{} states from {first} to {last} {words} each", states.len())
        }
        states => states.iter().map(|state| format!("{state} {words}")).collect::<Vec<_>>().join(", "),
    };
    groups.into_iter().map(in_groups).collect::<Vec<_>>().join(", ")
}

/// Whether an outage costs no wait, given what it costs by arithmetic.
fn ends_at_once(state: State, by_arithmetic_us: Option<u64>) -> bool {
    state.is_outage() && by_arithmetic_us == Some(0)
}

/// Whether round trips are what is slow in a state.
fn is_slow(state: State) -> bool {
    state.facts().waits == Waits::Latency
}

/// Below this the way back counts as immediate.
const IMMEDIATE_US: u64 = 100_000;

/// The ways back that were not immediate, state by state: `recovery: heartbeat.claim 310 ms after stopped`. An
/// operation that never came back has a finding that says so.
pub(super) fn recoveries_in_words(rows: &[Row]) -> Vec<String> {
    let mut states: Vec<(State, Vec<(u64, String)>)> = Vec::new();
    for (row, cell) in rows.iter().flat_map(|row| row.cells.iter().map(move |cell| (row, cell))) {
        let Some(Recovery::After(us)) = cell.recovery else { continue };
        if us <= IMMEDIATE_US {
            continue;
        }
        match states.iter_mut().find(|(state, _)| *state == cell.state) {
            Some((_, slow)) => slow.push((us, row.name())),
            None => states.push((cell.state, vec![(us, row.name())])),
        }
    }
    let in_words = |(state, mut slow): (State, Vec<(u64, String)>)| {
        slow.sort_by_key(|(us, _)| std::cmp::Reverse(*us));
        let named: Vec<String> =
            slow.iter().take(MOST_NAMED).map(|(us, name)| format!("{name} {}", human_us(*us))).collect();
        let more = slow.len() - named.len();
        let more = if more > 0 { format!(", and {more} sooner") } else { String::new() };
        format!("recovery: {}{more} after {state}", named.join(", "))
    };
    states.into_iter().map(in_words).collect()
}

/// The number of probes of each cell of the rows.
pub(super) fn probes_of_rows<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<(String, State, u64)> {
    let cells = |row: &'a Row| row.cells.iter().map(|cell| (row.name(), cell.state, n(cell.cost)));
    rows.into_iter().flat_map(cells).collect()
}

/// The number of runs of each cell of the requests.
pub(super) fn runs_of_requests<'a>(
    requests: impl IntoIterator<Item = &'a RequestRow>,
) -> Vec<(String, State, u64)> {
    let cells =
        |row: &'a RequestRow| row.cells.iter().map(|cell| (row.name.clone(), cell.state, n(cell.cost)));
    requests.into_iter().flat_map(cells).collect()
}

fn n(cost: Option<Cost>) -> u64 {
    cost.map_or(0, |cost| cost.n)
}

/// States in words: `paused, stopped`.
pub(super) fn states_in_words(states: &[State]) -> String {
    states.iter().map(|state| state.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_ways_back_are_named_and_the_rest_counted() {
        use crate::report::sample;
        let mut rows = sample::report().services.remove(0).rows;
        for (at, row) in (1_u64..).zip(&mut rows) {
            for cell in row.cells.iter_mut().filter(|cell| cell.state == State::Paused) {
                cell.recovery = Some(Recovery::After(at * 99_000));
            }
        }
        let words = recoveries_in_words(&rows);
        let paused = words.iter().find(|words| words.ends_with("after paused")).unwrap();
        assert!(paused.starts_with("recovery: project-cache.write 594 ms, project-cache.read "), "{paused}");
        assert!(paused.ends_with(", and 1 sooner after paused"), "{paused}");
        assert_eq!(words.len(), 2, "{words:?}");
    }

    #[test]
    fn cells_with_other_samples_are_named_while_they_are_few() {
        let cells = |odd: u64| -> Vec<(String, State, u64)> {
            (0..20)
                .map(|at| (format!("u{at}.get"), State::Paused, if at < odd { 10 + at } else { 20 }))
                .collect()
        };
        assert_eq!(samples_in_words(&cells(0)), "paused 20");
        assert_eq!(samples_in_words(&cells(2)), "paused 20 (u0.get 10, u1.get 11)");
        assert_eq!(samples_in_words(&cells(7)), "paused 20 (7 cells 10 to 16)");
        assert_eq!(samples_in_words(&[]), "");
    }
}
