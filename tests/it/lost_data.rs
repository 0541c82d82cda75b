//! A server that loses its data when it is stopped, and durations that an audit has to stretch: neither is blamed on
//! the service.

use redis_outage_audit::words::{Basis, Code, State};

use crate::command::{Folder, found};
use crate::shown;

#[test]
fn what_a_server_without_persistence_loses_is_its_own_doing_and_no_departure_of_a_use() {
    let mut policies = "version: 1\nservice: memory\nserver: {persistence: none}\nclient: {command_timeout: 200ms, on_timeout: close, handshake: none}\nuses:\n".to_owned();
    for (kind, fields) in shown::KINDS {
        let policy = if kind == "cache" {
            "{read: fallback, write: fail_open, invalidate: fail_open}"
        } else {
            "fail_open"
        };
        policies.push_str(&format!(
            "  - {{name: {kind}, kind: {kind}, key: 'x:{kind}:${{id}}', {fields}, on_outage: {policy}}}\n"
        ));
    }
    let (_, report) = Folder::with(&policies).report(&["--states", "stopped", "--samples", "8"]);
    shown::proven_and_clean(&report);
    let lost = found(&report, Code::DataLostWithServer);
    for (kind, _) in shown::KINDS {
        let of_kind: Vec<_> = lost.iter().filter(|finding| finding.subject == kind).collect();
        assert_eq!(of_kind.len(), 1, "{kind}");
        assert_eq!(of_kind[0].states, [State::Stopped]);
    }
    // What fail-open makes inevitable was declared; nothing else may be read out of an empty server.
    let blamed: Vec<_> = report.services[0]
        .findings
        .iter()
        .filter(|finding| finding.states == [State::Stopped] && finding.basis != Basis::Implied)
        .filter(|finding| finding.code != Code::DataLostWithServer)
        .collect();
    assert!(blamed.is_empty(), "{blamed:#?}");
}

#[test]
fn a_server_that_keeps_its_data_loses_none() {
    let policies = "version: 1\nservice: kept\nclient: {command_timeout: 200ms, on_timeout: close, handshake: none}\nuses:\n  - {name: l, kind: lock, key: 'l:${id}', ttl: 30s, on_outage: fail_open}\n";
    let (_, report) = Folder::with(policies).report(&["--states", "stopped", "--samples", "8"]);
    shown::proven_and_clean(&report);
    assert!(found(&report, Code::DataLostWithServer).is_empty());
    shown::only(&report, Code::LockHeldByNobody, State::Stopped, &["l.release"]);
}

#[test]
fn a_lock_that_lives_shorter_than_the_outage_is_stretched_and_the_report_says_by_how_much() {
    let policies = "version: 1\nservice: short\nclient: {command_timeout: 300ms, on_timeout: keep, handshake: none}\nuses:\n  - {name: short, kind: lock, key: 's:${id}', ttl: 500ms, on_outage: fail_closed}\n  - {name: long, kind: lock, key: 'l:${id}', ttl: 30s, on_outage: fail_closed}\n";
    let (_, report) = Folder::with(policies).report(&["--states", "paused", "--samples", "8"]);
    shown::proven_and_clean(&report);
    shown::only(&report, Code::LockHeldByNobody, State::Paused, &["short.acquire", "long.acquire"]);
    for finding in found(&report, Code::LockHeldByNobody) {
        let says = finding.observed.contains("with durations ");
        assert_eq!(says, finding.subject == "short", "{}", finding.observed);
        if says {
            let factor = finding.observed.split("with durations ").nth(1).unwrap();
            assert!(factor.contains("times as long as declared"), "{factor}");
            let factor: u32 = factor.split(' ').next().unwrap().parse().unwrap();
            assert!(factor > 1, "{factor}");
        }
    }
}

#[test]
fn a_lock_that_is_lost_in_a_failover_or_a_restart_is_gone_while_its_holder_works() {
    let policies = "version: 1\nservice: lost\nclient: {command_timeout: 300ms, on_timeout: keep, reconnect: next_use, attempts: 2, handshake: none}\nuses:\n  - {name: l, kind: lock, key: 'l:${id}', ttl: 30s, on_outage: fail_open}\n";
    let (_, report) =
        Folder::with(policies).report(&["--states", "restarted_empty,failover_lost_write", "--samples", "8"]);
    shown::proven_and_clean(&report);
    let lost = found(&report, Code::DataLostWithServer);
    let states: Vec<_> = lost.iter().flat_map(|finding| &finding.states).copied().collect();
    assert!([State::RestartedEmpty, State::FailoverLostWrite].iter().all(|state| states.contains(state)));
    for finding in lost {
        let said = &finding.observed;
        assert!(said.contains("so was a lock while its holder worked (in 2 of 2 runs)"), "{said}");
        assert!(said.ends_with("two holders"), "{said}");
    }
}
