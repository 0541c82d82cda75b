//! The requests: what the calls of one user-facing request come to together.

use super::style::{HEAD, PLAIN, Paint, QUIET, mark, of_verdict};
use super::table::median;
use crate::report::facts::{runs_of_requests, samples_in_words};
use crate::report::{RequestCell, RequestRow};
use crate::text::{clean, pad, pad_left, shorten, width, wrap};
use crate::words::{Verdict, coarse_count, exact_us, human_us};

/// The columns between the state and how the request ends.
const HEADS: [&str; 4] = ["cost", "predicted", "budget", "waiting"];
/// With less room than this, how a request ends gets a line of its own.
const LEAST_ROOM: usize = 18;

/// The table of requests; nothing where there are none.
pub(super) fn render(requests: &[RequestRow], to: usize, paint: Paint) -> String {
    if requests.is_empty() {
        return String::new();
    }
    let cells = || requests.iter().flat_map(|row| row.cells.iter().map(move |cell| (row, cell)));
    let state =
        cells().map(|(_, cell)| width(cell.state.name())).max().unwrap_or(0).max(width("request") - 2);
    let widths: Vec<usize> = HEADS
        .iter()
        .enumerate()
        .map(|(at, head)| {
            cells().map(|(row, cell)| width(&figures(row, cell)[at])).fold(width(head), usize::max)
        })
        .collect();
    let before = 2 + state + 2 + widths.iter().map(|width| 2 + width).sum::<usize>() + 2;

    let mut head = pad("request", 2 + state + 2);
    for (title, width) in HEADS.iter().zip(&widths) {
        head.push_str(&format!("  {}", pad_left(title, *width)));
    }
    let mut text = format!("{}\n", paint.paint(QUIET, &format!("{head}  ends")));
    for row in requests {
        text.push_str(&group_lines(row, to, paint));
        for cell in &row.cells {
            let style = if cell.verdict == Verdict::Conforms { PLAIN } else { of_verdict(cell.verdict) };
            let mut line = String::new();
            for (figure, width) in figures(row, cell).iter().zip(&widths) {
                line.push_str(&format!("  {}", pad_left(figure, *width)));
            }
            // The mark belongs to the cost that follows it.
            text.push_str(&format!(
                "  {}  {}{}",
                pad(cell.state.name(), state),
                paint.paint(of_verdict(cell.verdict), mark(cell.verdict)),
                paint.paint(style, line.get(1..).unwrap_or_default()),
            ));
            let ends = clean(cell.ending());
            let (indent, room) = if to >= before + LEAST_ROOM { (before, to - before) } else { (4, to - 4) };
            if indent == before {
                text.push_str("  ");
            } else {
                text.push_str(&format!("\n{}", " ".repeat(indent)));
            }
            text.push_str(&wrap(&ends, room).join(&format!("\n{}", " ".repeat(indent))));
            text.push('\n');
        }
    }
    let words = format!("n: {} runs", clean(&samples_in_words(&runs_of_requests(requests))));
    text.extend(wrap(&words, to).iter().map(|line| format!("{}\n", paint.paint(QUIET, line))));
    text
}

/// The request's name, and its calls below it.
fn group_lines(row: &RequestRow, to: usize, paint: Paint) -> String {
    let name = shorten(&clean(&row.name), to);
    let calls = row.calls.iter().map(|call| clean(call)).collect::<Vec<_>>().join(", then ");
    let mut text = format!("{}\n", paint.paint(HEAD, &name));
    for line in wrap(&calls, to.saturating_sub(2)) {
        text.push_str(&format!("  {}\n", paint.paint(QUIET, &line)));
    }
    text
}

/// What stands under [`HEADS`].
fn figures(row: &RequestRow, cell: &RequestCell) -> [String; 4] {
    let threads = row.threads.map(|threads| format!(" of {threads}")).unwrap_or_default();
    let waits = cell.waiting.filter(|_| !cell.is_unproven());
    [
        median(cell.is_unproven(), cell.gave_up_us(), cell.cost),
        predicted(cell.predicted_us),
        cell.budget_us.map_or("-".to_owned(), exact_us),
        waits.map_or("-".to_owned(), |requests| format!("{}{threads}", coarse_count(requests))),
    ]
}

/// A sum by arithmetic; nothing in it waits where it is none.
fn predicted(us: Option<u64>) -> String {
    match us {
        None => "for ever".to_owned(),
        Some(0) => "at once".to_owned(),
        Some(us) => human_us(us),
    }
}
