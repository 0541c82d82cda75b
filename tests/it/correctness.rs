//! What a use gets wrong without any outage: the lock's late release as the article replays it, and the other protocols
//! of two commands.

use redis_outage_audit::observe::Protocol;
use redis_outage_audit::report::Report;
use redis_outage_audit::words::{Code, State};

use crate::command::{Folder, found};

fn audited(uses: &str) -> Report {
    let folder = Folder::with(&format!(
        "version: 1\nservice: shop\nclient: {{command_timeout: 200ms}}\nuses:\n{uses}"
    ));
    folder.report(&["--samples", "5", "--states", "healthy"]).1
}

/// A lock of 30 s with these fields.
fn lock(name: &str, fields: &str) -> String {
    format!(
        "  - {{name: {name}, kind: lock, key: 'dq:lock:{name}:${{id}}', ttl: 30s, on_outage: fail_open{fields}}}\n"
    )
}

/// What came of each replay of a use.
fn replays<'a>(report: &'a Report, name: &str) -> Vec<&'a Protocol> {
    let replays = report.services[0].replays.iter().filter(|replay| replay.use_name == name);
    replays.map(|replay| &replay.what).collect()
}

fn late_release(second_got_in: bool, released: bool, third_got_in: bool) -> Protocol {
    Protocol::LateRelease { second_got_in, released, third_got_in }
}

fn uses_with(report: &Report, code: Code) -> Vec<String> {
    let mut names: Vec<String> = found(report, code).iter().map(|finding| finding.about()).collect();
    names.sort();
    names
}

#[test]
fn the_late_release_gives_the_figures_of_the_article() {
    let report = audited(
        &[
            lock("before", ", token: constant, release: delete"),
            lock("mixed", ", token: constant, release: compare_and_delete"),
            lock("after", ", token: unique, release: compare_and_delete, on_late_release: log"),
            lock("delex", ", release: delex"),
            lock("delifeq", ", release: delifeq"),
            lock("short", ", work: 45s"),
            lock("long", ", work: 10s"),
            lock("fenced", ", work: 45s, fencing: true"),
        ]
        .concat(),
    );
    // DEL answers 1 and C gets in; with a token of its own it answers 0, B keeps the lock and C is refused.
    assert!(replays(&report, "before").contains(&&late_release(true, true, true)));
    assert!(replays(&report, "after").contains(&&late_release(true, false, false)));
    assert_eq!(uses_with(&report, Code::ForeignLockReleased), ["before.release", "mixed.release"]);
    // Where the server has the command, it does the same as the script.
    let lacking = uses_with(&report, Code::CommandUnavailable);
    for name in ["delex", "delifeq"] {
        if !lacking.contains(&format!("{name}.release")) {
            assert!(replays(&report, name).contains(&&late_release(true, false, false)), "{name}");
        }
    }
    assert_eq!(uses_with(&report, Code::TtlShorterThanWork), ["fenced.acquire", "short.acquire"]);
    let unfenced = uses_with(&report, Code::NoFencing);
    assert!(unfenced.contains(&"after.acquire".to_owned()) && unfenced.contains(&"short.acquire".to_owned()));
    assert!(
        !unfenced.contains(&"long.acquire".to_owned()) && !unfenced.contains(&"fenced.acquire".to_owned())
    );
    let steps = &report.services[0].replays.iter().find(|replay| replay.use_name == "before").unwrap().steps;
    assert!(!steps.is_empty(), "what was done can be read");
}

#[test]
fn a_lock_in_two_commands_or_without_a_life_stays_for_ever() {
    let report = audited(&format!(
        "{}  - {{name: endless, kind: lock, key: 'l:${{id}}', ttl: none, on_outage: fail_open}}\n{}",
        lock("two", ", acquire: two_step"),
        lock("one", "")
    ));
    assert_eq!(uses_with(&report, Code::SetThenExpire), ["two.acquire"]);
    assert_eq!(uses_with(&report, Code::LockWithoutExpiry), ["endless.acquire"]);
    assert!(found(&report, Code::SetThenExpire)[0].observed.contains("for ever"));
}

#[test]
fn two_users_of_one_token_and_a_counter_cut_in_two_are_found_and_their_one_command_forms_are_not() {
    let report = audited(
        "  - {name: loose, kind: one_time_token, key: 't:${id}', ttl: 1m, consume: get_then_delete, on_outage: propagate}\n\
         \x20 - {name: tight, kind: one_time_token, key: 'u:${id}', ttl: 1m, on_outage: propagate}\n\
         \x20 - {name: split, kind: rate_limit, key: 'r:${id}', limit: 3, window: 1m, two_step: true, on_outage: fail_open}\n\
         \x20 - {name: whole, kind: rate_limit, key: 's:${id}', limit: 3, window: 1m, on_outage: fail_open}\n",
    );
    assert_eq!(uses_with(&report, Code::ConsumedTwice), ["loose.consume"]);
    assert_eq!(uses_with(&report, Code::KeyWithoutExpiry), ["split.take"]);
}

#[test]
fn a_correct_file_departs_in_nothing_on_a_healthy_server() {
    let folder = Folder::with(&format!(
        "version: 1\nservice: shop\nclient: {{command_timeout: 500ms}}\nuses:\n{}{}",
        lock("cart", ", work: 10s, on_late_release: log"),
        "  - {name: token, kind: one_time_token, key: 't:${id}', ttl: 1h, on_outage: propagate}\n\
         \x20 - {name: once, kind: idempotency_key, key: 'i:${id}', in_flight_ttl: 1m, result_ttl: 1d, on_outage: propagate}\n\
         \x20 - {name: tiles, kind: cache, key: 'c:${id}', ttl: 1m, on_outage: fallback}\n\
         \x20 - {name: limit, kind: rate_limit, key: 'r:${id}', limit: 10, window: 1m, on_outage: fail_open}\n\
         \x20 - {name: jobs, kind: queue, key: 'q:${id}', on_outage: propagate}\n",
    ));
    let (ended, report) = folder.report(&["--samples", "5", "--states", "healthy"]);
    assert_eq!(ended.code, 0, "{}", ended.stdout);
    let findings: Vec<_> = report.services[0].findings.iter().map(|finding| finding.about()).collect();
    assert!(findings.is_empty(), "{findings:?}");
    assert!(report.services[0].scenes.iter().all(|scene| scene.state == State::Healthy));
}
