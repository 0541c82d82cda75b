//! Sample reports for the tests of every renderer.

mod aftermath;

use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::observe::{Attempt, ChainCall, ChainProbe, Cost, Probe, Proof, Recovery, ServerInfo};
use crate::policy::{Backend, Persistence, Source};
use crate::words::{
    Answer, Code, Evidence, Finding, KnownFrom, OutagePolicy, Phase, Place, Reply, Severity, Span, State,
    Verdict,
};

/// The policy file of the ordinary sample.
pub(super) const FILE: &str = "policies/portfolio.yaml";

/// Its text.
const TEXT: &str = "version: 1
service: portfolio
client: {command_timeout: 2s}
uses:
  - name: jwt-revocation
    kind: jwt_revocation
    on_outage: fail_closed
    budget: 250ms
  - name: dataset-lock
    kind: lock
    on_outage: fail_open
  - name: project-cache
    kind: cache
  - name: api-rate-limit
    kind: rate_limit
    backend: in_memory
requests:
  - name: dataset-query
    budget: 500ms
";

/// The sources of the ordinary sample.
pub(super) fn sources() -> Vec<Arc<Source>> {
    vec![Arc::new(Source { path: PathBuf::from(FILE), text: TEXT.to_owned() })]
}

/// Where the nth occurrence of a word stands in the policy file.
fn place(word: &str, occurrence: usize) -> Place {
    let start = TEXT.match_indices(word).nth(occurrence).unwrap().0;
    let line = TEXT[..start].matches('\n').count() + 1;
    let column = start - TEXT[..start].rfind('\n').map_or(0, |at| at + 1) + 1;
    Place { file: FILE.to_owned(), span: Span { line, column, start, len: word.len() } }
}

/// Probes that all came to the same reply after the same time.
fn probes(state: State, cost_us: u64, reply: &Reply, n: usize) -> Vec<Probe> {
    let attempt = Attempt::new("SET".to_owned(), 1, 0, cost_us, reply.clone(), Some(40_000));
    let probe = |at| Probe {
        id: format!("run-{state}-{at}"),
        sent_us: 0,
        ended_us: cost_us,
        reply: reply.clone(),
        own_key: true,
        attempts: vec![attempt.clone()],
    };
    (0..n).map(probe).collect()
}

/// A cell in which every probe got the reply that its state gives.
pub(super) fn cell(state: State, declared: OutagePolicy, cost_us: u64) -> CellReport {
    let (reply, n) = match state {
        State::Healthy => (Reply::Answered(Answer::Yes), 200),
        State::Paused => (Reply::TimedOut(Phase::Command), 20),
        _ => (Reply::Refused, 20),
    };
    let decision = if reply.is_answer() { crate::words::Decision::Answered } else { declared.decision() };
    CellReport {
        state,
        evidence: Evidence::Simulated,
        whose: crate::words::Whose::Owned,
        replies: vec![ReplyCount { reply: reply.class().to_owned(), count: n }],
        decision: Some(decision),
        cost: Cost::of(std::iter::repeat_n(cost_us, n)),
        worst_case_us: Some(2_000_000),
        budget_us: None,
        jitter_us: 300,
        recovery: None,
        proof: Proof::Held("the witness saw no command run".to_owned()),
        verdict: Verdict::Conforms,
        findings: Vec::new(),
        accepted: Vec::new(),
        probes: probes(state, cost_us, &reply, 2),
    }
}

/// A row with a cell for each state, at what a timeout of 2 s costs.
pub(super) fn row(use_name: &str, kind: &str, operation: &str, declared: OutagePolicy, meaning: &str) -> Row {
    let costs = [(State::Healthy, 42), (State::Paused, 2_001_300), (State::Stopped, 61)];
    Row {
        use_name: use_name.to_owned(),
        kind: kind.to_owned(),
        operation: operation.to_owned(),
        backend: Backend::Redis,
        declared: Some(declared),
        meaning: meaning.to_owned(),
        code: Some("DatasetLockService".to_owned()),
        known_from: KnownFrom::Code,
        because: None,
        command_timeout_us: Some(2_000_000),
        cells: costs.map(|(state, cost)| cell(state, declared, cost)).to_vec(),
    }
}

/// A finding that counts as its code does by default.
pub(super) fn finding(
    code: Code,
    subject: &str,
    operations: &[&str],
    states: &[State],
    at: Place,
) -> Finding {
    Finding {
        code,
        severity: code.default_severity(),
        basis: code.basis(),
        subject: subject.to_owned(),
        operations: operations.iter().map(|operation| (*operation).to_owned()).collect(),
        states: states.to_vec(),
        place: at,
        declared: "at most 250 ms when paused".to_owned(),
        observed: "the worst of 20 probes took 2.00 s, 8 times the budget".to_owned(),
        cause: "the command timeout of 2 s is longer than the budget of 250 ms, so each call waits it out"
            .to_owned(),
        knob: "`client.command_timeout` to at most 250ms, or the budget".to_owned(),
        accepted: None,
    }
}

fn request_cell(state: State, cost_us: u64, ends: &str) -> RequestCell {
    let reply =
        if state == State::Healthy { Reply::Answered(Answer::Yes) } else { Reply::TimedOut(Phase::Command) };
    let probe = probes(state, cost_us, &reply, 1).remove(0);
    let call = ChainCall { call: "dataset-lock.acquire".to_owned(), decision: None, probe };
    RequestCell {
        state,
        whose: crate::words::Whose::Owned,
        ends: ends.to_owned(),
        cost: Cost::of(std::iter::repeat_n(cost_us, 20)),
        predicted_us: Some(4_000_000),
        budget_us: Some(500_000),
        waiting: Some(5.0 * f64::from(u32::try_from(cost_us).unwrap()) / 1_000_000.0),
        jitter_us: 200,
        proof: Proof::Held("the witness saw no command run".to_owned()),
        verdict: if state == State::Paused { Verdict::Departs } else { Verdict::Conforms },
        findings: if state == State::Paused { vec![Code::RequestBudgetExceeded] } else { Vec::new() },
        probes: vec![ChainProbe { calls: vec![call], ended_early: false }],
    }
}

/// An ordinary report: what departs, what is inconclusive, what never returned, and what conforms.
pub(super) fn report() -> Report {
    use OutagePolicy::{FailClosed, FailOpen, Fallback, Undecided};
    use State::{Healthy, Paused, Stopped};

    let mut check = row("jwt-revocation", "jwt_revocation", "check", FailClosed, "token refused");
    check.code = Some("JwtAuthenticationFilter".to_owned());
    check.cells[1].verdict = Verdict::Departs;
    check.cells[1].findings = vec![Code::BudgetExceeded];
    for cell in &mut check.cells {
        cell.budget_us = Some(if cell.state == Healthy { 5_000 } else { 250_000 });
    }
    let revoke = row("jwt-revocation", "jwt_revocation", "revoke", FailClosed, "the logout is refused");
    let mut acquire = row("dataset-lock", "lock", "acquire", FailOpen, "runs unlocked");
    acquire.cells[1].accepted = vec![Code::DoubleEntry];
    acquire.cells[1].recovery = Some(Recovery::After(9_000));
    acquire.cells[2].recovery = Some(Recovery::After(310_000));
    let mut release = row("dataset-lock", "lock", "release", FailOpen, "left to expire");
    release.cells[2].verdict = Verdict::Inconclusive;
    release.cells[2].proof = Proof::NotProven("a probe was answered while the server was stopped".to_owned());
    release.cells[2].findings = vec![Code::FaultNotProven];
    let mut read =
        row("project-cache", "cache", "read", Undecided, "nobody decided: the error climbs to the caller");
    read.known_from = KnownFrom::Assumed;
    read.cells[1] = CellReport {
        replies: vec![ReplyCount { reply: "never returned".to_owned(), count: 20 }],
        decision: None,
        cost: Cost::of([15_000_400; 20]),
        verdict: Verdict::Departs,
        recovery: Some(Recovery::NotWithin(5_000_000)),
        findings: vec![Code::PolicyUnreachable],
        probes: probes(Paused, 15_000_400, &Reply::NeverReturned, 2),
        ..read.cells[1].clone()
    };
    let write = row("project-cache", "cache", "write", Fallback, "another source answers");
    let meaning = "goes on working; each instance counts for itself";
    let mut take = row("api-rate-limit", "rate_limit", "take", FailOpen, meaning);
    (take.backend, take.declared) = (Backend::InMemory, None);
    take.cells.clear();

    let accepted = Finding {
        accepted: Some("a double query costs less than refusing every query while Redis is away".to_owned()),
        ..finding(
            Code::DoubleEntry,
            "dataset-lock",
            &["acquire"],
            &[Paused, Stopped],
            place("dataset-lock", 0),
        )
    };
    let findings = vec![
        finding(Code::BudgetExceeded, "jwt-revocation", &["check"], &[Paused], place("250ms", 0)),
        finding(Code::PolicyUnreachable, "project-cache", &["read"], &[Paused], place("project-cache", 0)),
        finding(Code::Undecided, "project-cache", &["read"], &[], place("project-cache", 0)),
        finding(Code::RequestBudgetExceeded, "dataset-query", &[], &[Paused], place("500ms", 0)),
        finding(Code::LateExecution, "jwt-revocation", &["revoke"], &[Paused], place("fail_closed", 0)),
        finding(Code::LateExecution, "project-cache", &["write"], &[Paused], place("project-cache", 0)),
        finding(Code::FaultNotProven, "dataset-lock", &["release"], &[Stopped], place("dataset-lock", 0)),
        finding(
            Code::ValidRequestRefused,
            "jwt-revocation",
            &["check", "revoke"],
            &[Paused, Stopped],
            place("fail_closed", 0),
        ),
        Finding {
            severity: Severity::Allow,
            ..finding(Code::OriginStampede, "project-cache", &["write"], &[Paused], place("cache", 1))
        },
        accepted,
    ];
    let requests = vec![RequestRow {
        name: "dataset-query".to_owned(),
        calls: vec!["dataset-lock.acquire".to_owned(), "project-cache.read x 3".to_owned()],
        rate: Some(5.0),
        threads: Some(10),
        cells: vec![
            request_cell(Healthy, 130, "runs to its end"),
            request_cell(Paused, 4_002_000, "ends at project-cache.read: the error climbed to the caller"),
            request_cell(Stopped, 140, "ends at project-cache.read: the error climbed to the caller"),
        ],
    }];
    let mut report = Report {
        version: REPORT_VERSION,
        tool: "redis-outage-audit 0.1.0".to_owned(),
        run: "a1b2c3".to_owned(),
        seed: 42,
        wall_us: 4_312_000,
        server: ServerInfo {
            name: "redis-server".to_owned(),
            version: "7.0.15".to_owned(),
            whose: crate::words::Whose::Owned,
        },
        states: State::by_default().collect(),
        notes: vec!["samples were lowered from 50 to 20, as the open-file limit is 1024".to_owned()],
        services: vec![Service {
            name: "portfolio".to_owned(),
            file: FILE.to_owned(),
            persistence: Persistence::Aof,
            rows: vec![check, revoke, acquire, release, read, write, take],
            uses: Vec::new(),
            scenes: Vec::new(),
            replays: Vec::new(),
            requests,
            findings,
        }],
        verdict: Verdict::Departs,
    };
    report.services.iter_mut().for_each(aftermath::fill);
    report
}

/// The report with two services, the second with another name.
pub(super) fn two_services() -> Report {
    let mut report = report();
    let mut second = report.services[0].clone();
    second.name = "billing".to_owned();
    report.services.push(second);
    report
}

/// The report with everything that someone else wrote replaced by a text.
pub(super) fn written_by(mut report: Report, text: &str) -> Report {
    let set = |field: &mut String| *field = text.to_owned();
    report.notes.iter_mut().for_each(set);
    set(&mut report.server.name);
    set(&mut report.server.version);
    for service in &mut report.services {
        set(&mut service.name);
        set(&mut service.file);
        for row in &mut service.rows {
            for field in [&mut row.use_name, &mut row.kind, &mut row.operation, &mut row.meaning] {
                set(field);
            }
            row.code = Some(text.to_owned());
            for cell in &mut row.cells {
                cell.replies.iter_mut().for_each(|reply| set(&mut reply.reply));
            }
        }
        for request in &mut service.requests {
            set(&mut request.name);
            request.calls.iter_mut().for_each(set);
            request.cells.iter_mut().for_each(|cell| set(&mut cell.ends));
        }
        aftermath::written_by(service, text);
        for finding in &mut service.findings {
            for field in [
                &mut finding.subject,
                &mut finding.place.file,
                &mut finding.declared,
                &mut finding.observed,
                &mut finding.cause,
                &mut finding.knob,
            ] {
                set(field);
            }
            finding.operations.iter_mut().for_each(set);
            finding.accepted = finding.accepted.take().map(|_| text.to_owned());
        }
    }
    report
}

/// Texts that break careless renderers.
pub(super) fn hostile_texts() -> Vec<String> {
    let texts = [
        "<script>alert(1)</script>",
        "a \"quoted\" 'name'",
        "pipe | pipe \\| \\\\| end\\",
        "`code` ``more`` `",
        "\u{202e}right to left\u{200f}",
        "👩‍🚀 emoji ❤️ 缓存",
        "\u{1b}[31mred\u{1b}[0m \u{9b}2J \u{7}",
        "two\r\nlines\n\n| a | b |\n|---|---|",
        "*bold* _em_ ~~gone~~ [link](http://x) ![i](y) $x$ &amp; &lt;",
        "<!-- audit:end -->",
        "- < 1 ms",
        "",
        "  ",
    ];
    let mut texts: Vec<String> = texts.map(str::to_owned).to_vec();
    texts.push("long".repeat(2_500));
    texts.push("e\u{301}\u{301}".repeat(2_000));
    texts
}

/// Any text, the hostile ones among them.
pub(super) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![prop::sample::select(hostile_texts()), any::<String>(), "[ -~]{0,30}", "[|\\\\`<&_* -]{0,12}"]
}
