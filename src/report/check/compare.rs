//! The rule by which a table is stale. `docs/decisions/check-rule.md` says why it is so.

use std::collections::BTreeSet;

use super::{Comparison, Difference, Document};
use crate::report::facts::is_about_the_run;
use crate::report::format::{Stated, noise_us, parse_cost, parse_number};
use crate::report::markdown::grid::Grid;
use crate::report::markdown::guarantees::{each_use, guarantees};
use crate::report::markdown::tables::{self, NEVER_RETURNED, column, declared};
use crate::report::{Report, RequestCell, Row};
use crate::text::clean;
use crate::words::{Code, State};

/// A cost is off only by more than this part of what is stated, and by more than [`noise_us`].
const PART: f64 = 0.25;

/// What comparing two cells came to.
pub(super) enum Outcome {
    Same,
    /// The document is stale; whether that was observed or is declared.
    Differs {
        observed: bool,
    },
    /// This run cannot say.
    NotCompared,
}

fn same_if(same: bool, observed: bool) -> Outcome {
    if same { Outcome::Same } else { Outcome::Differs { observed } }
}

pub(super) fn all(document: &Document, report: &Report) -> Comparison {
    let mut comparison = Comparison::default();
    let rows: Vec<&Row> = tables::each_row(report).map(|(_, row)| row).collect();
    grids(
        &document.operations,
        &tables::operations(report),
        &[column::SERVICE, column::OPERATION],
        |at, title, stated, holds| operation_cell(rows[at], title, stated, holds),
        &mut comparison,
    );
    all_requests(document, report, &mut comparison);
    all_guarantees(document, report, &mut comparison);
    comparison
}

fn all_requests(document: &Document, report: &Report, comparison: &mut Comparison) {
    let requests = tables::requests(report);
    let stated = match &document.requests {
        Some(stated) => stated.clone(),
        None if requests.rows.is_empty() => return,
        None => Grid { heads: requests.heads.clone(), rows: Vec::new() },
    };
    let cells: Vec<_> = tables::each_request(report).map(|(_, row, cell)| (row.rate, cell)).collect();
    grids(
        &stated,
        &requests,
        &[column::SERVICE, column::REQUEST, column::STATE],
        |at, title, stated, holds| request_cell(cells[at].0, cells[at].1, title, stated, holds),
        comparison,
    );
}

fn all_guarantees(document: &Document, report: &Report, comparison: &mut Comparison) {
    let holds = guarantees(report);
    let Some(stated) = &document.guarantees else {
        if !holds.rows.is_empty() {
            comparison.differences.push(Difference::NewTable("guarantees".to_owned()));
        }
        return;
    };
    let uses: Vec<_> = each_use(report).map(|(_, used)| used).collect();
    grids(
        stated,
        &holds,
        &[column::SERVICE, column::USE],
        |at, title, stated, holds| super::guarantees::cell(uses[at], title, stated, holds),
        comparison,
    );
}

/// Compares two tables: columns by title, rows by their key columns (the nth of a key with the nth), cells by `cell`.
fn grids(
    stated: &Grid,
    holds: &Grid,
    key: &[&str],
    cell: impl Fn(usize, &str, &str, &str) -> Outcome,
    comparison: &mut Comparison,
) {
    let place = |grid: &Grid, title: &str| grid.heads.iter().position(|head| head.title == title);
    let mut shared = Vec::new();
    for (at, head) in holds.heads.iter().enumerate() {
        match place(stated, &head.title) {
            Some(stated_at) => shared.push((head.title.as_str(), stated_at, at)),
            None => comparison.differences.push(Difference::NewColumn(head.title.clone())),
        }
    }
    let lost = stated.heads.iter().filter(|head| place(holds, &head.title).is_none());
    comparison.differences.extend(lost.map(|head| Difference::LostColumn(head.title.clone())));

    let keys: Vec<_> = shared.iter().filter(|(title, ..)| key.contains(title)).collect();
    let named = |row: &[String], at: &dyn Fn(&(&str, usize, usize)) -> usize| {
        keys.iter().map(|column| text(row, at(column))).collect::<Vec<_>>().join(", ")
    };
    let mut open: Vec<(String, &Vec<String>)> =
        stated.rows.iter().map(|row| (named(row, &|column| column.1), row)).collect();
    for (at, row) in holds.rows.iter().enumerate() {
        let name = named(row, &|column| column.2);
        let Some(found) = open.iter().position(|(stated, _)| *stated == name) else {
            comparison.differences.push(Difference::NewRow(name));
            continue;
        };
        let (_, stated_row) = open.remove(found);
        for (title, stated_at, holds_at) in shared.iter().filter(|(title, ..)| !key.contains(title)) {
            let (stated, holds) = (text(stated_row, *stated_at), text(row, *holds_at));
            let at_column = format!("{name}, {title}");
            match cell(at, title, stated, holds) {
                Outcome::Same => {}
                Outcome::NotCompared => comparison.not_compared.push(at_column),
                Outcome::Differs { observed } => comparison.differences.push(Difference::Cell {
                    at: at_column,
                    stated: stated.to_owned(),
                    holds: holds.to_owned(),
                    observed,
                }),
            }
        }
    }
    comparison.differences.extend(open.into_iter().map(|(name, _)| Difference::LostRow(name)));
}

fn text(row: &[String], at: usize) -> &str {
    row.get(at).map_or("", String::as_str)
}

fn operation_cell(row: &Row, title: &str, stated: &str, holds: &str) -> Outcome {
    let unproven = row.cells.iter().any(|cell| cell.is_unproven());
    if stated == holds {
        return Outcome::Same;
    }
    match title {
        column::DOWN if unproven => {
            // What is declared holds whatever could be proven.
            let rest = stated.strip_prefix(clean(&declared(row)).as_str());
            match rest.is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with(';')) {
                true => Outcome::NotCompared,
                false => Outcome::Differs { observed: true },
            }
        }
        column::FINDINGS => findings(stated, holds, unproven),
        column::DOWN => Outcome::Differs { observed: true },
        column::WHERE | column::BUDGET => Outcome::Differs { observed: false },
        column::KNOWN => Outcome::Differs { observed: true },
        state => match State::from_name(state).and_then(|state| row.cell(state)) {
            Some(cell) if cell.is_unproven() => Outcome::NotCompared,
            Some(cell) => {
                let returned = cell.gave_up_us().is_none();
                let observed = cell.cost.filter(|_| returned).map(|cost| cost.p50_us);
                cost(stated, holds, observed, noise_us(cell.is_round_trips(), cell.jitter_us))
            }
            None => Outcome::Differs { observed: true },
        },
    }
}

fn request_cell(rate: Option<f64>, cell: &RequestCell, title: &str, stated: &str, holds: &str) -> Outcome {
    if stated == holds {
        return Outcome::Same;
    }
    match title {
        column::CALLS | column::BUDGET => Outcome::Differs { observed: false },
        column::FINDINGS => findings(stated, holds, cell.is_unproven()),
        column::PREDICTED => cost(stated, holds, cell.predicted_us, noise_us(false, 0)),
        _ if cell.is_unproven() => Outcome::NotCompared,
        column::COST => {
            let returned = cell.gave_up_us().is_none();
            let observed = cell.cost.filter(|_| returned).map(|cost| cost.p50_us);
            cost(stated, holds, observed, noise_us(cell.is_round_trips(), cell.jitter_us))
        }
        column::WAITING => {
            waiting(stated, holds, rate.zip(cell.waiting), noise_us(cell.is_round_trips(), cell.jitter_us))
        }
        _ => Outcome::Differs { observed: true },
    }
}

/// Findings are compared as a set. What an unproven cell did not show can still be so; what was found was found.
fn findings(stated: &str, holds: &str, unproven: bool) -> Outcome {
    let codes =
        |text: &str| -> BTreeSet<String> { text.split(", ").map(|code| code.trim().to_owned()).collect() };
    let (stated, holds) = (codes(stated), codes(holds));
    if stated == holds {
        return Outcome::Same;
    }
    if !unproven {
        return Outcome::Differs { observed: true };
    }
    let about_run = |code: &str| Code::from_name(code).is_some_and(is_about_the_run);
    match holds.iter().all(|code| stated.contains(code) || about_run(code) || code == tables::NOTHING) {
        true => Outcome::NotCompared,
        false => Outcome::Differs { observed: true },
    }
}

/// Costs in microseconds; none where the observed cell has none that could be compared.
fn cost(stated: &str, holds: &str, observed_us: Option<u64>, least_us: f64) -> Outcome {
    match (parse_cost(stated), observed_us) {
        (Some(stated), Some(observed)) => within(stated, observed, least_us),
        // How long was waited before giving up is a setting of the run.
        _ => same_if(stated.starts_with(NEVER_RETURNED) && holds.starts_with(NEVER_RETURNED), true),
    }
}

/// `20 of 10`. Waiting requests are a rate times a cost, so they may be off by what that cost may be off.
fn waiting(stated: &str, holds: &str, observed: Option<(f64, f64)>, least_us: f64) -> Outcome {
    let split = |text: &str| match text.split_once(" of ") {
        Some((requests, threads)) => (requests.to_owned(), threads.to_owned()),
        None => (text.to_owned(), String::new()),
    };
    let ((stated, stated_threads), (_, threads)) = (split(stated), split(holds));
    match (parse_number(&stated), observed) {
        (Some(stated), Some((rate, observed))) if stated_threads == threads => {
            let off = stated.distance(observed);
            same_if(off <= stated.amount() * PART || off <= rate * least_us / 1_000_000.0, true)
        }
        _ => Outcome::Differs { observed: false },
    }
}

#[expect(clippy::cast_precision_loss, reason = "a cost is compared within a quarter of itself")]
fn within(stated: Stated, observed_us: u64, least: f64) -> Outcome {
    let off = stated.distance(observed_us as f64);
    same_if(off <= stated.amount() * PART || off <= least, true)
}
