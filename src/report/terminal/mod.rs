//! The report on a terminal: the failure table, the requests, the findings, and a last line with the verdict.

mod arithmetic;
mod findings;
mod grouped;
mod guarantees;
mod requests;
mod style;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::arithmetic::arithmetic;

use self::style::{HEAD, Paint, QUIET, of_verdict};
use super::facts::{recoveries_in_words, states_in_words};
use super::{Report, Service};
use crate::policy::{Persistence, Source};
use crate::text::{clean, shorten, width, wrap};
use crate::words::{Evidence, Finding, Severity, Verdict, Whose, human_us};

/// The narrowest terminal that is written for; a narrower one wraps the lines itself.
const NARROWEST: usize = 40;

/// How to render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// How many columns there are.
    pub width: usize,
    /// Whether to use colour, which repeats what the text says.
    pub color: bool,
    /// Whether to leave out everything but departures and the verdict.
    pub quiet: bool,
}

/// The whole report. The policy files' texts are shown beside findings; without them, only their lines are named.
pub fn render(report: &Report, sources: &[Arc<Source>], options: &TerminalOptions) -> String {
    let options = TerminalOptions { width: options.width.max(NARROWEST), ..*options };
    let paint = Paint { color: options.color };
    let mut text = String::new();
    if options.quiet {
        let departing = report.findings().filter(|finding| finding.departs());
        text.extend(departing.map(|finding| findings::one_line(finding, paint)));
    } else {
        for service in &report.services {
            text.push_str(&render_service(report, service, sources, &options));
        }
        text.push_str(&findings::how_to_read_on(report.findings().next().is_some(), &options));
        let notes = report.notes.iter().map(|note| format!("note: {}", clean(note)));
        let notes: Vec<String> = notes.flat_map(|note| wrap(&note, options.width)).collect();
        text.extend(notes.iter().map(|line| format!("{line}\n")));
        if !notes.is_empty() {
            text.push('\n');
        }
    }
    text.push_str(&last_line(report, paint));
    text
}

fn render_service(
    report: &Report,
    service: &Service,
    sources: &[Arc<Source>],
    options: &TerminalOptions,
) -> String {
    let paint = Paint { color: options.color };
    let name = shorten(&clean(&service.name), options.width / 2);
    let rest =
        format!("{} on {}, {}", clean(&service.file), server(report), kept(report, service.persistence));
    let rest = shorten(&rest, options.width.saturating_sub(width(&name) + 2));
    let mut parts = vec![
        format!("{}  {}\n", paint.paint(HEAD, &name), paint.paint(QUIET, &rest)),
        table::render(service, &report.states, options.width, paint) + &legend(service, options.width, paint),
        guarantees::render(service, &report.states, options.width, paint),
        requests::render(&service.requests, options.width, paint),
        findings::render(&service.findings, sources, options),
    ];
    parts.retain(|part| !part.is_empty());
    format!("{}\n", parts.join("\n"))
}

/// What the marks and the words for evidence mean; only the words that occur.
fn legend(service: &Service, to: usize, paint: Paint) -> String {
    let mut words = "✓ conforms, ✗ departs, ? inconclusive".to_owned();
    let cells = || service.rows.iter().flat_map(|row| row.cells.iter().map(move |cell| (row, cell)));
    if cells().any(|(_, cell)| cell.evidence == Evidence::Simulated) {
        words
            .push_str("; simulated: a real reply of a real server, to which the declared policy was applied");
    }
    let unmeasured: Vec<String> = cells()
        .filter(|(_, cell)| cell.evidence == Evidence::Declared)
        .map(|(row, cell)| format!("{} {}", clean(&row.name()), states_in_words(&[cell.state])))
        .collect();
    if !unmeasured.is_empty() {
        words.push_str(&format!("; declared, nobody measured: {}", unmeasured.join(", ")));
    }
    let mut lines = wrap(&words, to);
    lines.extend(recoveries_in_words(&service.rows).iter().flat_map(|words| wrap(&clean(words), to)));
    lines.iter().map(|line| format!("{}\n", paint.paint(QUIET, line))).collect()
}

fn server(report: &Report) -> String {
    format!("{} {}", shorten(&clean(&report.server.name), 30), shorten(&clean(&report.server.version), 20))
}

/// How the data is kept, where that is the audit's doing.
fn kept(report: &Report, persistence: Persistence) -> &'static str {
    if report.server.whose == Whose::Attached {
        return "which is not the audit's own";
    }
    Persistence::ALL.iter().find(|(_, each)| *each == persistence).map_or("", |(word, _)| word)
}

/// `departs: 7 findings (3 deny, 2 accepted) in 4.31 s on redis-server 7.0.15`
fn last_line(report: &Report, paint: Paint) -> String {
    let how = format!("in {} on {}", human_us(report.wall_us), server(report));
    verdict_line(report.verdict, report.findings(), &how, paint)
}

/// The verdict, what it rests on, and how it came about.
fn verdict_line<'a>(
    verdict: Verdict,
    findings: impl Iterator<Item = &'a Finding>,
    how: &str,
    paint: Paint,
) -> String {
    let (mut denied, mut unproven, mut accepted, mut all) = (0, 0, 0, 0);
    for finding in findings.filter(|finding| finding.severity != Severity::Allow) {
        all += 1;
        denied += usize::from(finding.departs());
        unproven += usize::from(finding.is_inconclusive());
        accepted += usize::from(finding.accepted.is_some());
    }
    // What the verdict rests on, and what was let pass; a line that has to be read at a glance holds no more.
    let counts = match verdict {
        Verdict::Inconclusive => [(unproven, "inconclusive"), (accepted, "accepted")],
        Verdict::Conforms | Verdict::Departs => [(denied, "deny"), (accepted, "accepted")],
    };
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let counts = if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
    let findings = match all {
        0 => "no findings".to_owned(),
        1 => "1 finding".to_owned(),
        _ => format!("{all} findings"),
    };
    let word = paint.paint(of_verdict(verdict).bold(), verdict.name());
    format!("{word}: {findings}{counts} {how}\n")
}
