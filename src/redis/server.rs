//! The server under audit, whoever it belongs to: what a state can do to any, and what only to one of the audit's own.

use std::process::ExitStatus;
use std::time::Duration;

use super::attached::Lease;
use super::settings::Settings;
use super::wire::Wire;
use super::{ServerError, Throwaway};
use crate::endpoint::Endpoint;
use crate::words::State;

/// A server that can be put into states.
#[derive(Debug)]
pub struct Server(Whose);

#[derive(Debug)]
enum Whose {
    /// One that the audit started. Dropping it kills it.
    Owned { process: Box<Throwaway>, settings: Settings },
    /// One that exists, held alone. Dropping it leaves it as it is; whatever was changed is put back at the end.
    Attached(Lease),
}

impl Server {
    pub(super) fn owned(process: Throwaway) -> Server {
        Server(Whose::Owned { process: Box::new(process), settings: Settings::default() })
    }

    pub(super) fn attached(lease: Lease) -> Server {
        Server(Whose::Attached(lease))
    }

    /// Where it is, and how to get in.
    pub fn endpoint(&self) -> &Endpoint {
        match &self.0 {
            Whose::Owned { process, .. } => process.endpoint(),
            Whose::Attached(lease) => lease.endpoint(),
        }
    }

    /// Its process, as it says itself; another one after it was started again.
    pub fn pid(&self) -> u32 {
        match &self.0 {
            Whose::Owned { process, .. } => process.pid(),
            Whose::Attached(lease) => lease.identity().pid,
        }
    }

    /// The random name that it gave itself when it last started.
    pub fn run_id(&self) -> &str {
        match &self.0 {
            Whose::Owned { process, .. } => process.run_id(),
            Whose::Attached(lease) => &lease.identity().run_id,
        }
    }

    /// How many connections it accepts.
    pub fn max_clients(&self) -> usize {
        match &self.0 {
            Whose::Owned { process, .. } => process.max_clients(),
            Whose::Attached(lease) => lease.identity().max_clients,
        }
    }

    /// How it ended, where its process is gone and that can be known.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        match &mut self.0 {
            Whose::Owned { process, .. } => process.exited(),
            Whose::Attached(_) => None,
        }
    }

    /// The process behind it.
    ///
    /// # Errors
    /// Where it is not the audit's own, and no hand may be laid on its process.
    pub fn own(&self) -> Result<&Throwaway, ServerError> {
        match &self.0 {
            Whose::Owned { process, .. } => Ok(process),
            Whose::Attached(lease) => Err(ServerError::OnlyOwned { at: lease.endpoint().clone() }),
        }
    }

    /// [`Server::own`], to change.
    ///
    /// # Errors
    /// Where it is not the audit's own.
    pub fn own_mut(&mut self) -> Result<&mut Throwaway, ServerError> {
        match &mut self.0 {
            Whose::Owned { process, .. } => Ok(process),
            Whose::Attached(lease) => Err(ServerError::OnlyOwned { at: lease.endpoint().clone() }),
        }
    }

    /// The longest that a pause may last on it; none where nobody else is held up by one.
    pub fn longest_pause(&self) -> Option<Duration> {
        match &self.0 {
            Whose::Owned { .. } => None,
            Whose::Attached(lease) => Some(lease.longest_pause()),
        }
    }

    /// Whether a monitor connection may list what runs on it, and names the audit's connections as they name themselves.
    pub fn lists_what_ran(&self) -> bool {
        match &self.0 {
            Whose::Owned { .. } => true,
            Whose::Attached(lease) => lease.lists_what_ran(),
        }
    }

    /// Makes sure that it may be put into this state and still is the server that it was, before anything about it is
    /// changed.
    ///
    /// # Errors
    /// Where that is not allowed, and where another server answers, or none.
    pub(super) async fn about_to_enter(&mut self, state: State) -> Result<(), ServerError> {
        match &mut self.0 {
            Whose::Owned { .. } => Ok(()),
            Whose::Attached(lease) => lease.about_to_enter(state).await,
        }
    }

    /// Sets one of its settings (`CONFIG SET`; `replicaof` too, as `HOST PORT`), remembering what it was.
    ///
    /// # Errors
    /// Where it may not be changed, is not known to the server, or is not taken.
    pub(super) async fn set(
        &mut self,
        control: &mut Wire,
        name: &str,
        value: &str,
    ) -> Result<(), ServerError> {
        match &mut self.0 {
            Whose::Owned { process, settings } => {
                settings.set(control, process.endpoint(), name, value).await
            }
            Whose::Attached(lease) => lease.set(control, name, value).await,
        }
    }

    /// Puts back every setting that was changed, the last first; does nothing where none was.
    ///
    /// # Errors
    /// Where one can't be put back.
    pub(super) async fn put_back(&mut self, control: &mut Wire) -> Result<(), ServerError> {
        match &mut self.0 {
            Whose::Owned { process, settings } => settings.put_back(control, process.endpoint()).await,
            Whose::Attached(lease) => lease.put_back(control).await,
        }
    }

    /// Stops its process: kills one of the audit's own and holds its port, runs the stop hook of another.
    ///
    /// # Errors
    /// Where the process can't be stopped.
    pub async fn kill(&mut self) -> Result<(), ServerError> {
        match &mut self.0 {
            Whose::Owned { process, .. } => process.kill().await,
            Whose::Attached(lease) => lease.stop().await,
        }
    }

    /// Starts it again where it was, and waits until its data is loaded.
    ///
    /// # Errors
    /// Where it still runs, ends by itself, or does not answer in time.
    pub async fn start_again(&mut self) -> Result<(), ServerError> {
        match &mut self.0 {
            Whose::Owned { process, .. } => process.start_again().await,
            Whose::Attached(lease) => lease.start_again().await,
        }
    }

    /// Ends one of the audit's own, and lets go of another.
    pub async fn shutdown(self) {
        match self.0 {
            Whose::Owned { process, .. } => process.shutdown().await,
            Whose::Attached(lease) => lease.give_back(),
        }
    }
}
