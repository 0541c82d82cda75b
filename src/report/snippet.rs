//! A finding beside the line of the policy file that explains it.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::text::{clean, visible, wrap};
use crate::words::{Place, Severity};

/// What a snippet says.
pub(super) struct Message<'a> {
    /// How much it counts.
    pub(super) severity: Severity,
    /// Its code.
    pub(super) code: &'a str,
    /// In one line.
    pub(super) title: &'a str,
    /// Where.
    pub(super) place: &'a Place,
    /// What stands below the line: a word, and what it introduces.
    pub(super) notes: &'a [(&'a str, String)],
}

/// The message in at most so many columns, as far as its words allow. The text of the file that the place names is
/// asked for; without it, only the place is shown.
pub(super) fn render(message: &Message<'_>, text: Option<&str>, width: usize, color: bool) -> String {
    let level = match message.severity {
        Severity::Deny => Level::ERROR,
        Severity::Warn | Severity::Inconclusive => Level::WARNING,
        Severity::Allow => Level::NOTE,
    };
    let level = level.with_name(message.severity.name());
    let path = clean(&message.place.file);
    // The renderer aligns the lines of a title below each other: "deny[undecided]: ".
    let taken = message.severity.name().len() + message.code.len() + "[]: ".len();
    let title = wrap(&clean(message.title), width.saturating_sub(taken).max(20)).join("\n");
    let mut group = Group::with_title(level.primary_title(title.as_str()).id(message.code));
    let excerpt = text.and_then(|text| Excerpt::of(text, message.place));
    group = match &excerpt {
        Some(excerpt) => group.element(
            Snippet::source(excerpt.line.as_str())
                .line_start(message.place.span.line.max(1))
                .path(path.as_str())
                .annotation(AnnotationKind::Primary.span(excerpt.start..excerpt.end)),
        ),
        None => {
            let mut origin = Origin::path(path.as_str());
            if message.place.span.line > 0 {
                origin = origin.line(message.place.span.line).char_column(message.place.span.column.max(1));
            }
            group.element(origin)
        }
    };
    let digits = message.place.span.line.max(1).to_string().len();
    for (word, says) in message.notes {
        // The renderer aligns the lines of a note below each other: "   = change: ".
        let taken = digits + " = ".len() + word.len() + ": ".len();
        let says = wrap(&clean(says), width.saturating_sub(taken).max(20)).join("\n");
        group = group.element(Level::NOTE.with_name((*word).to_owned()).message(says));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(width.max(20)).render(&[group])
}

/// The line that a place is in, and where in that line.
struct Excerpt {
    line: String,
    start: usize,
    end: usize,
}

impl Excerpt {
    /// Takes the line out, as the renderer panics on a span past the end or inside a character: the span is clamped to
    /// its line and to whole characters, and no other line is looked at, so a long file costs nothing.
    fn of(text: &str, place: &Place) -> Option<Excerpt> {
        let span = place.span;
        if span.line == 0 || span.start > text.len() {
            return None;
        }
        let start = floor_char_boundary(text, span.start);
        let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let to = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = floor_char_boundary(text, start.saturating_add(span.len).min(to)).max(start);
        let shown =
            |part: &str| part.chars().map(|c| if c == '\t' { ' ' } else { visible(c) }).collect::<String>();
        let before = shown(&text[from..start]);
        let within = shown(&text[start..end]);
        let after = shown(text[end..to].trim_end_matches('\r'));
        let (start, end) = (before.len(), before.len() + within.trim_end_matches('␍').len());
        Some(Excerpt { line: format!("{before}{}{after}", within.trim_end_matches('␍')), start, end })
    }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::Span;

    fn message(place: &Place, says: &str) -> String {
        let notes = [("observed", says.to_owned())];
        let message =
            Message { severity: Severity::Deny, code: "undecided", title: says, place, notes: &notes };
        let text = "uses:\n  - name: locké\t# tab\r\n    on_outage: undecided";
        render(&message, Some(text), 80, false)
    }

    #[test]
    fn the_line_of_the_place_is_shown_and_underlined() {
        let place =
            Place { file: "p.yaml".to_owned(), span: Span { line: 2, column: 11, start: 16, len: 6 } };
        let shown = message(&place, "says");
        assert!(shown.contains("p.yaml:2:11"), "{shown}");
        assert!(shown.contains("2 |   - name: locké # tab\n"), "{shown}");
        assert!(shown.contains("|           ^^^^^\n"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_place_and_no_text_makes_it_panic_or_leaks_a_control_character(
            line in 0_usize..9, column in 0_usize..99, start in 0_usize..99, len in prop_oneof![0..99_usize, Just(usize::MAX)],
            says in any::<String>(), file in any::<String>(),
        ) {
            let place = Place { file, span: Span { line, column, start, len } };
            let shown = message(&place, &says);
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
        }

        #[test]
        fn any_text_and_any_span_can_be_shown(text in any::<String>(), start in 0_usize..200, len in 0_usize..200) {
            let place = Place { file: "f".to_owned(), span: Span { line: 1, column: 1, start, len } };
            let message = Message { severity: Severity::Warn, code: "c", title: "t", place: &place, notes: &[] };
            let shown = render(&message, Some(&text), 80, false);
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
}
