use std::path::PathBuf;

use super::*;
use crate::policy::{Source, parse};

fn file(text: &str) -> Arc<PolicyFile> {
    let source = Arc::new(Source { path: PathBuf::from("policies.yaml"), text: text.to_owned() });
    Arc::new(parse(source).unwrap())
}

/// One lock with this client.
fn lock(client: &str) -> Arc<PolicyFile> {
    file(&format!(
        "version: 1\nservice: s\nclient: {client}\nuses:\n  - {{name: l, kind: lock, key: 'l:${{id}}', ttl: 30s, on_outage: fail_open}}\n"
    ))
}

fn worst_ms(client: &str, state: State, setinfo: Option<bool>) -> Option<u128> {
    worst_case(&lock(client), 0, 0, state, setinfo).map(|worst| worst.as_millis())
}

#[test]
fn a_paused_call_costs_its_timeout_times_its_attempts_and_its_waits() {
    let paused = |client| worst_ms(client, State::Paused, Some(false));
    assert_eq!(paused("{command_timeout: 2s}"), Some(2_000));
    assert_eq!(paused("{command_timeout: 2s, attempts: 3, backoff: 50ms, on_timeout: keep}"), Some(6_100));
    assert_eq!(
        paused("{command_timeout: 2s, attempts: 3, backoff: 50ms, on_timeout: close, handshake: none}"),
        Some(6_100)
    );
    assert_eq!(
        paused(
            "{command_timeout: 1s, attempts: 4, on_timeout: keep, backoff: {exponential: {base: 10ms, cap: 30ms, jitter: 1}}}"
        ),
        Some(4_000 + 10 + 20 + 30)
    );
    assert_eq!(paused("{command_timeout: none, connect_timeout: 1s}"), None);
}

#[test]
fn a_handshake_that_waits_costs_the_connect_timeout_instead_and_setinfo_waits_only_on_some_servers() {
    let client = "{command_timeout: 2s, connect_timeout: 300ms, attempts: 3, backoff: 50ms, on_timeout: close, handshake: setinfo}";
    let hello = client.replace("setinfo", "hello");
    assert_eq!(worst_ms(client, State::Paused, Some(false)), Some(6_100));
    assert_eq!(worst_ms(client, State::Paused, Some(true)), Some(2_700));
    assert_eq!(worst_ms(client, State::Paused, None), Some(6_100), "the longer, where nobody knows");
    assert_eq!(worst_ms(&hello, State::Paused, Some(false)), Some(2_700));
}

#[test]
fn frozen_costs_as_paused_but_every_handshake_waits() {
    let client =
        "{command_timeout: 2s, connect_timeout: 300ms, attempts: 3, backoff: 50ms, on_timeout: close}";
    let none = client.replace("attempts", "handshake: none, attempts");
    assert_eq!(worst_ms(client, State::Frozen, Some(false)), Some(2_700), "whatever the server knows");
    assert_eq!(worst_ms(&none, State::Frozen, Some(false)), Some(6_100));
}

#[test]
fn a_cold_client_pays_for_its_first_connection_and_keeps_none_that_it_never_had() {
    let client =
        "{command_timeout: 2s, connect_timeout: 300ms, attempts: 3, handshake: hello, on_timeout: keep}";
    for state in [State::FrozenCold, State::PausedCold] {
        assert_eq!(worst_ms(client, state, Some(true)), Some(900), "{state}");
        assert_eq!(worst_ms(&client.replace("hello", "none"), state, Some(true)), Some(6_000), "{state}");
        let beside = client.replace("on_timeout: keep", "reconnect: background");
        assert_eq!(worst_ms(&beside, state, Some(true)), Some(300), "{state}: later ones find no connection");
    }
    assert_eq!(worst_ms(client, State::NeverUp, Some(true)), Some(0));
}

#[test]
fn where_only_writes_wait_a_read_costs_nothing_and_what_answers_or_rejects_costs_nothing_at_all() {
    let revocations = file(&REQUESTS.replace("command_timeout: 1s", "command_timeout: 2s, attempts: 2"));
    let worst = |writes, state| {
        let operation = if writes { "revoke" } else { "check" };
        let operation = revocations.uses[0].operation(operation).unwrap();
        worst_case(&revocations, 0, operation, state, Some(true)).map(|worst| worst.as_millis())
    };
    assert_eq!(worst(true, State::WritesPaused), Some(4_000));
    assert_eq!(worst(false, State::WritesPaused), Some(0));
    for state in [State::Busy, State::ReadOnly, State::Loading, State::RestartedEmpty, State::TooManyClients]
    {
        assert_eq!(worst(true, state), Some(0), "{state}");
    }
}

#[test]
fn what_refuses_at_once_costs_only_the_waits_between_attempts() {
    assert_eq!(worst_ms("{command_timeout: 2s}", State::Stopped, None), Some(0));
    assert_eq!(
        worst_ms("{command_timeout: 2s, attempts: 3, backoff: 50ms}", State::Stopped, None),
        Some(100)
    );
    let never = "{command_timeout: 2s, attempts: 1000, on_timeout: close, reconnect: never}";
    assert_eq!(worst_ms(never, State::Paused, None), Some(2_000));
}

const REQUESTS: &str = "version: 1\nservice: s\nclient: {command_timeout: 1s}\nuses:\n\
    \x20 - {name: t, kind: jwt_revocation, key: 't:${id}', ttl: 1h, on_outage: fail_closed}\n\
    \x20 - {name: l, kind: lock, key: 'l:${id}', ttl: 30s, on_outage: fail_open}\n\
    \x20 - {name: m, kind: rate_limit, backend: in_memory}\n\
    requests:\n\
    \x20 - {name: r, calls: [m.take, {call: l.acquire, times: 2}, t.check, l.release]}\n";

#[test]
fn a_request_reaches_the_call_that_ends_it_and_on_a_healthy_server_its_end() {
    let file = file(REQUESTS);
    let request = &file.requests[0];
    assert_eq!(reached_calls(&file, request, State::Paused).len(), 4);
    assert_eq!(reached_calls(&file, request, State::Healthy).len(), 5);
    assert_eq!(predicted_chain(&file, request, State::Paused, None), Some(Duration::from_secs(3)));
    assert_eq!(predicted_chain(&file, request, State::Stopped, None), Some(Duration::ZERO));
}

#[test]
fn a_later_call_of_a_request_costs_what_its_client_finds_after_the_one_before() {
    let predicted = |client: &str, state| {
        let file = file(&REQUESTS.replace("{command_timeout: 1s}", client));
        predicted_chain(&file, &file.requests[0], state, Some(true)).map(|cost| cost.as_millis())
    };
    let client = "{command_timeout: 1s, connect_timeout: 2s, handshake: hello, on_timeout: keep, reconnect: background}";
    for state in [State::PausedCold, State::FrozenCold] {
        assert_eq!(predicted(client, state), Some(2_000), "{state}: later ones find no connection");
        let next_use = client.replace("background", "next_use");
        assert_eq!(predicted(&next_use, state), Some(6_000), "{state}: each of the three opens one");
        let closing = client.replace("keep", "close");
        assert_eq!(predicted(&closing, state), Some(6_000), "{state}: each has a client of its own");
        let connected = client.replace("hello", "none");
        assert_eq!(predicted(&connected, state), Some(3_000), "{state}: the first connects, and each waits");
    }
    assert_eq!(predicted(client, State::Paused), Some(3_000), "the connection from before is kept");
}

#[test]
fn nothing_is_predicted_of_a_healthy_server() {
    let client = "{command_timeout: 1s, attempts: 2, backoff: 10ms}";
    let file = file(&REQUESTS.replace("{command_timeout: 1s}", client));
    let predicted = |state| predicted_chain(&file, &file.requests[0], state, Some(true));
    assert_eq!(predicted(State::Healthy), Some(Duration::ZERO));
    assert_eq!(predicted(State::Stopped), Some(Duration::from_millis(30)));
}

#[test]
fn no_scenario_is_played_where_its_callers_would_take_turns_from_each_other_and_its_probes_are_made_instead()
{
    let states = vec![State::Healthy, State::ReplyLost, State::Flapping];
    let plan =
        Plan::new(vec![file(REQUESTS)], &Wishes { states, ..wishes() }, Limits::of(20_000, 28_000), false);
    let jobs = |state| {
        let batches = plan.batches.iter().filter(move |batch| batch.state == state);
        batches.flat_map(|batch| &batch.jobs)
    };
    let played = |state| jobs(state).any(|job| matches!(job.what, Target::Scene(_)));
    assert!(played(State::ReplyLost) && !played(State::Flapping));
    let asked = |state| jobs(state).any(|job| matches!(job.what, Target::Chain(_)));
    assert!(asked(State::Flapping));
    let probes = |state| -> usize {
        jobs(state).filter(|job| matches!(job.what, Target::Cell(_))).map(|job| job.samples).sum()
    };
    assert!(probes(State::Flapping) > probes(State::ReplyLost));
}

fn wishes() -> Wishes {
    Wishes {
        states: State::by_default().collect(),
        only: Vec::new(),
        samples: 20,
        give_up: Duration::from_secs(15),
        serial: false,
    }
}

#[test]
fn a_small_file_takes_one_server_a_state_and_the_samples_that_were_wished_for() {
    let plan = Plan::new(vec![file(REQUESTS)], &wishes(), Limits::of(20_000, 28_000), false);
    let states: Vec<State> = plan.batches.iter().map(|batch| batch.state).collect();
    assert_eq!(plan.controls.len(), 1);
    assert_eq!(states, [State::Paused, State::Healthy, State::Stopped], "the longest begins first");
    assert_eq!((plan.samples, plan.healthy_samples), (20, 200));
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    assert_eq!(plan.longest_chain(), Duration::from_secs(3));
}

/// The servers that something is wrong with.
fn in_trouble(plan: &Plan) -> impl Iterator<Item = &Batch> {
    plan.batches.iter().filter(|batch| batch.state.is_outage())
}

#[test]
fn a_thousand_uses_stay_within_the_connections_and_the_plan_says_what_that_cost() {
    let uses: String = (0..1_000)
        .map(|n| {
            format!("  - {{name: l{n}, kind: lock, key: 'l{n}:${{id}}', ttl: 30s, on_outage: fail_open}}\n")
        })
        .collect();
    let file = file(&format!("version: 1\nservice: s\nclient: {{command_timeout: 1s}}\nuses:\n{uses}"));
    let limits = Limits::of(20_000, 28_000);
    let plan = Plan::new(vec![file], &wishes(), limits, false);
    assert!((FEWEST_PROBES..20).contains(&plan.samples), "{}", plan.samples);
    assert_eq!(plan.notes.len(), 2, "{:?}", plan.notes);
    assert!(limits.connections <= 6_000);
    for batch in in_trouble(&plan) {
        assert!(batch.connections * 12 <= limits.connections, "{}", batch.connections);
        assert_eq!(batch.connections, batch.jobs.iter().map(|job| job.connections).sum::<usize>());
    }
    // Three of a lock's calls are made by the callers of its scenario: two acquire, one releases.
    let probes = |state| {
        let batches = plan.batches.iter().filter(move |batch| batch.state == state);
        let jobs = batches.flat_map(|batch| &batch.jobs);
        jobs.map(|job| if matches!(job.what, Target::Scene(_)) { 3 * job.samples } else { job.samples })
            .sum::<usize>()
    };
    assert_eq!(probes(State::Paused), 2_000 * plan.samples);
    assert_eq!(probes(State::Stopped), 2_000 * plan.samples);
}

#[test]
fn only_a_client_that_tries_again_is_probed_with_a_state_that_ends_inside_its_calls() {
    let plan = |client: &str| Plan::new(vec![lock(client)], &wishes(), Limits::of(20_000, 28_000), false);
    let ends = |plan: &Plan| plan.batches.iter().filter_map(|batch| batch.ends).collect::<Vec<_>>();
    assert_eq!(ends(&plan("{command_timeout: 1s}")), Vec::<Ends>::new());
    let twice = plan("{command_timeout: 1s, attempts: 2, backoff: 100ms, on_timeout: keep}");
    assert_eq!(
        ends(&twice),
        [Ends::At(Duration::from_millis(1_600))],
        "between the deadlines at 1 s and 2.1 s"
    );
    let jitter = plan(
        "{command_timeout: 1s, attempts: 2, on_timeout: keep, backoff: {exponential: {base: 4s, cap: 4s, jitter: 1}}}",
    );
    assert_eq!(
        ends(&jitter),
        [Ends::At(Duration::from_millis(1_500))],
        "whatever the wait, the second is not over by then"
    );
    let never = plan("{command_timeout: 1s, attempts: 2, on_timeout: close, reconnect: never}");
    assert_eq!(
        ends(&never),
        Vec::<Ends>::new(),
        "a second attempt that does not wait leaves no such instant"
    );
}

#[test]
fn a_machine_with_few_open_files_still_gets_a_plan() {
    let plan = Plan::new(vec![file(REQUESTS)], &wishes(), Limits::of(256, 28_000), false);
    assert!(plan.samples >= FEWEST_PROBES);
    assert!(in_trouble(&plan).all(|batch| batch.connections <= 56), "{:?}", plan.batches);
}

#[test]
fn only_a_use_leaves_out_the_others_and_the_requests_that_call_them() {
    let wishes = Wishes { only: vec!["l".to_owned()], ..wishes() };
    let plan = Plan::new(vec![file(REQUESTS)], &wishes, Limits::of(20_000, 28_000), false);
    let healthy_batches = plan.batches.iter().filter(|batch| !batch.state.is_outage());
    let jobs: Vec<_> = plan.controls.iter().chain(healthy_batches).flat_map(|batch| &batch.jobs).collect();
    assert_eq!(jobs.len(), 3);
    for job in jobs {
        assert!(match job.what {
            Target::Cell(key) => key.use_index == 1,
            Target::Scene(key) => key.use_index == 1,
            Target::Chain(_) => false,
        });
    }
}

#[test]
fn a_request_that_asks_redis_nothing_is_not_run_and_the_plan_says_so() {
    let text = REQUESTS.replace("requests:\n", "requests:\n  - {name: local, calls: [m.take]}\n");
    let plan = Plan::new(vec![file(&text)], &wishes(), Limits::of(20_000, 28_000), false);
    let chains = |batch: &Batch| batch.jobs.iter().filter(|job| matches!(job.what, Target::Chain(_))).count();
    assert_eq!(in_trouble(&plan).chain(&plan.controls).map(chains).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(plan.notes, ["the request local is not measured: none of its calls asks Redis"]);
}

#[test]
fn healthy_alone_is_a_plan_without_servers_in_trouble() {
    let wishes = Wishes { states: vec![State::Healthy], ..wishes() };
    let plan = Plan::new(vec![file(REQUESTS)], &wishes, Limits::of(20_000, 28_000), false);
    assert_eq!((plan.controls.len(), in_trouble(&plan).count()), (1, 0));
}

#[test]
fn what_is_over_at_once_has_connections_of_its_own_and_holds_nobody_up() {
    let plan = Plan::new(vec![file(REQUESTS)], &wishes(), Limits::of(20_000, 28_000), false);
    let lanes = plan.lanes.unwrap();
    for batch in &plan.batches {
        let long = batch.state == State::Paused;
        assert_eq!(batch.lane, if long { Lane::Long } else { Lane::Brief }, "{}", batch.state);
        assert!(batch.connections <= if long { lanes.long } else { lanes.brief }, "{}", batch.state);
    }
    let connections = Limits::of(20_000, 28_000).connections;
    assert_eq!(lanes.long + lanes.brief, connections, "together they have all");
    assert!(lanes.brief > lanes.long, "what the long ones do not want is the others'");
}

#[test]
fn an_operation_that_requests_begin_with_needs_fewer_probes_of_its_own() {
    let text = REQUESTS.replace("requests:", "requests:\n  - {name: two, calls: [t.check]}");
    let own = |text: &str| {
        let plan = Plan::new(vec![file(text)], &wishes(), Limits::of(20_000, 28_000), false);
        let jobs =
            in_trouble(&plan).filter(|batch| batch.state == State::Paused).flat_map(|batch| &batch.jobs);
        let cells = jobs.filter_map(|job| match job.what {
            Target::Cell(key) if (key.use_index, key.operation_index) == (0, 0) => Some(job.samples),
            _ => None,
        });
        cells.sum::<usize>()
    };
    assert!(own(REQUESTS) > 0);
    assert_eq!(own(&text), 0);
}
