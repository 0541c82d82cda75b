//! The way back after an outage, on the connections from before it.

use redis_outage_audit::words::{Code, State};

use crate::command::{Folder, cell};
use crate::shown::{self, findings};

use State::{Paused, Stopped};

fn policies(uses: &str) -> String {
    format!(
        "version: 1\nservice: recovery\nclient: {{command_timeout: 200ms, handshake: none}}\nuses:\n{uses}"
    )
}

fn lock(name: &str, client: &str) -> String {
    format!(
        "  - {{name: {name}, kind: lock, key: '{name}:${{id}}', ttl: 30s, on_outage: fail_closed, client: {{{client}}}}}\n"
    )
}

/// The state lasts until the last call has ended, so this one keeps a stopped server away for 800 ms.
fn slow() -> String {
    lock("slow", "attempts: 5, backoff: 200ms, reconnect: next_use")
}

#[test]
fn a_client_that_never_reconnects_does_not_come_back_where_it_lost_its_connection() {
    let uses = [
        lock("never-close", "reconnect: never, on_timeout: close"),
        lock("never-keep", "reconnect: never, on_timeout: keep"),
        lock("next-close", "reconnect: next_use, on_timeout: close"),
        lock("next-keep", "reconnect: next_use, on_timeout: keep"),
        lock("background", "reconnect: background, on_timeout: close"),
        "  - {name: memory, kind: rate_limit, backend: in_memory}\n".to_owned(),
    ];
    let (_, report) = Folder::with(&policies(&uses.concat())).report(&["--samples", "8"]);
    shown::proven_and_clean(&report);
    let lost = ["never-close.acquire", "never-close.release"];
    shown::only(&report, Code::NoRecovery, Paused, &lost);
    let stopped = [lost[0], lost[1], "never-keep.acquire", "never-keep.release"];
    shown::only(&report, Code::NoRecovery, Stopped, &stopped);
    // No budget, no finding, however slow.
    for state in [Paused, Stopped] {
        shown::only(&report, Code::SlowRecovery, state, &[]);
    }
    assert!(crate::command::row(&report, "memory.take").cells.is_empty());
    let finding = findings(&report, Code::NoRecovery, Stopped).next().expect("just found");
    assert!(
        finding.observed.contains("no success within 1.50 s after it answered again"),
        "{}",
        finding.observed
    );
    assert!(finding.cause.contains("reconnect: never"), "{}", finding.cause);
    assert!(cell(&report, "never-close.acquire", Paused).findings.contains(&Code::NoRecovery));
}

#[test]
fn a_client_that_reconnects_beside_its_calls_is_late_and_one_that_waits_for_its_connection_is_not() {
    let with = |name: &str, client: &str, budget: &str| {
        lock(name, client).replace("on_outage:", &format!("budget: {{recovery: {budget}}}, on_outage:"))
    };
    let uses = [
        slow(),
        with("background", "reconnect: background", "1ms"),
        with("patient", "reconnect: background", "10s"),
        with("next-close", "reconnect: next_use, on_timeout: close", "500ms"),
        with("next-keep", "reconnect: next_use, on_timeout: keep", "500ms"),
        with("background-keep", "reconnect: background, on_timeout: keep", "500ms"),
    ];
    let (_, report) = Folder::with(&policies(&uses.concat())).report(&["--samples", "8"]);
    shown::proven_and_clean(&report);
    let late = findings(&report, Code::SlowRecovery, Stopped).collect::<Vec<_>>();
    let subjects: Vec<_> = late.iter().map(|finding| finding.subject.as_str()).collect();
    assert!(subjects.contains(&"background"), "{subjects:?}");
    assert!(!subjects.iter().any(|name| name.starts_with("next") || *name == "patient"), "{subjects:?}");
    let finding = late.iter().find(|finding| finding.subject == "background").expect("just found");
    assert_eq!(finding.declared, "recovery budget 1 ms");
    // It tried after 100, 300 and 700 ms, in vain, and again after 1.5 s; the server came back after some 800 ms.
    let ms = first_success_ms(&finding.observed, "acquire stopped");
    assert!((10.0..1_500.0).contains(&ms), "{}", finding.observed);
    shown::only(&report, Code::NoRecovery, Stopped, &[]);
    // A pause leaves a kept connection as it is.
    let paused = findings(&report, Code::SlowRecovery, Paused);
    assert!(paused.into_iter().all(|finding| finding.subject == "background"));
}

/// The milliseconds of `acquire stopped: first success 712 ms after it answered again`.
fn first_success_ms(observed: &str, place: &str) -> f64 {
    let phrase = observed.split("; ").find(|phrase| phrase.contains(place));
    let text = phrase.and_then(|phrase| phrase.split("first success ").nth(1)).expect("a first success");
    let mut words = text.split(' ');
    let number: f64 = words.next().expect("a number").parse().expect("a number");
    match words.next() {
        Some("ms") => number,
        Some("s") => number * 1_000.0,
        other => panic!("no unit: {other:?} in {observed}"),
    }
}
