use std::time::Duration;

use super::{HEAD, file_with, good, lock_with};
use crate::kinds::{Kind, ProbeId};
use crate::policy::{Backend, Backoff, Handshake, OnTimeout, Persistence, Reconnect, Then};
use crate::words::{Code, KnownFrom, OutagePolicy, Parameter, Severity, State};

const MS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn what_is_left_out_has_its_default() {
    let file = good(&lock_with(""));
    assert_eq!(file.persistence, Persistence::Aof);
    let (one, client) = (&file.uses[0], &file.uses[0].client);
    assert_eq!((client.connect_timeout, client.command_timeout), (Some(MS(2000)), Some(MS(2000))));
    assert_eq!((client.attempts, client.backoff), (1, Backoff::None));
    assert_eq!(
        (client.on_timeout, client.reconnect, client.handshake),
        (OnTimeout::Close, Reconnect::NextUse, Handshake::Setinfo)
    );
    assert_eq!(client.attempts_at, client.command_timeout_at);
    assert_eq!(one.backend, Backend::Redis);
    assert_eq!(one.fields.word("release"), "compare_and_delete");
    for operation in &one.operations {
        assert_eq!(operation.on_outage, OutagePolicy::Undecided);
        assert_eq!(operation.on_outage_at, one.at);
        assert_eq!(operation.known_from, KnownFrom::Assumed);
        assert!(State::ALL.iter().copied().all(|state| operation.budget.get(state).is_none()));
    }
}

#[test]
fn a_client_of_a_use_overrides_the_files_field_by_field() {
    let file = good(&lock_with("client: {command_timeout: 1.5s, attempts: 3, backoff: 50ms}").replace(
        "client: {command_timeout: 2s}",
        "client: {command_timeout: 2s, on_timeout: keep, handshake: none, connect_timeout: none}",
    ));
    let client = &file.uses[0].client;
    assert_eq!(client.command_timeout, Some(MS(1500)));
    assert_eq!(client.connect_timeout, None);
    assert_eq!((client.attempts, client.backoff), (3, Backoff::Fixed(MS(50))));
    assert_eq!((client.on_timeout, client.handshake), (OnTimeout::Keep, Handshake::None));
    let shown = &file.source.text[client.attempts_at.start..][..client.attempts_at.len];
    assert_eq!(shown, "3");
}

#[test]
fn a_connect_timeout_that_is_left_out_follows_the_command_timeout_in_force() {
    let file = good(&lock_with("client: {command_timeout: 300ms}"));
    assert_eq!(file.uses[0].client.connect_timeout, Some(MS(300)));
}

#[test]
fn backoff_is_written_in_four_ways() {
    for (written, read) in [
        ("none", Backoff::None),
        ("50ms", Backoff::Fixed(MS(50))),
        ("{fixed: 50ms}", Backoff::Fixed(MS(50))),
        (
            "{exponential: {base: 10ms, cap: 1s, jitter: 0.5}}",
            Backoff::Exponential { base: MS(10), cap: MS(1000), jitter: 0.5 },
        ),
    ] {
        let file = good(&lock_with(&format!("client: {{backoff: {written}}}")));
        assert_eq!(file.uses[0].client.backoff, read);
    }
}

#[test]
fn the_nearest_budget_wins_state_by_state() {
    let text = lock_with("budget: {acquire: {paused: 100ms}, release: 70ms}")
        .replace("uses:", "budget: {healthy: 5ms, paused: 1s, stopped: 50ms}\nuses:");
    let file = good(&text);
    let limits = |operation: usize| {
        let budget = &file.uses[0].operations[operation].budget;
        State::by_default().map(|state| budget.get(state).map(|line| line.limit)).collect::<Vec<_>>()
    };
    assert_eq!(limits(0), [Some(MS(5)), Some(MS(100)), Some(MS(50))]);
    assert_eq!(limits(1), [Some(MS(5)), Some(MS(70)), Some(MS(70))]);
}

#[test]
fn a_budget_of_a_call_is_none_of_a_request() {
    let text = file_with("budget: 1s\nrequests:\n  - {name: r, calls: [l.acquire]}\n");
    let file = good(&text);
    assert!(file.requests[0].budget.get(State::Paused).is_none());
    assert!(file.uses[0].operations[0].budget.get(State::Paused).is_some());
}

#[test]
fn values_are_given_for_all_operations_or_for_each() {
    let file = good(&lock_with(
        "on_outage: {acquire: fail_open, release: fail_closed}\nwhere: Locks\nknown_from: {acquire: code}\nbecause: >\n  two\n  lines\n",
    ));
    let [acquire, release] = file.uses[0].operations.as_slice() else { panic!("a lock has two") };
    assert_eq!((acquire.on_outage, release.on_outage), (OutagePolicy::FailOpen, OutagePolicy::FailClosed));
    assert_eq!((acquire.known_from, release.known_from), (KnownFrom::Code, KnownFrom::Assumed));
    assert_eq!((acquire.code.as_deref(), release.because.as_deref()), (Some("Locks"), Some("two lines")));
}

#[test]
fn operations_keep_the_order_of_their_kind() {
    let text =
        format!("{HEAD}uses: [{{name: c, kind: cache, key: c, ttl: 1s, operations: [write, read]}}]\n");
    let file = good(&text);
    let names: Vec<_> = file.uses[0].operations.iter().map(|operation| operation.name()).collect();
    assert_eq!(names, ["read", "write"]);
}

#[test]
fn a_use_in_memory_needs_no_key_no_fields_and_no_timeout() {
    let file = good("version: 1\nservice: s\nuses: [{name: m, kind: rate_limit, backend: in_memory}]\n");
    assert_eq!(file.uses[0].backend, Backend::InMemory);
    assert_eq!(file.uses[0].operations.len(), 1);
}

#[test]
fn a_request_may_repeat_a_call_and_go_on_after_a_denial() {
    let file = good(&file_with(
        "requests:\n  - name: r\n    calls:\n      - m.take\n      - {call: l.acquire, times: 3, on_denied: continue}\n    rate: 0.5\n    threads: 20\n",
    ));
    let request = &file.requests[0];
    let [first, second] = request.calls.as_slice() else { panic!("two calls") };
    assert_eq!((first.use_index, first.operation_index, first.times), (1, 0, 1));
    assert_eq!((second.use_index, second.times), (0, 3));
    assert_eq!((second.on_denied, second.on_raised), (Then::Continue, Then::Stop));
    assert_eq!((request.rate, request.threads), (Some(0.5), Some(20)));
    let at = second.at;
    assert_eq!(&file.source.text[at.start..at.start + at.len], "l.acquire");
}

#[test]
fn a_custom_use_brings_its_own_operations() {
    let file = good(&format!(
        "{HEAD}uses:\n  - name: c\n    kind: custom\n    commands:\n      bump: {{run: [[INCRBY, \"n:${{id}}\", 5]], ok_when: truthy}}\n      look: {{run: [[GET, \"n:${{id}}\"]], writes: false}}\n    on_outage: {{bump: fail_open, look: fallback}}\n"
    ));
    let one = &file.uses[0];
    assert_eq!((one.kind, one.key.as_str()), (Kind::Custom, "c"));
    let [bump, look] = one.operations.as_slice() else { panic!("two operations") };
    assert!(bump.operation.writes() && !look.operation.writes());
    let probe = ProbeId::new("run", 7);
    let steps = bump.operation.steps(&one.call(&probe));
    assert_eq!(
        steps[0].command,
        crate::kinds::Command::Plain(["INCRBY", "n:audit-run-7", "5"].map(str::to_owned).to_vec())
    );
}

#[test]
fn accepts_and_rules_are_read() {
    let file = good(&format!(
        "{}rules: {{double-entry: deny, fault-not-proven: deny}}\n",
        lock_with(
            "on_outage: fail_open\naccepts:\n  - {finding: double-entry, operation: acquire, in: [paused, stopped], because: cheap}"
        )
    ));
    let accepted = &file.uses[0].accepts[0];
    assert_eq!(
        (accepted.finding, accepted.operations.as_slice()),
        (Code::DoubleEntry, &["acquire".to_owned()][..])
    );
    assert_eq!(accepted.states, [State::Paused, State::Stopped]);
    assert_eq!(file.rules.severity(Code::DoubleEntry), Severity::Deny);
    assert_eq!(file.rules.severity(Code::DuplicateRun), Code::DuplicateRun.default_severity());
}

#[test]
fn anchors_and_merge_keys_work() {
    let file = good(&format!(
        "{HEAD}uses:\n  - &first {{name: a, kind: lock, key: \"l:${{id}}\", ttl: 3s}}\n  - {{<<: *first, name: b, ttl: 4s}}\n"
    ));
    assert_eq!(file.uses[1].name, "b");
    assert_eq!(file.uses[1].fields.duration("ttl"), Some(MS(4000)));
}

#[test]
fn a_file_that_names_no_states_is_about_the_default_ones_and_one_that_does_about_those_and_healthy() {
    let of = |states: &str| good(&file_with(states)).audited_states();
    assert_eq!(of(""), [State::Healthy, State::Paused, State::Stopped]);
    assert_eq!(of("states: [frozen, busy]\n"), [State::Healthy, State::Frozen, State::Busy]);
    assert_eq!(of("states: [healthy]\n"), [State::Healthy]);
}

#[test]
fn a_state_has_the_parameters_that_the_file_sets_and_the_defaults_of_the_others() {
    let file =
        good(&file_with("states: [paused, {slow: {latency: 300ms, scope: l}}, {flapping: {failures: 4}}]\n"));
    let slow = file.state(State::Slow).unwrap();
    assert_eq!(slow.parameter("latency"), Some(Parameter::Duration(MS(300))));
    assert_eq!(slow.parameter("jitter"), Some(Parameter::Duration(MS(50))));
    assert_eq!(slow.parameter("failures"), None, "of another state");
    assert_eq!(slow.scope, Some(0));
    assert_eq!(file.state(State::Flapping).unwrap().parameter("failures"), Some(Parameter::Count(4)));
    assert_eq!(file.state(State::Paused).unwrap().scope, None);
    assert!(file.state(State::Frozen).is_none());
}
