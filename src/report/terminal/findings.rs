//! The findings: what decides the verdict beside its line of the policy file, the rest in a line or two each.

use std::sync::Arc;

use super::TerminalOptions;
use super::style::{HEAD, Paint, QUIET, of_severity};
use crate::policy::Source;
use crate::report::facts::states_in_words;
use crate::text::{Look, Message, Tone, clean, pad, shorten, snippet, width, wrap};
use crate::words::{Basis, Code, Finding, Severity};

/// All findings of a service.
pub(super) fn render(findings: &[Finding], sources: &[Arc<Source>], options: &TerminalOptions) -> String {
    let paint = Paint { color: options.color };
    let mut blocks = Vec::new();
    let (mut warned, mut implied) = (Vec::new(), Vec::new());
    let (mut accepted, mut allowed) = (Vec::new(), Vec::new());
    for finding in findings {
        match finding {
            _ if finding.accepted.is_some() => accepted.push(finding),
            _ if finding.severity == Severity::Allow => allowed.push(finding),
            // What `rules` raise to a departure has to be seen as one.
            _ if finding.basis == Basis::Implied && !finding.departs() => implied.push(finding),
            _ if finding.severity == Severity::Warn => warned.push(finding),
            _ => blocks.push(block(finding, sources, options)),
        }
    }
    if !warned.is_empty() {
        blocks.push(warnings(&warned, options.width, paint));
    }
    if !implied.is_empty() {
        blocks.push(implied_lines(&implied, options.width, paint));
    }
    if !accepted.is_empty() {
        let lines = accepted.iter().map(|finding| {
            let reason = finding.accepted.as_deref().unwrap_or_default();
            (finding.code.name().to_owned(), format!("{}: {reason}", where_and_when(finding)))
        });
        blocks.push(list("accepted by the policy file", lines, options.width, paint));
    }
    if !allowed.is_empty() {
        let lines = allowed.iter().map(|finding| (finding.code.name().to_owned(), where_and_when(finding)));
        blocks.push(list("allowed by `rules`, not counted", lines, options.width, paint));
    }
    blocks.join("\n")
}

/// A finding in a line, for `--quiet`.
pub(super) fn one_line(finding: &Finding, paint: Paint) -> String {
    let word = format!("{}[{}]", finding.severity.name(), finding.code);
    format!(
        "{}: {}: {} ({})\n",
        paint.paint(of_severity(finding.severity), &word),
        clean(&where_and_when(finding)),
        clean(&finding.observed),
        clean(&finding.place.to_string()),
    )
}

fn block(finding: &Finding, sources: &[Arc<Source>], options: &TerminalOptions) -> String {
    let source = sources.iter().find(|source| source.name() == finding.place.file);
    let mut notes = vec![
        ("where", where_and_when(finding)),
        ("declared", finding.declared.clone()),
        ("observed", finding.observed.clone()),
        ("cause", finding.cause.clone()),
        ("change", finding.knob.clone()),
        ("basis", finding.basis.name().to_owned()),
    ];
    notes.retain(|(_, says)| !says.trim().is_empty());
    let message = Message {
        tone: match finding.severity {
            Severity::Deny => Tone::Error,
            Severity::Warn | Severity::Inconclusive => Tone::Warning,
            Severity::Allow => Tone::Note,
        },
        word: finding.severity.name(),
        id: Some(finding.code.name()),
        title: finding.code.summary(),
        notes: &notes,
    };
    let text = source.map(|source| source.text.as_str());
    snippet(&finding.place, text, &message, Look { color: options.color, width: options.width })
}

/// Where the rest of a finding is told; nothing where there is none.
pub(super) fn how_to_read_on(any: bool, options: &TerminalOptions) -> String {
    let paint = Paint { color: options.color };
    let words = if any {
        "`audit explain CODE` says what a code means, what causes it and what to change"
    } else {
        ""
    };
    let lines = wrap(words, options.width);
    let text: String = lines.iter().map(|line| format!("{}\n", paint.paint(QUIET, line))).collect();
    if any { text + "\n" } else { String::new() }
}

/// The warnings: each code once with what it says, and below it where it was found and what was seen there.
fn warnings(findings: &[&Finding], to: usize, paint: Paint) -> String {
    let mut codes: Vec<(Code, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        match codes.iter_mut().find(|(code, _)| *code == finding.code) {
            Some((_, known)) => known.push(finding),
            None => codes.push((finding.code, vec![finding])),
        }
    }
    let mut text = String::new();
    for (code, findings) in codes {
        let word = format!("{}[{code}]", Severity::Warn.name());
        for (at, line) in
            wrap(&format!("{word}: {}", code.summary()), to.saturating_sub(2)).iter().enumerate()
        {
            match line.strip_prefix(&word).filter(|_| at == 0) {
                Some(rest) => {
                    text.push_str(&format!("{}{rest}\n", paint.paint(of_severity(Severity::Warn), &word)));
                }
                None => text.push_str(&format!("  {line}\n")),
            }
        }
        for finding in findings {
            let (place, about) = (clean(&finding.place.to_string()), clean(&where_and_when(finding)));
            for line in wrap(&format!("{about} ({place})"), to.saturating_sub(2)) {
                text.push_str(&format!("  {}\n", paint.paint(HEAD, &line)));
            }
            for line in wrap(&clean(&finding.observed), to.saturating_sub(4)) {
                text.push_str(&format!("    {line}\n"));
            }
        }
    }
    text
}

/// The codes found of a use, each with its operations.
type Codes<'a> = Vec<(Code, Vec<&'a str>)>;

/// One line for each use: what follows from its policies.
fn implied_lines(findings: &[&Finding], to: usize, paint: Paint) -> String {
    let mut uses: Vec<(&str, Codes<'_>)> = Vec::new();
    for finding in findings {
        let at = uses.iter().position(|(subject, _)| *subject == finding.subject).unwrap_or_else(|| {
            uses.push((&finding.subject, Vec::new()));
            uses.len() - 1
        });
        let codes = &mut uses[at].1;
        let operations = finding.operations.iter().map(String::as_str);
        match codes.iter_mut().find(|(code, _)| *code == finding.code) {
            Some((_, known)) => known.extend(operations),
            None => codes.push((finding.code, operations.collect())),
        }
    }
    let in_words = |(code, operations): (Code, Vec<&str>)| match operations.as_slice() {
        [] => code.name().to_owned(),
        operations => format!("{code} ({})", operations.join(", ")),
    };
    let lines = uses.into_iter().map(|(subject, codes)| {
        (subject.to_owned(), codes.into_iter().map(in_words).collect::<Vec<_>>().join(", "))
    });
    list("implied by what is declared; nobody had to look", lines, to, paint)
}

/// A heading, and lines of a term and what is said of it, aligned.
fn list(heading: &str, lines: impl Iterator<Item = (String, String)>, to: usize, paint: Paint) -> String {
    let lines: Vec<_> = lines.map(|(term, says)| (shorten(&clean(&term), 28), clean(&says))).collect();
    let indent = lines.iter().map(|(term, _)| width(term)).max().unwrap_or(0).min(to / 2) + 4;
    let mut text = format!("{}\n", paint.paint(QUIET, heading));
    for (term, says) in lines {
        let says = wrap(&says, to.saturating_sub(indent).max(20)).join(&format!("\n{}", " ".repeat(indent)));
        text.push_str(&format!("  {}  {says}\n", paint.paint(HEAD, &pad(&term, indent - 4))));
    }
    text
}

fn where_and_when(finding: &Finding) -> String {
    match finding.states.as_slice() {
        [] => finding.about(),
        states => format!("{}, {}", finding.about(), states_in_words(states)),
    }
}
