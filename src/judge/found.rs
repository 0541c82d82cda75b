//! A finding about one place, before acceptances are applied and equal ones are merged.

use crate::observe::CellKey;
use crate::words::{Basis, Code, Span, State};

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// An operation of a use.
    Operation { use_index: usize, operation_index: usize },
    /// A whole use.
    Use(usize),
    /// A request.
    Request(usize),
}

/// A finding about one operation or request, in one state or in none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) code: Code,
    pub(super) subject: Subject,
    /// The state in which it was found; none where it holds in all outage states.
    pub(super) state: Option<State>,
    pub(super) at: Span,
    pub(super) basis: Basis,
    /// In how many of how many runs it was seen, where that was counted.
    pub(super) seen: Option<(usize, usize)>,
    pub(super) declared: String,
    /// What was observed here; merging puts the operation and the state in front.
    pub(super) observed: String,
    pub(super) cause: String,
    pub(super) knob: String,
}

impl Found {
    /// Whether it belongs in this cell of the table.
    pub(super) fn marks(&self, cell: CellKey) -> bool {
        let Subject::Operation { use_index, operation_index } = self.subject else { return false };
        (use_index, operation_index) == (cell.use_index, cell.operation_index) && self.holds_in(cell.state)
    }

    /// Whether it holds in this state.
    pub(super) fn holds_in(&self, state: State) -> bool {
        self.state.map_or_else(|| state.is_outage(), |own| own == state)
    }

    /// Whether it was measured where `predicted` was computed.
    pub(super) fn supersedes(&self, predicted: &Found) -> bool {
        predicted.code == Code::BudgetUnreachable
            && matches!(self.code, Code::BudgetExceeded | Code::RequestBudgetExceeded)
            && self.subject == predicted.subject
            && self.state == predicted.state
    }
}
