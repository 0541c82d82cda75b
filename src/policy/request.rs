//! A user-facing request: the calls that it makes, and what ends it.

use serde::{Deserialize, Serialize};

use super::{Budget, PolicyFile};
use crate::words::Span;

/// One user-facing request that makes several calls in order.
#[derive(Debug, Clone)]
pub struct Request {
    /// The name, unique among the file's requests.
    pub name: String,
    /// Where the name stands.
    pub at: Span,
    /// Its calls, in order.
    pub calls: Vec<RequestCall>,
    /// The longest that all of them may take together.
    pub budget: Budget,
    /// How many such requests arrive in a second.
    pub rate: Option<f64>,
    /// How many threads (or workers, or connections) serve them.
    pub threads: Option<u32>,
}

/// One call of a request.
#[derive(Debug, Clone)]
pub struct RequestCall {
    /// Which use, as an index into the file's uses.
    pub use_index: usize,
    /// Which of its operations, as an index into the use's operations.
    pub operation_index: usize,
    /// How often in a row.
    pub times: u32,
    /// What a denial does to the request.
    pub on_denied: Then,
    /// What an error does to the request.
    pub on_raised: Then,
    /// Where the call stands.
    pub at: Span,
}

impl RequestCall {
    /// Whether the operation that it calls writes.
    pub fn writes(&self, file: &PolicyFile) -> bool {
        file.uses[self.use_index].operations[self.operation_index].operation.writes()
    }
}

/// What happens to a request after a call that did not let it through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The request ends.
    Stop,
    /// The request goes on.
    Continue,
}

impl Then {
    /// Each, and its word in policy files.
    pub const ALL: [(&'static str, Then); 2] = [("stop", Then::Stop), ("continue", Then::Continue)];
}
