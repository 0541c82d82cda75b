//! The states that a proxy brings about, in whole runs: what each call is told, what it leaves behind, and whom a scope
//! spares. That the witness of each can fail stands at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::OnceLock;

use redis_outage_audit::observe::Proof;
use redis_outage_audit::policy::Persistence;
use redis_outage_audit::proxy::{Fault, Glob, What};
use redis_outage_audit::redis::states::{self, Left};
use redis_outage_audit::redis::{Front, Server};
use redis_outage_audit::report::Report;
use redis_outage_audit::report::json::from_json;
use redis_outage_audit::words::{Code, Decision, State, Tri, Verdict, Whose};
use std::time::Duration;

use crate::command::{Folder, cell, request, row};
use crate::existing::{self, Existing};
use crate::shown;
use crate::support::{Listens, ask, held, not_proven, server};

use Decision::{Answered, Denied, Raised};
use State::{BlackHole, CutMidReply, Flapping, ReplyLost, Slow};

const PROXIED: [State; 5] = [Slow, ReplyLost, CutMidReply, BlackHole, Flapping];

/// Everything tries twice, except where its name says once or thrice, and closes its connection on a timeout.
const POLICIES: &str = "\
version: 1
service: proxied
client: {command_timeout: 300ms, connect_timeout: 300ms, attempts: 2, handshake: none}
states: [{slow: {latency: 60ms, jitter: 20ms}}, reply_lost, cut_mid_reply, black_hole, {flapping: {failures: 2}}]
uses:
  - {name: cart, kind: session, key: 'cart:${id}', ttl: 1h, on_outage: propagate}
  - {name: token, kind: one_time_token, key: 'token:${id}', ttl: 10m, on_outage: propagate}
  - {name: lock, kind: lock, key: 'lock:${id}', ttl: 30s, on_outage: fail_closed}
  - {name: limit, kind: rate_limit, key: 'limit:${id}', limit: 3, window: 1m, on_outage: propagate}
  - {name: visits, kind: custom, on_outage: propagate, commands: {bump: {run: [[INCR, 'visits:${id}']]}}}
  - {name: kept, kind: custom, on_outage: propagate, client: {on_timeout: keep}, commands: {bump: {run: [[INCR, 'kept:${id}']]}}}
  - {name: thrice, kind: custom, on_outage: propagate, client: {attempts: 3}, commands: {bump: {run: [[INCR, 'thrice:${id}']]}}}
  - {name: impatient, kind: session, key: 'im:${id}', ttl: 1h, on_outage: propagate, client: {command_timeout: 20ms, attempts: 1}}
";

fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let (_, report) = Folder::with(POLICIES).report(&["--samples", "8"]);
        shown::proven_and_clean(&report);
        report
    })
}

/// The classes of the replies in a cell, and what the use then did.
#[track_caller]
fn tells(report: &Report, name: &str, state: State, class: &str, decision: Decision) {
    let cell = cell(report, name, state);
    let classes: BTreeSet<&str> = cell.replies.iter().map(|reply| reply.reply.as_str()).collect();
    let classes: Vec<&str> = classes.into_iter().collect();
    assert_eq!((classes.join(" and ").as_str(), cell.decision), (class, Some(decision)), "{name} in {state}");
}

#[test]
fn a_read_a_write_and_a_script_are_told_what_the_network_lets_through() {
    for name in ["cart.load", "cart.save", "limit.take"] {
        tells(report(), name, Slow, "answered", Answered);
        for state in [ReplyLost, CutMidReply] {
            tells(report(), name, state, "reset", Raised);
        }
    }
    for name in ["cart.load", "cart.save"] {
        tells(report(), name, BlackHole, "connect timed out", Raised);
        tells(report(), name, Flapping, "reset", Raised);
    }
    tells(report(), "kept.bump", BlackHole, "timed out", Raised);
    tells(report(), "thrice.bump", Flapping, "answered", Answered);
    tells(report(), "impatient.load", Slow, "timed out", Raised);
    tells(report(), "lock.acquire", BlackHole, "connect timed out", Denied);
}

#[test]
fn a_slow_answer_costs_its_latency_a_black_hole_its_timeouts_and_a_reset_next_to_nothing() {
    // The fastest: what the others took longer, a busy machine made of it.
    let ms = |state| cell(report(), "cart.load", state).cost.unwrap().min_us as f64 / 1_000.0;
    assert!((40.0..140.0).contains(&ms(Slow)), "{}", ms(Slow));
    // The first attempt waits for its answer, the second for a connection.
    assert!((600.0..750.0).contains(&ms(BlackHole)), "{}", ms(BlackHole));
    for state in [ReplyLost, CutMidReply, Flapping] {
        assert!(ms(state) * 3.0 < ms(BlackHole), "{state}: {}", ms(state));
    }
}

#[test]
fn the_arithmetic_of_each_is_an_upper_bound_that_follows_from_what_the_state_is_told() {
    let worst = |name: &str, state| cell(report(), name, state).worst_case_us.map(|us| us / 1_000);
    assert_eq!(worst("cart.load", Slow), Some(80), "latency and jitter");
    assert_eq!(worst("impatient.load", Slow), Some(20), "its timeout comes first");
    assert_eq!(worst("cart.load", BlackHole), Some(600));
    assert_eq!(worst("kept.bump", BlackHole), Some(600));
    for state in [ReplyLost, CutMidReply, Flapping] {
        assert_eq!(worst("cart.load", state), Some(0), "{state}");
    }
    for name in ["cart.load", "kept.bump", "impatient.load"] {
        for state in [Slow, BlackHole] {
            let cell = cell(report(), name, state);
            let (cost, worst) = (cell.cost.unwrap().min_us, cell.worst_case_us.unwrap());
            assert!(cost < worst + 60_000 + cell.jitter_us, "{name} in {state}: {cost} against {worst}");
        }
    }
}

#[test]
fn a_lost_reply_lets_a_retry_count_twice_be_refused_by_itself_and_burn_its_token() {
    for state in [ReplyLost, CutMidReply] {
        shown::only(report(), Code::DoubleExecution, state, &["visits.bump", "kept.bump", "thrice.bump"]);
        shown::only(report(), Code::CountedTwice, state, &["limit.take"]);
        shown::only(report(), Code::WrongNegative, state, &["lock.acquire", "token.consume"]);
        shown::only(report(), Code::TokenLost, state, &["token.consume"]);
        for finding in shown::findings(report(), Code::WrongNegative, state) {
            assert!(finding.observed.contains("connections from before alone"), "{}", finding.observed);
            assert!(finding.cause.contains("the server ran the command"), "{}", finding.cause);
        }
    }
    let scenes = report().services[0].scenes.iter().filter(|scene| scene.state == ReplyLost);
    let mut fastest: BTreeMap<&str, u64> = BTreeMap::new();
    for call in scenes.flat_map(|scene| &scene.calls) {
        let known = fastest.entry(&call.operation).or_insert(u64::MAX);
        *known = call.probe.cost_us().min(*known);
    }
    // On a machine with nothing else to do it is a tenth of this.
    assert!(fastest.values().all(|us| *us < 200_000), "{fastest:?}");
}

#[test]
fn what_was_sent_into_a_black_hole_runs_when_the_network_is_back_whatever_became_of_the_connection() {
    let late = shown::on_server(report(), Code::LateExecution, BlackHole);
    for name in ["visits.bump", "cart.save"] {
        assert!(late.contains(name), "{name}: {late:?}");
    }
    // On the connection that was kept all attempts run; on new ones, the first and that which finds the network back.
    shown::only(report(), Code::DoubleExecution, BlackHole, &["kept.bump", "thrice.bump"]);
    shown::only(report(), Code::TokenLost, BlackHole, &["token.consume"]);
    let held = shown::findings(report(), Code::LockHeldByNobody, BlackHole).next().unwrap();
    assert!(held.observed.contains("ran although its caller was told"), "{}", held.observed);
}

#[test]
fn what_is_reset_before_it_arrives_never_runs_and_callers_that_would_take_turns_from_each_other_play_nothing()
{
    for code in [Code::DoubleExecution, Code::WrongNegative, Code::TokenLost, Code::LateExecution] {
        shown::only(report(), code, Flapping, &[]);
    }
    shown::only(report(), Code::LockHeldByNobody, Flapping, &[]);
    let service = &report().services[0];
    assert!(service.scenes.iter().all(|scene| scene.state != Flapping));
    for used in &service.uses {
        for cell in used.cells.iter().filter(|cell| cell.state.is_outage()) {
            assert_eq!(cell.proven, cell.state != Flapping, "{} in {}", used.name, cell.state);
        }
    }
}

#[test]
fn every_operation_finds_its_way_back_and_the_report_says_through_what_it_was_seen() {
    for row in &report().services[0].rows {
        for cell in &row.cells {
            let whose = if cell.state.is_outage() { Whose::Proxied } else { Whose::Owned };
            assert_eq!(cell.whose, whose, "{} in {}", row.operation, cell.state);
        }
    }
    for state in PROXIED {
        shown::only(report(), Code::NoRecovery, state, &[]);
    }
    assert!(
        report().notes.iter().any(|note| note == "slow: latency 60 ms, jitter 20 ms"),
        "{:?}",
        report().notes
    );
}

#[test]
fn a_proof_says_what_the_proxy_did_and_the_clients_saw() {
    for (state, text) in [
        (Slow, "was answered after 40ms or more each time"),
        (ReplyLost, "who saw as many"),
        (CutMidReply, "who saw as many"),
        (BlackHole, "hung in connect"),
        (Flapping, "who saw as many"),
    ] {
        let Proof::Held(shown) = &cell(report(), "cart.load", state).proof else { panic!("{state}") };
        assert!(shown.contains(text), "{state}: {shown}");
    }
}

const SCOPED: &str = "\
version: 1
service: scoped
client: {command_timeout: 300ms, connect_timeout: 300ms, handshake: none}
states: [{slow: {latency: 60ms, jitter: 0ms, scope: lock}}, {reply_lost: {scope: lock}}, {cut_mid_reply: {scope: lock}}, {black_hole: {scope: lock}}, {flapping: {scope: lock}}]
uses:
  - {name: jwt, kind: jwt_revocation, key: 'jwt:${id}', ttl: 1h, on_outage: fail_closed}
  - {name: cache, kind: cache, key: 'cache:${id}', ttl: 1h, on_outage: propagate}
  - {name: lock, kind: lock, key: 'lock[1]*:${id}', ttl: 30s, on_outage: fail_open}
requests:
  - {name: query, calls: [jwt.check, cache.read, lock.acquire, cache.write, lock.release]}
  - {name: reading, calls: [jwt.check, cache.read]}
";

#[test]
fn with_a_scope_the_lock_fails_while_the_cache_and_the_token_check_of_the_same_request_work() {
    let (_, report) = Folder::with(SCOPED).report(&["--samples", "8"]);
    shown::proven_and_clean(&report);
    for state in PROXIED {
        for name in ["jwt.check", "jwt.revoke", "cache.read", "cache.write", "cache.invalidate"] {
            let cells = &row(&report, name).cells;
            assert!(cells.iter().all(|cell| !cell.state.is_outage()), "{name} is not in {state}");
        }
        let query = request(&report, "query", state);
        assert_eq!(query.ends, "runs to its end", "{state}");
        assert_eq!(query.whose, Whose::Proxied);
        for call in query.probes.iter().flat_map(|run| &run.calls) {
            let locks = call.call.starts_with("lock.");
            let answered = call.probe.reply.is_answer();
            assert_eq!(answered, !locks || state == Slow, "{} in {state}: {:?}", call.call, call.probe.reply);
            let late = call.probe.cost_us() >= 60_000;
            assert!(!locks || state != Slow || late, "{} in {state} is late", call.call);
        }
        let Proof::Held(shown) = &query.proof else { panic!("{state}") };
        assert!(shown.contains("what the fault is not meant for was answered"), "{state}: {shown}");
    }
    let requests = &report.services[0].requests;
    let reading = requests.iter().find(|request| request.name == "reading").unwrap();
    assert_eq!(
        reading.cells.len(),
        1,
        "a request that never calls the lock is run on the healthy server alone"
    );
    assert!(report.notes.iter().any(|note| note.contains("only the keys of lock")), "{:?}", report.notes);
}

#[test]
fn a_thousand_and_more_connections_through_the_proxy_are_held_and_cost_little_memory() {
    let mut policies =
        "version: 1\nservice: many\nclient: {command_timeout: 1s, attempts: 1, handshake: none}\nuses:\n"
            .to_owned();
    for number in 0..12 {
        let _ = writeln!(
            policies,
            "  - {{name: u{number}, kind: session, key: 'u{number}:${{id}}', ttl: 1h, on_outage: propagate}}"
        );
    }
    let folder = Folder::with(&policies);
    let (ended, report) = folder.report(&["--samples", "60", "--states", "black_hole"]);
    shown::proven_and_clean(&report);
    assert_eq!(report.verdict, Verdict::Conforms, "{}", ended.stdout);
    let probes: u64 = report.services[0]
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .filter(|cell| cell.state == BlackHole)
        .map(|cell| cell.cost.unwrap().n)
        .sum();
    assert!(probes >= 1_000, "{probes}");
}

/// A front of a server with a fault, which is entered, left alone for a while, and left. What is done in between is given.
async fn held_for_a_while(server: &mut Server, front: &Front, state: State) -> Left {
    let ready = states::prepare_front(state, front).await;
    let holding = states::enter(ready, server, Duration::from_secs(5)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(250)).await;
    holding.leave(server).await
}

fn faults() -> [(State, Fault); 8] {
    let lock = || Glob::new("lock:*");
    let slow =
        Fault::new(What::Slow { latency: Duration::from_millis(40), jitter: Duration::from_millis(5) });
    [
        (Slow, slow.clone()),
        (ReplyLost, Fault::new(What::ReplyLost)),
        (ReplyLost, Fault::new(What::ReplyLost).once()),
        (CutMidReply, Fault::new(What::CutMidReply { after: 3 })),
        (BlackHole, Fault::new(What::BlackHole)),
        (Flapping, Fault::flapping(2)),
        (Slow, slow.on(lock())),
        (BlackHole, Fault::new(What::BlackHole).on(lock())),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_is_proven_and_over_once_it_is_left() {
    let mut server = server(Persistence::None).await;
    for (state, fault) in faults() {
        let front = Front::start(&server, fault.clone(), 1).unwrap();
        let left = held_for_a_while(&mut server, &front, state).await;
        held(&left);
        left.barrier.unwrap();
        assert_eq!(left.harmed.unwrap().ports, BTreeSet::new(), "{fault:?}: only the witness was there");
        let door = front.endpoint().addr().unwrap();
        assert_eq!(ask(door, "PING").await, "+PONG\r\n", "{fault:?}");
    }
    assert_eq!(ask(server.addr(), "DBSIZE").await, ":0\r\n", "the witness leaves nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_that_is_lifted_too_early_is_not_proven() {
    let mut server = server(Persistence::None).await;
    for (state, fault) in faults() {
        let front = Front::start(&server, fault.clone(), 1).unwrap();
        let ready = states::prepare_front(state, &front).await;
        let holding = states::enter(ready, &mut server, Duration::from_secs(5)).await.unwrap();
        front.proxy().clear().await.unwrap();
        tokio::time::sleep(Duration::from_millis(250)).await;
        let left = holding.leave(&mut server).await;
        let why = not_proven(&left);
        assert!(why.contains("witness") || why.contains("connection"), "{fault:?}: {why}");
        left.barrier.unwrap();
    }
}

#[test]
fn a_server_that_exists_is_audited_through_a_proxy_without_any_change_to_it() {
    let (server, folder) = (Existing::start(), Folder::with(existing::POLICIES));
    let (before, url) = (server.settings(), server.url());
    let names: Vec<&str> = PROXIED.iter().map(|state| state.name()).collect();
    let states = names.join(",");
    let args = ["--redis-url", &url, "--states", &states, "--samples", "5", "--json", "report.json"];
    let ended = folder.attach(&args);
    assert!(matches!(ended.code, 0 | 1), "{} {}\n{}", ended.code, ended.stdout, ended.stderr);
    let report = from_json(&folder.read("report.json")).unwrap();
    shown::proven_and_clean(&report);
    assert_eq!(report.server.whose, Whose::Attached);
    for state in PROXIED {
        let cell = cell(&report, "cart-lock.acquire", state);
        assert_eq!(cell.whose, Whose::Proxied, "{state}");
        let attempts = || cell.probes.iter().flat_map(|probe| &probe.attempts);
        assert!(attempts().all(|attempt| attempt.ran != Tri::Unknown), "{state}: the ledger knows each");
    }
    assert_eq!(server.keys(), Vec::<String>::new());
    assert_eq!(server.settings(), before);
    assert!(server.is_left_alone());
}
