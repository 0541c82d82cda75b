//! Which client makes which call of a request.

use super::reached_calls;
use crate::policy::{Backend, OnTimeout, PolicyFile, Request, RequestCall};
use crate::words::State;

/// The calls of a request that ask Redis, each with the client that makes it.
#[derive(Debug)]
pub struct Layout<'a> {
    /// The calls in order, repeated as often as they are made, and the index of their client.
    pub calls: Vec<(&'a RequestCall, usize)>,
    /// For each client, the use whose settings it has, as an index into the file's uses.
    pub clients: Vec<usize>,
}

impl<'a> Layout<'a> {
    /// Lays a request out for a state.
    ///
    /// A client that closes its connection on a timeout has others in its pool, which are as warm as the first: each of
    /// its calls gets a client of its own. One that keeps its connection has the one. Calls beyond what the state lets
    /// the request reach get no connection of their own.
    pub fn of(file: &PolicyFile, request: &'a Request, state: State) -> Layout<'a> {
        let asks_redis = |call: &&RequestCall| file.uses[call.use_index].backend == Backend::Redis;
        let reached = reached_calls(file, request, state).into_iter().filter(asks_redis).count();
        let mut layout = Layout { calls: Vec::new(), clients: Vec::new() };
        let repeated = request.calls.iter().flat_map(|call| (0..call.times).map(move |_| call));
        for (position, call) in repeated.filter(asks_redis).enumerate() {
            let settings = &file.uses[call.use_index].client;
            let shared = layout.clients.iter().position(|&other| {
                settings.on_timeout == OnTimeout::Keep && file.uses[other].client == *settings
            });
            let client = shared.unwrap_or_else(|| {
                if position < reached || layout.clients.is_empty() {
                    layout.clients.push(call.use_index);
                }
                layout.clients.len() - 1
            });
            layout.calls.push((call, client));
        }
        layout
    }

    /// The operation whose call is the first to ask Redis, with its use: made on a fresh client like a probe of its own, it
    /// counts as one.
    pub fn first_call(&self) -> Option<(usize, usize)> {
        self.calls.first().map(|(call, _)| (call.use_index, call.operation_index))
    }
}
