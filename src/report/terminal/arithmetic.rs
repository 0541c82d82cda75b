//! What the declared settings cost by arithmetic, without any Redis: what `audit check` shows.

use std::sync::Arc;
use std::time::Duration;

use super::style::{HEAD, Paint, QUIET};
use super::table::{GAP, IN_MEMORY, INDENT, SHORTEST_NAME};
use super::{TerminalOptions, findings, verdict_line};
use crate::judge::verdict;
use crate::plan::{predicted_chain, worst_case};
use crate::policy::{Backend, Budget, PolicyFile, Source, Use};
use crate::text::{clean, pad, shorten, width};
use crate::words::{Finding, State, declared, human_us, micros};

/// The arithmetic of one policy file, its findings, and a last line.
pub fn arithmetic(file: &PolicyFile, lint: &[Finding], options: &TerminalOptions) -> String {
    let mut text = String::new();
    let paint = Paint { color: options.color };
    if options.quiet {
        text.extend(
            lint.iter().filter(|finding| finding.departs()).map(|one| findings::one_line(one, paint)),
        );
    } else {
        let name = shorten(&clean(&file.service), options.width / 2);
        let rest = format!("{}: worst case by arithmetic, nothing measured", clean(&file.source.name()));
        let rest = shorten(&rest, options.width.saturating_sub(width(&name) + GAP));
        text.push_str(&format!("{}  {}\n\n", paint.paint(HEAD, &name), paint.paint(QUIET, &rest)));
        text.push_str(&tables(file, options.width, paint));
        text.push('\n');
        let sources: [Arc<Source>; 1] = [Arc::clone(&file.source)];
        let found = findings::render(lint, &sources, options);
        if !found.is_empty() {
            text.push_str(&found);
            text.push('\n');
            text.push_str(&findings::how_to_read_on(true, options));
        }
    }
    text.push_str(&verdict_line(verdict(lint), lint.iter(), "by arithmetic", paint));
    text
}

/// The uses' operations, and the requests.
fn tables(file: &PolicyFile, to: usize, paint: Paint) -> String {
    let mut operations = vec![Line::head(file, &["operation", "declared"])];
    for (use_index, used) in file.uses.iter().enumerate() {
        operations.push(Line::Group(clean(&used.name), settings(used)));
        for (operation_index, operation) in used.operations.iter().enumerate() {
            let name = clean(operation.name());
            operations.push(match used.backend {
                Backend::InMemory => Line::Row(vec![name, IN_MEMORY.to_owned()]),
                Backend::Redis => {
                    let policy = operation.on_outage.name().to_owned();
                    let worst = |state| worst_case(file, use_index, operation_index, state, None);
                    Line::Row(
                        [name, policy].into_iter().chain(costs(file, &operation.budget, worst)).collect(),
                    )
                }
            });
        }
    }
    let mut text = laid_out(&operations, to, paint);
    if !file.requests.is_empty() {
        let mut requests = vec![Line::head(file, &["request"])];
        requests.extend(file.requests.iter().map(|request| {
            let worst = |state| predicted_chain(file, request, state, None);
            Line::Row([clean(&request.name)].into_iter().chain(costs(file, &request.budget, worst)).collect())
        }));
        text.push('\n');
        text.push_str(&laid_out(&requests, to, paint));
    }
    text
}

/// A line of a table.
enum Line {
    /// Titles.
    Head(Vec<String>),
    /// A use, and what its client is set to.
    Group(String, String),
    /// An operation or a request.
    Row(Vec<String>),
}

impl Line {
    fn head(file: &PolicyFile, titles: &[&'static str]) -> Line {
        let states = file.audited_states().into_iter().filter(|state| state.is_outage()).map(State::name);
        Line::Head(titles.iter().copied().chain(states).map(str::to_owned).collect())
    }
}

/// The client's settings in a use's line.
fn settings(used: &Use) -> String {
    if used.backend == Backend::InMemory {
        return String::new();
    }
    let timeout = used
        .client
        .command_timeout
        .map_or("no timeout".to_owned(), |limit| format!("timeout {}", declared(limit)));
    let attempts = used.client.attempts;
    format!("{timeout}, {attempts} attempt{}", if attempts == 1 { "" } else { "s" })
}

/// What each outage state costs at worst.
fn costs(file: &PolicyFile, budget: &Budget, worst: impl Fn(State) -> Option<Duration>) -> Vec<String> {
    let states = file.audited_states().into_iter().filter(|state| state.is_outage());
    states.map(|state| against(worst(state), budget, state)).collect()
}

/// A worst case beside its budget: `2.00 s of 250 ms`.
fn against(worst: Option<Duration>, budget: &Budget, state: State) -> String {
    let worst = match worst {
        None => "for ever".to_owned(),
        Some(Duration::ZERO) => "at once".to_owned(),
        Some(worst) => human_us(micros(worst)),
    };
    match budget.get(state) {
        None => worst,
        Some(line) => format!("{worst} of {}", declared(line.limit)),
    }
}

/// The lines with their columns below each other; names that leave no room are shortened.
fn laid_out(lines: &[Line], to: usize, paint: Paint) -> String {
    let rows = || {
        lines.iter().filter_map(|line| match line {
            Line::Head(row) | Line::Row(row) => Some(row),
            Line::Group(..) => None,
        })
    };
    let widths: Vec<usize> = (0..rows().map(Vec::len).max().unwrap_or(0))
        .map(|column| rows().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0))
        .collect();
    let others: usize = widths.iter().skip(1).map(|width| GAP + width).sum();
    let name =
        widths.first().copied().unwrap_or(0).min(to.saturating_sub(INDENT + others).max(SHORTEST_NAME));
    let in_columns = |row: &[String]| {
        let mut cells = row.iter().zip(&widths);
        let first = cells.next().map_or(String::new(), |(cell, _)| pad(&shorten(cell, name), name));
        let text = cells
            .fold(first, |text, (cell, width)| format!("{text}{}{}", " ".repeat(GAP), pad(cell, *width)));
        text.trim_end().to_owned()
    };
    lines
        .iter()
        .map(|line| match line {
            // The title stands above names that are indented.
            Line::Head(row) => {
                let text = format!("{}{}", " ".repeat(INDENT), in_columns(row));
                let title = row.first().map_or("", String::as_str);
                let text = format!("{title}{}{}", " ".repeat(INDENT), &text[INDENT + title.len()..]);
                format!("{}\n", paint.paint(QUIET, &text))
            }
            Line::Group(name, settings) => {
                let name = shorten(name, to.saturating_sub(GAP + width(settings)));
                let gap = if settings.is_empty() { "" } else { "  " };
                format!("{}{gap}{}\n", paint.paint(HEAD, &name), paint.paint(QUIET, settings))
            }
            Line::Row(row) => format!("{}{}\n", " ".repeat(INDENT), in_columns(row)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::judge::lint;
    use crate::policy::parse;

    fn shown(uses: &str) -> String {
        let text = format!(
            "version: 1\nservice: shop\nclient: {{command_timeout: 2s, attempts: 3, backoff: 50ms, on_timeout: keep}}\n{uses}"
        );
        let source = Arc::new(Source { path: PathBuf::from("policies.yaml"), text });
        let file = parse(source).unwrap();
        arithmetic(&file, &lint(&file), &TerminalOptions { width: 80, color: false, quiet: false })
    }

    const USES: &str = "uses:
  - name: idempotency-key-of-orders
    kind: idempotency_key
    key: i:${id}
    in_flight_ttl: 1m
    result_ttl: 1h
    on_outage: fail_closed
    budget: {paused: 250ms, stopped: 200ms}
  - {name: cart-lock, kind: lock, key: 'l:${id}', ttl: 30s, on_outage: fail_open, client: {command_timeout: none, connect_timeout: 1s}}
  - {name: rate-limit, kind: rate_limit, backend: in_memory}
requests:
  - {name: an-order-that-is-submitted-once, calls: [rate-limit.take, idempotency-key-of-orders.reserve], budget: 1s}
";

    #[test]
    fn each_operation_has_its_worst_case_beside_its_budget_within_eighty_columns() {
        let text = shown(USES);
        let line = |beginning: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(beginning));
            line.unwrap_or_else(|| panic!("{beginning} in {text}"))
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(line("idempotency-key-of-orders"), "idempotency-key-of-orders timeout 2 s, 3 attempts");
        assert_eq!(line("reserve"), "reserve fail_closed 6.10 s of 250 ms 100 ms of 200 ms");
        assert_eq!(line("cart-lock"), "cart-lock no timeout, 3 attempts");
        assert_eq!(line("acquire"), "acquire fail_open for ever 100 ms");
        assert_eq!(line("take"), "take in memory");
        assert_eq!(line("an-order"), "an-order-that-is-submitted-once 6.10 s of 1 s 100 ms of 1 s");
        for line in text.lines() {
            assert!(width(line) <= 80, "{} columns: {line}", width(line));
        }
    }

    #[test]
    fn a_name_that_leaves_no_room_is_shortened() {
        let long = "n".repeat(200);
        let text = shown(
            &USES.replace("cart-lock", &long).replace("an-order-that-is-submitted-once", &format!("r{long}")),
        );
        for line in text.lines().take_while(|line| !line.starts_with("deny")) {
            assert!(width(line) <= 80, "{} columns: {line}", width(line));
        }
        assert!(text.contains("nnn…nnn"), "{text}");
    }
}
