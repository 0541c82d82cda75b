//! What the declared settings cost by arithmetic, without any Redis: what `audit check` shows.

use std::sync::Arc;

use super::style::Paint;
use super::{TerminalOptions, findings, verdict_line};
use crate::judge::verdict;
use crate::plan::{predicted_chain, worst_case};
use crate::policy::{Backend, Budget, PolicyFile, Source};
use crate::report::format::{exact, human};
use crate::report::text::{clean, pad, width};
use crate::words::{Finding, State};

/// The arithmetic of one policy file, its findings, and a last line.
pub fn arithmetic(file: &PolicyFile, lint: &[Finding], options: &TerminalOptions) -> String {
    let mut text = String::new();
    if options.quiet {
        let paint = Paint { color: options.color };
        text.extend(
            lint.iter().filter(|finding| finding.departs()).map(|one| findings::one_line(one, paint)),
        );
    } else {
        let service = clean(&file.service);
        text.push_str(&format!(
            "{service}  {}: worst case by arithmetic, nothing measured\n\n",
            clean(&file.source.name())
        ));
        text.push_str(&table(file));
        text.push('\n');
        let sources: [Arc<Source>; 1] = [Arc::clone(&file.source)];
        let found = findings::render(lint, &sources, options);
        if !found.is_empty() {
            text.push_str(&found);
            text.push('\n');
        }
    }
    text.push_str(&verdict_line(verdict(lint), lint.iter(), "by arithmetic", Paint { color: options.color }));
    text
}

fn table(file: &PolicyFile) -> String {
    let mut rows =
        vec![vec![String::new(), "declared".to_owned(), "timeout".to_owned(), "attempts".to_owned()]];
    rows[0].extend(State::outages().map(|state| state.name().to_owned()));
    for used in &file.uses {
        for operation in &used.operations {
            let name = format!("{}.{}", clean(&used.name), clean(operation.name()));
            if used.backend == Backend::InMemory {
                rows.push(vec![name, "in memory".to_owned()]);
                continue;
            }
            let timeout = used.client.command_timeout.map_or("none".to_owned(), |limit| exact(micros(limit)));
            let mut row =
                vec![name, operation.on_outage.name().to_owned(), timeout, used.client.attempts.to_string()];
            row.extend(
                State::outages()
                    .map(|state| against(worst_case(&used.client, state, None), &operation.budget, state)),
            );
            rows.push(row);
        }
    }
    for request in &file.requests {
        let mut row = vec![clean(&request.name), "request".to_owned(), String::new(), String::new()];
        row.extend(
            State::outages()
                .map(|state| against(predicted_chain(file, request, state, None), &request.budget, state)),
        );
        rows.push(row);
    }
    aligned(&rows)
}

/// A worst case beside its budget: `2 s of 250 ms`.
fn against(worst: Option<std::time::Duration>, budget: &Budget, state: State) -> String {
    let worst = worst.map_or("for ever".to_owned(), |worst| {
        if worst.is_zero() { "at once".to_owned() } else { human(micros(worst)) }
    });
    budget.get(state).map_or(worst.clone(), |line| format!("{worst} of {}", exact(micros(line.limit))))
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| pad(cell, *width)).collect();
            format!("{}\n", cells.join("  ").trim_end())
        })
        .collect()
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
