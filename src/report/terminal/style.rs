//! Colour by convention: red departs, yellow is inconclusive or a warning, green conforms. The text alone says the
//! same.

use anstyle::{AnsiColor, Style};

use crate::words::{Severity, Verdict};

/// Departs.
const RED: Style = AnsiColor::Red.on_default().bold();
/// Inconclusive, or a warning.
const YELLOW: Style = AnsiColor::Yellow.on_default();
/// Conforms.
const GREEN: Style = AnsiColor::Green.on_default();
/// What stands at the head of a group.
pub(super) const HEAD: Style = Style::new().bold();
/// What is there for reference.
pub(super) const QUIET: Style = Style::new().dimmed();
/// Nothing.
pub(super) const PLAIN: Style = Style::new();

/// Puts styles around text, or leaves them out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    /// Whether to.
    pub(super) color: bool,
}

impl Paint {
    /// The text in a style.
    pub(super) fn paint(self, style: Style, text: &str) -> String {
        if self.color && !style.is_plain() && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// A verdict's colour.
pub(super) fn of_verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Conforms => GREEN,
        Verdict::Inconclusive => YELLOW,
        Verdict::Departs => RED,
    }
}

/// A severity's colour.
pub(super) fn of_severity(severity: Severity) -> Style {
    match severity {
        Severity::Allow => QUIET,
        Severity::Warn | Severity::Inconclusive => YELLOW,
        Severity::Deny => RED,
    }
}

/// A verdict's symbol, so that colour is never the only sign.
pub(super) fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Conforms => "✓",
        Verdict::Inconclusive => "?",
        Verdict::Departs => "✗",
    }
}
