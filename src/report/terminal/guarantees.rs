//! What each use promises: whether it was kept, and whether legitimate users were served, state by state.

use anstyle::Style;

use super::grouped::{self, Group};
use super::style::{HEAD, PLAIN, Paint, QUIET, mark as mark_sign, of_verdict};
use super::table::{GAP, INDENT};
use crate::report::{Loss, Service, UseCell, UseReport};
use crate::text::{clean, pad, shorten, width, wrap};
use crate::words::{Basis, State, Verdict, exact_us};

/// The lines of a use, and what stands in them where nothing was lost.
const LINES: [(&str, &str); 2] = [("guarantee", "kept"), ("availability", "served")];
/// The columns of a mark and the space behind it.
const MARK: usize = 2;
/// What marks a loss that follows from what is declared, and that nobody saw.
const IMPLIED: &str = "~";
/// A use's name is not shortened below this to leave room for its promise.
const LONGEST_NAME: usize = 30;

/// One line of a use in one state: a mark, and words that a line may end between.
struct Shown {
    mark: &'static str,
    style: Style,
    words: Vec<String>,
}

impl Shown {
    /// What a line says where nothing was lost, nothing is known, or something was lost.
    fn of(service: &Service, used: &UseReport, cell: Option<&UseCell>, line: usize) -> Shown {
        let calm = |verdict: Verdict, word: &str| Shown {
            mark: mark_sign(verdict),
            style: of_verdict(verdict),
            words: vec![word.to_owned()],
        };
        let Some(cell) = cell else {
            return Shown { mark: " ", style: PLAIN, words: vec!["-".to_owned()] };
        };
        if !cell.proven {
            return calm(Verdict::Inconclusive, "not proven");
        }
        let losses = if line == 0 { &cell.guarantee } else { &cell.availability };
        let accepted = |loss: &Loss| service.accepts(&used.name, loss.code, cell.state);
        // What was seen is worse than what is implied, and what nobody accepted is worse than what somebody did.
        let worst = losses.iter().min_by_key(|loss| (loss.basis != Basis::OnServer, accepted(loss)));
        let Some(first) = worst else {
            return calm(Verdict::Conforms, LINES[line].1);
        };
        let (mark, style) = match first.basis {
            Basis::OnServer => (mark_sign(Verdict::Departs), of_verdict(Verdict::Departs)),
            Basis::Declared | Basis::Implied => (IMPLIED, of_verdict(Verdict::Inconclusive)),
        };
        let style = if accepted(first) { QUIET } else { style };
        let mut words = vec![first.code.name().to_owned()];
        words.extend(first.seen.zip(first.of).map(|(seen, of)| format!("{seen} of {of}")));
        if accepted(first) {
            words.push("(accepted)".to_owned());
        }
        if losses.len() > 1 {
            words.push(format!("+{}", losses.len() - 1));
        }
        Shown { mark, style, words }
    }

    /// The columns on one line.
    fn natural(&self) -> usize {
        MARK + self.words.iter().map(|word| width(word)).sum::<usize>() + self.words.len().saturating_sub(1)
    }

    /// The columns on as many lines as it takes.
    fn narrowest(&self) -> usize {
        MARK + self.words.iter().map(|word| width(word)).max().unwrap_or(0)
    }

    /// The words in lines of at most so many columns.
    fn lines(&self, to: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in &self.words {
            match lines.last_mut().filter(|line| MARK + width(line) + 1 + width(word) <= to) {
                Some(line) => line.push_str(&format!(" {word}")),
                None => lines.push(word.clone()),
            }
        }
        lines
    }
}

/// A state's column: its title, and what stands in it, use by use and line by line.
struct Column {
    state: State,
    cells: Vec<[Shown; 2]>,
}

impl Column {
    fn of(service: &Service, state: State) -> Column {
        let cells = service.uses.iter().map(|used| {
            let cell = used.cell(state);
            [0, 1].map(|line| Shown::of(service, used, cell, line))
        });
        Column { state, cells: cells.collect() }
    }

    fn most(&self, columns: impl Fn(&Shown) -> usize) -> usize {
        let title = MARK + width(self.state.name());
        self.cells.iter().flatten().map(columns).fold(title, usize::max)
    }
}

/// The table of guarantees, in as many tables as its states need side by side; nothing where no use was probed.
pub(super) fn render(service: &Service, states: &[State], to: usize, paint: Paint) -> String {
    let lost = |state| service.uses.iter().filter_map(|used| used.cell(state)).any(UseCell::loses);
    let columns: Vec<Column> = states
        .iter()
        .filter(|state| state.is_outage() || lost(**state))
        .map(|state| Column::of(service, *state))
        .collect();
    if columns.is_empty() || service.uses.is_empty() {
        return String::new();
    }
    let label = LINES.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
    if grouped::is_wanted(states) {
        return by_loss(service, &columns, label, (to, paint)) + &below(service, to, paint);
    }
    let room = to.saturating_sub(INDENT + label);
    let mut rest = columns.as_slice();
    let mut tables = Vec::new();
    while !rest.is_empty() {
        let mut used = 0;
        let fits = rest.iter().take_while(|column| {
            used += GAP + column.most(Shown::narrowest);
            used <= room
        });
        let (now, later) = rest.split_at(fits.count().max(1));
        rest = later;
        tables.push(lines(service, now, label, &widths(now, room), (to, paint)));
    }
    tables.join("\n") + &below(service, to, paint)
}

/// The guarantees where there are many states: on each line of a use, the states in which the same was lost.
fn by_loss(service: &Service, columns: &[Column], label: usize, (to, paint): (usize, Paint)) -> String {
    let mut text = format!("{}\n", paint.paint(QUIET, "promise, and what became of it in which states"));
    for (at, used) in service.uses.iter().enumerate() {
        text.push_str(&group_line(used, to, paint));
        for (line, (name, _)) in LINES.iter().enumerate() {
            let mut groups: Vec<Group> = Vec::new();
            for column in columns {
                let shown = &column.cells[at][line];
                let words = shown.words.join(" ");
                match groups.iter_mut().find(|group| group.words == words && group.mark.0 == shown.mark) {
                    Some(group) => group.states.push(column.state),
                    None => {
                        let calm = shown.mark == mark_sign(Verdict::Conforms);
                        let style = if calm { PLAIN } else { shown.style };
                        let mark = (shown.mark, shown.style, style);
                        groups.push(Group { mark, words, states: vec![column.state] });
                    }
                }
            }
            let label = format!("{}{}{}", " ".repeat(INDENT), pad(name, label), " ".repeat(GAP));
            text.push_str(&grouped::lines(&label, &groups, to, paint));
        }
    }
    text
}

/// What stands below the table: what its marks mean, and what callers that come again add up to.
fn below(service: &Service, to: usize, paint: Paint) -> String {
    let mut text = String::new();
    let legend = "✓ kept, ✗ seen to be lost (in n of m runs), ~ lost by what is declared, ? not proven; +n: further codes, all of them below";
    text.extend(wrap(legend, to).iter().map(|line| format!("{}\n", paint.paint(QUIET, line))));
    for line in service.uses.iter().filter_map(repeats).flat_map(|line| wrap(&line, to)) {
        text.push_str(&format!("{line}\n"));
    }
    text
}

/// The columns' widths: what is left of the room goes first where the least of it helps.
fn widths(columns: &[Column], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.most(Shown::narrowest)).collect();
    let mut left = room.saturating_sub(widths.iter().map(|width| GAP + width).sum());
    let natural: Vec<usize> = columns.iter().map(|column| column.most(Shown::natural)).collect();
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|at| natural[*at] - widths[*at]);
    for at in order {
        let more = (natural[at] - widths[at]).min(left);
        widths[at] += more;
        left -= more;
    }
    widths
}

fn lines(
    service: &Service,
    columns: &[Column],
    label: usize,
    widths: &[usize],
    (to, paint): (usize, Paint),
) -> String {
    let gap = " ".repeat(GAP);
    let mut head = pad("promise", INDENT + label);
    for (column, width) in columns.iter().zip(widths) {
        head.push_str(&format!("{gap}{}{}", " ".repeat(MARK), pad(column.state.name(), width - MARK)));
    }
    let mut text = format!("{}\n", paint.paint(QUIET, head.trim_end()));
    for (at, used) in service.uses.iter().enumerate() {
        text.push_str(&group_line(used, to, paint));
        for (line, (name, _)) in LINES.iter().enumerate() {
            let shown: Vec<(&Shown, Vec<String>)> = columns
                .iter()
                .zip(widths)
                .map(|(column, width)| (&column.cells[at][line], column.cells[at][line].lines(*width)))
                .collect();
            for row in 0..shown.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0) {
                let name = if row == 0 { name } else { "" };
                text.push_str(&format!("{}{}", " ".repeat(INDENT), pad(name, label)));
                // Space is owed only once something follows it, so that no line ends in any.
                let mut owed = 0;
                for ((shown, lines), width) in shown.iter().zip(widths) {
                    owed += GAP;
                    let Some(words) = lines.get(row) else {
                        owed += width;
                        continue;
                    };
                    text.push_str(&" ".repeat(owed));
                    owed = width.saturating_sub(MARK + crate::text::width(words));
                    let mark = if row == 0 { shown.mark } else { " " };
                    let calm = shown.mark == mark_sign(Verdict::Conforms);
                    text.push_str(&format!(
                        "{} {}",
                        paint.paint(shown.style, mark),
                        paint.paint(if calm { PLAIN } else { shown.style }, words),
                    ));
                }
                text.push('\n');
            }
        }
    }
    text
}

/// The use, and what it promises.
fn group_line(used: &UseReport, to: usize, paint: Paint) -> String {
    let (name, promise) = (clean(&used.name), clean(&used.guarantee));
    let longest = to.saturating_sub(GAP + width(&promise)).max(LONGEST_NAME);
    let name = shorten(&name, longest.min(to));
    let promise = shorten(&promise, to.saturating_sub(width(&name) + GAP));
    let promise = if promise.is_empty() { promise } else { format!("  {}", paint.paint(QUIET, &promise)) };
    format!("{}{promise}\n", paint.paint(HEAD, &name))
}

/// What callers that come again by themselves add up to, where they are not served in an outage.
fn repeats(used: &UseReport) -> Option<String> {
    let repeats = used.repeats.as_ref()?;
    let lost = |cell: &UseCell| cell.state.is_outage() && cell.proven && !cell.availability.is_empty();
    used.cells.iter().any(lost).then(|| {
        format!(
            "{}: each caller comes again every {}: {} failed calls in an outage of a minute, {} in an hour (computed)",
            shorten(&clean(&used.name), LONGEST_NAME),
            exact_us(repeats.every_us),
            repeats.calls_in_a_minute,
            repeats.calls_in_an_hour,
        )
    })
}
