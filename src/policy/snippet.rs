//! A message beside the line of the policy file that it speaks of.
//!
//! Problems of the file and findings of a run look the same: both are rendered here.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{Lines, Source};
use crate::words::Span;

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something is wrong.
    Error,
    /// Something deserves a look.
    Warning,
    /// Something to know.
    Note,
}

/// How a message is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// With colours, as escape sequences.
    pub color: bool,
    /// How many columns there are.
    pub width: usize,
}

impl Look {
    /// Without colours, 100 columns wide.
    pub const PLAIN: Look = Look { color: false, width: 100 };
}

/// What a message says.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// How much it matters.
    pub tone: Tone,
    /// The name that stands in brackets behind the tone, such as a finding's code.
    pub id: Option<&'a str>,
    /// The first line.
    pub title: &'a str,
    /// What stands beside the underlined text.
    pub label: Option<&'a str>,
    /// Lines that add what is known.
    pub notes: &'a [String],
    /// Lines that say what to do.
    pub helps: &'a [String],
}

/// How many characters of a line are shown before and behind its underlined start.
const AROUND: usize = 200;

/// Renders a message and the line that it speaks of, with a line end at the end.
///
/// The span may be anything: it is moved into the text. Control characters of the text are replaced.
pub fn snippet(source: &Source, span: Span, message: &Message<'_>, look: Look) -> String {
    let line = Line::around(&source.text, span);
    let tone = match message.tone {
        Tone::Error => Level::ERROR,
        Tone::Warning => Level::WARNING,
        Tone::Note => Level::NOTE,
    };
    let mut annotation = AnnotationKind::Primary.span(line.underlined.clone());
    if let Some(label) = message.label {
        annotation = annotation.label(printable(label));
    }
    let mut title = tone.primary_title(printable(message.title));
    if let Some(id) = message.id {
        title = title.id(printable(id));
    }
    let path = printable(&source.name());
    let text = Snippet::source(line.text.as_str()).line_start(line.number).annotation(annotation);
    let mut group: Group<'_> = if line.is_cut {
        // The renderer would count the column in what is left of the line.
        title.element(Origin::path(path).line(line.number).char_column(line.column)).element(text)
    } else {
        title.element(text.path(path))
    };
    for note in message.notes {
        group = group.element(Level::NOTE.message(printable(note)));
    }
    for help in message.helps {
        group = group.element(Level::HELP.message(printable(help)));
    }
    rendered(&[group], look)
}

/// Renders a message that belongs to a file as a whole.
pub(super) fn whole_file(path: &str, title: &str, helps: &[String], look: Look) -> String {
    let mut group = Level::ERROR.primary_title(printable(title)).element(Origin::path(printable(path)));
    for help in helps {
        group = group.element(Level::HELP.message(printable(help)));
    }
    rendered(&[group], look)
}

fn rendered(report: &[Group<'_>], look: Look) -> String {
    let renderer = if look.color { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.term_width(look.width.max(40)).render(report);
    text.push('\n');
    text
}

/// The line that is shown, made safe to print.
struct Line {
    number: usize,
    column: usize,
    /// Whether its beginning is missing.
    is_cut: bool,
    text: String,
    underlined: std::ops::Range<usize>,
}

impl Line {
    fn around(text: &str, span: Span) -> Line {
        let start = floor(text, span.start);
        let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let last = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let last = first.max(if text[..last].ends_with('\r') { last - 1 } else { last });
        let start = start.min(last);
        let end = ceil(text, start.saturating_add(span.len)).min(last);
        // A line may be as long as the file: only what lies around the underlined start is shown.
        let from =
            text[first..start].char_indices().rev().nth(AROUND - 1).map_or(first, |(at, _)| first + at);
        let to = text[start..last].char_indices().nth(AROUND).map_or(last, |(at, _)| start + at);
        let end = end.min(to);
        let cut = |at: bool| if at { "\u{2026}" } else { "" };
        let before = format!("{}{}", cut(from > first), printable(&text[from..start]));
        let inside = printable(&text[start..end]);
        let after = format!("{}{}", printable(&text[end..to]), cut(to < last));
        let place = if span.line == 0 || span.column == 0 { Lines::of(text).place(text, span) } else { span };
        Line {
            number: place.line,
            column: place.column,
            is_cut: from > first,
            underlined: before.len()..before.len() + inside.len(),
            text: format!("{before}{inside}{after}"),
        }
    }
}

/// The nearest start of a character at or before a byte.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest start of a character at or behind a byte.
pub(super) fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// The text without anything that a terminal would obey.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .map(|char| match char {
            '\n' | '\t' => ' ',
            char if char.is_control() || steers_text(char) => '\u{fffd}',
            char => char,
        })
        .collect()
}

/// Characters that turn or hide the text around them.
fn steers_text(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    fn source(text: &str) -> Source {
        Source { path: PathBuf::from("policies.yaml"), text: text.to_owned() }
    }

    const MESSAGE: Message<'static> =
        Message { tone: Tone::Error, id: None, title: "wrong", label: None, notes: &[], helps: &[] };

    #[test]
    fn a_message_names_file_line_and_column_and_underlines_the_text() {
        let source = source("version: 1\nservice: shöp\n");
        let span = Span { line: 2, column: 10, start: 20, len: 5 };
        let helps = ["do this".to_owned()];
        let message = Message { id: Some("undecided"), label: Some("here"), helps: &helps, ..MESSAGE };
        let text = snippet(&source, span, &message, Look::PLAIN);
        assert_eq!(
            text,
            "error[undecided]: wrong\n --> policies.yaml:2:10\n  |\n2 | service: shöp\n  |          ^^^^ here\n  |\n  = help: do this\n",
        );
    }

    #[test]
    fn escape_sequences_of_the_file_do_not_reach_the_terminal() {
        let source = source("a: \"\u{1b}[31m\u{9b}2J\u{202e}\"\n");
        let span = Span { line: 1, column: 4, start: 3, len: 99 };
        let message = Message { title: "\u{1b}]0;x\u{7}", label: Some("\u{1b}c"), ..MESSAGE };
        let text = snippet(&source, span, &message, Look::PLAIN);
        assert!(text.chars().all(|char| char == '\n' || !char.is_control()), "{text:?}");
        assert!(!text.contains('\u{202e}'));
    }

    #[test]
    fn a_line_as_long_as_the_file_is_shown_in_part() {
        let text = format!("a: {}", "x".repeat(3_000_000));
        let span = Span { line: 1, column: 1_500_001, start: 1_500_000, len: 3 };
        let rendered = snippet(&source(&text), span, &MESSAGE, Look::PLAIN);
        assert!(rendered.len() < 2_000, "{}", rendered.len());
        assert!(rendered.contains("policies.yaml:1:1500001"));
    }

    proptest! {
        #[test]
        fn any_span_over_any_text_renders(
            text in "(\\PC|[\\x00-\\x20\u{85}\u{1b}\u{301}\u{4e00}]){0,60}",
            start in 0_usize..80, len in prop_oneof![0_usize..80, Just(usize::MAX)],
            line in 0_usize..9, column in 0_usize..9, color: bool, width in 0_usize..120,
        ) {
            let span = Span { line, column, start, len };
            let message = Message { label: Some("here"), ..MESSAGE };
            let rendered = snippet(&source(&text), span, &message, Look { color, width });
            prop_assert!(rendered.contains("wrong"));
            if !color {
                prop_assert!(rendered.chars().all(|char| char == '\n' || !char.is_control()));
            }
        }
    }
}
