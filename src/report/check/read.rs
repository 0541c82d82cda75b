//! Reads tables out of markdown.

use pulldown_cmark::{Alignment, Event, Options, Parser, Tag, TagEnd};

use super::Document;
use crate::report::markdown::grid::{Grid, Head};
use crate::report::markdown::tables::column;
use crate::text::clean;

/// The document's failure table, and its tables of requests and of guarantees; none where it has no failure table.
pub(super) fn document(markdown: &str) -> Option<Document> {
    let grids = grids(markdown);
    let find =
        |title: &str| grids.iter().find(|grid| grid.heads.iter().any(|head| head.title == title)).cloned();
    Some(Document {
        operations: find(column::OPERATION)?,
        requests: find(column::REQUEST),
        guarantees: find(column::PROMISES),
    })
}

/// Every table, as plain text.
pub(in crate::report) fn grids(markdown: &str) -> Vec<Grid> {
    let mut grids = Vec::new();
    let mut grid: Option<(Vec<Alignment>, Vec<Vec<String>>)> = None;
    let mut cell = String::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Table(sides)) => grid = Some((sides, Vec::new())),
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                if let Some((_, rows)) = &mut grid {
                    rows.push(Vec::new());
                }
            }
            Event::Start(Tag::TableCell) => cell.clear(),
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => cell.push_str(&text),
            Event::SoftBreak | Event::HardBreak => cell.push(' '),
            Event::End(TagEnd::TableCell) => {
                if let Some(row) = grid.as_mut().and_then(|(_, rows)| rows.last_mut()) {
                    row.push(clean(&cell));
                }
            }
            Event::End(TagEnd::Table) => grids.extend(grid.take().map(finished)),
            _ => {}
        }
    }
    grids
}

fn finished((sides, mut rows): (Vec<Alignment>, Vec<Vec<String>>)) -> Grid {
    let titles = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
    let heads = titles.into_iter().zip(sides);
    let heads = heads.map(|(title, side)| Head { title, figures: side == Alignment::Right });
    Grid { heads: heads.collect(), rows }
}
