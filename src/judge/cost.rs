//! What calls cost, against their budgets and their configured timeouts.

use super::declared::{timeout_at, timeout_knob, why_it_costs};
use super::found::{Found, Subject};
use super::proof::Believable;
use crate::observe::{Cell, Cost};
use crate::policy::{BudgetLine, PolicyFile, Use};
use crate::words::{Code, Phase, Reply, State, Waits, coarse_us, declared, exact_us, human_us, micros};

/// An excess within the scheduling jitter does not count, and jitter above this is not an excuse.
const MOST_JITTER_US: u64 = 25_000;

/// By how much a cost may differ from the configured timeout: the larger of this share and [`TIMEOUT_SLACK_US`].
const TIMEOUT_SHARE: u64 = 10;
const TIMEOUT_SLACK_US: u64 = 50_000;

/// The findings on what single calls cost.
pub(super) fn findings(file: &PolicyFile, cells: &[&Cell], believable: &Believable) -> Vec<Found> {
    let mut found = Vec::new();
    for cell in cells.iter().filter(|cell| believable.cell(cell.key)) {
        let used = &file.uses[cell.key.use_index];
        let operation = &used.operations[cell.key.operation_index];
        let subject =
            Subject::Operation { use_index: cell.key.use_index, operation_index: cell.key.operation_index };
        let Some(cost) = Cost::of(cell.probes.iter().map(crate::observe::Probe::cost_us)) else { continue };
        if let Some(line) = operation.budget.get(cell.key.state)
            && let Some(excess) = excess(cost, line, cell.key.state, cell.jitter_us)
        {
            found.push(Found {
                code: Code::BudgetExceeded,
                subject,
                state: Some(cell.key.state),
                at: line.at,
                basis: Code::BudgetExceeded.basis(),
                seen: None,
                declared: format!("budget {}", declared(line.limit)),
                observed: excess,
                cause: cause_of_excess(used, cell.key.state),
                knob: timeout_knob(&used.client),
            });
        }
        found.extend(policy_unreachable(cell, subject, used));
        found.extend(timeout_not_effective(cell, cost, subject, used));
    }
    found
}

/// How far a cost is over its budget, in words; none where it is within. Healthy is judged at the median, an outage at
/// the worst probe.
pub(super) fn excess(cost: Cost, line: BudgetLine, state: State, jitter_us: u64) -> Option<String> {
    let limit = micros(line.limit);
    let (judged, word) = if state.is_outage() { (cost.max_us, "at worst") } else { (cost.p50_us, "at p50") };
    let allowed = limit.saturating_add(forgiven_us(state, jitter_us));
    // What differs by noise alone has to read alike; close to its limit, a cost keeps the digits that tell it from that.
    let is_close = judged <= limit.saturating_add(limit / 10);
    let shown = if is_close { human_us(judged) } else { coarse_us(judged) };
    (judged > allowed).then(|| format!("{shown} {word}"))
}

/// How much of a cost in a state may be the scheduling jitter's.
pub(super) fn forgiven_us(state: State, jitter_us: u64) -> u64 {
    if state.is_outage() { jitter_us.min(MOST_JITTER_US) } else { 0 }
}

fn cause_of_excess(used: &Use, state: State) -> String {
    match state.facts().waits {
        Waits::Nothing => "the call itself took longer, without any timeout running out".to_owned(),
        Waits::Latency => "each round trip takes longer, by what the state is told".to_owned(),
        _ => why_it_costs(&used.client),
    }
}

fn policy_unreachable(cell: &Cell, subject: Subject, used: &Use) -> Option<Found> {
    let lost = cell.probes.iter().find(|probe| probe.reply == Reply::NeverReturned)?;
    Some(Found {
        code: Code::PolicyUnreachable,
        subject,
        state: Some(cell.key.state),
        at: timeout_at(used),
        basis: Code::PolicyUnreachable.basis(),
        seen: None,
        declared: format!(
            "{} when Redis does not answer",
            used.operations[cell.key.operation_index].on_outage.name()
        ),
        observed: format!("never returned (more than {})", human_us(lost.cost_us())),
        cause: match used.client.command_timeout {
            None => "without a command timeout the call waits for as long as Redis is silent".to_owned(),
            Some(_) => why_it_costs(&used.client),
        },
        knob: "set `client.command_timeout`, in the code and here, or allow more by `--give-up`".to_owned(),
    })
}

fn timeout_not_effective(cell: &Cell, cost: Cost, subject: Subject, used: &Use) -> Option<Found> {
    let client = &used.client;
    let configured = micros(client.command_timeout?);
    let timed_out = |phase| cell.probes.iter().filter(|probe| probe.reply == Reply::TimedOut(phase)).count();
    let (connect, command) = (timed_out(Phase::Connect), timed_out(Phase::Command));
    if (connect + command) * 2 <= cell.probes.len() {
        return None;
    }
    // This is no budget that someone promised: whatever the machine overslept is not the client's doing.
    let slack = (configured / TIMEOUT_SHARE).max(TIMEOUT_SLACK_US) + cell.jitter_us;
    if cost.p50_us.abs_diff(configured) <= slack {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a factor is shown with one digit")]
    let factor = cost.p50_us as f64 / configured.max(1) as f64;
    let connects = if connect > 0 {
        let limit = client.connect_timeout.map_or("no limit".to_owned(), declared);
        format!(
            "; after the first timeout a new connection waits for its handshake, up to the connect timeout of {limit}"
        )
    } else {
        String::new()
    };
    Some(Found {
        code: Code::TimeoutNotEffective,
        subject,
        state: Some(cell.key.state),
        at: client.attempts_at,
        basis: Code::TimeoutNotEffective.basis(),
        seen: None,
        declared: format!("command timeout {}", exact_us(configured)),
        observed: format!("{} at p50, {factor:.1} times the timeout", coarse_us(cost.p50_us)),
        cause: format!("{}{connects}", why_it_costs(client)),
        knob: "`attempts: 1`, or a command timeout that is the wanted cost divided by the attempts"
            .to_owned(),
    })
}
