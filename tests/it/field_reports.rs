//! Ten reports from the field, each as a policy file with the story in front: the audit finds what went wrong there.

use std::path::Path;
use std::sync::OnceLock;

use redis_outage_audit::report::{Report, Service};
use redis_outage_audit::words::{Basis, Code, Finding, State};

use crate::command::{Folder, request};
use crate::shown;

use State::{Paused, Stopped};

/// One run over all of them.
fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/field");
        let (ended, report) =
            Folder::new().report(&["--samples", "8", "--policies", &folder.to_string_lossy()]);
        shown::proven_and_clean(&report);
        assert_eq!(ended.code, 1, "each of them departs");
        assert_eq!(report.services.len(), 10);
        report
    })
}

fn service(name: &str) -> &'static Service {
    report().services.iter().find(|service| service.name == name).expect("a file of this service")
}

/// What was read from the server of `service.use.operation`, once for each of these outage states and in no other.
#[track_caller]
fn found(place: &str, code: Code, states: &[State]) -> Vec<&'static Finding> {
    let [name, used, operation] = place.split('.').collect::<Vec<_>>()[..] else { panic!("{place}") };
    let about = |finding: &&Finding| {
        finding.code == code
            && finding.subject == used
            && finding.operations.iter().any(|other| other == operation)
            && finding.basis == Basis::OnServer
            && finding.accepted.is_none()
            && finding.states != [State::Healthy]
    };
    let found: Vec<&Finding> = service(name).findings.iter().filter(about).collect();
    let seen: Vec<State> = found.iter().flat_map(|finding| finding.states.iter().copied()).collect();
    assert_eq!(seen, states, "{place}: {code}");
    found
}

/// Asserts that one of these texts stands in each: a duration is read a moment after it began.
#[track_caller]
fn says_one_of(findings: &[&Finding], texts: &[&str]) {
    for finding in findings {
        assert!(texts.iter().any(|text| finding.observed.contains(text)), "{texts:?}: {}", finding.observed);
    }
}

#[test]
fn a_set_nx_that_timed_out_blocks_everyone_for_180_seconds() {
    let held = found("deploy.deploy-lock.acquire", Code::LockHeldByNobody, &[Paused]);
    says_one_of(&held, &["for 180 s", "for 179 s", "for 178 s", "for 177 s"]);
    says_one_of(&held, &["nobody can take this lock"]);
    assert!(held[0].departs());
}

#[test]
fn a_set_nx_answers_no_to_its_own_retry() {
    let no = found("scheduler.nightly-job.acquire", Code::WrongNegative, &[Paused]);
    says_one_of(&no, &["the caller was told \"no\": its own attempt 1 had run"]);
    // The job does not run, and no other runner gets the lock either.
    let held = found("scheduler.nightly-job.acquire", Code::LockHeldByNobody, &[Paused]);
    says_one_of(&held, &["for 15 min", "for 14 min 59 s", "for 14 min 58 s", "for 14 min 57 s"]);
}

#[test]
fn an_error_that_is_read_as_duplicate_drops_alerts_in_the_outage_and_after_it() {
    let late = found("alerts.alert-dedup.claim", Code::BeatSuppressedByLateClaim, &[Paused]);
    says_one_of(&late, &["for 5 min", "for 299 s", "for 298 s", "for 297 s"]);
    let lost = service("alerts").findings.iter().find(|finding| finding.code == Code::HeartbeatLost);
    let lost = lost.expect("what the policy makes inevitable");
    assert_eq!((lost.basis, lost.states.as_slice()), (Basis::Implied, &[Paused, Stopped][..]));
}

#[test]
fn an_idempotency_key_whose_completion_was_lost_stays_in_flight_for_24_hours() {
    let stuck = found("payments.payment-key.complete", Code::ReservationStuck, &[Paused, Stopped]);
    says_one_of(&stuck, &["refused as \"in flight\" for 24 h"]);
    says_one_of(&stuck, &["its completion was lost"]);
}

#[test]
fn a_retry_counts_one_request_twice() {
    let twice = found("gateway.quota.take", Code::CountedTwice, &[Paused]);
    says_one_of(&twice, &["one request was counted 2 times"]);
    assert_eq!(twice[0].severity, redis_outage_audit::words::Severity::Warn);
}

#[test]
fn three_limiters_that_fail_open_take_three_timeouts_to_let_a_request_through() {
    let slow = service("throttler")
        .findings
        .iter()
        .find(|finding| finding.code == Code::RequestBudgetExceeded)
        .expect("the request is over its budget");
    assert_eq!((slow.subject.as_str(), slow.states.as_slice()), ("any-request", &[Paused][..]));
    for call in ["per-address.take", "per-user.take", "per-route.take"] {
        assert!(slow.cause.contains(call), "{}", slow.cause);
    }
    let paused = request(report(), "any-request", Paused);
    assert_eq!(paused.predicted_us, Some(600_000));
    let observed = paused.cost.expect("it was measured").p50_us;
    assert!((600_000..800_000).contains(&observed), "{observed}");
    assert!(paused.probes.iter().all(|run| run.calls.len() == 3 && !run.ended_early));
}

#[test]
fn a_job_is_pushed_twice() {
    let twice = found("invoices.invoice-jobs.push", Code::JobQueuedTwice, &[Paused]);
    says_one_of(&twice, &["one job is on the queue 2 times"]);
    assert!(twice[0].departs());
}

#[test]
fn a_read_falls_back_and_its_write_back_fails_the_request() {
    let failed = found("catalogue.product-cache.write", Code::WriteFailedTheRequest, &[Paused, Stopped]);
    says_one_of(&failed[..1], &["its request failed on keeping it: timed out"]);
    says_one_of(
        &failed[1..],
        &["its request failed on keeping it: refused", "its request failed on keeping it: reset"],
    );
}

#[test]
fn an_invalidation_that_is_lost_leaves_the_old_value_for_hours() {
    let stale = found("prices.price-cache.invalidate", Code::StaleAfterRecovery, &[Paused, Stopped]);
    says_one_of(&stale, &["readers get the old value for 6 h"]);
}

#[test]
fn a_counter_without_expiry_refuses_for_ever() {
    let counter = found("login.login-attempts.take", Code::KeyWithoutExpiry, &[Paused]);
    says_one_of(&counter, &["refuses for ever"]);
    assert!(counter[0].departs());
}
