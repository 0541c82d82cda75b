//! Where the servers of a run come from.

use std::sync::Arc;

use super::{Attached, Server, ServerError, Workshop};
use crate::observe::ServerInfo;
use crate::policy::Persistence;

/// Where the servers of a run come from.
#[derive(Debug, Clone)]
pub enum Servers {
    /// The audit starts as many as it wants.
    Owned(Arc<Workshop>),
    /// There is one, which is lent to one state after the other.
    Attached(Arc<Attached>),
}

impl Servers {
    /// A server that answers and that nobody else uses. One that exists keeps its data as it does, whatever is asked for.
    ///
    /// # Errors
    /// Where there is none: it does not start, or is no longer what it was.
    pub async fn start(&self, persistence: Persistence) -> Result<Server, ServerError> {
        match self {
            Servers::Owned(workshop) => workshop.start(persistence).await,
            Servers::Attached(attached) => attached.lend().await,
        }
    }

    /// What they are, as reports name them.
    pub fn info(&self) -> &ServerInfo {
        match self {
            Servers::Owned(workshop) => &workshop.binary().info,
            Servers::Attached(attached) => attached.info(),
        }
    }
}
