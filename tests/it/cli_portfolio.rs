//! The shipped policy files: what they say of the service in the articles they were written from.

use redis_outage_audit::observe::Proof;
use redis_outage_audit::policy::Backend;
use redis_outage_audit::words::{Code, Decision, State, Verdict};

use crate::command::{Folder, cell, found, p50_ms, request, row};
use crate::shown;
use crate::support::is_older_than_7;

const POLICIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/policies/");

#[test]
fn the_portfolio_departs_and_says_what_the_article_measured() {
    let folder = Folder::new();
    let (ended, report) = folder.report(&["--policies", &format!("{POLICIES}portfolio.yaml")]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert_eq!(report.verdict, Verdict::Departs);

    let rows = &report.services[0].rows;
    let mut uses: Vec<&str> = rows.iter().map(|row| row.use_name.as_str()).collect();
    uses.dedup();
    assert_eq!((uses.len(), rows.len()), (7, 13), "{uses:?}");
    let (in_memory, on_redis): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row.backend == Backend::InMemory);
    assert_eq!(in_memory.len(), 1);
    assert!(
        in_memory[0].meaning.contains("each instance counts for itself") && in_memory[0].cells.is_empty()
    );

    for row in on_redis {
        let name = format!("{}.{}", row.use_name, row.operation);
        for state in State::by_default() {
            let cell = cell(&report, &name, state);
            assert!(matches!(cell.proof, Proof::Held(_)), "{name} {state}: {:?}", cell.proof);
            // The callers of a scenario are probes too: five readers in each of its five runs, two who ask for a lock or
            // show a token. And so are the first calls of a request, in each of its twenty.
            let wanted = match (state, name.as_str()) {
                (State::Healthy, _) => 200,
                (_, "spring-cache.read") => 25,
                (_, "jwt-revocation.check" | "dataset-lock.acquire") => 30,
                _ => 20,
            };
            assert_eq!(cell.cost.unwrap().n, wanted, "{name} {state}");
        }
        // The article: 2,000 ms a call when paused, next to nothing when stopped or healthy.
        let paused = p50_ms(cell(&report, &name, State::Paused));
        assert!((2_000.0..2_100.0).contains(&paused), "{name}: {paused}");
        assert!(p50_ms(cell(&report, &name, State::Stopped)) < 100.0, "{name}");
        assert!(p50_ms(cell(&report, &name, State::Healthy)) < 20.0, "{name}");
    }
    // The article's table: denies, lets through, lets the error climb.
    for (name, decision) in [
        ("jwt-revocation.check", Decision::Denied),
        ("idempotency-key.reserve", Decision::Allowed),
        ("dataset-lock.acquire", Decision::Allowed),
        ("booking-token.issue", Decision::Raised),
        ("booking-token.consume", Decision::Raised),
        ("heartbeat.claim", Decision::Raised),
        ("spring-cache.read", Decision::Raised),
    ] {
        for state in [State::Paused, State::Stopped] {
            assert_eq!(cell(&report, name, state).decision, Some(decision), "{name} {state}");
        }
        assert_eq!(cell(&report, name, State::Healthy).decision, Some(Decision::Answered), "{name}");
        assert!(row(&report, name).code.is_some(), "{name} says where it stands in the code");
    }

    let undecided = found(&report, Code::Undecided);
    let mut subjects: Vec<String> = undecided.iter().map(|finding| finding.about()).collect();
    subjects.sort();
    assert_eq!(
        subjects,
        ["booking-token.consume", "heartbeat.claim", "spring-cache.{read,write,invalidate}"]
    );
    assert!(!found(&report, Code::BudgetExceeded).is_empty());

    // Two calls before the query starts, and the JWT check first: it ends as anonymous.
    let requests = &report.services[0].requests;
    assert_eq!(requests.len(), 2);
    let costs: Vec<f64> = requests
        .iter()
        .map(|row| request(&report, &row.name, State::Paused).cost.unwrap().p50_us as f64 / 1_000.0)
        .collect();
    assert!(costs.iter().any(|cost| (4_000.0..4_200.0).contains(cost)), "{costs:?}");
    assert!(costs.iter().any(|cost| (2_000.0..2_100.0).contains(cost)), "{costs:?}");
    let ends: Vec<&str> =
        requests.iter().map(|row| request(&report, &row.name, State::Paused).ends.as_str()).collect();
    assert!(ends.contains(&"ends at jwt-revocation.check: denied"), "{ends:?}");
    for row in requests {
        let cell = request(&report, &row.name, State::Paused);
        let (cost, predicted) = (cell.cost.unwrap().p50_us, cell.predicted_us.unwrap());
        assert!(cost.abs_diff(predicted) < predicted / 20, "{}: {cost} for {predicted}", row.name);
    }

    assert_eq!(found(&report, Code::FaultNotProven), [] as [&_; 0]);
    assert!(ended.stdout.lines().last().unwrap().contains("departs"), "{}", ended.stdout);
    // The chain takes 4 s; the rest is the audit's own, and a debug build on a busy machine is slow.
    assert!(report.wall_us < 8_000_000, "{} us", report.wall_us);
    assert_eq!(folder.left_behind(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn the_improved_portfolio_has_nothing_undecided_and_what_still_departs_is_visible() {
    let folder = Folder::new();
    let (_, report) = folder.report(&["--policies", &format!("{POLICIES}portfolio-improved.yaml")]);
    assert_eq!(found(&report, Code::Undecided), [] as [&_; 0]);
    for state in [State::Paused, State::Stopped] {
        assert_eq!(cell(&report, "spring-cache.read", state).decision, Some(Decision::FellBack));
        assert_eq!(cell(&report, "heartbeat.claim", state).decision, Some(Decision::Allowed));
    }
    let paused = p50_ms(cell(&report, "spring-cache.read", State::Paused));
    assert!(paused < 1_000.0, "the shorter timeout is what a call costs now: {paused}");
    let accepted = report.services[0].findings.iter().filter(|finding| finding.accepted.is_some());
    assert!(accepted.count() > 0, "what was decided is accepted with its reason, and shown");
}

#[test]
fn the_smallest_policy_file_conforms() {
    let folder = Folder::new();
    let (ended, report) = folder.report(&["--policies", &format!("{POLICIES}minimal.yaml")]);
    assert_eq!((ended.code, report.verdict), (0, Verdict::Conforms), "{}", ended.stdout);
}

#[test]
fn all_states_side_by_side_take_little_longer_than_their_slowest_request() {
    let folder = Folder::new();
    // An older server can't be slowed down while it loads.
    let wanted = State::ALL.iter().copied().filter(|state| *state != State::Loading || !is_older_than_7());
    let wanted: Vec<State> = wanted.collect();
    let states = wanted.iter().map(|state| state.name()).collect::<Vec<_>>().join(",");
    let (_, report) = folder.report(&[
        "--policies",
        &format!("{POLICIES}portfolio.yaml"),
        "--states",
        if wanted.len() == State::ALL.len() { "all" } else { &states },
        "--samples",
        "5",
    ]);
    shown::proven_and_clean(&report);
    assert_eq!(report.states, wanted);
    let requests = report.services.iter().flat_map(|service| &service.requests);
    let slowest = requests.flat_map(|row| &row.cells).filter_map(|cell| cell.predicted_us).max().unwrap();
    // Beside other tests, each with servers of its own; alone it takes less than 3 s longer.
    assert!(report.wall_us < slowest + 15_000_000, "{} {slowest}", report.wall_us);
    let cells = || report.services.iter().flat_map(|service| &service.rows).flat_map(|row| &row.cells);
    assert!(
        cells().filter(|cell| cell.state.is_outage()).any(|cell| cell.jitter_us > 0),
        "jitter is reported"
    );
}
