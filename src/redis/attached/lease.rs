//! A server that exists, lent to one state: nobody else has it meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use super::super::identity::{Identity, identify, identity_of};
use super::super::monitor::Monitor;
use super::super::wire::{STEP_WITHIN, Wire};
use super::super::{HookError, ServerError};
use super::{Attached, Life, Touch, guards, hooks, unreachable};
use crate::endpoint::Endpoint;
use crate::words::State;

/// The server, lent to one state.
#[derive(Debug)]
pub(in crate::redis) struct Lease {
    attached: Arc<Attached>,
    life: OwnedMutexGuard<Life>,
    lists_what_ran: bool,
}

impl Lease {
    pub(super) fn new(attached: Arc<Attached>, life: OwnedMutexGuard<Life>, lists_what_ran: bool) -> Lease {
        Lease { attached, life, lists_what_ran }
    }

    pub(in crate::redis) fn endpoint(&self) -> &Endpoint {
        &self.attached.endpoint
    }

    pub(in crate::redis) fn identity(&self) -> &Identity {
        &self.life.identity
    }

    pub(in crate::redis) fn longest_pause(&self) -> Duration {
        self.attached.allow.max_pause
    }

    pub(in crate::redis) fn lists_what_ran(&self) -> bool {
        self.lists_what_ran
    }

    /// Makes sure that it is the same life of the same server, and that whatever comes can be undone.
    pub(in crate::redis) async fn about_to_enter(&mut self, state: State) -> Result<(), ServerError> {
        if self.attached.refuses(state).is_some() {
            return Err(ServerError::OnlyOwned { at: self.endpoint().clone() });
        }
        self.is_the_same().await?;
        if Touch::of(state) == Touch::Pause && self.life.lifeline.is_none() {
            let lifeline = Monitor::lifeline(self.endpoint()).await;
            self.life.lifeline = Some(lifeline.map_err(unreachable(self.endpoint()))?);
        }
        Ok(())
    }

    async fn is_the_same(&self) -> Result<(), ServerError> {
        let now = identify(self.endpoint(), STEP_WITHIN).await;
        self.must_be(&now.map_err(unreachable(self.endpoint()))?)
    }

    fn must_be(&self, now: &Identity) -> Result<(), ServerError> {
        if now.run_id == self.life.identity.run_id {
            return Ok(());
        }
        let why = guards::other_life(&self.life.identity, now);
        Err(ServerError::Changed { at: self.endpoint().clone(), why })
    }

    pub(in crate::redis) async fn set(
        &mut self,
        control: &mut Wire,
        name: &str,
        value: &str,
    ) -> Result<(), ServerError> {
        if !self.attached.allow.config {
            return Err(ServerError::OnlyOwned { at: self.endpoint().clone() });
        }
        let now = identity_of(control, STEP_WITHIN).await;
        self.must_be(&now.map_err(unreachable(self.endpoint()))?)?;
        self.life.settings.set(control, &self.attached.endpoint, name, value).await
    }

    pub(in crate::redis) async fn put_back(&mut self, control: &mut Wire) -> Result<(), ServerError> {
        self.life.settings.put_back(control, &self.attached.endpoint).await
    }

    pub(in crate::redis) async fn stop(&mut self) -> Result<(), ServerError> {
        let hooks = self.attached.hooks()?.clone();
        // From here on it has to be started, even where the hook fails half way.
        self.life.stopped = true;
        if let Some(journal) = self.life.settings.journal() {
            journal.note_stop(&hooks.start)?;
        }
        self.life.lifeline = None;
        hooks::run("stop", &hooks.stop, hooks.within).await?;
        let started = Instant::now();
        while self.endpoint().knock().await.is_ok() {
            if started.elapsed() >= hooks.within {
                let why = format!("ended well, and {} still accepts connections", self.endpoint());
                return Err(HookError { which: "stop", command: hooks.stop, why }.into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Lets go of a server to which nothing is done any more.
    pub(in crate::redis) fn give_back(mut self) {
        self.life.lifeline = None;
    }

    pub(in crate::redis) async fn start_again(&mut self) -> Result<(), ServerError> {
        let attached = Arc::clone(&self.attached);
        attached.start_again(&mut self.life).await
    }
}
