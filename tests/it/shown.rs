//! What a report's findings come to, for tests that ask which uses have one.

use std::collections::BTreeSet;

use redis_outage_audit::report::Report;
use redis_outage_audit::words::{Basis, Code, Finding, State};

/// Each kind of use with the fields that it needs.
pub const KINDS: [(&str, &str); 9] = [
    ("jwt_revocation", "ttl: 1h"),
    ("idempotency_key", "in_flight_ttl: 10m, result_ttl: 1h"),
    ("lock", "ttl: 30s"),
    ("one_time_token", "ttl: 10m"),
    ("heartbeat_dedup", "window: 20s"),
    ("cache", "ttl: 10m"),
    ("rate_limit", "limit: 3, window: 1m"),
    ("session", "ttl: 1h"),
    ("queue", "pop: destructive"),
];

/// The operations that have a finding of this code in this state, read from the server: `lock-keep-denies.acquire`.
pub fn on_server(report: &Report, code: Code, state: State) -> BTreeSet<String> {
    findings(report, code, state)
        .flat_map(|finding| {
            finding.operations.iter().map(|operation| format!("{}.{operation}", finding.subject))
        })
        .collect()
}

/// The findings of this code in this state that were read from the server.
pub fn findings(report: &Report, code: Code, state: State) -> impl Iterator<Item = &Finding> {
    let findings = report.services.iter().flat_map(|service| &service.findings);
    findings.filter(move |finding| {
        finding.code == code && finding.states.contains(&state) && finding.basis == Basis::OnServer
    })
}

/// Asserts that these operations and no others have it.
#[track_caller]
pub fn only(report: &Report, code: Code, state: State, wanted: &[&str]) {
    let wanted: BTreeSet<String> = wanted.iter().map(|one| (*one).to_owned()).collect();
    assert_eq!(on_server(report, code, state), wanted, "{code} in {state}");
}

/// Asserts that all states were proven, and that nothing of the audit's own stayed on a server.
#[track_caller]
pub fn proven_and_clean(report: &Report) {
    let rows = report.services.iter().flat_map(|service| &service.rows);
    let unproven: Vec<_> =
        rows.flat_map(|row| &row.cells).filter(|cell| !cell.proof.held()).map(|cell| &cell.proof).collect();
    assert!(unproven.is_empty(), "{unproven:?}");
    let doubts: Vec<_> = report
        .services
        .iter()
        .flat_map(|service| &service.findings)
        .filter(|finding| finding.is_inconclusive())
        .collect();
    assert!(doubts.is_empty(), "{doubts:?}");
    assert!(report.notes.iter().all(|note| !note.contains("could not be removed")), "{:?}", report.notes);
}
