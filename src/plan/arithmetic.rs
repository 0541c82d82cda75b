//! What the declared settings alone say about a call's cost.

use std::time::Duration;

pub(super) use crate::clients::longest_wait;
use crate::policy::{
    Backend, Client, Handshake, OnTimeout, PolicyFile, Reconnect, Request, RequestCall, Then,
};
use crate::words::{Decision, State};

/// The longest that one call can take in a state, for a client that was connected before it began; none where it can
/// take for ever. An operation of several commands stops at its first error, so it costs no more than one command.
///
/// `setinfo` says whether `CLIENT SETINFO` waits in a pause (everywhere but on Redis 7.0, which rejects it at once);
/// where that is not known, the longer of the two answers is given.
pub fn worst_case(client: &Client, state: State, setinfo: Option<bool>) -> Option<Duration> {
    let mut total = Duration::ZERO;
    for attempt in 1..=client.attempts {
        if attempt > 1 {
            total = total.checked_add(longest_wait(client.backoff, attempt - 1))?;
        }
        let cost = match state {
            // Nothing waits: the process refuses, resets, or answers.
            State::Healthy | State::Stopped => Some(Duration::ZERO),
            State::Paused if attempt == 1 => client.command_timeout,
            State::Paused => later_attempt_in_a_pause(client, setinfo),
        };
        total = total.checked_add(cost?)?;
        if attempt > 1 && cost == Some(Duration::ZERO) && client.backoff == crate::policy::Backoff::None {
            // However many attempts are declared, the rest cost nothing either.
            break;
        }
    }
    Some(total)
}

/// The second attempt and those after it, once the first has timed out.
pub(super) fn later_attempt_in_a_pause(client: &Client, setinfo: Option<bool>) -> Option<Duration> {
    if client.on_timeout == OnTimeout::Keep {
        return client.command_timeout;
    }
    // A paused server's kernel still accepts the connection; what is sent on it waits.
    let handshake_waits = match client.handshake {
        Handshake::None => Some(false),
        Handshake::Hello => Some(true),
        Handshake::Setinfo => setinfo,
    };
    match (client.reconnect, handshake_waits) {
        (Reconnect::Never, _) => Some(Duration::ZERO),
        (Reconnect::NextUse, Some(true)) => client.connect_timeout,
        (Reconnect::NextUse, Some(false)) => client.command_timeout,
        (Reconnect::NextUse, None) => Some(client.connect_timeout?.max(client.command_timeout?)),
        // Beside the calls a handshake can't finish, so no attempt finds a connection.
        (Reconnect::Background, Some(true)) => Some(Duration::ZERO),
        (Reconnect::Background, Some(false) | None) => client.command_timeout,
    }
}

/// The calls of a request that are made in a state, in order, each as often as it is made: up to the first one that
/// ends it, by a denial or an error, unless the file says that the request goes on.
pub fn reached_calls<'a>(file: &PolicyFile, request: &'a Request, state: State) -> Vec<&'a RequestCall> {
    let mut reached = Vec::new();
    for call in &request.calls {
        let used = &file.uses[call.use_index];
        let decision = match used.backend {
            Backend::Redis if state.is_outage() => used.operations[call.operation_index].on_outage.decision(),
            _ => Decision::Answered,
        };
        if goes_on(call, Some(decision)) {
            reached.extend(std::iter::repeat_n(call, call.times as usize));
        } else {
            reached.push(call);
            break;
        }
    }
    reached
}

/// Whether a request goes on after a call that came to this decision; one that never returned ends it.
pub(crate) fn goes_on(call: &RequestCall, decision: Option<Decision>) -> bool {
    match decision {
        Some(Decision::Answered | Decision::Allowed | Decision::FellBack) => true,
        Some(Decision::Denied) => call.on_denied == Then::Continue,
        Some(Decision::Raised) => call.on_raised == Then::Continue,
        None => false,
    }
}

/// What a request costs by arithmetic: the sum over the calls that it makes; none where it can take for ever.
pub fn predicted_chain(
    file: &PolicyFile,
    request: &Request,
    state: State,
    setinfo: Option<bool>,
) -> Option<Duration> {
    reached_calls(file, request, state)
        .into_iter()
        .map(|call| &file.uses[call.use_index])
        .filter(|used| used.backend == Backend::Redis)
        .map(|used| worst_case(&used.client, state, setinfo))
        .sum()
}
