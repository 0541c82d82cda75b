//! The failure table and the table of requests as plain text; the markdown writer renders them, and `--check`
//! compares them with what a document says.

use super::grid::{Grid, Head};
use crate::observe::Cost;
use crate::report::facts::INCONCLUSIVE;
use crate::report::format::coarse_cost;
use crate::report::{CellReport, Report, RequestCell, RequestRow, Row, Service};
use crate::text::clean;
use crate::words::{Evidence, KnownFrom, OutagePolicy, coarse_count, coarse_us, exact_us};

/// The columns that both sides of a comparison look for by name.
pub(in crate::report) mod column {
    pub(in crate::report) const SERVICE: &str = "service";
    pub(in crate::report) const OPERATION: &str = "use and operation";
    pub(in crate::report) const DOWN: &str = "with Redis down";
    pub(in crate::report) const WHERE: &str = "where";
    pub(in crate::report) const KNOWN: &str = "how we know";
    pub(in crate::report) const BUDGET: &str = "budget";
    pub(in crate::report) const FINDINGS: &str = "findings";
    pub(in crate::report) const REQUEST: &str = "request";
    pub(in crate::report) const STATE: &str = "state";
    pub(in crate::report) const CALLS: &str = "calls";
    pub(in crate::report) const ENDS: &str = "how it ends";
    pub(in crate::report) const COST: &str = "cost";
    pub(in crate::report) const PREDICTED: &str = "predicted";
    pub(in crate::report) const USE: &str = "use";
    pub(in crate::report) const PROMISES: &str = "promises";
    pub(in crate::report) const WAITING: &str = "waiting";
}

/// What stands where there is nothing.
pub(in crate::report) const NOTHING: &str = "-";

/// The failure table: a row for each operation of each use.
pub(in crate::report) fn operations(report: &Report) -> Grid {
    let mut heads =
        heads(report, &[(column::OPERATION, false), (column::DOWN, false), (column::WHERE, false)]);
    heads.push(head(column::KNOWN, false));
    heads.extend(report.states.iter().map(|state| head(state.name(), true)));
    heads.extend([head(column::BUDGET, false), head(column::FINDINGS, false)]);
    let rows = each_row(report).map(|(service, row)| {
        let mut cells = service_cell(report, service);
        cells.extend([row.name(), when_down(row), row.code.clone().unwrap_or_default(), how_we_know(row)]);
        cells.extend(report.states.iter().map(|state| row.cell(*state).map_or(NOTHING.to_owned(), cost)));
        cells.extend([budget(row), codes(service, row)]);
        filled(cells)
    });
    Grid { heads, rows: rows.collect() }
}

/// The requests: a row for each request and state.
pub(in crate::report) fn requests(report: &Report) -> Grid {
    let heads = heads(
        report,
        &[
            (column::REQUEST, false),
            (column::CALLS, false),
            (column::STATE, false),
            (column::ENDS, false),
            (column::COST, true),
            (column::PREDICTED, true),
            (column::BUDGET, true),
            (column::WAITING, true),
            (column::FINDINGS, false),
        ],
    );
    let rows = each_request(report).map(|(service, row, cell)| {
        let mut cells = service_cell(report, service);
        let codes = cell.findings.iter().map(|code| code.name()).collect::<Vec<_>>().join(", ");
        cells.extend([
            row.name.clone(),
            row.calls.join(", "),
            cell.state.name().to_owned(),
            cell.ending().to_owned(),
            request_cost(cell),
            cell.predicted_us.map_or("for ever".to_owned(), coarse_us),
            cell.budget_us.map_or(NOTHING.to_owned(), exact_us),
            waiting_of(row, cell),
            codes,
        ]);
        filled(cells)
    });
    Grid { heads, rows: rows.collect() }
}

/// Each row, with its service, in the order of the failure table.
pub(in crate::report) fn each_row(report: &Report) -> impl Iterator<Item = (&Service, &Row)> {
    report.services.iter().flat_map(|service| service.rows.iter().map(move |row| (service, row)))
}

/// Each request and state, in the order of their table.
pub(in crate::report) fn each_request(
    report: &Report,
) -> impl Iterator<Item = (&Service, &RequestRow, &RequestCell)> {
    let cells = |service| move |row| (service, row);
    report.services.iter().flat_map(move |service| service.requests.iter().map(cells(service))).flat_map(
        |(service, row): (&Service, &RequestRow)| row.cells.iter().map(move |cell| (service, row, cell)),
    )
}

pub(super) fn head(title: &str, figures: bool) -> Head {
    Head { title: title.to_owned(), figures }
}

pub(super) fn heads(report: &Report, columns: &[(&str, bool)]) -> Vec<Head> {
    let service = (report.services.len() > 1).then_some((column::SERVICE, false));
    service.iter().chain(columns).map(|(title, figures)| head(title, *figures)).collect()
}

pub(super) fn service_cell(report: &Report, service: &Service) -> Vec<String> {
    if report.services.len() > 1 { vec![service.name.clone()] } else { Vec::new() }
}

/// The cells on one line each; an empty one is visibly so.
pub(super) fn filled(cells: Vec<String>) -> Vec<String> {
    let fill = |cell: String| match clean(&cell) {
        cell if cell.is_empty() => NOTHING.to_owned(),
        cell => cell,
    };
    cells.into_iter().map(fill).collect()
}

/// What the operation does, and in which state something else was seen.
fn when_down(row: &Row) -> String {
    let mut text = declared(row);
    for cell in row.cells.iter().filter(|cell| cell.is_unproven() || !cell.is_as_expected(row)) {
        text.push_str(&format!("; {}: {}", cell.state, instead(cell)));
    }
    text
}

/// What is declared, in words; a use that does not touch Redis says that.
pub(in crate::report) fn declared(row: &Row) -> String {
    let Some(declared) = row.declared else { return row.meaning.clone() };
    let verb = match declared {
        OutagePolicy::FailOpen => "allows",
        OutagePolicy::FailClosed => "denies",
        OutagePolicy::Propagate => "raises",
        OutagePolicy::Fallback => "falls back",
        OutagePolicy::Undecided => "undecided",
    };
    // "undecided: nobody decided: ..." would say it twice.
    let meaning = row.meaning.strip_prefix("nobody decided: ").unwrap_or(&row.meaning);
    if meaning.trim().is_empty() { verb.to_owned() } else { format!("{verb}: {meaning}") }
}

/// What was seen instead of what the policy leads to. Replies are named and not counted, as counts are noise.
fn instead(cell: &CellReport) -> String {
    let mut classes: Vec<&str> = cell.replies.iter().map(|reply| reply.reply.as_str()).collect();
    classes.sort_unstable();
    match classes.as_slice() {
        _ if cell.is_unproven() => INCONCLUSIVE.to_owned(),
        [] => "no reply".to_owned(),
        classes => classes.join(" and "),
    }
}

/// How the declaration is known, and what was seen of it.
fn how_we_know(row: &Row) -> String {
    let known = match row.known_from {
        KnownFrom::Code => "read in the code",
        KnownFrom::Docs => "from the documentation",
        KnownFrom::Assumed => "assumed",
    };
    let word = |evidence| match evidence {
        Evidence::Declared => "not measured",
        Evidence::Simulated => "simulated",
    };
    let mut states: Vec<(Evidence, Vec<&str>)> = Vec::new();
    for cell in &row.cells {
        match states.iter_mut().find(|(evidence, _)| *evidence == cell.evidence) {
            Some((_, names)) => names.push(cell.state.name()),
            None => states.push((cell.evidence, vec![cell.state.name()])),
        }
    }
    let seen = match states.as_slice() {
        [] => word(Evidence::Declared).to_owned(),
        [(evidence, _)] => word(*evidence).to_owned(),
        several => {
            let each =
                several.iter().map(|(evidence, names)| format!("{} ({})", word(*evidence), names.join(", ")));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    format!("{known}; {seen}")
}

/// The median cost of a cell.
fn cost(cell: &CellReport) -> String {
    median(cell.is_unproven(), cell.ends_at_once(), cell.gave_up_us(), cell.cost)
}

/// The median cost; what cannot be believed has none.
fn median(unproven: bool, at_once: bool, gave_up_us: Option<u64>, cost: Option<Cost>) -> String {
    match (gave_up_us, cost) {
        _ if unproven => INCONCLUSIVE.to_owned(),
        (Some(gave_up), _) => format!("{NEVER_RETURNED} (more than {})", coarse_us(gave_up)),
        (None, Some(cost)) => coarse_cost(cost.p50_us, at_once),
        (None, None) => NOTHING.to_owned(),
    }
}

/// What stands in place of the cost of a call that was given up.
pub(in crate::report) const NEVER_RETURNED: &str = "never returned";

fn request_cost(cell: &RequestCell) -> String {
    median(cell.is_unproven(), cell.ends_at_once(), cell.gave_up_us(), cell.cost)
}

/// `20 of 10`: requests that wait, and threads that could serve them.
fn waiting_of(row: &RequestRow, cell: &RequestCell) -> String {
    let requests = cell.waiting.filter(|_| !cell.is_unproven()).map(coarse_count);
    match (requests, row.threads) {
        (Some(requests), Some(threads)) => format!("{requests} of {threads}"),
        (Some(requests), None) => requests,
        (None, _) => NOTHING.to_owned(),
    }
}

/// `250 ms (healthy 5 ms)` where all outage states share one, and each state's own otherwise.
fn budget(row: &Row) -> String {
    let in_words = |cell: &CellReport| cell.budget_us.map(|us| format!("{} {}", cell.state, exact_us(us)));
    let (outages, control): (Vec<_>, Vec<_>) = row.cells.iter().partition(|cell| cell.state.is_outage());
    let shared = match outages.first() {
        Some(first) if outages.iter().all(|cell| cell.budget_us == first.budget_us) => first.budget_us,
        _ => None,
    };
    let control: Vec<String> = control.into_iter().filter_map(in_words).collect();
    match (shared, control.is_empty()) {
        (Some(shared), true) => exact_us(shared),
        (Some(shared), false) => format!("{} ({})", exact_us(shared), control.join(", ")),
        (None, _) => {
            control.into_iter().chain(outages.into_iter().filter_map(in_words)).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The findings that count, and those that the file accepts.
fn codes(service: &Service, row: &Row) -> String {
    let each = service
        .codes_of(row)
        .into_iter()
        .map(|(code, accepted)| if accepted { format!("{code} (accepted)") } else { code.name().to_owned() });
    each.collect::<Vec<_>>().join(", ")
}
