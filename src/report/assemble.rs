//! Puts a report together from what was declared, observed and judged.

use std::collections::BTreeMap;

use super::model::{
    CellReport, REPORT_VERSION, ReplayReport, ReplyCount, Report, RequestCell, RequestRow, Row, SceneReport,
    Service,
};
use super::uses::uses;
use crate::judge::{Judgement, judge, waiting};
use crate::observe::{Cell, CellKey, Chain, ChainKey, ChainProbe, Cost, Observations, Probe, Snapshot};
use crate::plan::{Plan, predicted_chain, worst_case};
use crate::policy::{Backend, PolicyFile, Request, Use, UseOperation};
use crate::words::{By, Decision, Evidence, State, Verdict, Whose, declared, human_us, micros};

/// What a report says of the run itself.
#[derive(Debug, Clone)]
pub struct RunInfo {
    /// The run's identity, as keys carry it.
    pub run: String,
    /// The seed of everything random in the run.
    pub seed: u64,
    /// Whether `CLIENT SETINFO` waits in a pause of this server.
    pub setinfo: bool,
}

/// The report on a run.
pub fn assemble(plan: &Plan, observations: Observations, info: &RunInfo) -> Report {
    let judgements: Vec<Judgement> =
        (0..plan.files.len()).map(|index| judge(plan, index, &observations, info.setinfo)).collect();
    let verdict = judgements.iter().map(Judgement::verdict).max().unwrap_or(Verdict::Conforms);
    let Observations { server, cells, chains, scenes, replays, left_behind, wall_us } = observations;
    let mut cells: BTreeMap<CellKey, Cell> = cells.into_iter().map(|cell| (cell.key, cell)).collect();
    let mut chains: BTreeMap<ChainKey, Chain> = chains.into_iter().map(|chain| (chain.key, chain)).collect();
    let mut notes = plan.notes.clone();
    if !left_behind.is_empty() {
        notes.push(format!("keys of the audit's own could not be removed: {}", left_behind.join(", ")));
    }
    let mut played: BTreeMap<usize, Vec<SceneReport>> = BTreeMap::new();
    for scene in scenes {
        let use_name = plan.files[scene.key.file].uses[scene.key.use_index].name.clone();
        let by_name = |slots: BTreeMap<&'static str, Snapshot>| {
            slots.into_iter().map(|(slot, snapshot)| (slot.to_owned(), snapshot)).collect()
        };
        played.entry(scene.key.file).or_default().push(SceneReport {
            use_name,
            state: scene.key.state,
            timing: scene.key.timing,
            scaled: scene.scaled,
            canary_survived: scene.canary_survived,
            calls: scene.played,
            after: by_name(scene.after),
            end: by_name(scene.end),
            proof: scene.proof,
        });
    }
    let mut replayed: BTreeMap<usize, Vec<ReplayReport>> = BTreeMap::new();
    for replay in replays {
        let use_name = plan.files[replay.file].uses[replay.use_index].name.clone();
        let report = ReplayReport { use_name, what: replay.what, steps: replay.steps };
        replayed.entry(replay.file).or_default().push(report);
    }
    let mut services = Vec::new();
    for (index, (file, judgement)) in plan.files.iter().zip(judgements).enumerate() {
        let uses = uses(plan, file, index, &judgement, &cells);
        let whose = server.whose;
        let mut scene =
            Scene { plan, file, index, judgement: &judgement, info, server: whose, notes: &mut notes };
        let rows = scene.rows(&mut cells);
        let requests = scene.requests(&mut chains);
        services.push(Service {
            name: file.service.clone(),
            file: file.source.name(),
            persistence: file.persistence,
            rows,
            uses,
            requests,
            scenes: played.remove(&index).unwrap_or_default(),
            replays: replayed.remove(&index).unwrap_or_default(),
            findings: judgement.findings,
        });
    }
    Report {
        version: REPORT_VERSION,
        tool: concat!("redis-outage-audit ", env!("CARGO_PKG_VERSION")).to_owned(),
        run: info.run.clone(),
        seed: info.seed,
        wall_us,
        server,
        states: plan.states.clone(),
        notes,
        services,
        verdict,
    }
}

/// What is at hand while one file's part is put together.
struct Scene<'a> {
    plan: &'a Plan,
    file: &'a PolicyFile,
    index: usize,
    judgement: &'a Judgement,
    info: &'a RunInfo,
    server: Whose,
    notes: &'a mut Vec<String>,
}

impl Scene<'_> {
    fn rows(&mut self, cells: &mut BTreeMap<CellKey, Cell>) -> Vec<Row> {
        let mut rows = Vec::new();
        let wanted = self.file.uses.iter().enumerate().filter(|(_, used)| self.plan.wants(used));
        for (use_index, used) in wanted {
            for (operation_index, operation) in used.operations.iter().enumerate() {
                let mut reports = Vec::new();
                for &state in &self.plan.states {
                    let key = CellKey { file: self.index, use_index, operation_index, state };
                    if let Some(cell) = cells.remove(&key) {
                        reports.push(self.cell(cell, used, operation));
                    }
                }
                if !reports.is_empty() || used.backend == Backend::InMemory {
                    rows.push(row(used, operation, reports));
                }
            }
        }
        rows
    }

    fn cell(&mut self, cell: Cell, used: &Use, operation: &UseOperation) -> CellReport {
        let state = cell.key.state;
        let mark = self.judgement.cell(cell.key);
        let cost = Cost::of(cell.probes.iter().map(Probe::cost_us));
        let budget_us = operation.budget.get(state).map(|line| micros(line.limit));
        if let (Some(cost), Some(line)) = (cost, operation.budget.get(state))
            && state.is_outage()
            && cost.max_us > micros(line.limit)
            && !mark.findings.contains(&crate::words::Code::BudgetExceeded)
            && mark.verdict() != Verdict::Inconclusive
        {
            self.notes.push(format!(
                "{}.{} in {state}: {} against a budget of {} is within the scheduling jitter of {}: not counted",
                used.name,
                operation.name(),
                human_us(cost.max_us),
                declared(line.limit),
                human_us(cell.jitter_us)
            ));
        }
        CellReport {
            state,
            evidence: Evidence::Simulated,
            whose: self.whose(state),
            replies: replies(&cell.probes),
            decision: common_decision(&cell.probes, operation),
            cost,
            worst_case_us: worst_case(
                self.file,
                cell.key.use_index,
                cell.key.operation_index,
                state,
                Some(self.info.setinfo),
            )
            .map(micros),
            budget_us,
            jitter_us: cell.jitter_us,
            recovery: cell.recovery,
            proof: cell.proof,
            verdict: mark.verdict(),
            findings: mark.findings,
            accepted: mark.accepted,
            probes: cell.probes,
        }
    }

    /// On whose server a state was observed.
    fn whose(&self, state: State) -> Whose {
        match state.facts().by {
            By::Server => self.server,
            By::Proxy => Whose::Proxied,
        }
    }

    fn requests(&mut self, chains: &mut BTreeMap<ChainKey, Chain>) -> Vec<RequestRow> {
        let mut rows = Vec::new();
        for (request_index, request) in self.file.requests.iter().enumerate() {
            let mut cells = Vec::new();
            for &state in &self.plan.states {
                let key = ChainKey { file: self.index, request: request_index, state };
                if let Some(chain) = chains.remove(&key) {
                    cells.push(self.request_cell(chain, request, state));
                }
            }
            if !cells.is_empty() {
                rows.push(RequestRow {
                    name: request.name.clone(),
                    calls: calls(self.file, request),
                    rate: request.rate,
                    threads: request.threads,
                    cells,
                });
            }
        }
        rows
    }

    fn request_cell(&self, chain: Chain, request: &Request, state: State) -> RequestCell {
        let mark = self.judgement.chain(chain.key);
        let cost = Cost::of(chain.probes.iter().map(ChainProbe::cost_us));
        RequestCell {
            state,
            whose: self.whose(state),
            ends: ends(&chain.probes),
            cost,
            predicted_us: predicted_chain(self.file, request, state, Some(self.info.setinfo)).map(micros),
            budget_us: request.budget.get(state).map(|line| micros(line.limit)),
            waiting: cost.and_then(|cost| waiting(request.rate, cost)),
            jitter_us: chain.jitter_us,
            proof: chain.proof,
            verdict: mark.verdict(),
            findings: mark.findings,
            probes: chain.probes,
        }
    }
}

fn row(used: &Use, operation: &UseOperation, cells: Vec<CellReport>) -> Row {
    let meaning = match used.backend {
        Backend::Redis => operation.operation.meaning(operation.on_outage).to_owned(),
        Backend::InMemory => "goes on working; each instance counts for itself".to_owned(),
    };
    Row {
        use_name: used.name.clone(),
        kind: used.kind.name().to_owned(),
        operation: operation.name().to_owned(),
        backend: used.backend,
        declared: (used.backend == Backend::Redis).then_some(operation.on_outage),
        meaning,
        code: operation.code.clone(),
        known_from: operation.known_from,
        because: operation.because.clone(),
        command_timeout_us: used.client.command_timeout.map(micros),
        cells,
    }
}

fn calls(file: &PolicyFile, request: &Request) -> Vec<String> {
    request
        .calls
        .iter()
        .map(|call| {
            let used = &file.uses[call.use_index];
            let name = format!("{}.{}", used.name, used.operations[call.operation_index].name());
            if call.times == 1 { name } else { format!("{name} x {}", call.times) }
        })
        .collect()
}

fn common_decision(probes: &[Probe], operation: &UseOperation) -> Option<Decision> {
    let mut decisions = probes.iter().map(|probe| operation.decision(&probe.reply));
    let first = decisions.next()??;
    decisions.all(|decision| decision == Some(first)).then_some(first)
}

fn replies(probes: &[Probe]) -> Vec<ReplyCount> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for probe in probes {
        *counts.entry(probe.reply.class()).or_default() += 1;
    }
    let mut replies: Vec<ReplyCount> =
        counts.into_iter().map(|(reply, count)| ReplyCount { reply: reply.to_owned(), count }).collect();
    replies.sort_by_key(|reply| std::cmp::Reverse(reply.count));
    replies
}

/// How a request ended, where all runs of it ended alike.
fn ends(probes: &[ChainProbe]) -> String {
    let mut endings: Vec<String> = probes
        .iter()
        .filter_map(|probe| probe.calls.last().map(|last| (last, probe.ended_early)))
        .map(|(last, early)| match last.decision {
            None => format!("{} never returns", last.call),
            Some(decision) if early => format!("ends at {}: {}", last.call, decision.name()),
            Some(_) => "runs to its end".to_owned(),
        })
        .collect();
    endings.dedup();
    match endings.as_slice() {
        [] => "not run".to_owned(),
        [one] => one.clone(),
        _ => "ends differently from run to run".to_owned(),
    }
}
