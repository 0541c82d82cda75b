//! Where each departure can show, and where it can't: every kind of use, with clients that keep and that close their
//! connection, denying and failing open, in one run.

use std::fmt::Write as _;
use std::sync::OnceLock;

use redis_outage_audit::report::Report;
use redis_outage_audit::words::{Code, State};

use crate::command::Folder;
use crate::shown::{self, on_server};

/// What is declared, by the word that the uses' names end in. A cache falls back where others fail open.
const POLICIES: [(&str, &str); 3] =
    [("denies", "fail_closed"), ("raises", "propagate"), ("opens", "fail_open")];

fn policies(uses: impl IntoIterator<Item = String>) -> String {
    let mut text = "version: 1\nservice: table\nclient: {command_timeout: 250ms}\nuses:\n".to_owned();
    text.extend(uses);
    text
}

/// Every kind, both ways to treat a connection, every policy.
fn everything() -> String {
    let mut uses = Vec::new();
    for (name, fields) in shown::KINDS.into_iter().chain([("queue_move", "pop: move")]) {
        let kind = if name == "queue_move" { "queue" } else { name };
        for on_timeout in ["keep", "close"] {
            for (word, policy) in POLICIES {
                let policy = match (kind, policy) {
                    ("cache", "fail_open") => "{read: fallback, write: fail_open, invalidate: fail_open}",
                    ("cache", "propagate") => "{read: fallback, write: propagate, invalidate: propagate}",
                    (_, policy) => policy,
                };
                let mut one = String::new();
                let _ = writeln!(
                    one,
                    "  - {{name: {name}-{on_timeout}-{word}, kind: {kind}, key: 'x:{name}:{on_timeout}:{word}:${{id}}', {fields}, on_outage: {policy}, client: {{on_timeout: {on_timeout}, handshake: none}}}}"
                );
                uses.push(one);
            }
        }
    }
    policies(uses)
}

/// The run that most of these tests look at.
fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let folder = Folder::with(&everything());
        let (_, report) = folder.report(&["--samples", "8"]);
        shown::proven_and_clean(&report);
        report
    })
}

#[track_caller]
fn shows_only(code: Code, state: State, wanted: &[&str]) {
    shown::only(report(), code, state, wanted);
}

use State::{Paused, Stopped};

#[test]
fn a_lock_is_held_by_nobody_after_a_late_acquisition_or_a_lost_release() {
    // Kept and denied: the acquisition runs late. Closed: the release of a lock that was held before never runs.
    // Kept and open: the late release clears the late acquisition.
    let paused = [
        "lock-keep-denies.acquire",
        "lock-keep-raises.acquire",
        "lock-close-denies.release",
        "lock-close-raises.release",
        "lock-close-opens.release",
    ];
    shows_only(Code::LockHeldByNobody, Paused, &paused);
    let all = ["denies", "raises", "opens"]
        .map(|word| ["keep", "close"].map(|kept| format!("lock-{kept}-{word}.release")));
    let stopped: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
    shows_only(Code::LockHeldByNobody, Stopped, &stopped);
    let findings = report().services[0].findings.iter();
    for finding in findings.filter(|finding| finding.code == Code::LockHeldByNobody) {
        assert!(
            finding.observed.contains("nobody can take this lock for 2")
                || finding.observed.contains("for 30.0 s"),
            "{}",
            finding.observed
        );
    }
}

#[test]
fn a_reservation_is_stuck_after_a_late_reservation_or_a_lost_completion() {
    let paused = [
        "idempotency_key-keep-denies.reserve",
        "idempotency_key-keep-raises.reserve",
        "idempotency_key-close-denies.complete",
        "idempotency_key-close-raises.complete",
        "idempotency_key-close-opens.complete",
    ];
    shows_only(Code::ReservationStuck, Paused, &paused);
    let all = ["denies", "raises", "opens"]
        .map(|word| ["keep", "close"].map(|kept| format!("idempotency_key-{kept}-{word}.complete")));
    let stopped: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
    shows_only(Code::ReservationStuck, Stopped, &stopped);
}

#[test]
fn an_operation_runs_once_more_where_no_late_result_is_found() {
    shows_only(Code::DuplicateRun, Paused, &["idempotency_key-close-opens.reserve"]);
    let stopped = ["idempotency_key-keep-opens.reserve", "idempotency_key-close-opens.reserve"];
    shows_only(Code::DuplicateRun, Stopped, &stopped);
}

#[test]
fn a_token_is_lost_replayed_or_dead_by_what_became_of_the_command() {
    let lost = ["one_time_token-keep-denies.consume", "one_time_token-keep-raises.consume"];
    shows_only(Code::TokenLost, Paused, &lost);
    shows_only(Code::TokenLost, Stopped, &[]);
    shows_only(Code::TokenReplayed, Paused, &["one_time_token-close-opens.consume"]);
    let both = ["one_time_token-keep-opens", "one_time_token-close-opens"];
    let of = |operation: &str| both.map(|name| format!("{name}.{operation}"));
    let (consume, issue) = (of("consume"), of("issue"));
    shows_only(Code::TokenReplayed, Stopped, &consume.each_ref().map(String::as_str));
    shows_only(Code::DeadTokenHandedOut, Paused, &["one_time_token-close-opens.issue"]);
    shows_only(Code::DeadTokenHandedOut, Stopped, &issue.each_ref().map(String::as_str));
}

#[test]
fn a_logout_that_was_reported_done_is_lost_where_it_never_ran() {
    shows_only(Code::RevocationLost, Paused, &["jwt_revocation-close-opens.revoke"]);
    let stopped = ["jwt_revocation-keep-opens.revoke", "jwt_revocation-close-opens.revoke"];
    shows_only(Code::RevocationLost, Stopped, &stopped);
}

#[test]
fn a_late_claim_suppresses_the_next_beat() {
    let paused = ["heartbeat_dedup-keep-denies.claim", "heartbeat_dedup-keep-raises.claim"];
    shows_only(Code::BeatSuppressedByLateClaim, Paused, &paused);
    shows_only(Code::BeatSuppressedByLateClaim, Stopped, &[]);
}

#[test]
fn a_cache_is_stale_after_a_lost_invalidation_and_a_write_back_can_fail_the_request() {
    let closed =
        ["cache-close-denies.invalidate", "cache-close-opens.invalidate", "cache-close-raises.invalidate"];
    shows_only(Code::StaleAfterRecovery, Paused, &closed);
    let all = ["denies", "raises", "opens"]
        .map(|word| ["keep", "close"].map(|kept| format!("cache-{kept}-{word}.invalidate")));
    let stopped: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
    shows_only(Code::StaleAfterRecovery, Stopped, &stopped);
    for state in [Paused, Stopped] {
        let failed = ["cache-keep-raises.write", "cache-close-raises.write"];
        shows_only(Code::WriteFailedTheRequest, state, &failed);
    }
}

#[test]
fn jobs_are_lost_queued_after_a_refusal_or_gone_from_the_queue() {
    let opens = ["queue-close-opens.push", "queue_move-close-opens.push"];
    shows_only(Code::AcceptedJobLost, Paused, &opens);
    let all =
        ["queue", "queue_move"].map(|name| ["keep", "close"].map(|kept| format!("{name}-{kept}-opens.push")));
    let stopped: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
    shows_only(Code::AcceptedJobLost, Stopped, &stopped);
    let refused = [
        "queue-keep-denies.push",
        "queue-keep-raises.push",
        "queue_move-keep-denies.push",
        "queue_move-keep-raises.push",
    ];
    shows_only(Code::RefusedJobQueued, Paused, &refused);
    shows_only(Code::RefusedJobQueued, Stopped, &[]);
    // A moved job stays on the processing list; a destructive pop loses it, whoever is told what.
    let popped = ["queue-keep-denies.pop", "queue-keep-raises.pop", "queue-keep-opens.pop"];
    shows_only(Code::PoppedJobLost, Paused, &popped);
    shows_only(Code::PoppedJobLost, Stopped, &[]);
}

#[test]
fn a_session_that_was_not_kept_is_lost() {
    shows_only(Code::SessionLost, Paused, &["session-close-opens.save"]);
    shows_only(Code::SessionLost, Stopped, &["session-keep-opens.save", "session-close-opens.save"]);
}

#[test]
fn nothing_runs_late_on_a_closed_connection_or_a_stopped_server_and_nothing_runs_twice_in_one_attempt() {
    for state in [Paused, Stopped] {
        for code in [
            Code::DoubleExecution,
            Code::WrongNegative,
            Code::LostEffect,
            Code::CrossedReply,
            Code::CountedTwice,
            Code::JobQueuedTwice,
            Code::KeyWithoutExpiry,
        ] {
            shows_only(code, state, &[]);
        }
        assert!(shown::findings(report(), Code::DataLostWithServer, state).next().is_none());
    }
    shows_only(Code::LateExecution, Stopped, &[]);
    let late = on_server(report(), Code::LateExecution, Paused);
    assert!(!late.is_empty() && late.iter().all(|name| name.contains("-keep-")), "{late:?}");
    // What is told in particular is not told in general too.
    assert!(!late.contains("lock-keep-denies.acquire"), "{late:?}");
}

#[test]
fn the_healthy_server_shows_no_departure_of_a_correct_file() {
    let findings = report().services[0].findings.iter();
    let healthy: Vec<_> =
        findings.filter(|finding| finding.states.contains(&State::Healthy) && finding.departs()).collect();
    assert!(healthy.is_empty(), "{healthy:?}");
}
