//! A server that exists: somebody else's, so nothing is done to it that was not asked for, and whatever was is put back.
//!
//! It is lent to one state at a time. Before each it is looked at again; before each change it must be the same life of
//! the same server. Whoever drops what was lent leaves the server as it is at that moment: [`Attached::put_back`] does
//! the rest, and is called however the audit ends. For an audit that is killed outright, a pause is bounded from the
//! start, and everything else stands in the [`Journal`].

mod allow;
mod guards;
mod hooks;
mod journal;
mod lease;
mod restore;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

pub use allow::{Allow, Touch};
pub(super) use journal::Journal;
pub use journal::{journals, left_behind};
pub(super) use lease::Lease;
pub use restore::{LeftOver, Restored, restore};

use guards::Seen;
use journal::{Header, LeftBehind, named};

use super::barrier::{barrier, ping};
use super::binary::OLDEST;
use super::front::upstream;
use super::identity::Identity;
use super::monitor::Monitor;
use super::settings::Settings;
use super::wire::STEP_WITHIN;
use super::{Server, ServerError, Version};
use crate::endpoint::{Candidates, Endpoint, Login};
use crate::observe::ServerInfo;
use crate::policy::Hooks;
use crate::words::{By, State, declared};

/// How long connections that were closed may still be listed.
const PATIENCE: Duration = Duration::from_secs(3);

/// Connections that are not the probes': the audit's own, and some for whoever looks after the server.
const KEPT_FREE: usize = 32;

/// How often a pause is lifted before somebody else is suspected of holding the server up.
const UNPAUSES: usize = 5;

/// A server that exists.
#[derive(Debug)]
pub struct Attached {
    endpoint: Endpoint,
    allow: Allow,
    /// What was seen of it at first.
    seen: Seen,
    life: Arc<Mutex<Life>>,
}

/// What changes while it is audited. Whoever holds it may change the server.
#[derive(Debug)]
struct Life {
    identity: Identity,
    /// A monitor connection, which alone can lift a pause. It is there from before the pause on.
    lifeline: Option<Monitor>,
    settings: Settings,
    /// Whether the stop hook was run and the start hook not yet.
    stopped: bool,
}

impl Attached {
    /// Looks at the server and refuses it where it might harm somebody. Nothing is changed, and nobody connects to a
    /// place that is not allowed, or where an earlier audit left something to put back.
    ///
    /// # Errors
    /// Where it can't be reached, does not let us look, or may not be audited.
    pub async fn open(
        candidates: &Candidates,
        allow: Allow,
        run: &str,
    ) -> Result<Arc<Attached>, ServerError> {
        let refused = |why: Vec<String>| match why.is_empty() {
            true => Ok(()),
            false => Err(ServerError::Refused { at: candidates.to_string(), why }),
        };
        let path = allow.journal.clone().unwrap_or_else(|| named(&journals(), run));
        let places = candidates.endpoints().iter().filter_map(|place| guards::refuses_place(place, &allow));
        let mut refusals: Vec<String> = places.collect();
        refusals.extend(unfinished(candidates, &path)?);
        refused(refusals)?;
        let endpoint = candidates.listening().await?;
        let seen = guards::look(&endpoint, STEP_WITHIN).await.map_err(unreachable(&endpoint))?;
        if seen.version < OLDEST {
            let version = seen.version;
            return Err(ServerError::TooOld { path: endpoint.to_string().into(), version });
        }
        refused(seen.refusals(&allow))?;
        let header = Header::new(run, &endpoint, &seen.identity.run_id);
        let life = Life {
            identity: seen.identity.clone(),
            lifeline: None,
            settings: Settings::journalled(Journal::new(path, header)),
            stopped: false,
        };
        Ok(Arc::new(Attached { endpoint, allow, seen, life: Arc::new(Mutex::new(life)) }))
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What it is, as reports name it.
    pub fn info(&self) -> &ServerInfo {
        &self.seen.server
    }

    /// Its version, to compare.
    pub fn version(&self) -> Version {
        self.seen.version
    }

    /// How many connections the probes may have.
    pub fn connections(&self) -> usize {
        self.seen.identity.max_clients.saturating_sub(self.seen.others + KEPT_FREE).max(1)
    }

    /// What is allowed.
    pub fn allow(&self) -> &Allow {
        &self.allow
    }

    /// Why a state may not be brought about on it, with what lifts that; none where it may.
    pub fn refuses(&self, state: State) -> Option<String> {
        let user = self.endpoint.login().and_then(Login::user).filter(|user| *user != "default");
        if state == State::AuthRejected && user.is_some() {
            return Some(format!(
                "{state}: it is the default user's password that is changed, and the audit logs in as another user; leave the user out of the Redis URL"
            ));
        }
        if Touch::of(state) == Touch::Process && self.seen.could_lose_keys() {
            return Some(format!(
                "{state}: it holds keys that are not the audit's, and without an append-only file some could be lost with the process; no flag allows it"
            ));
        }
        if state.facts().by == By::Proxy
            && let Err(why) = upstream(&self.endpoint)
        {
            return Some(format!("{state}: no proxy can stand before this server: {why}; leave it out"));
        }
        self.allow.refuses(state)
    }

    /// What a reader of a report has to know of a server that was not the audit's own.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "the server is not the audit's own: its data, its settings and its load are part of what was measured; the scripts of the audited uses stay in its script cache, as nothing but a flush removes them".to_owned(),
        ];
        if !self.seen.lists_what_ran() {
            let why = match self.seen.others {
                0 => {
                    "it does not name the audit's connections as they name themselves, as behind a unix socket or a port that is forwarded"
                }
                _ => "MONITOR would list what other clients do",
            };
            notes.push(format!("which commands ran late is not known here: {why}"));
        }
        notes
    }

    /// Lends the server, once nobody else has it and it still is what it was.
    pub(super) async fn lend(self: &Arc<Self>) -> Result<Server, ServerError> {
        let life = Arc::clone(&self.life).lock_owned().await;
        let seen = guards::settle(&self.endpoint, &self.allow, &life.identity, PATIENCE).await?;
        let lists_what_ran = seen.lists_what_ran();
        Ok(Server::attached(Lease::new(Arc::clone(self), life, lists_what_ran)))
    }

    /// Undoes whatever is still done to the server: lifts a pause, starts it where it is stopped, puts settings back.
    /// Does nothing where nothing has to be.
    ///
    /// # Errors
    /// What could not be put back, and what to do by hand.
    pub async fn put_back(&self) -> Result<(), ServerError> {
        let mut life = self.life.lock().await;
        let mut wrong = Vec::new();
        if let Some(mut lifeline) = life.lifeline.take() {
            wrong.extend(self.unpause(&mut lifeline).await.err());
        }
        if life.stopped
            && let Err(error) = self.start_again(&mut life).await
        {
            wrong.push(error.to_string());
        }
        let run_id = life.identity.run_id.clone();
        if let Err(error) = life.settings.recover(&self.endpoint, &run_id).await {
            wrong.push(error.to_string());
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(ServerError::NotPutBack {
                at: self.endpoint.clone(),
                why: wrong.join("; "),
                by_hand: life.settings.journal().and_then(|journal| journal.by_hand()),
            }),
        }
    }

    /// Lifts a pause; without one this does nothing.
    async fn unpause(&self, lifeline: &mut Monitor) -> Result<(), String> {
        // A pause that was just asked for may come into force after it was lifted, so it is lifted until somebody gets
        // an answer. A server that is gone holds nobody back.
        let mut last = String::new();
        for _ in 0..UNPAUSES {
            if lifeline.unpause().await.is_err() {
                return Ok(());
            }
            match ping(&self.endpoint, STEP_WITHIN / 10).await {
                Ok(()) => return Ok(()),
                Err(error) => last = error.to_string(),
            }
        }
        Err(format!(
            "it does not answer although its pause was lifted ({last}); a pause ends by itself within {}",
            declared(self.allow.max_pause)
        ))
    }

    fn hooks(&self) -> Result<&Hooks, ServerError> {
        self.allow.hooks.as_ref().ok_or_else(|| ServerError::OnlyOwned { at: self.endpoint.clone() })
    }

    async fn start_again(&self, life: &mut Life) -> Result<(), ServerError> {
        let hooks = self.hooks()?;
        hooks::run("start", &hooks.start, hooks.within).await?;
        let identity = self.answers_again(hooks).await?;
        life.identity = identity;
        life.stopped = false;
        if let Some(journal) = life.settings.journal() {
            journal.set_run_id(&life.identity.run_id);
            journal.runs_again()?;
        }
        Ok(())
    }

    /// Waits until the server that was started answers, and makes sure that it is the one that was stopped.
    async fn answers_again(&self, hooks: &Hooks) -> Result<Identity, ServerError> {
        barrier(&self.endpoint, hooks.within).await?;
        let seen = guards::look(&self.endpoint, STEP_WITHIN).await.map_err(unreachable(&self.endpoint))?;
        if seen.same != self.seen.same {
            let why = format!(
                "after the start hook another server answers there: program, configuration file and port are {:?} instead of {:?}",
                seen.same, self.seen.same
            );
            return Err(ServerError::Changed { at: self.endpoint.clone(), why });
        }
        Ok(seen.identity)
    }
}

/// Whether an earlier audit of this server left something that is not put back yet.
fn unfinished(candidates: &Candidates, own: &std::path::Path) -> Result<Vec<String>, ServerError> {
    let mut refusals = Vec::new();
    let mut paths = left_behind(&journals());
    if own.exists() {
        paths.push(own.to_owned());
    }
    for path in paths {
        let Some(left) = LeftBehind::read(&path)? else { continue };
        if left.header.among(candidates.endpoints()).is_some() || path == own {
            refusals.push(format!(
                "an audit that died left it changed, as {} says; put it back with `audit restore` first",
                path.display()
            ));
        }
    }
    Ok(refusals)
}

/// For `map_err`: the server could not be asked.
fn unreachable(endpoint: &Endpoint) -> impl FnOnce(std::io::Error) -> ServerError + use<> {
    let at = endpoint.clone();
    move |why| ServerError::Unreachable { at, why }
}
