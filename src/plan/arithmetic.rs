//! What the declared settings alone say about a call's cost.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Layout;
pub(super) use crate::clients::longest_wait;
use crate::kinds::ProbeId;
use crate::policy::{
    Backend, Client, Handshake, OnTimeout, PolicyFile, Reconnect, Request, RequestCall, StateChoice, Then,
};
use crate::words::{By, Decision, FAILURES, State, Waits};

/// The longest that one call of an operation can take in a state; none where it can take for ever. An operation of several
/// commands stops at its first error, so it costs no more than one command, except where each may be answered late.
///
/// `setinfo` says whether `CLIENT SETINFO` waits in a pause (everywhere but on Redis 7.0, which rejects it at once); where
/// that is not known, the longer of the two answers is given. Where requests of a key fail by turns, the key is the call's
/// own: callers that share one take turns from each other.
pub fn worst_case(
    file: &PolicyFile,
    use_index: usize,
    operation_index: usize,
    state: State,
    setinfo: Option<bool>,
) -> Option<Duration> {
    cost(file, use_index, operation_index, state, setinfo, Before::Nothing)
}

/// What a client did before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing since the state began.
    Nothing,
    /// It made a call in it: the first attempt of its next one finds what a later attempt finds.
    Called,
}

fn cost(
    file: &PolicyFile,
    use_index: usize,
    operation_index: usize,
    state: State,
    setinfo: Option<bool>,
    before: Before,
) -> Option<Duration> {
    if !state.is_outage() || !file.befalls(state, use_index) {
        return Some(Duration::ZERO);
    }
    let used = &file.uses[use_index];
    let operation = &used.operations[operation_index].operation;
    let one = command(&used.client, operation.writes(), &file.choice(state), setinfo, before)?;
    let facts = state.facts();
    let late = facts.answers && facts.by == By::Proxy;
    let commands = if late { operation.steps(&used.call(&ProbeId::new("arithmetic", 0))).len() } else { 1 };
    one.checked_mul(u32::try_from(commands).unwrap_or(u32::MAX))
}

/// The longest that one command can take, with all its attempts. Where only writes wait, a read costs nothing.
fn command(
    client: &Client,
    writes: bool,
    state: &StateChoice,
    setinfo: Option<bool>,
    before: Before,
) -> Option<Duration> {
    let waits = state.state.facts().waits;
    let late = state.duration("latency").saturating_add(state.duration("jitter"));
    if waits == Waits::Latency && client.command_timeout.is_none_or(|limit| late < limit) {
        // It is answered, by its first attempt.
        return Some(late);
    }
    let failing = state.count(FAILURES).and_then(|failures| u32::try_from(failures).ok());
    let attempts = failing.map_or(client.attempts, |failing| client.attempts.min(failing.saturating_add(1)));
    let mut total = Duration::ZERO;
    for attempt in 1..=attempts {
        if attempt > 1 {
            total = total.checked_add(longest_wait(client.backoff, attempt - 1))?;
        }
        let cost = match (attempt, waits) {
            // Nothing waits: the process answers, rejects, refuses, or resets.
            (_, Waits::Nothing) => Some(Duration::ZERO),
            (_, Waits::Writes) if !writes => Some(Duration::ZERO),
            (1, _) if before == Before::Nothing => first_attempt(client, state, setinfo),
            _ => later_attempt(client, state, setinfo),
        };
        total = total.checked_add(cost?)?;
        if attempt > 1 && cost == Some(Duration::ZERO) && client.backoff == crate::policy::Backoff::None {
            // However many attempts are declared, the rest cost nothing either.
            break;
        }
    }
    Some(total)
}

/// The first attempt, of a client that is connected or, where the state is cold, connects with it.
fn first_attempt(client: &Client, state: &StateChoice, setinfo: Option<bool>) -> Option<Duration> {
    if state.state.is_cold() { opening(client, state, setinfo) } else { client.command_timeout }
}

/// The second attempt and those after it, once the first has timed out.
pub(super) fn later_attempt(client: &Client, state: &StateChoice, setinfo: Option<bool>) -> Option<Duration> {
    let handshake_waits = handshake_waits(client, state, setinfo);
    let connected = !state.state.is_cold() || handshake_waits == Some(false);
    if client.on_timeout == OnTimeout::Keep && connected {
        return client.command_timeout;
    }
    match (client.reconnect, handshake_waits) {
        (Reconnect::Never, _) => Some(Duration::ZERO),
        // Beside the calls a handshake can't finish, so no attempt finds a connection.
        (Reconnect::Background, Some(true)) => Some(Duration::ZERO),
        (Reconnect::Background, Some(false) | None) => client.command_timeout,
        (Reconnect::NextUse, _) => opening(client, state, setinfo),
    }
}

/// An attempt that opens a connection: the kernel accepts it, and what is sent on it waits.
fn opening(client: &Client, state: &StateChoice, setinfo: Option<bool>) -> Option<Duration> {
    if state.state.facts().waits == Waits::Latency && client.handshake != Handshake::None {
        // The handshake may just be answered in time, and the command then not.
        return client.connect_timeout?.checked_add(client.command_timeout?);
    }
    match handshake_waits(client, state, setinfo) {
        Some(true) => client.connect_timeout,
        Some(false) => client.command_timeout,
        None => Some(client.connect_timeout?.max(client.command_timeout?)),
    }
}

/// Whether what a client sends on a new connection before its first command waits; none where nobody knows.
fn handshake_waits(client: &Client, state: &StateChoice, setinfo: Option<bool>) -> Option<bool> {
    match (state.state.facts().waits, client.handshake) {
        // Where only some keys are silent, a client can connect.
        (Waits::Network, _) => Some(state.scope.is_none()),
        (_, Handshake::None) | (Waits::Nothing | Waits::Writes, _) => Some(false),
        (Waits::Paused, Handshake::Setinfo) => setinfo,
        (Waits::Latency, _) => None,
        (Waits::Paused | Waits::Frozen, _) => Some(true),
    }
}

/// The calls of a request that are made in a state, in order, each as often as it is made: up to the first one that
/// ends it, by a denial or an error, unless the file says that the request goes on.
pub fn reached_calls<'a>(file: &PolicyFile, request: &'a Request, state: State) -> Vec<&'a RequestCall> {
    let mut reached = Vec::new();
    for call in &request.calls {
        let used = &file.uses[call.use_index];
        let decision = match used.backend {
            // What may be answered may also let the request go on, so its calls count to the end.
            Backend::Redis if file.befalls(state, call.use_index) && !state.may_answer(call.writes(file)) => {
                used.operations[call.operation_index].on_outage.decision()
            }
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

/// What a request costs by arithmetic: the sum over the calls that it makes, each by what its client did before; none where
/// it can take for ever.
pub fn predicted_chain(
    file: &PolicyFile,
    request: &Request,
    state: State,
    setinfo: Option<bool>,
) -> Option<Duration> {
    let asks_redis = |call: &&RequestCall| file.uses[call.use_index].backend == Backend::Redis;
    let reached = reached_calls(file, request, state).into_iter().filter(asks_redis).count();
    let mut called = BTreeSet::new();
    Layout::of(file, request, state)
        .calls
        .into_iter()
        .take(reached)
        .map(|(call, client)| {
            let before = if called.contains(&client) { Before::Called } else { Before::Nothing };
            if file.befalls(state, call.use_index) {
                called.insert(client);
            }
            cost(file, call.use_index, call.operation_index, state, setinfo, before)
        })
        .sum()
}
