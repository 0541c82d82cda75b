use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::observe::{Cell, Chain, ChainCall, ChainProbe, Probe, Proof, Scene, SceneKey, ServerInfo, Timing};
use crate::plan::{Limits, Wishes};
use crate::policy::{Source, parse};
use crate::words::{Answer, Harm, Phase, Reply, Whose};

/// A lock whose `acquire` has a budget of 100 ms in an outage and 1 ms healthy, and this rest.
fn plan(rest: &str) -> Plan {
    let text = format!(
        "version: 1\nservice: s\nclient: {{command_timeout: 90ms}}\nuses:\n  - name: l\n    kind: lock\n    key: l:${{id}}\n    ttl: 30s\n    operations: [acquire]\n    on_outage: fail_open\n    budget: {{healthy: 1ms, paused: 100ms, stopped: 100ms}}\n{rest}"
    );
    let source = Arc::new(Source { path: PathBuf::from("policies.yaml"), text });
    let wishes = Wishes {
        states: State::ALL.to_vec(),
        only: Vec::new(),
        samples: 20,
        give_up: Duration::from_secs(15),
        serial: false,
    };
    Plan::new(vec![Arc::new(parse(source).unwrap())], &wishes, Limits::of(20_000, 28_000), false)
}

/// A cell whose probes all got this reply at these costs.
fn cell(state: State, reply: Reply, costs_us: &[u64], jitter_us: u64) -> Cell {
    let key = CellKey { file: 0, use_index: 0, operation_index: 0, state };
    let probes = costs_us
        .iter()
        .map(|cost| Probe {
            id: "p".to_owned(),
            sent_us: 1_000,
            ended_us: 1_000 + cost,
            reply: reply.clone(),
            own_key: true,
            attempts: Vec::new(),
        })
        .collect();
    Cell { key, probes, proof: Proof::Held("seen".to_owned()), jitter_us, recovery: None }
}

fn healthy() -> Cell {
    cell(State::Healthy, Reply::Answered(Answer::Yes), &[50; 20], 0)
}

fn paused(costs_us: &[u64], jitter_us: u64) -> Cell {
    cell(State::Paused, Reply::TimedOut(Phase::Command), costs_us, jitter_us)
}

fn judged(plan: &Plan, cells: Vec<Cell>) -> Judgement {
    let server =
        ServerInfo { name: "redis-server".to_owned(), version: "7.0.15".to_owned(), whose: Whose::Owned };
    judge(
        plan,
        0,
        &Observations {
            server,
            cells,
            chains: Vec::new(),
            scenes: Vec::new(),
            replays: Vec::new(),
            left_behind: Vec::new(),
            wall_us: 0,
        },
        false,
    )
}

fn codes(judgement: &Judgement) -> Vec<Code> {
    judgement.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn within_its_budget_a_fail_open_lock_only_has_what_its_policy_implies() {
    let judgement = judged(&plan(""), vec![healthy(), paused(&[90_500; 20], 0)]);
    assert_eq!(codes(&judgement), [Code::DoubleEntry]);
    assert_eq!(judgement.verdict(), Verdict::Conforms);
}

#[test]
fn an_outage_is_judged_at_its_worst_probe_and_an_excess_within_the_jitter_does_not_count() {
    let mut costs = [95_000; 20];
    costs[7] = 112_000;
    for (jitter_us, departs) in [(0, true), (11_000, true), (12_000, false), (90_000, false)] {
        let judgement = judged(&plan(""), vec![healthy(), paused(&costs, jitter_us)]);
        assert_eq!(codes(&judgement).contains(&Code::BudgetExceeded), departs, "jitter {jitter_us}");
    }
    costs[7] = 126_000;
    let judgement = judged(&plan(""), vec![healthy(), paused(&costs, 90_000)]);
    assert!(codes(&judgement).contains(&Code::BudgetExceeded), "jitter excuses 25 ms at most");
    assert_eq!(judgement.findings[0].place.span.line, 11);
    assert_eq!(judgement.verdict(), Verdict::Departs);
}

#[test]
fn what_differs_by_noise_alone_is_said_once_and_what_is_close_to_its_budget_keeps_its_digits() {
    let observed = |cost: u64| {
        let judgement = judged(&plan(""), vec![healthy(), paused(&[cost; 20], 0)]);
        let exceeds = |finding: &&crate::words::Finding| finding.code == Code::BudgetExceeded;
        judgement.findings.iter().find(exceeds).unwrap().observed.clone()
    };
    assert_eq!(observed(2_001_000), observed(2_012_000));
    assert_ne!(observed(2_001_000), observed(3_000_000));
    assert_eq!(observed(103_000), "103 ms at worst", "the budget is 100 ms");
}

#[test]
fn healthy_is_judged_at_its_median() {
    let mut costs = [50; 21];
    costs[..10].fill(40_000);
    let answered = Reply::Answered(Answer::Yes);
    let judgement = judged(&plan(""), vec![cell(State::Healthy, answered.clone(), &costs, 0)]);
    assert_eq!(codes(&judgement), []);
    costs[10] = 40_000;
    let judgement = judged(&plan(""), vec![cell(State::Healthy, answered, &costs, 0)]);
    assert_eq!(codes(&judgement), [Code::BudgetExceeded]);
}

#[test]
fn what_the_server_is_not_able_to_gets_no_advice_to_run_again() {
    let knob = |proof: fn(String) -> Proof| {
        let unproven = Cell { proof: proof("seen".to_owned()), ..paused(&[90_500; 20], 0) };
        judged(&plan(""), vec![healthy(), unproven]).findings[0].knob.clone()
    };
    assert!(knob(Proof::NotProven).contains("`--serial`"), "{}", knob(Proof::NotProven));
    let beyond = knob(Proof::BeyondServer);
    assert!(!beyond.contains("--serial") && !beyond.contains("--samples"), "{beyond}");
    assert!(beyond.contains("`--redis-server PATH`"), "{beyond}");
}

#[test]
fn what_is_not_proven_is_inconclusive_and_nothing_else_is_said_of_it() {
    let mut unproven = paused(&[500_000; 20], 0);
    unproven.proof = Proof::NotProven("the pause ran out".to_owned());
    let key = unproven.key;
    let judgement = judged(&plan(""), vec![healthy(), unproven]);
    assert_eq!(codes(&judgement), [Code::FaultNotProven]);
    assert_eq!(judgement.verdict(), Verdict::Inconclusive);
    assert_eq!(judgement.cell(key).verdict(), Verdict::Inconclusive);
}

#[test]
fn a_failed_control_takes_the_belief_from_every_state() {
    let broken = cell(State::Healthy, Reply::Reset, &[50; 20], 0);
    let judgement = judged(&plan(""), vec![broken, paused(&[500_000; 20], 0)]);
    assert_eq!(codes(&judgement), [Code::ControlFailed]);
    assert_eq!(judgement.findings[0].states, [State::Healthy, State::Paused]);
    let mut one_in_twenty = healthy();
    one_in_twenty.probes[3].reply = Reply::Reset;
    assert_eq!(codes(&judged(&plan(""), vec![one_in_twenty])), []);
}

#[test]
fn rules_change_what_a_finding_counts_for() {
    let denied = plan("rules: {double-entry: deny}\n");
    assert_eq!(judged(&denied, vec![healthy(), paused(&[90_000; 20], 0)]).verdict(), Verdict::Departs);
    let allowed = plan("rules: {budget-exceeded: allow, double-entry: allow}\n");
    assert_eq!(judged(&allowed, vec![healthy(), paused(&[500_000; 20], 0)]).verdict(), Verdict::Conforms);
}

#[test]
fn what_was_measured_takes_the_place_of_what_was_predicted() {
    let mut plan = plan("");
    let mut file = (*plan.files[0]).clone();
    file.uses[0].client.command_timeout = Some(Duration::from_secs(2));
    plan.files = vec![Arc::new(file)];
    let lint: Vec<Code> = lint(&plan.files[0]).iter().map(|finding| finding.code).collect();
    assert_eq!(lint, [Code::BudgetUnreachable]);
    let judgement = judged(&plan, vec![healthy(), paused(&[2_000_500; 20], 0)]);
    assert_eq!(codes(&judgement), [Code::BudgetExceeded, Code::DoubleEntry]);
}

/// A second use that nobody decided, a use in memory, and a request over all three.
const OTHERS: &str = "  - {name: t, kind: session, key: 's:${id}', ttl: 1h, operations: [load], on_outage: undecided, client: {command_timeout: 3s}}
  - {name: m, kind: rate_limit, backend: in_memory}
requests:
  - {name: r, calls: [m.take, l.acquire, t.load], budget: 1s}
";

#[test]
fn what_was_left_out_by_only_has_no_findings() {
    let mut plan = plan(OTHERS);
    assert_eq!(
        codes(&judged(&plan, vec![healthy(), paused(&[90_000; 20], 0)])),
        [Code::Undecided, Code::BudgetUnreachable, Code::DoubleEntry]
    );
    plan.only = vec!["l".to_owned()];
    assert_eq!(codes(&judged(&plan, vec![healthy(), paused(&[90_000; 20], 0)])), [Code::DoubleEntry]);
}

#[test]
fn the_cause_of_a_request_that_costs_too_much_is_its_dearest_call_that_asks_redis() {
    let findings = lint(&plan(OTHERS).files[0]);
    let unreachable = findings.iter().find(|finding| finding.code == Code::BudgetUnreachable).unwrap();
    assert!(unreachable.cause.contains("command timeout of 3 s"), "{}", unreachable.cause);
}

#[test]
fn a_control_that_was_never_run_is_not_one_that_failed() {
    let mut cells = vec![healthy(), paused(&[], 0)];
    for cell in &mut cells {
        cell.probes.clear();
        cell.proof = Proof::NotProven("the deadline ran out".to_owned());
    }
    assert_eq!(codes(&judged(&plan(""), cells)), [Code::FaultNotProven]);
}

#[test]
fn a_request_is_not_believed_where_the_control_of_one_of_its_calls_failed() {
    let plan = plan("requests:\n  - {name: r, calls: [l.acquire], budget: 1ms}\n");
    let key = ChainKey { file: 0, request: 0, state: State::Paused };
    let slow = paused(&[90_000; 20], 0).probes.remove(0);
    let call = |probe| ChainCall { call: "l.acquire".to_owned(), decision: None, probe };
    let probes = vec![ChainProbe { calls: vec![call(slow)], ended_early: true }; 5];
    let chain = Chain { key, probes, proof: Proof::Held("seen".to_owned()), jitter_us: 0 };
    let server =
        ServerInfo { name: "redis-server".to_owned(), version: "7.0.15".to_owned(), whose: Whose::Owned };
    let seen = |control| Observations {
        server: server.clone(),
        cells: vec![control, paused(&[90_000; 20], 0)],
        chains: vec![chain.clone()],
        scenes: Vec::new(),
        replays: Vec::new(),
        left_behind: Vec::new(),
        wall_us: 0,
    };
    let believed = judge(&plan, 0, &seen(healthy()), false);
    assert!(codes(&believed).contains(&Code::RequestBudgetExceeded), "{:?}", codes(&believed));
    let broken = cell(State::Healthy, Reply::Reset, &[50; 20], 0);
    let doubted = judge(&plan, 0, &seen(broken), false);
    assert!(!codes(&doubted).contains(&Code::RequestBudgetExceeded), "{:?}", codes(&doubted));
    assert_eq!(doubted.chain(key).verdict(), Verdict::Inconclusive);
}

#[test]
fn data_that_is_gone_breaks_what_a_lock_promises_and_is_no_more_than_a_miss_for_a_cache() {
    let plan = plan("  - {name: c, kind: cache, key: 'c:${id}', ttl: 1h, on_outage: fail_open}\n");
    let control = |use_index, operation_index| {
        let mut cell = healthy();
        cell.key = CellKey { use_index, operation_index, ..cell.key };
        cell
    };
    let emptied = |use_index| Scene {
        key: SceneKey { file: 0, use_index, state: State::RestartedEmpty, timing: Timing::Holding },
        played: Vec::new(),
        after: BTreeMap::new(),
        end: BTreeMap::new(),
        canary_survived: false,
        scaled: 1,
        proof: Proof::Held("seen".to_owned()),
    };
    let server =
        ServerInfo { name: "redis-server".to_owned(), version: "7.0.15".to_owned(), whose: Whose::Owned };
    let seen = Observations {
        server,
        cells: vec![control(0, 0), control(1, 0), control(1, 1), control(1, 2)],
        chains: Vec::new(),
        scenes: vec![emptied(0), emptied(1)],
        replays: Vec::new(),
        left_behind: Vec::new(),
        wall_us: 0,
    };
    let judgement = judge(&plan, 0, &seen, false);
    assert_eq!(codes(&judgement), [Code::DataLostWithServer; 2], "both are told of it");
    let of = |use_index| judgement.harms(use_index, State::RestartedEmpty);
    assert_eq!(of(0).iter().map(|harmed| harmed.harm).collect::<Vec<_>>(), [Harm::Guarantee]);
    assert!(of(1).is_empty(), "{:?}", of(1));
}
