//! A state that ends inside the call, with clients that try again: only there is a caller told "no" because of its own
//! first attempt.

use std::fmt::Write as _;
use std::sync::OnceLock;

use redis_outage_audit::report::Report;
use redis_outage_audit::words::{Code, State};

use crate::command::Folder;
use crate::shown::{self, findings, on_server};

/// Each kind with what it needs, and the name that its use begins with.
const KINDS: [(&str, &str); 13] = [
    ("revocation", "kind: jwt_revocation, ttl: 1h"),
    ("idempotency", "kind: idempotency_key, in_flight_ttl: 10m, result_ttl: 1h"),
    ("lock", "kind: lock, ttl: 30s"),
    ("token", "kind: one_time_token, ttl: 10m"),
    ("heartbeat", "kind: heartbeat_dedup, window: 20s"),
    ("cache", "kind: cache, ttl: 10m"),
    ("limit", "kind: rate_limit, limit: 3, window: 1m"),
    ("steps", "kind: rate_limit, limit: 3, window: 1m, two_step: true"),
    ("session", "kind: session, ttl: 1h"),
    ("queue", "kind: queue, pop: destructive"),
    ("move", "kind: queue, pop: move"),
    (
        "visits",
        "kind: custom, commands: {bump: {run: [[INCR, 'visits:${id}']]}, look: {run: [[GET, 'v:${id}']], writes: false}}",
    ),
    ("flag", "kind: custom, commands: {raise: {run: [[set, 'flag:${id}', 1]], idempotent: true}}"),
];

const CLIENT: &str = "version: 1\nservice: straddling\nclient: {command_timeout: 300ms, attempts: 2, handshake: none}\nuses:\n";

/// The run that most of these tests look at: every kind, with both ways to treat a connection, in two attempts.
fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let mut policies = CLIENT.to_owned();
        for (name, fields) in KINDS {
            for on_timeout in ["keep", "close"] {
                let key = if fields.contains("custom") { String::new() } else { format!("key: 'x:{name}:{on_timeout}:${{id}}', ") };
                let _ = writeln!(
                    policies,
                    "  - {{name: {name}-{on_timeout}, {key}{fields}, on_outage: propagate, client: {{on_timeout: {on_timeout}}}}}"
                );
            }
        }
        let folder = Folder::with(&policies);
        let (_, report) = folder.report(&["--samples", "8"]);
        shown::proven_and_clean(&report);
        report
    })
}

use State::{Paused, Stopped};

#[test]
fn a_retry_is_told_no_by_its_own_first_attempt_where_that_ran_late() {
    let wanted = [
        "heartbeat-keep.claim",
        "idempotency-keep.reserve",
        "lock-keep.acquire",
        "token-keep.consume",
        "queue-keep.pop",
        "move-keep.pop",
    ];
    // The DEL of a cache or the release of a lock that answers 0 the second time did what it should all the same.
    shown::only(report(), Code::WrongNegative, Paused, &wanted);
    shown::only(report(), Code::WrongNegative, Stopped, &[]);
    for finding in findings(report(), Code::WrongNegative, Paused) {
        for phrase in finding.observed.split("; ") {
            assert!(phrase.contains("the state ending inside the call"), "only there: {phrase}");
            assert!(phrase.contains("its own attempt 1 had run"), "{phrase}");
        }
    }
}

#[test]
fn what_counts_or_queues_does_it_twice_whether_the_state_outlasts_the_call_or_ends_inside_it() {
    let twice = [
        (Code::CountedTwice, vec!["limit-keep.take", "steps-keep.take"]),
        (Code::JobQueuedTwice, vec!["queue-keep.push", "move-keep.push"]),
        (Code::DoubleExecution, vec!["visits-keep.bump"]),
    ];
    for (code, wanted) in twice {
        shown::only(report(), code, Paused, &wanted);
        shown::only(report(), code, Stopped, &[]);
        for finding in findings(report(), code, Paused) {
            let phrases: Vec<_> = finding.observed.split("; ").collect();
            let inside = |phrase: &&&str| phrase.contains("the state ending inside the call");
            assert_eq!(phrases.iter().filter(inside).count(), 1, "{}", finding.observed);
            assert_eq!(phrases.len(), 2, "and once while it held: {}", finding.observed);
            assert!(phrases.iter().all(|phrase| phrase.contains("2 times")), "{}", finding.observed);
        }
    }
}

#[test]
fn a_closed_connection_takes_its_first_attempt_along_and_the_second_is_the_only_one_that_runs() {
    for code in [
        Code::WrongNegative,
        Code::CountedTwice,
        Code::JobQueuedTwice,
        Code::DoubleExecution,
        Code::LateExecution,
        Code::LostEffect,
        Code::CrossedReply,
        Code::KeyWithoutExpiry,
        Code::TokenLost,
    ] {
        let closed: Vec<_> =
            on_server(report(), code, Paused).into_iter().filter(|name| name.contains("-close.")).collect();
        assert!(closed.is_empty(), "{code}: {closed:?}");
    }
}

#[test]
fn what_can_run_twice_does_no_harm_when_it_does() {
    let harmless = [
        "revocation-keep.revoke",
        "idempotency-keep.complete",
        "token-keep.issue",
        "cache-keep.write",
        "cache-keep.invalidate",
        "session-keep.save",
        "flag-keep.raise",
    ];
    for code in [Code::WrongNegative, Code::DoubleExecution, Code::CountedTwice, Code::LostEffect] {
        let found = on_server(report(), code, Paused);
        assert!(harmless.iter().all(|name| !found.contains(*name)), "{code}: {found:?}");
    }
}

#[test]
fn a_count_whose_expiry_is_a_command_of_its_own_never_expires() {
    let two_steps: Vec<_> = on_server(report(), Code::KeyWithoutExpiry, Paused).into_iter().collect();
    assert_eq!(two_steps, ["steps-keep.take"], "a script gives the counter its expiry as it counts");
    shown::only(report(), Code::KeyWithoutExpiry, Stopped, &[]);
}

#[test]
fn a_lock_that_its_taker_was_told_it_did_not_get_is_held_by_nobody() {
    let held = findings(report(), Code::LockHeldByNobody, Paused);
    let inside = held
        .filter(|finding| finding.subject == "lock-keep")
        .flat_map(|finding| finding.observed.split("; "))
        .find(|phrase| phrase.contains("the state ending inside the call"))
        .expect("the lock that both attempts were refused");
    assert!(inside.contains("its caller was told: no"), "{inside}");
}

/// Every kind in a frozen process, with clients that close their connection on a timeout and try again.
fn frozen() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let mut policies = CLIENT.replace("handshake: none", "connect_timeout: 300ms");
        for (name, fields) in KINDS {
            let key =
                if fields.contains("custom") { String::new() } else { format!("key: 'x:{name}:${{id}}', ") };
            let _ = writeln!(policies, "  - {{name: {name}, {key}{fields}, on_outage: propagate}}");
        }
        let folder = Folder::with(&policies);
        let (_, report) = folder.report(&["--samples", "8", "--states", "frozen"]);
        shown::proven_and_clean(&report);
        report
    })
}

#[test]
fn frozen_a_retry_on_a_new_connection_runs_beside_the_attempt_that_was_given_up() {
    let twice = [
        (Code::CountedTwice, vec!["limit.take", "steps.take"]),
        (Code::JobQueuedTwice, vec!["queue.push", "move.push"]),
        (Code::DoubleExecution, vec!["visits.bump"]),
    ];
    for (code, wanted) in twice {
        shown::only(frozen(), code, State::Frozen, &wanted);
        for finding in findings(frozen(), code, State::Frozen) {
            assert!(finding.observed.contains("the state ending inside the call"), "{}", finding.observed);
            assert!(finding.cause.contains("even where the client has closed"), "{}", finding.cause);
        }
    }
}

#[test]
fn frozen_set_nx_says_no_to_its_own_attempt_and_getdel_loses_the_token() {
    let wanted =
        ["heartbeat.claim", "idempotency.reserve", "lock.acquire", "token.consume", "queue.pop", "move.pop"];
    shown::only(frozen(), Code::WrongNegative, State::Frozen, &wanted);
    shown::only(frozen(), Code::TokenLost, State::Frozen, &["token.consume"]);
    let lost = findings(frozen(), Code::TokenLost, State::Frozen).next().unwrap();
    assert!(lost.observed.contains("the token is burned"), "{}", lost.observed);
}
