//! The line of a file that a place is in, made safe to print.

use super::lines::printable;
use crate::words::Span;

/// How many characters of a line are shown before and behind its underlined start: a line may be as long as its file.
const AROUND: usize = 200;

/// A line, or what is shown of it, and which of its bytes are underlined.
pub(super) struct Excerpt {
    pub(super) line: String,
    pub(super) underlined: std::ops::Range<usize>,
    /// Whether the line's beginning is missing.
    pub(super) is_cut: bool,
}

impl Excerpt {
    /// Takes the line out; none where the place is not known or not in this text. The span is clamped to its line and
    /// to whole characters, as the renderer panics on any other, and no other line is looked at.
    pub(super) fn of(text: &str, span: Span) -> Option<Excerpt> {
        if span.line == 0 || span.start > text.len() {
            return None;
        }
        let start = floor(text, span.start);
        let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let last = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let last = first.max(if text[..last].ends_with('\r') { last - 1 } else { last });
        let start = start.min(last);
        let end = ceil(text, start.saturating_add(span.len)).min(last);
        let from =
            text[first..start].char_indices().rev().nth(AROUND - 1).map_or(first, |(at, _)| first + at);
        let to = text[start..last].char_indices().nth(AROUND).map_or(last, |(at, _)| start + at);
        let cut = |missing: bool| if missing { "\u{2026}" } else { "" };
        let before = format!("{}{}", cut(from > first), printable(&text[from..start]));
        let inside = printable(&text[start..end.min(to)]);
        let after = format!("{}{}", printable(&text[end.min(to)..to]), cut(to < last));
        Some(Excerpt {
            underlined: before.len()..before.len() + inside.len(),
            line: format!("{before}{inside}{after}"),
            is_cut: from > first,
        })
    }
}

/// The nearest start of a character at or before a byte.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest start of a character at or behind a byte.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
