//! What the policy file alone says: nothing here was measured.

use std::time::Duration;

use super::found::{Found, Subject};
use crate::kinds::{ProbeId, Repeat};
use crate::plan::{predicted_chain, reached_calls, worst_case};
use crate::policy::{Backend, BudgetLine, Client, OnTimeout, PolicyFile, Request, Use, UseOperation};
use crate::words::{Code, OutagePolicy, Span, State, Waits, declared};

/// The findings that hold without any Redis.
pub(super) fn findings(file: &PolicyFile, states: &[State], setinfo: Option<bool>) -> Vec<Found> {
    let mut found = Vec::new();
    for (use_index, used) in file.uses.iter().enumerate().filter(|(_, used)| used.backend == Backend::Redis) {
        for (operation_index, operation) in used.operations.iter().enumerate() {
            let subject = Subject::Operation { use_index, operation_index };
            found.extend(undecided(subject, operation));
            found.extend(retry_not_idempotent(subject, used, operation));
            for &state in states.iter().filter(|state| is_predictable(**state)) {
                let worst = worst_case(file, use_index, operation_index, state, setinfo);
                let Some(line) = operation.budget.get(state) else { continue };
                found.extend(budget_unreachable(subject, state, line, worst, &used.client));
            }
        }
    }
    for (index, request) in file.requests.iter().enumerate() {
        for &state in states.iter().filter(|state| is_predictable(**state)) {
            let worst = predicted_chain(file, request, state, setinfo);
            let Some(line) = request.budget.get(state) else { continue };
            let Some(client) = dearest_client(file, request, state, setinfo) else { continue };
            found.extend(budget_unreachable(Subject::Request(index), state, line, worst, client));
        }
    }
    found
}

/// Whether what a call costs by arithmetic is the client's doing: what a slow network adds to it is no setting of the client's.
fn is_predictable(state: State) -> bool {
    state.is_outage() && state.facts().waits != Waits::Latency
}

/// The client of the call that costs a request the most: its settings are the ones to turn.
fn dearest_client<'a>(
    file: &'a PolicyFile,
    request: &Request,
    state: State,
    setinfo: Option<bool>,
) -> Option<&'a Client> {
    let calls = reached_calls(file, request, state);
    let calls = calls.iter().filter(|call| file.uses[call.use_index].backend == Backend::Redis);
    let dearest = calls.max_by_key(|call| {
        worst_case(file, call.use_index, call.operation_index, state, setinfo).unwrap_or(Duration::MAX)
    });
    dearest.map(|call| &file.uses[call.use_index].client)
}

fn undecided(subject: Subject, operation: &UseOperation) -> Option<Found> {
    (operation.on_outage == OutagePolicy::Undecided).then(|| Found {
        code: Code::Undecided,
        subject,
        state: None,
        at: operation.on_outage_at,
                basis: Code::Undecided.basis(),
                seen: None,
        declared: "nobody decided".to_owned(),
        observed: format!("behaves like propagate: {}", operation.operation.meaning(OutagePolicy::Propagate)),
        cause: "the code has no branch for a Redis that does not answer, and nobody wrote down that this is meant"
            .to_owned(),
        knob: format!(
            "decide it in the code, then write it down: `on_outage: {{{}: {}}}`",
            operation.name(),
            choices(operation)
        ),
    })
}

/// The policies that make sense for an operation, as a reader would type them.
fn choices(operation: &UseOperation) -> String {
    OutagePolicy::ALL
        .into_iter()
        .filter(|policy| *policy != OutagePolicy::Undecided && operation.operation.admits(*policy))
        .map(OutagePolicy::name)
        .collect::<Vec<_>>()
        .join(" | ")
}

fn retry_not_idempotent(subject: Subject, used: &Use, operation: &UseOperation) -> Option<Found> {
    if used.client.attempts < 2 {
        return None;
    }
    let probe = ProbeId::new("lint", 0);
    let steps = operation.operation.steps(&used.call(&probe));
    let (name, harm) = steps.iter().find_map(|step| match step.repeat {
        Repeat::Harmless => None,
        Repeat::AnswersOtherwise(harm) | Repeat::TakesEffectAgain(harm) => Some((step.command.name(), harm)),
    })?;
    Some(Found {
        code: Code::RetryNotIdempotent,
        subject,
        state: None,
        at: used.client.attempts_at,
        basis: Code::RetryNotIdempotent.basis(),
        seen: None,
        declared: format!("{} attempts", used.client.attempts),
        observed: format!("{name} is sent again after a timeout: {harm}"),
        cause: "a timeout does not say whether the server ran the command".to_owned(),
        knob: "`attempts: 1` in this use's `client`, or an operation that can run twice".to_owned(),
    })
}

fn budget_unreachable(
    subject: Subject,
    state: State,
    line: BudgetLine,
    worst: Option<Duration>,
    client: &Client,
) -> Option<Found> {
    if worst.is_some_and(|worst| worst <= line.limit) {
        return None;
    }
    Some(Found {
        code: Code::BudgetUnreachable,
        subject,
        state: Some(state),
        at: line.at,
        basis: Code::BudgetUnreachable.basis(),
        seen: None,
        declared: format!("budget {}", declared(line.limit)),
        observed: format!("by arithmetic up to {}", worst.map_or("for ever".to_owned(), declared)),
        cause: why_it_costs(client),
        knob: timeout_knob(client),
    })
}

/// The settings that make up a call's cost, in words.
pub(super) fn why_it_costs(client: &Client) -> String {
    let timeout = client.command_timeout.map_or("no command timeout".to_owned(), |timeout| {
        format!("each attempt waits its whole command timeout of {}", declared(timeout))
    });
    match client.attempts {
        1 => timeout,
        attempts => {
            let connection = match client.on_timeout {
                OnTimeout::Close => "on a new connection each time",
                OnTimeout::Keep => "on the same connection",
            };
            format!("{timeout}, and there are {attempts} attempts {connection}")
        }
    }
}

/// Which setting to turn for a lower cost.
pub(super) fn timeout_knob(client: &Client) -> String {
    if client.attempts > 1 {
        "lower `client.attempts` or `client.command_timeout`, or raise the budget".to_owned()
    } else {
        "lower `client.command_timeout`, or raise the budget".to_owned()
    }
}

/// Where the command timeout of a use is set.
pub(super) fn timeout_at(used: &Use) -> Span {
    used.client.command_timeout_at
}
