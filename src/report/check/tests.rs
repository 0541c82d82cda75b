use proptest::prelude::*;

use super::*;
use crate::observe::{Cost, Proof};
use crate::report::{markdown, sample};
use crate::words::{Code, Evidence, KnownFrom, OutagePolicy, State, Verdict};

/// What a table of the sample says when it is compared with a changed sample.
fn after(change: impl FnOnce(&mut Report)) -> Vec<String> {
    let comparison = compared(&sample::report(), change);
    comparison.differences.iter().map(Difference::to_string).collect()
}

fn compared(written: &Report, change: impl FnOnce(&mut Report)) -> Comparison {
    let document = read::document(&markdown::table(written)).unwrap();
    let mut report = written.clone();
    change(&mut report);
    compare(&document, &report)
}

#[test]
fn a_table_just_written_agrees_with_itself() {
    for report in [sample::report(), sample::two_services()] {
        assert_eq!(compared(&report, |_| ()), Comparison::default());
    }
}

#[test]
fn noise_never_trips_it() {
    // Each cost in turn: below 50 ms anything goes, above it a quarter.
    let differences = after(|report| {
        for cell in report.services[0].rows.iter_mut().flat_map(|row| &mut row.cells) {
            let p50 = cell.cost.unwrap().p50_us;
            cell.cost = Cost::of([if p50 < 1_000 { 49_000 } else { p50 * 124 / 100 }; 20]);
        }
        for cell in &mut report.services[0].requests[0].cells {
            let p50 = cell.cost.unwrap().p50_us * 4 / 5;
            cell.cost = Cost::of([p50; 20]);
            cell.waiting = cell.waiting.map(|waiting| waiting * 0.8);
            cell.jitter_us = 24_000;
        }
    });
    assert_eq!(differences, [""; 0]);
}

#[test]
fn a_cost_that_doubled_or_halved_is_shown_with_both_figures() {
    let to = |cost| after(move |report| report.services[0].rows[2].cells[1].cost = Cost::of([cost; 20]));
    assert_eq!(to(1_000_500), ["dataset-lock.acquire, paused: the file says 2.0 s, observed 1.0 s"]);
    assert_eq!(to(4_000_900), ["dataset-lock.acquire, paused: the file says 2.0 s, observed 4.0 s"]);
    assert_eq!(to(120), ["dataset-lock.acquire, paused: the file says 2.0 s, observed < 1 ms"]);
    let stopped = after(|report| report.services[0].rows[2].cells[2].cost = Cost::of([52_000; 20]));
    assert_eq!(stopped, ["dataset-lock.acquire, stopped: the file says < 1 ms, observed 52 ms"]);
    let request = after(|report| report.services[0].requests[0].cells[1].cost = Cost::of([2_000_000; 20]));
    assert_eq!(request, ["dataset-query, paused, cost: the file says 4.0 s, observed 2.0 s"]);
}

#[test]
fn what_ends_at_once_is_not_stale_by_how_busy_the_machine_was_and_is_by_a_wait() {
    let stopped = |report: &mut Report, cost_us: u64| {
        let cell = &mut report.services[0].rows[2].cells[2];
        (cell.worst_case_us, cell.cost) = (Some(0), Cost::of([cost_us; 20]));
    };
    let differs = |written_us: u64, cost_us: u64| {
        let mut written = sample::report();
        stopped(&mut written, written_us);
        !compared(&written, |report| stopped(report, cost_us)).differences.is_empty()
    };
    for (one, other) in [(61, 97_000), (7_000, 57_000), (97_000, 7_000)] {
        assert!(!differs(one, other) && !differs(other, one), "{one} and {other}");
    }
    assert!(differs(61, 250_000) && differs(57_000, 250_000), "a wait");
    let slow = |report: &mut Report, cost_us: u64| {
        stopped(report, cost_us);
        let cell = &mut report.services[0].rows[2].cells[2];
        (cell.worst_case_us, cell.state, report.states[2]) = (Some(250_000), State::Slow, State::Slow);
    };
    for (cost_us, is_stale) in [(290_000, false), (400_000, true)] {
        let mut written = sample::report();
        slow(&mut written, 220_000);
        let differences = compared(&written, |report| slow(report, cost_us)).differences;
        assert_eq!(!differences.is_empty(), is_stale, "{differences:?}");
    }
    let mut written = sample::report();
    stopped(&mut written, 57_000);
    assert!(markdown::table(&written).contains("< 100 ms"), "{}", markdown::table(&written));
}

#[test]
fn a_changed_policy_is_a_difference() {
    let differences = after(|report| {
        let row = &mut report.services[0].rows[2];
        let changed = sample::row("dataset-lock", "lock", "acquire", OutagePolicy::FailClosed, "refused");
        row.declared = changed.declared;
        row.meaning = changed.meaning;
        for (cell, changed) in row.cells.iter_mut().zip(changed.cells) {
            cell.decision = changed.decision;
        }
    });
    let expected = "dataset-lock.acquire, with Redis down: the file says allows: runs unlocked, observed denies: refused";
    assert_eq!(differences, [expected]);
}

#[test]
fn a_new_finding_and_a_lost_one_are_differences() {
    let differences = after(|report| {
        report.services[0].rows[0].cells[1].findings.push(Code::TimeoutNotEffective);
        let service = &mut report.services[0];
        service.findings.retain(|finding| finding.code != Code::Undecided);
    });
    assert_eq!(differences.len(), 2, "{differences:?}");
    assert!(differences[0].starts_with("jwt-revocation.check, findings: the file says"), "{differences:?}");
    assert!(differences[0].contains("timeout-not-effective"), "{differences:?}");
    assert!(differences[1].starts_with("project-cache.read, findings:"), "{differences:?}");
    let accepted = after(|report| report.services[0].rows[0].cells[1].accepted.clear());
    assert_eq!(accepted, [""; 0], "what was not there is not missed");
}

#[test]
fn rows_that_come_and_go_are_differences() {
    assert_eq!(
        after(|report| drop(report.services[0].rows.remove(2))),
        ["dataset-lock.acquire: in the file, and no longer declared"]
    );
    assert_eq!(
        after(|report| {
            let row = sample::row("sessions", "session", "load", OutagePolicy::FailOpen, "anonymous");
            report.services[0].rows.push(row);
        }),
        ["sessions.load: the file has no such row"]
    );
    let states = after(|report| {
        report.states.pop();
        report.services[0].requests.clear();
    });
    assert_eq!(states[0], "stopped: a column of the file that this run has not");
    assert!(
        states.contains(&"dataset-query, paused: in the file, and no longer declared".to_owned()),
        "{states:?}"
    );
}

#[test]
fn changed_evidence_place_budget_source_and_ending_are_differences() {
    let differences = after(|report| {
        let rows = &mut report.services[0].rows;
        rows[2].cells[1].evidence = Evidence::Declared;
        rows[4].known_from = KnownFrom::Docs;
        rows[0].code = Some("JwtFilter".to_owned());
        rows[0].cells[1].budget_us = Some(100_000);
        report.services[0].requests[0].cells[1].ends = "runs to its end".to_owned();
        report.services[0].requests[0].threads = Some(50);
    });
    for says in [
        "dataset-lock.acquire, how we know: the file says read in the code; simulated, observed",
        "project-cache.read, how we know: the file says assumed; simulated, observed from the documentation",
        "jwt-revocation.check, where: the file says JwtAuthenticationFilter, declared JwtFilter",
        "jwt-revocation.check, budget: the file says 250 ms (healthy 5 ms), declared healthy 5 ms, paused 100 ms, stopped 250 ms",
        "dataset-query, paused, how it ends: the file says ends at",
        "dataset-query, paused, waiting: the file says 20 of 10, declared 20 of 50",
    ] {
        assert!(
            differences.iter().any(|difference| difference.starts_with(says)),
            "{says}: {differences:#?}"
        );
    }
}

#[test]
fn a_call_that_returns_at_last_or_no_more_is_a_difference() {
    let returned =
        after(|report| report.services[0].rows[4].cells[1] = report.services[0].rows[5].cells[1].clone());
    assert!(
        returned.contains(
            &"project-cache.read, paused: the file says never returned (more than 15 s), observed 2.0 s"
                .to_owned()
        ),
        "{returned:#?}"
    );
    let longer = after(|report| {
        let cell = &mut report.services[0].rows[4].cells[1];
        cell.cost = Cost::of([30_000_000; 20]);
        cell.probes.iter_mut().for_each(|probe| probe.ended_us = 30_000_000);
    });
    assert_eq!(longer, [""; 0], "how long was waited before giving up is a setting");
}

#[test]
fn a_request_that_hangs_in_a_call_never_returned() {
    let differences = after(|report| {
        let cell = &mut report.services[0].requests[0].cells[1];
        let probe = &mut cell.probes[0].calls[0].probe;
        probe.reply = crate::words::Reply::NeverReturned;
        probe.ended_us = 15_000_200;
    });
    let expected =
        "dataset-query, paused, cost: the file says 4.0 s, observed never returned (more than 15 s)";
    assert_eq!(differences, [expected]);
}

#[test]
fn a_cell_that_departs_and_is_unproven_too_has_no_cost_to_compare() {
    let comparison = compared(&sample::report(), |report| {
        // Nobody decided what it does, so it departs whatever the state did.
        let cell = &mut report.services[0].rows[4].cells[2];
        cell.verdict = Verdict::Departs;
        cell.proof = Proof::NotProven("a probe was answered".to_owned());
        cell.cost = Cost::of([9_000_000; 20]);
    });
    assert_eq!(comparison.differences, []);
    assert_eq!(
        comparison.not_compared,
        ["project-cache.read, with Redis down", "project-cache.read, stopped"]
    );
}

#[test]
fn what_this_run_could_not_prove_is_not_held_against_the_table() {
    let unproven = |report: &mut Report| {
        let cell = &mut report.services[0].rows[0].cells[1];
        cell.verdict = Verdict::Inconclusive;
        cell.proof = Proof::NotProven("the witness lost its connection".to_owned());
        cell.findings = vec![Code::FaultNotProven];
        cell.cost = Cost::of([7; 20]);
        report.services[0].findings.retain(|finding| finding.code != Code::BudgetExceeded);
    };
    let comparison = compared(&sample::report(), unproven);
    assert_eq!(comparison.differences, []);
    assert_eq!(
        comparison.not_compared,
        ["with Redis down", "paused", "findings"].map(|column| format!("jwt-revocation.check, {column}"))
    );
    // What is declared is no matter of proof.
    let comparison = compared(&sample::report(), |report| {
        unproven(report);
        report.services[0].rows[0].declared = Some(OutagePolicy::FailOpen);
        report.services[0].rows[0].cells[2].findings.push(Code::BudgetExceeded);
        report.services[0].rows[0].cells[2].findings.push(Code::CommandUnavailable);
    });
    assert_eq!(comparison.differences.len(), 2, "{comparison:#?}");
}

#[test]
fn a_changed_guarantee_is_a_difference() {
    let differences = after(|report| {
        let uses = &mut report.services[0].uses;
        uses[0].guarantee = "a token is refused".to_owned();
        uses[1].cells[1].availability = uses[1].cells[2].availability.clone();
        uses[1].cells[2].availability.clear();
    });
    assert_eq!(
        differences,
        [
            "jwt-revocation, promises: the file says a revoked token is refused, declared a token is refused",
            "dataset-lock, paused: the file says lost: double-entry (implied, accepted); users served, observed lost: double-entry (implied, accepted); users not served: lock-held-by-nobody (5 of 5)",
            "dataset-lock, stopped: the file says lost: double-entry (implied, accepted); users not served: lock-held-by-nobody (5 of 5), observed lost: double-entry (implied, accepted); users served",
        ]
    );
    // What was computed is not what was seen.
    let seen = after(|report| {
        report.services[0].uses[1].cells[1].guarantee[0].basis = crate::words::Basis::OnServer;
    });
    assert_eq!(seen.len(), 1, "{seen:?}");
    let lost = after(|report| drop(report.services[0].uses.remove(2)));
    assert_eq!(lost, ["project-cache: in the file, and no longer declared"]);
}

#[test]
fn runs_that_do_not_agree_never_trip_it_and_a_new_loss_in_one_of_them_does() {
    // The file says "in some runs": now it was seen in all, and in none.
    let seen_in =
        |seen: usize| after(move |report| report.services[0].uses[2].cells[2].guarantee[0].seen = Some(seen));
    assert_eq!(seen_in(5), [""; 0]);
    assert_eq!(after(|report| report.services[0].uses[2].cells[2].guarantee.clear()), [""; 0]);
    // The file says "5 of 5": now it was seen in some, and in all of fewer.
    let wavers = |seen, of| {
        after(move |report| {
            let loss = &mut report.services[0].uses[1].cells[2].availability[0];
            (loss.seen, loss.of) = (Some(seen), Some(of));
        })
    };
    assert_eq!([wavers(4, 5), wavers(3, 3)].concat(), [""; 0]);
    let new = after(|report| {
        let uses = &mut report.services[0].uses;
        uses[0].cells[2].guarantee = uses[2].cells[2].guarantee.clone();
    });
    assert_eq!(new.len(), 1, "{new:?}");
    let unproven = compared(&sample::report(), |report| {
        let cell = &mut report.services[0].uses[2].cells[1];
        cell.proven = false;
        cell.availability.clear();
    });
    assert_eq!(unproven.differences, []);
    assert_eq!(unproven.not_compared, ["project-cache, paused"]);
}

#[test]
fn a_document_from_before_there_were_guarantees_is_stale() {
    let text = markdown::table(&sample::report());
    let at = text.find("| use            |").unwrap();
    let older = read::document(&text[..at]).unwrap();
    let differences = compare(&older, &sample::report()).differences;
    assert_eq!(
        differences.iter().map(Difference::to_string).collect::<Vec<_>>(),
        ["guarantees: the file has no such table"]
    );
    let mut report = sample::report();
    report.services[0].uses.clear();
    assert_eq!(compare(&older, &report), Comparison::default(), "there is nothing that it lacks");
}

#[test]
fn a_table_that_a_person_touched_is_still_read() {
    let text = markdown::table(&sample::report()).replace("dataset-lock.acquire", "`dataset-lock.acquire`");
    let text = text.lines().map(|line| line.replace("  ", " ")).collect::<Vec<_>>().join("\n");
    assert_eq!(compare(&read::document(&text).unwrap(), &sample::report()), Comparison::default());
}

#[test]
fn a_document_without_a_table_says_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("doc.md");
    let message = || check(&path, &sample::report()).unwrap_err().to_string();
    assert!(
        message().contains("doc.md: cannot be read") && message().contains("--markdown FILE"),
        "{}",
        message()
    );
    for (text, says) in [
        ("# ours\n", "has no line"),
        ("<!-- audit:begin -->\n\nnothing\n\n<!-- audit:end -->\n", "no failure table"),
        ("<!-- audit:begin -->\n\n| a | b |\n|---|---|\n\n<!-- audit:end -->\n", "no failure table"),
    ] {
        std::fs::write(&path, text).unwrap();
        assert!(message().contains(says) && message().contains("--markdown"), "{}", message());
    }
    markdown::write(&folder.path().join("own.md"), &sample::report()).unwrap();
    assert_eq!(check(&folder.path().join("own.md"), &sample::report()).unwrap(), Comparison::default());
}

#[test]
fn names_that_others_wrote_are_read_back_as_they_were() {
    for text in sample::hostile_texts() {
        let report = sample::written_by(sample::two_services(), &text);
        assert_eq!(compared(&report, |_| ()), Comparison::default(), "{text:?}");
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]
    #[test]
    fn any_names_are_read_back_as_they_were(text in sample::any_text()) {
        let report = sample::written_by(sample::report(), &text);
        prop_assert_eq!(compared(&report, |_| ()), Comparison::default());
    }

    #[test]
    fn a_cost_differs_exactly_where_it_is_off_by_a_quarter_and_by_fifty_milliseconds(
        before in 0_u64..20_000_000, factor in 0.0_f64..4.0,
    ) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a test")]
        let now = (before as f64 * factor) as u64;
        let mut report = sample::report();
        report.services[0].rows[2].cells[1].cost = Cost::of([before; 20]);
        let before = report.services[0].rows[2].cells[1].cost.unwrap().p50_us;
        let differs = !compared(&report, |report| report.services[0].rows[2].cells[1].cost = Cost::of([now; 20])).differences.is_empty();
        let off = now.abs_diff(before);
        // Two digits move what is stated by up to 5 %, or half a millisecond.
        if off > before * 32 / 100 + 1_000 && off > 51_000 + before / 20 {
            prop_assert!(differs, "{before} and {now}");
        }
        if off < before * 18 / 100 || off < 49_000_u64.saturating_sub(before / 20) {
            prop_assert!(!differs, "{before} and {now}");
        }
    }
}

#[test]
fn the_states_of_the_sample_are_those_that_the_tests_index() {
    assert!(sample::report().states.into_iter().eq(State::by_default()));
}
