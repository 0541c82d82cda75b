//! Where a run has more states than stand side by side: for each line, the states in which the same came of it.

use anstyle::Style;

use super::style::{Paint, QUIET};
use super::table::GAP;
use crate::text::{pad, width, wrap};
use crate::words::State;

/// With more outage states than this, states are grouped by what came of them.
const MOST_SIDE_BY_SIDE: usize = 4;

/// The states begin no further right than this.
const FURTHEST: usize = 40;

/// Whether so many states are grouped.
pub(super) fn is_wanted(states: &[State]) -> bool {
    states.iter().filter(|state| state.is_outage()).count() > MOST_SIDE_BY_SIDE
}

/// What came of a line in some states.
pub(super) struct Group {
    /// The mark, its style and that of the words.
    pub(super) mark: (&'static str, Style, Style),
    pub(super) words: String,
    pub(super) states: Vec<State>,
}

/// A line's groups: a mark, what came, and the states, wrapped below each other.
pub(super) fn lines(label: &str, groups: &[Group], to: usize, paint: Paint) -> String {
    let widest = groups.iter().map(|group| width(&group.words)).max().unwrap_or(0);
    let column = widest.min(FURTHEST.saturating_sub(width(label)));
    let before = width(label) + 2 + column + GAP;
    let mut text = String::new();
    for (at, group) in groups.iter().enumerate() {
        let (mark, mark_style, style) = group.mark;
        let label = if at == 0 { label.to_owned() } else { " ".repeat(width(label)) };
        text.push_str(&format!("{label}{} ", paint.paint(mark_style, mark)));
        let names = group.states.iter().map(|state| state.name()).collect::<Vec<_>>().join(", ");
        let names = wrap(&names, to.saturating_sub(before).max(20));
        // Words that leave no room have the states below them.
        let mut names = names.iter().map(|line| paint.paint(QUIET, line));
        if width(&group.words) <= column {
            text.push_str(&paint.paint(style, &pad(&group.words, column)));
            text.push_str(&" ".repeat(GAP));
            text.push_str(&names.next().unwrap_or_default());
        } else {
            text.push_str(&paint.paint(style, &group.words));
        }
        text.push('\n');
        for line in names {
            text.push_str(&format!("{}{line}\n", " ".repeat(before)));
        }
    }
    text
}
