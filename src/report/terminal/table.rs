//! The failure table: a group for each use, a line for each operation, a column for each state.

use super::grouped::{self, Group};
use super::style::{HEAD, PLAIN, Paint, QUIET, mark, of_severity, of_verdict};
use crate::observe::Cost;
use crate::policy::Backend;
use crate::report::facts::{INCONCLUSIVE, probes_of_rows, samples_in_words};
use crate::report::format::more_than;
use crate::report::{CellReport, Row, Service};
use crate::text::{clean, pad, pad_left, shorten, width, wrap};
use crate::words::{OutagePolicy, Severity, State, Verdict, human_us};

/// How far operations are indented below their use.
pub(super) const INDENT: usize = 2;
/// The space between two columns.
pub(super) const GAP: usize = 2;
/// Below this an operation's name is not shortened.
pub(super) const SHORTEST_NAME: usize = 10;

/// What stands in place of a policy where nothing is declared, as Redis is not asked.
pub(super) const IN_MEMORY: &str = "in memory";

/// A column for a state, measured over all rows.
struct StateColumn {
    state: State,
    cost: usize,
    decision: usize,
}

impl StateColumn {
    fn of(state: State, rows: &[Row]) -> StateColumn {
        let cells = || rows.iter().filter_map(|row| row.cell(state));
        let believed = || cells().filter(|cell| !cell.is_unproven());
        let decision = believed().map(|cell| width(cell.outcome())).max().unwrap_or(0);
        let decision = if state.is_outage() { decision } else { 0 };
        let cost = believed().map(|cell| width(&cost(cell))).max().unwrap_or(1);
        // The state's name stands above the cost, behind the mark's two columns.
        let mut column = StateColumn { state, cost: cost.max(width(state.name())), decision };
        if cells().any(CellReport::is_unproven) {
            // What stands in place of both takes the room of both.
            column.cost += (2 + width(INCONCLUSIVE)).saturating_sub(column.width());
        }
        column
    }

    fn width(&self) -> usize {
        2 + self.cost + if self.decision > 0 { 1 + self.decision } else { 0 }
    }

    /// The cell at its column's width; the last one of a line needs no space behind it.
    fn cell(&self, cell: Option<&CellReport>, is_last: bool, paint: Paint) -> String {
        let to = if is_last { 0 } else { self.width() };
        let Some(cell) = cell else { return pad("  -", to) };
        let mut text = pad_left(&cost(cell), self.cost);
        if self.decision > 0 && !cell.is_unproven() {
            text = format!("{text} {}", cell.outcome());
        }
        let text = pad(&text, to.saturating_sub(2));
        // What conforms stays calm: only its mark is coloured, so that the eye finds the rest.
        let style = if cell.verdict == Verdict::Conforms { PLAIN } else { of_verdict(cell.verdict) };
        format!("{} {}", paint.paint(of_verdict(cell.verdict), mark(cell.verdict)), paint.paint(style, &text))
    }
}

/// The median cost, or what stands in its place.
fn cost(cell: &CellReport) -> String {
    median(cell.is_unproven(), cell.gave_up_us(), cell.cost)
}

/// A median cost, or what stands in its place: what cannot be believed has none.
pub(super) fn median(unproven: bool, gave_up_us: Option<u64>, cost: Option<Cost>) -> String {
    match (gave_up_us, cost) {
        _ if unproven => INCONCLUSIVE.to_owned(),
        (Some(gave_up), _) => more_than(gave_up),
        (None, Some(cost)) => human_us(cost.p50_us),
        (None, None) => "-".to_owned(),
    }
}

/// The failure table of a service, in as many tables as its states need side by side.
pub(super) fn render(service: &Service, states: &[State], to: usize, paint: Paint) -> String {
    if grouped::is_wanted(states) {
        return by_outcome(service, to, paint) + &samples_line(service, to, paint);
    }
    let columns: Vec<StateColumn> =
        states.iter().map(|state| StateColumn::of(*state, &service.rows)).collect();
    let (outages, control): (Vec<_>, Vec<_>) =
        columns.into_iter().partition(|column| column.state.is_outage());
    let names: Vec<String> = service.rows.iter().map(|row| clean(&row.operation)).collect();
    let name = names.iter().map(|name| width(name)).max().unwrap_or(0).max(width("operation") - INDENT);
    let declared = OutagePolicy::ALL.iter().map(|policy| width(policy.name())).max().unwrap_or(0);
    let fixed = INDENT + GAP + declared + control.iter().map(|column| GAP + column.width()).sum::<usize>();

    let mut rest = outages.as_slice();
    let mut tables = Vec::new();
    loop {
        let room = to.saturating_sub(fixed + name.min(SHORTEST_NAME));
        let mut taken = 0;
        let mut used = 0;
        for column in rest {
            if taken > 0 && used + GAP + column.width() > room {
                break;
            }
            used += GAP + column.width();
            taken += 1;
        }
        let (now, later) = rest.split_at(taken);
        rest = later;
        let shown: Vec<&StateColumn> = control.iter().chain(now).collect();
        let name = name.min(to.saturating_sub(fixed + used).max(SHORTEST_NAME.min(name)));
        tables.push(lines(service, &names, &shown, (name, declared, to), paint));
        if rest.is_empty() {
            break;
        }
    }
    let mut text = tables.join("\n");
    text.push_str(&samples_line(service, to, paint));
    text
}

/// The failure table where there are many states: below each operation, the states in which it came to the same.
fn by_outcome(service: &Service, to: usize, paint: Paint) -> String {
    let name = service.rows.iter().map(|row| width(&clean(&row.operation))).max().unwrap_or(0);
    let name = name.min(to / 4).max(SHORTEST_NAME);
    let mut text = format!("{}\n", paint.paint(QUIET, "operation, and what came of it in which states"));
    let mut group = None;
    for row in &service.rows {
        if group != Some(&row.use_name) {
            group = Some(&row.use_name);
            text.push_str(&group_line(row, to, paint));
        }
        let operation = pad(&shorten(&clean(&row.operation), name), name);
        let policy = row.declared.map_or(IN_MEMORY, OutagePolicy::name);
        let undecided = row.declared == Some(OutagePolicy::Undecided);
        let policy = paint.paint(if undecided { of_severity(Severity::Warn) } else { PLAIN }, policy);
        let head = format!("{}{operation}{}{policy}", " ".repeat(INDENT), " ".repeat(GAP));
        if row.backend == Backend::InMemory {
            text.push_str(&format!("{head}{}{}\n", " ".repeat(GAP), shorten(&clean(&row.meaning), to / 2)));
            continue;
        }
        text.push_str(&format!("{head}\n"));
        text.push_str(&grouped::lines(&" ".repeat(2 * INDENT), &outcomes(row), to, paint));
    }
    text
}

/// The outcomes of an operation, each with the states that share it: the same verdict, the same decision, and costs that
/// do not lie far apart. The healthy state stands alone, as it is what the others are compared with.
fn outcomes(row: &Row) -> Vec<Group> {
    let mut cells: Vec<&CellReport> = row.cells.iter().collect();
    cells.sort_by_key(|cell| (cell.gave_up_us(), cell.cost.map(|cost| cost.p50_us), cell.state));
    let mut groups: Vec<Vec<&CellReport>> = Vec::new();
    for cell in cells {
        let same =
            groups.iter_mut().find(|group| group.first().is_some_and(|first| is_the_same(first, cell)));
        match same {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    // In the states' own order again: the group of the earliest first.
    groups.iter_mut().for_each(|group| group.sort_by_key(|cell| cell.state));
    groups.sort_by_key(|group| group.first().map(|cell| cell.state));
    groups.iter().filter_map(|group| outcome(group)).collect()
}

/// Whether a cell came to the same as another that cost less. Nothing is known of what cannot be believed, so that is alike.
fn is_the_same(first: &CellReport, cell: &CellReport) -> bool {
    let costs = first.cost.zip(cell.cost);
    first.state.is_outage() == cell.state.is_outage()
        && first.verdict == cell.verdict
        && first.is_unproven() == cell.is_unproven()
        && (cell.is_unproven()
            || first.outcome() == cell.outcome()
                && first.gave_up_us() == cell.gave_up_us()
                && costs.is_none_or(|(least, this)| is_near(least.p50_us, this.p50_us)))
}

/// Whether two costs can be told as one: both too short to matter, or the larger no more than a quarter above.
fn is_near(least: u64, other: u64) -> bool {
    const SHORT_US: u64 = 100_000;
    other <= SHORT_US || (least > SHORT_US && other <= least + least / 4)
}

fn outcome(group: &[&CellReport]) -> Option<Group> {
    let first = group.first()?;
    let of = |cell: &&&CellReport| cell.cost.map(|cost| cost.p50_us);
    let least = group.iter().min_by_key(of)?;
    let most = group.iter().max_by_key(of)?;
    let (low, high) = (cost(least), cost(most));
    let costs = if low == high { low } else { format!("{low} to {high}") };
    let words = if first.is_unproven() { costs } else { format!("{} {costs}", first.outcome()) };
    let style = if first.verdict == Verdict::Conforms { PLAIN } else { of_verdict(first.verdict) };
    Some(Group {
        mark: (mark(first.verdict), of_verdict(first.verdict), style),
        words,
        states: group.iter().map(|cell| cell.state).collect(),
    })
}

fn lines(
    service: &Service,
    names: &[String],
    columns: &[&StateColumn],
    (name, declared, to): (usize, usize, usize),
    paint: Paint,
) -> String {
    let mut head =
        format!("{}{}{}", pad("operation", INDENT + name), " ".repeat(GAP), pad("declared", declared));
    for column in columns {
        head.push_str(&format!("{}{}", " ".repeat(GAP + 2), pad_left(column.state.name(), column.cost)));
        head.push_str(&" ".repeat(column.width() - 2 - column.cost));
    }
    let mut text = format!("{}\n", paint.paint(QUIET, head.trim_end()));
    let mut group = None;
    for (row, operation) in service.rows.iter().zip(names) {
        if group != Some(&row.use_name) {
            group = Some(&row.use_name);
            text.push_str(&group_line(row, to, paint));
        }
        let policy = pad(row.declared.map_or(IN_MEMORY, OutagePolicy::name), declared);
        let undecided = row.declared == Some(OutagePolicy::Undecided);
        let policy = paint.paint(if undecided { of_severity(Severity::Warn) } else { PLAIN }, &policy);
        let operation = pad(&shorten(operation, name), name);
        let mut line = format!("{}{operation}{}{policy}", " ".repeat(INDENT), " ".repeat(GAP));
        if row.backend == Backend::InMemory {
            let words = clean(&row.meaning);
            let before = INDENT + name + GAP + declared + GAP;
            let room = to.saturating_sub(before).max(20);
            let parts = wrap(&words, room);
            let joint = format!("\n{}", " ".repeat(before));
            line.push_str(&format!("{}{}", " ".repeat(GAP), parts.join(&joint)));
        } else {
            for (at, column) in columns.iter().enumerate() {
                line.push_str(&" ".repeat(GAP));
                line.push_str(&column.cell(row.cell(column.state), at + 1 == columns.len(), paint));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The use, and its kind where the name does not already say it.
fn group_line(row: &Row, to: usize, paint: Paint) -> String {
    let (name, kind) = (clean(&row.use_name), clean(&row.kind));
    let kind = if name.replace(['-', '_'], " ") == kind.replace('_', " ") { String::new() } else { kind };
    let kind = shorten(&kind, 20);
    let name = shorten(&name, to.saturating_sub(if kind.is_empty() { 0 } else { GAP + width(&kind) }));
    let kind = if kind.is_empty() { kind } else { format!("  {}", paint.paint(QUIET, &kind)) };
    format!("{}{kind}\n", paint.paint(HEAD, &name))
}

fn samples_line(service: &Service, to: usize, paint: Paint) -> String {
    let cells = probes_of_rows(&service.rows);
    if cells.is_empty() {
        return String::new();
    }
    let words = format!("cost: the median of n probes a cell; n: {}", clean(&samples_in_words(&cells)));
    wrap(&words, to).iter().map(|line| format!("{}\n", paint.paint(QUIET, line))).collect()
}
