use proptest::prelude::*;

use super::*;
use crate::report::{Row, UseReport, sample};
use crate::text::width;
use crate::words::{Finding, State, Verdict};

const OPTIONS: TerminalOptions = TerminalOptions { width: 80, color: false, quiet: false };

fn plain(report: &Report, columns: usize) -> String {
    render(report, &sample::sources(), &TerminalOptions { width: columns, ..OPTIONS })
}

/// The text without our own SGR codes (`ESC [ digits ; ... m`).
fn without_color(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        rest = rest[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix('m').expect("an escape sequence that is not a colour");
    }
    plain + rest
}

#[test]
fn every_line_of_an_ordinary_report_fits_eighty_columns() {
    let text = plain(&sample::report(), 80);
    println!("{text}");
    for line in text.lines() {
        assert!(width(line) <= 80, "{} columns: {line}", width(line));
    }
    println!(
        "{}",
        render(
            &sample::report(),
            &sample::sources(),
            &TerminalOptions { width: 120, color: true, quiet: false }
        )
    );
}

#[test]
fn a_cell_says_its_verdict_in_a_symbol_and_never_in_colour_alone() {
    let report = sample::report();
    let colored = render(&report, &sample::sources(), &TerminalOptions { color: true, ..OPTIONS });
    assert_eq!(without_color(&colored), plain(&report, 80), "the text is the same without colour");
    let line = |operation: &str| {
        let text = plain(&report, 80);
        text.lines().find(|line| line.trim_start().starts_with(operation)).unwrap().to_owned()
    };
    assert!(line("check ").contains("✗ 2.00 s denied"), "{}", line("check "));
    assert!(line("release ").trim_end().ends_with("? inconclusive"), "{}", line("release "));
    assert!(line("read ").contains("✗ > 15 s no return"), "{}", line("read "));
    assert!(line("take ").starts_with("  take     in memory  "), "{}", line("take "));
    assert!(line("take ").contains("goes on working; each instance counts for itself"), "{}", line("take "));
}

#[test]
fn an_inconclusive_cell_is_never_green() {
    let mut report = sample::report();
    for cell in
        report.services.iter_mut().flat_map(|service| &mut service.rows).flat_map(|row| &mut row.cells)
    {
        cell.verdict = Verdict::Inconclusive;
    }
    report.services[0].requests.clear();
    let colored = render(&report, &[], &TerminalOptions { color: true, ..OPTIONS });
    let table = colored.split("✓ conforms").next().unwrap();
    assert!(!table.contains("\u{1b}[32m"), "{table}");
    assert!(table.contains("\u{1b}[33m?"), "{table}");
}

/// The sample with more outage states than stand side by side, each as the one before.
fn in_many_states() -> Report {
    let mut report = sample::report();
    for state in [State::Frozen, State::Loading, State::Busy] {
        report.states.push(state);
        for row in report.services[0].rows.iter_mut().filter(|row| !row.cells.is_empty()) {
            let mut cell = row.cells.last().unwrap().clone();
            cell.state = state;
            row.cells.push(cell);
        }
    }
    report.states.sort_unstable();
    report
}

#[test]
fn what_is_not_proven_has_neither_figure_nor_decision_in_either_layout() {
    for mut report in [sample::report(), in_many_states()] {
        for cell in report.services[0].rows.iter_mut().flat_map(|row| &mut row.cells) {
            cell.proof = crate::observe::Proof::BeyondServer("it takes 7.0".to_owned());
        }
        for cell in &mut report.services[0].requests[0].cells {
            cell.verdict = Verdict::Inconclusive;
        }
        let text = plain(&report, 80);
        let table = text.split("cost: the median").next().unwrap();
        assert!(table.contains("inconclusive"), "{table}");
        let shown = [" ms", " s ", "denied", "allowed", "answered", "no return"];
        assert!(!shown.iter().any(|word| table.contains(word)), "{table}");
        let request = &text[text.find("\nrequest ").unwrap()..text.find(" runs\n").unwrap()];
        assert!(request.contains("inconclusive") && !request.contains("runs to its end"), "{request}");
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    }
}

#[test]
fn among_many_states_the_healthy_one_stands_alone() {
    let mut report = in_many_states();
    for cell in report.services[0].rows.iter_mut().flat_map(|row| &mut row.cells) {
        cell.decision = Some(crate::words::Decision::Answered);
        cell.verdict = Verdict::Conforms;
        cell.cost = crate::observe::Cost::of([if cell.state == State::Healthy { 60 } else { 8_200 }; 20]);
    }
    let text = plain(&report, 100);
    let healthy: Vec<&str> = text.lines().filter(|line| line.contains("answered 0.06 ms")).collect();
    assert!(
        !healthy.is_empty() && healthy.iter().all(|line| line.trim_end().ends_with("  healthy")),
        "{text}"
    );
}

/// The table of guarantees, without the lines below it.
fn guarantees(text: &str) -> &str {
    let table = &text[text.find("promise  ").unwrap()..];
    &table[..table.find("\u{2713} kept, ").unwrap()]
}

#[test]
fn a_lost_guarantee_is_named_with_its_count_and_one_that_follows_from_a_policy_is_no_cross() {
    let text = plain(&sample::report(), 80);
    let table: Vec<&str> = guarantees(&text).lines().collect();
    let of = |name: &str| {
        let at = table.iter().position(|line| line.starts_with(name)).unwrap();
        table[at + 1..=at + 2].iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert!(table.contains(&"dataset-lock  at most one holder"), "{text}");
    assert!(!table[0].contains("healthy"), "{text}");
    assert!(
        of("jwt-revocation")
            .eq(["guarantee ✓ kept ✓ kept", "availability ~ valid-request-refused ~ valid-request-refused",])
    );
    assert!(of("dataset-lock").eq([
        "guarantee ~ double-entry (accepted) ~ double-entry (accepted)",
        "availability ✓ served ✗ lock-held-by-nobody 5 of 5",
    ]));
    assert!(of("project-cache").eq([
        "guarantee ✓ kept ✗ stale-after-recovery 3 of 5",
        "availability ✗ beat-suppressed-by-late-claim ~ read-failed",
    ]));
    assert_eq!(table.last().unwrap().trim(), "5 of 5 +2", "what does not fit stands below: {text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let repeats = "project-cache: each caller comes again every 20 s: 3 failed calls in an outage of a minute, 180 in an hour (computed)";
    assert!(
        text.contains(repeats) && text.contains("dataset-lock: each caller comes again every 1 s"),
        "{text}"
    );
    assert!(text.contains("recovery: dataset-lock.acquire 310 ms after stopped"), "{text}");
    assert!(!text.contains("after paused"), "{text}");
}

#[test]
fn an_accepted_loss_that_was_seen_is_not_hidden_behind_an_implied_one() {
    let mut report = sample::report();
    let service = &mut report.services[0];
    let implied = service.uses[0].cells[1].availability[0].clone();
    service.uses[1].cells[2].availability.insert(0, implied);
    let accepted = service.findings.iter_mut().find(|finding| finding.accepted.is_some()).unwrap();
    accepted.code = crate::words::Code::LockHeldByNobody;
    let text = plain(&report, 120);
    assert!(text.contains("✗ lock-held-by-nobody 5 of 5 (accepted) +1"), "{text}");
}

#[test]
fn a_guarantee_of_which_nothing_is_known_is_never_green() {
    let mut report = sample::report();
    for cell in report.services[0].uses.iter_mut().flat_map(|used| &mut used.cells) {
        cell.proven = false;
        cell.guarantee.clear();
        cell.availability.clear();
    }
    let colored = render(&report, &[], &TerminalOptions { color: true, ..OPTIONS });
    let table = guarantees(&colored);
    assert!(!table.contains("\u{1b}[32m") && !table.contains("kept"), "{table}");
    assert_eq!(table.matches("\u{1b}[33m?").count(), 12, "{table}");
    assert!(!colored.contains("comes again"), "{colored}");
}

#[test]
fn what_is_lost_without_any_outage_gets_the_healthy_state_a_column() {
    let mut report = sample::report();
    let lost = report.services[0].uses[1].cells[2].availability.clone();
    report.services[0].uses[1].cells[0].guarantee = lost;
    let text = plain(&report, 120);
    assert!(guarantees(&text).lines().next().unwrap().contains("healthy"), "{text}");
    for columns in [60, 80, 120] {
        let text = plain(&report, columns);
        for line in guarantees(&text).lines() {
            assert!(width(line) <= columns && line == line.trim_end(), "{line}");
        }
    }
}

#[test]
fn states_that_do_not_fit_get_a_table_of_their_own() {
    let text = plain(&sample::report(), 60);
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("operation")).collect();
    assert_eq!(heads.len(), 2, "{text}");
    assert!(heads[0].contains("paused") && !heads[0].contains("stopped"), "{heads:?}");
    assert!(heads[1].contains("stopped") && !heads[1].contains("paused"), "{heads:?}");
    // The last line is read by programs as well, and stays one line.
    for line in text.lines().filter(|line| !line.starts_with("departs: ")) {
        assert!(width(line) <= 60, "{line}");
    }
}

#[test]
fn what_counts_stands_beside_its_line_and_the_rest_in_a_line_each() {
    let text = plain(&sample::report(), 80);
    assert!(text.contains("deny[budget-exceeded]: a call took longer than its budget"), "{text}");
    assert!(text.contains("8 |     budget: 250ms\n  |             ^^^^^"), "{text}");
    assert!(text.contains("= change: `client.command_timeout` to at most 250ms"), "{text}");
    assert!(text.contains("inconclusive[fault-not-proven]"), "{text}");
    assert!(text.contains("jwt-revocation  valid-request-refused (check, revoke)"), "{text}");
    assert!(!text.contains("warn[valid-request-refused]"), "{text}");
    assert_eq!(text.matches("warn[late-execution]: the caller was told of an error").count(), 1, "{text}");
    let warned = "  jwt-revocation.revoke, paused (policies/portfolio.yaml:7:16)\n    the worst of 20 probes";
    assert!(text.contains(warned), "{text}");
    assert_eq!(text.matches("`audit explain CODE`").count(), 1, "{text}");
    assert!(text.contains("a double query costs less"), "{text}");
    assert!(text.contains("origin-stampede"), "{text}");
}

#[test]
fn an_implied_finding_that_rules_raise_to_deny_is_not_folded_away() {
    let mut report = sample::report();
    for finding in &mut report.services[0].findings {
        if finding.basis == crate::words::Basis::Implied {
            finding.severity = Severity::Deny;
        }
    }
    assert!(plain(&report, 80).contains("deny[valid-request-refused]"));
}

#[test]
fn every_table_says_how_many_probes_it_rests_on() {
    let mut report = sample::report();
    report.services[0].rows[0].cells[1].cost = crate::observe::Cost::of([2_000_000; 18]);
    let text = plain(&report, 80);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("n: healthy 200, paused 20 (jwt-revocation.check 18), stopped 20"), "{text}");
    assert!(text.contains("n: healthy 20, paused 20, stopped 20 runs"), "{text}");
}

#[test]
fn without_the_policy_files_text_the_line_is_still_named() {
    let text = render(&sample::report(), &[], &OPTIONS);
    assert!(text.contains("--> policies/portfolio.yaml:8:13"), "{text}");
    assert!(!text.contains("budget: 250ms"), "{text}");
}

#[test]
fn a_thousand_uses_are_rendered_without_a_noticeable_wait() {
    let mut report = sample::report();
    let service = &mut report.services[0];
    let (rows, uses, findings) = (service.rows.clone(), service.uses.clone(), service.findings.clone());
    for at in 0..150 {
        let named = |name: &str| format!("{name}-{at}");
        service.rows.extend(rows.iter().cloned().map(|row| Row { use_name: named(&row.use_name), ..row }));
        service.uses.extend(uses.iter().cloned().map(|used| UseReport { name: named(&used.name), ..used }));
        let renamed = |finding: Finding| Finding { subject: named(&finding.subject), ..finding };
        service.findings.extend(findings.iter().cloned().map(renamed));
    }
    let began = std::time::Instant::now();
    let shown = plain(&report, 80);
    let table = crate::report::markdown::table(&report);
    assert!(shown.lines().count() > 5_000 && table.lines().count() > 1_000);
    // It takes a tenth of this on an idle machine, without optimisation; what is squared somewhere takes minutes.
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn quiet_leaves_departures_and_the_verdict() {
    let text = render(&sample::report(), &sample::sources(), &TerminalOptions { quiet: true, ..OPTIONS });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines[0].starts_with("deny[budget-exceeded]: jwt-revocation.check, paused: "), "{text}");
    assert!(lines[0].ends_with("(policies/portfolio.yaml:8:13)"), "{text}");
    assert_eq!(lines[4], "departs: 9 findings (4 deny, 1 accepted) in 4.31 s on redis-server 7.0.15");
}

#[test]
fn a_report_without_rows_states_or_findings_still_ends_with_its_verdict() {
    let mut report = sample::report();
    report.services.clear();
    report.notes.clear();
    report.verdict = Verdict::Conforms;
    assert_eq!(plain(&report, 80), "conforms: no findings in 4.31 s on redis-server 7.0.15\n");
    let mut report = sample::report();
    report.states = vec![State::Healthy];
    assert!(plain(&report, 80).contains("healthy"));
}

#[test]
fn long_names_are_shortened_in_the_table_and_escapes_never_reach_the_terminal() {
    for text in sample::hostile_texts() {
        let report = sample::written_by(sample::report(), &text);
        let colored = render(&report, &sample::sources(), &TerminalOptions { color: true, ..OPTIONS });
        let shown = without_color(&colored);
        let raw = shown.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(raw, None, "{text:?}");
        for line in shown.lines().take_while(|line| !line.starts_with("request")) {
            assert!(width(line) <= 80, "{} columns: {line}", width(line));
        }
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]
    #[test]
    fn nothing_that_others_wrote_controls_the_terminal(text in sample::any_text(), columns in 0_usize..200) {
        let report = sample::written_by(sample::report(), &text);
        let options = TerminalOptions { width: columns, color: true, quiet: false };
        let shown = without_color(&render(&report, &sample::sources(), &options));
        prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    }
}
