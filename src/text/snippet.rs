//! A message beside the line of the policy file that it speaks of: problems of the file and findings of a run look the
//! same.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::excerpt::Excerpt;
use super::lines::{clean, wrap};
use crate::words::Place;

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
    /// How much it matters, which is its colour.
    pub tone: Tone,
    /// The word that it begins with: `error`, or a finding's severity.
    pub word: &'a str,
    /// The name that stands in brackets behind the word, such as a finding's code.
    pub id: Option<&'a str>,
    /// The first line.
    pub title: &'a str,
    /// What stands below the line: a word, and what it introduces.
    pub notes: &'a [(&'a str, String)],
}

/// Renders a message and the line that it speaks of, with a line end at the end.
///
/// The place may be anything. Where it is in no line of the text, or the text is not at hand, only the place is named.
/// Control characters of all that is shown are replaced.
pub fn snippet(place: &Place, text: Option<&str>, message: &Message<'_>, look: Look) -> String {
    let width = look.width.max(20);
    let level = match message.tone {
        Tone::Error => Level::ERROR,
        Tone::Warning => Level::WARNING,
        Tone::Note => Level::NOTE,
    };
    let id = message.id.map(clean);
    // The renderer aligns the lines of a title below each other: "deny[undecided]: ".
    let taken = message.word.len() + id.as_ref().map_or(0, |id| id.len() + "[]".len()) + ": ".len();
    let mut title =
        level.with_name(message.word.to_owned()).primary_title(wrapped(message.title, width, taken));
    if let Some(id) = &id {
        title = title.id(id.as_str());
    }
    let path = clean(&place.file);
    let mut origin = Origin::path(path.as_str());
    if place.span.line > 0 {
        origin = origin.line(place.span.line).char_column(place.span.column.max(1));
    }
    let excerpt = text.and_then(|text| Excerpt::of(text, place.span));
    let mut group = Group::with_title(title);
    group = match &excerpt {
        Some(excerpt) => {
            let shown = Snippet::source(excerpt.line.as_str())
                .line_start(place.span.line)
                .annotation(AnnotationKind::Primary.span(excerpt.underlined.clone()));
            // The renderer would count the column in what is left of a cut line.
            if excerpt.is_cut {
                group.element(origin).element(shown)
            } else {
                group.element(shown.path(path.as_str()))
            }
        }
        None => group.element(origin),
    };
    let digits = place.span.line.max(1).to_string().len();
    for (word, says) in message.notes {
        // The renderer aligns the lines of a note below each other: "   = change: ".
        let taken = digits + " = ".len() + word.len() + ": ".len();
        group = group.element(Level::NOTE.with_name((*word).to_owned()).message(wrapped(says, width, taken)));
    }
    let renderer = if look.color { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.term_width(width).render(&[group]);
    text.push('\n');
    text
}

/// The text, cleaned, in lines that fit beside what is taken of the width.
fn wrapped(text: &str, width: usize, taken: usize) -> String {
    wrap(&clean(text), width.saturating_sub(taken).max(20)).join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::Span;

    const MESSAGE: Message<'static> =
        Message { tone: Tone::Error, word: "error", id: None, title: "wrong", notes: &[] };

    fn at(line: usize, column: usize, start: usize, len: usize) -> Place {
        Place { file: "policies.yaml".to_owned(), span: Span { line, column, start, len } }
    }

    fn is_safe(shown: &str) -> bool {
        shown.chars().all(|char| char == '\n' || !char.is_control())
    }

    #[test]
    fn a_message_names_file_line_and_column_and_underlines_the_text() {
        let notes = [("help", "do this".to_owned())];
        let message = Message { id: Some("undecided"), notes: &notes, ..MESSAGE };
        let text =
            snippet(&at(2, 10, 20, 5), Some("version: 1\nservice: shöp\t# tab\r\n"), &message, Look::PLAIN);
        assert_eq!(
            text,
            "error[undecided]: wrong\n --> policies.yaml:2:10\n  |\n2 | service: shöp # tab\n  |          ^^^^\n  |\n  = help: do this\n",
        );
    }

    #[test]
    fn escape_sequences_of_the_file_do_not_reach_the_terminal() {
        let message = Message { title: "\u{1b}]0;x\u{7}", ..MESSAGE };
        let text =
            snippet(&at(1, 4, 3, 99), Some("a: \"\u{1b}[31m\u{9b}2J\u{202e}\"\n"), &message, Look::PLAIN);
        assert!(is_safe(&text), "{text:?}");
        assert!(!text.contains('\u{202e}'));
    }

    #[test]
    fn a_line_as_long_as_the_file_is_shown_in_part() {
        let text = format!("a: {}", "x".repeat(3_000_000));
        let rendered = snippet(&at(1, 1_500_001, 1_500_000, 3), Some(&text), &MESSAGE, Look::PLAIN);
        assert!(rendered.len() < 2_000, "{}", rendered.len());
        assert!(rendered.contains("policies.yaml:1:1500001"));
    }

    #[test]
    fn long_titles_and_notes_are_wrapped_below_their_beginning() {
        let notes = [("change", "one two three ".repeat(20))];
        let title = "four five six ".repeat(20);
        let message = Message { id: Some("undecided"), title: &title, notes: &notes, ..MESSAGE };
        let shown = snippet(&at(1, 1, 0, 1), Some("a: 1"), &message, Look { color: false, width: 80 });
        assert!(shown.lines().count() > 12 && shown.lines().all(|line| line.len() <= 80), "{shown}");
    }

    proptest! {
        #[test]
        fn no_place_and_no_text_makes_it_panic_or_leaks_a_control_character(
            text in prop_oneof![any::<String>(), "(\\PC|[\\x00-\\x20\u{85}\u{1b}\u{301}\u{4e00}]){0,60}"],
            says in any::<String>(), file in any::<String>(),
            start in 0_usize..200, len in prop_oneof![0_usize..80, Just(usize::MAX)],
            line in 0_usize..9, column in 0_usize..9, color: bool, width in 0_usize..120,
        ) {
            let place = Place { file, ..at(line, column, start, len) };
            let notes = [("observed", says.clone())];
            let message = Message { title: &says, id: Some("code"), notes: &notes, ..MESSAGE };
            let shown = snippet(&place, Some(&text), &message, Look { color, width });
            prop_assert!(color || is_safe(&shown), "{shown:?}");
        }
    }
}
