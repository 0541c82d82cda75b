//! States in which Redis answers some calls and rejects others, or answers all of them after something happened: what
//! each call is told decides what its use does, and not the state.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use redis_outage_audit::report::Report;
use redis_outage_audit::words::{Basis, Code, Decision, State, Verdict};

use crate::command::{Folder, cell, found};
use crate::shown;
use crate::support::is_older_than_7;

const POLICIES: &str = "\
version: 1
service: answering
client: {command_timeout: 1s, connect_timeout: 1s, handshake: none}
budget: 900ms
uses:
  - {name: cart, kind: session, key: 'cart:${id}', ttl: 1h, on_outage: {load: fail_open, save: propagate}}
  - {name: token, kind: one_time_token, key: 'token:${id}', ttl: 10m, on_outage: fail_closed}
  - {name: lock, kind: lock, key: 'lock:${id}', ttl: 30s, on_outage: fail_closed}
  - {name: limit, kind: rate_limit, key: 'limit:${id}', limit: 3, window: 1m, on_outage: fail_open}
  - {name: beside, kind: session, key: 'beside:${id}', ttl: 1h, on_outage: propagate, client: {reconnect: background}}
  - {name: never, kind: session, key: 'never:${id}', ttl: 1h, on_outage: propagate, client: {reconnect: never}}
";

/// Every state that this file is about, in one run, side by side.
const STATES: &str = "writes_paused,frozen,frozen_cold,paused_cold,never_up,restarted_empty,failover_lost_write,connections_killed,loading,busy,out_of_memory,read_only,replica_cut_off,no_replicas,disk_failed,auth_rejected,too_many_clients";

fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let states = if is_older_than_7() { STATES.replace("loading,", "") } else { STATES.to_owned() };
        let (_, report) = Folder::with(POLICIES).report(&["--samples", "5", "--states", &states]);
        shown::proven_and_clean(&report);
        report
    })
}

/// Whether the tests' server can be put into a state.
fn is_there(state: State) -> bool {
    state != State::Loading || !is_older_than_7()
}

/// The classes of the replies in a cell, and what the use then did.
fn told(report: &Report, name: &str, state: State) -> (String, Option<Decision>) {
    let cell = cell(report, name, state);
    let classes: BTreeSet<&str> = cell.replies.iter().map(|reply| reply.reply.as_str()).collect();
    (classes.into_iter().collect::<Vec<_>>().join(" and "), cell.decision)
}

#[track_caller]
fn tells(name: &str, state: State, class: &str, decision: Decision) {
    assert_eq!(told(report(), name, state), (class.to_owned(), Some(decision)), "{name} in {state}");
}

use Decision::{Allowed, Answered, Denied, Raised};

#[test]
fn a_read_is_answered_where_only_writes_are_rejected_and_the_policy_decides_about_the_writes() {
    for (state, class) in
        [(State::ReadOnly, "READONLY"), (State::NoReplicas, "NOREPLICAS"), (State::DiskFailed, "MISCONF")]
    {
        tells("cart.load", state, "answered", Answered);
        tells("cart.save", state, class, Raised);
        tells("token.issue", state, class, Denied);
        tells("token.consume", state, class, Denied);
        tells("lock.acquire", state, class, Denied);
        // Redis 6.2 lets a script write without replicas.
        if state != State::NoReplicas || !is_older_than_7() {
            tells("lock.release", state, class, Denied);
            tells("limit.take", state, class, Allowed);
        }
    }
}

#[test]
fn without_memory_what_needs_none_is_answered() {
    let state = State::OutOfMemory;
    for name in ["cart.load", "token.consume", "lock.release"] {
        tells(name, state, "answered", Answered);
    }
    tells("cart.save", state, "OOM", Raised);
    tells("lock.acquire", state, "OOM", Denied);
    tells("limit.take", state, "OOM", Allowed);
}

#[test]
fn where_everything_is_rejected_each_reply_names_the_error_and_each_use_does_what_it_declares() {
    for (state, class) in [
        (State::Loading, "LOADING"),
        (State::Busy, "BUSY"),
        (State::AuthRejected, "NOAUTH"),
        (State::TooManyClients, "too many clients"),
    ]
    .into_iter()
    .filter(|(state, _)| is_there(*state))
    {
        tells("cart.load", state, class, Allowed);
        tells("cart.save", state, class, Raised);
        tells("lock.acquire", state, class, Denied);
        tells("limit.take", state, class, Allowed);
    }
    tells("cart.load", State::ReplicaCutOff, "MASTERDOWN", Allowed);
    tells("cart.save", State::ReplicaCutOff, "READONLY", Raised);
}

#[test]
fn a_client_that_reconnects_beside_its_calls_is_told_the_error_where_it_has_had_the_time() {
    for (state, class) in [(State::Loading, "LOADING"), (State::AuthRejected, "NOAUTH")]
        .into_iter()
        .filter(|(state, _)| is_there(*state))
    {
        tells("beside.load", state, class, Raised);
    }
    for state in [State::TooManyClients, State::ConnectionsKilled, State::RestartedEmpty] {
        tells("beside.load", state, "not connected", Raised);
    }
}

#[test]
fn a_client_that_never_reconnects_is_lost_after_an_event_and_only_there() {
    for state in [State::ConnectionsKilled, State::RestartedEmpty, State::FailoverLostWrite] {
        tells("never.load", state, "not connected", Raised);
        tells("cart.load", state, "answered", Answered);
        tells("limit.take", state, "answered", Answered);
        assert!(shown::on_server(report(), Code::NoRecovery, state).contains("never.load"), "{state}");
    }
    for state in [State::OutOfMemory, State::ReadOnly, State::Busy] {
        assert_eq!(shown::on_server(report(), Code::NoRecovery, state), BTreeSet::new(), "{state}");
    }
}

#[test]
fn a_cold_client_waits_for_its_first_connection_and_one_that_finds_no_server_is_refused_at_once() {
    for state in [State::FrozenCold, State::PausedCold] {
        tells("cart.load", state, "timed out", Allowed);
    }
    tells("cart.load", State::NeverUp, "refused", Allowed);
    let us = |state| cell(report(), "cart.load", state).cost.unwrap().p50_us;
    assert!(
        us(State::NeverUp) * 2 < us(State::FrozenCold),
        "{} {}",
        us(State::NeverUp),
        us(State::FrozenCold)
    );
}

#[test]
fn what_the_server_lost_is_one_finding_and_the_rest_of_the_scenario_is_not_judged() {
    for state in [State::RestartedEmpty, State::FailoverLostWrite] {
        let lost: BTreeSet<&str> = found(report(), Code::DataLostWithServer)
            .into_iter()
            .filter(|finding| finding.states.contains(&state))
            .map(|finding| finding.subject.as_str())
            .collect();
        assert_eq!(lost, ["beside", "cart", "limit", "lock", "never", "token"].into(), "{state}");
        for code in [
            Code::LockHeldByNobody,
            Code::TokenLost,
            Code::LostEffect,
            Code::DoubleExecution,
            Code::LateExecution,
        ] {
            shown::only(report(), code, state, &[]);
        }
    }
    for state in [State::ConnectionsKilled, State::Loading, State::Busy, State::OutOfMemory, State::ReadOnly]
    {
        let lost = found(report(), Code::DataLostWithServer);
        assert!(lost.iter().all(|finding| !finding.states.contains(&state)), "{state} loses nothing");
    }
}

#[test]
fn nothing_that_was_rejected_ran_late_or_took_effect() {
    for state in [
        State::OutOfMemory,
        State::ReadOnly,
        State::NoReplicas,
        State::DiskFailed,
        State::Loading,
        State::Busy,
        State::AuthRejected,
        State::TooManyClients,
    ] {
        shown::only(report(), Code::LateExecution, state, &[]);
        shown::only(report(), Code::LostEffect, state, &[]);
        shown::only(report(), Code::TokenLost, state, &[]);
    }
}

#[test]
fn what_a_policy_makes_inevitable_is_told_of_what_was_rejected_and_of_nothing_that_was_answered() {
    let implied = |code: Code, state: State| -> BTreeSet<String> {
        found(report(), code)
            .into_iter()
            .filter(|finding| finding.basis == Basis::Implied && finding.states.contains(&state))
            .flat_map(|finding| finding.operations.iter().map(|name| format!("{}.{name}", finding.subject)))
            .collect()
    };
    assert!(!implied(Code::SessionLost, State::ReadOnly).contains("cart.load"), "it was answered");
    assert!(implied(Code::SessionLost, State::Busy).contains("cart.load"));
    assert!(implied(Code::LimitNotEnforced, State::OutOfMemory).contains("limit.take"));
    assert!(
        !implied(Code::ValidRequestRefused, State::OutOfMemory).contains("token.consume"),
        "it was answered"
    );
    let limit = found(report(), Code::LimitNotEnforced);
    for code in ["OOM", "READONLY", "NOREPLICAS", "MISCONF", "LOADING", "BUSY", "NOAUTH", "too many clients"]
    {
        if is_older_than_7() && ["LOADING", "NOREPLICAS"].contains(&code) {
            continue;
        }
        let named = limit.iter().any(|finding| finding.observed.contains(&format!("rejected: {code}")));
        assert!(named, "{code}: {:?}", limit.iter().map(|finding| &finding.observed).collect::<Vec<_>>());
    }
}

#[test]
fn one_budget_holds_in_every_outage_state_and_what_is_answered_or_rejected_at_once_keeps_it() {
    let over: BTreeSet<State> = found(report(), Code::BudgetExceeded)
        .into_iter()
        .flat_map(|finding| finding.states.clone())
        .collect();
    assert_eq!(over, [State::PausedCold, State::WritesPaused, State::Frozen, State::FrozenCold].into());
    let read = cell(report(), "cart.load", State::WritesPaused);
    assert!(!read.findings.contains(&Code::BudgetExceeded), "a read is answered while writes are paused");
    assert_eq!(read.verdict, Verdict::Conforms);
}

#[test]
fn a_state_comes_to_the_same_alone_as_beside_all_others() {
    let states = [State::ReadOnly, State::Loading, State::FailoverLostWrite, State::TooManyClients];
    for state in states.into_iter().filter(|state| is_there(*state)) {
        let (_, alone) = Folder::with(POLICIES).report(&["--samples", "5", "--states", state.name()]);
        for row in alone.services.iter().flat_map(|service| &service.rows) {
            let name = format!("{}.{}", row.use_name, row.operation);
            let (one, beside) = (cell(&alone, &name, state), cell(report(), &name, state));
            assert_eq!(told(&alone, &name, state), told(report(), &name, state), "{name} {state}");
            assert_eq!((one.verdict, &one.findings), (beside.verdict, &beside.findings), "{name} {state}");
        }
    }
}
