//! A table of plain text, written as markdown by hand: aligned in the source, and escaped.

use crate::text::{clean, pad, pad_left, width};

/// A longer cell sticks out instead of making each other row of the source as wide.
const WIDEST: usize = 72;

/// A column's title and side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Head {
    /// The title.
    pub(in crate::report) title: String,
    /// Whether figures stand in it.
    pub(in crate::report) figures: bool,
}

/// A table of plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Grid {
    /// The columns.
    pub(in crate::report) heads: Vec<Head>,
    /// The rows, each with a cell for each column.
    pub(in crate::report) rows: Vec<Vec<String>>,
}

impl Grid {
    /// The markdown.
    pub(super) fn render(&self) -> String {
        let heads: Vec<String> = self.heads.iter().map(|head| escape(&clean(&head.title))).collect();
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| escape(&clean(cell))).collect()).collect();
        let widths: Vec<usize> = heads
            .iter()
            .enumerate()
            .map(|(at, head)| {
                let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell));
                cells.filter(|width| *width <= WIDEST).fold(width(head).max(3), usize::max)
            })
            .collect();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let aligned = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).zip(&self.heads);
            line(
                cells
                    .map(|((cell, to), head)| if head.figures { pad_left(cell, *to) } else { pad(cell, *to) })
                    .collect(),
            )
        };
        let rule = self.heads.iter().zip(&widths).map(|(head, width)| {
            if head.figures { format!("{}:", "-".repeat(width - 1)) } else { "-".repeat(*width) }
        });
        let mut text = aligned(&heads);
        text.push_str(&line(rule.collect()));
        text.extend(rows.iter().map(|row| aligned(row)));
        text
    }
}

/// Plain text as markdown that reads as that text: nothing in it is markup, HTML or the end of a cell. What needs no
/// escape gets none, as people read the source, too.
pub(in crate::report) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied();
        let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        match c {
            // Readers disagree on a pipe behind a backslash, and agree on the entity.
            '|' if before == Some('\\') => escaped.push_str("&#124;"),
            '|' | '\\' | '`' | '*' | '[' | ']' | '~' | '$' => escaped.extend(['\\', c]),
            '_' if !(in_word(before) && in_word(after)) => escaped.push_str("\\_"),
            '<' if after != Some(' ') => escaped.push_str("&lt;"),
            '>' if before != Some(' ') || after != Some(' ') => escaped.push_str("&gt;"),
            '&' if after.is_some_and(|c| c.is_alphanumeric() || c == '#') => escaped.push_str("&amp;"),
            _ => escaped.push(c),
        }
        before = Some(c);
    }
    escaped
}
