//! What calls cost under other settings, and what the arithmetic said beforehand.

use std::time::Instant;

use redis_outage_audit::observe::Proof;
use redis_outage_audit::words::{Code, Decision, State, Verdict};

use crate::command::{Folder, cell, found, p50_ms, request};

/// A use of the kind `lock` with this client.
fn lock(client: &str, rest: &str) -> String {
    format!(
        "version: 1\nservice: shop\nclient: {client}\nuses:\n  - name: cart-lock\n    kind: lock\n    key: cart:${{id}}\n    ttl: 30s\n    operations: [acquire]\n    on_outage: fail_open\n{rest}"
    )
}

/// Asserts that a paused call costs what the arithmetic said it would, and gives that figure in milliseconds.
#[track_caller]
fn costs_what_was_predicted(client: &str) -> f64 {
    let folder = Folder::with(&lock(client, ""));
    let (_, report) = folder.report(&["--samples", "5"]);
    let paused = cell(&report, "cart-lock.acquire", State::Paused);
    assert!(matches!(paused.proof, Proof::Held(_)), "{:?}", paused.proof);
    let predicted = paused.worst_case_us.unwrap() as f64 / 1_000.0;
    let observed = p50_ms(paused);
    assert!((predicted..predicted + 60.0).contains(&observed), "{observed} ms for {predicted} ms: {client}");
    predicted
}

#[test]
fn three_attempts_on_a_kept_connection_cost_three_timeouts_and_two_waits() {
    let cost = costs_what_was_predicted(
        "{command_timeout: 200ms, attempts: 3, backoff: 50ms, on_timeout: keep, handshake: hello}",
    );
    assert_eq!(cost as u64, 700);
}

#[test]
fn three_attempts_on_new_connections_cost_the_same_without_a_handshake() {
    let cost = costs_what_was_predicted(
        "{command_timeout: 200ms, connect_timeout: 80ms, attempts: 3, backoff: 50ms, on_timeout: close, handshake: none}",
    );
    assert_eq!(cost as u64, 700);
}

#[test]
fn three_attempts_on_new_connections_cost_less_where_the_handshake_meets_a_shorter_connect_timeout() {
    let cost = costs_what_was_predicted(
        "{command_timeout: 200ms, connect_timeout: 80ms, attempts: 3, backoff: 50ms, on_timeout: close, handshake: hello}",
    );
    assert_eq!(cost as u64, 200 + 50 + 80 + 50 + 80);
}

#[test]
fn whether_the_library_name_waits_in_a_pause_depends_on_the_server_and_the_arithmetic_knows() {
    let cost = costs_what_was_predicted(
        "{command_timeout: 200ms, connect_timeout: 80ms, attempts: 3, backoff: 50ms, on_timeout: close, handshake: setinfo}",
    );
    // Redis 7.0 rejects CLIENT SETINFO at once, so the command itself waits.
    assert!([700, 460].contains(&(cost as u64)), "{cost}");
}

#[test]
fn a_client_that_never_reconnects_fails_its_later_attempts_at_once() {
    let cost = costs_what_was_predicted(
        "{command_timeout: 200ms, attempts: 3, on_timeout: close, reconnect: never}",
    );
    assert_eq!(cost as u64, 200);
}

#[test]
fn a_pause_ends_with_its_last_probe_however_long_the_plan_allows() {
    let began = Instant::now();
    let folder = Folder::with(&lock("{command_timeout: 6s, attempts: 5}", ""));
    let (_, report) = folder.report(&["--samples", "5", "--give-up", "1s", "--states", "paused"]);
    assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
    let paused = cell(&report, "cart-lock.acquire", State::Paused);
    assert_eq!(paused.decision, None);
    assert_eq!(paused.replies[0].reply, "never returned");
    assert!(matches!(paused.proof, Proof::Held(_)), "{:?}", paused.proof);
}

#[test]
fn without_a_command_timeout_the_declared_policy_is_never_reached() {
    let folder = Folder::with(&lock("{command_timeout: none, connect_timeout: 1s}", ""));
    let (ended, report) = folder.report(&["--samples", "5", "--give-up", "300ms", "--states", "paused"]);
    assert_eq!(ended.code, 1);
    let findings = found(&report, Code::PolicyUnreachable);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].observed.contains("never returned"), "{}", findings[0].observed);
    assert_eq!(findings[0].place.span.line, 3, "it points at the client's timeout");
}

#[test]
fn a_timeout_that_is_not_what_a_call_costs_is_named_with_its_factor() {
    let folder = Folder::with(&lock("{command_timeout: 150ms, attempts: 3, on_timeout: keep}", ""));
    let (_, report) = folder.report(&["--samples", "5", "--states", "paused"]);
    let findings = found(&report, Code::TimeoutNotEffective);
    assert_eq!(findings.len(), 1, "{:?}", report.services[0].findings);
    assert!(
        findings[0].observed.contains("3.") && findings[0].observed.contains(" times"),
        "{}",
        findings[0].observed
    );
    assert_eq!(found(&report, Code::RetryNotIdempotent).len(), 1);
}

#[test]
fn a_request_ends_where_a_real_one_would_and_its_costs_add_up() {
    let folder = Folder::with(
        "version: 1\nservice: shop\nclient: {command_timeout: 150ms}\nuses:\n\
         \x20 - {name: token, kind: jwt_revocation, key: 'jwt:${jti}', ttl: 1h, on_outage: fail_closed}\n\
         \x20 - {name: cart, kind: lock, key: 'cart:${id}', ttl: 30s, on_outage: fail_open}\n\
         requests:\n\
         \x20 - name: stops\n    calls: [cart.acquire, token.check, cart.release]\n    budget: 100ms\n\
         \x20 - name: goes-on\n    calls: [{call: token.check, on_denied: continue, times: 2}, cart.acquire]\n    rate: 100\n    threads: 20\n",
    );
    let (ended, report) = folder.report(&["--samples", "5"]);
    assert_eq!(ended.code, 1);
    let stops = request(&report, "stops", State::Paused);
    assert_eq!(stops.ends, "ends at token.check: denied");
    assert_eq!(stops.predicted_us, Some(300_000));
    let goes_on = request(&report, "goes-on", State::Paused);
    assert_eq!(goes_on.ends, "runs to its end");
    for (cell, wanted) in [(stops, 300), (goes_on, 450)] {
        let cost = cell.cost.unwrap().p50_us / 1_000;
        assert!((wanted..wanted + 60).contains(&cost), "{cost} ms for {wanted} ms");
    }
    // 100 a second, each for 0.45 s: 45 wait at once, for 20 threads.
    let waiting = goes_on.waiting.unwrap();
    assert!((44.0..52.0).contains(&waiting), "{waiting}");
    assert_eq!(found(&report, Code::ThreadsExhausted).len(), 1);
    let over = found(&report, Code::RequestBudgetExceeded);
    assert_eq!((over.len(), over[0].subject.as_str()), (1, "stops"));
    assert!(
        over[0].cause.contains("cart.acquire") && over[0].cause.contains("token.check"),
        "{}",
        over[0].cause
    );
    assert_eq!(request(&report, "stops", State::Healthy).ends, "runs to its end");
}

#[test]
fn a_command_that_the_server_lacks_is_named_and_the_other_operations_are_audited() {
    let folder = Folder::with(
        "version: 1\nservice: shop\nclient: {command_timeout: 150ms}\nuses:\n\
         \x20 - {name: one, kind: lock, key: 'a:${id}', ttl: 30s, release: delex, on_outage: propagate}\n\
         \x20 - {name: two, kind: lock, key: 'b:${id}', ttl: 30s, release: delifeq, on_outage: propagate}\n",
    );
    let (ended, report) = folder.report(&["--samples", "5"]);
    let lacking = found(&report, Code::CommandUnavailable);
    // No server has both: DELEX is Redis 8.4 and later, DELIFEQ is Valkey 9 and later.
    assert!(!lacking.is_empty() && ended.code == 1, "{:?}", report.services[0].findings);
    for finding in lacking {
        assert!(finding.observed.contains(&report.server.version), "{}", finding.observed);
        assert_eq!(finding.operations, ["release"]);
    }
    for name in ["one.acquire", "two.acquire"] {
        assert_eq!(cell(&report, name, State::Paused).decision, Some(Decision::Raised), "{name}");
        assert_eq!(cell(&report, name, State::Paused).verdict, Verdict::Conforms, "{name}");
    }
}

#[test]
fn too_few_probes_and_a_deadline_leave_a_run_inconclusive_and_never_green() {
    let folder = Folder::with(&lock("{command_timeout: 150ms}", ""));
    let (few, report) = folder.report(&["--samples", "4"]);
    assert_eq!((few.code, report.verdict), (3, Verdict::Inconclusive), "{}", few.stdout);
    assert_eq!(cell(&report, "cart-lock.acquire", State::Paused).verdict, Verdict::Inconclusive);
    assert_eq!(folder.audit(&["--samples", "4", "--inconclusive", "ok"]).code, 0);

    let slow = Folder::with(&lock("{command_timeout: 10s}", ""));
    let (late, report) = slow.report(&["--samples", "5", "--deadline", "1s"]);
    assert_eq!(late.code, 3, "{}", late.stdout);
    let paused = cell(&report, "cart-lock.acquire", State::Paused);
    assert!(matches!(&paused.proof, Proof::NotProven(why) if why.contains("deadline")), "{:?}", paused.proof);
    assert!(report.wall_us < 5_000_000, "{}", report.wall_us);
    assert!(slow.is_clean_within(std::time::Duration::from_secs(2)), "{:?}", slow.processes());
}

#[test]
fn an_accepted_finding_is_shown_with_its_reason_and_not_counted() {
    let accepts = "    budget: {paused: 50ms}\n    accepts:\n      - {finding: budget-exceeded, in: [paused], because: a slow cart is better than none}\n      - {finding: double-entry, because: carts merge}\n      - {finding: heartbeat-lost, because: never happens here}\n";
    let folder = Folder::with(&lock("{command_timeout: 150ms}", accepts));
    let (ended, report) = folder.report(&["--samples", "5"]);
    assert_eq!((ended.code, report.verdict), (0, Verdict::Conforms), "{}", ended.stdout);
    assert!(ended.stdout.contains("a slow cart is better than none"), "{}", ended.stdout);
    let over = found(&report, Code::BudgetExceeded);
    assert!(over.iter().all(|finding| finding.accepted.is_some()) && over.len() == 1, "{over:?}");
    let stale = found(&report, Code::StaleAcceptance);
    assert_eq!(stale.len(), 1, "{stale:?}");
    assert!(stale[0].declared.contains("never happens here"));
    // Under a narrower run nobody can say that an acceptance is not needed.
    let (_, narrow) = folder.report(&["--samples", "5", "--states", "paused"]);
    assert_eq!(found(&narrow, Code::StaleAcceptance), [] as [&_; 0]);
}
