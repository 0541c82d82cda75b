//! Settings of a server that were changed, and what they were before.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use super::attached::Journal;
use super::identity::identity_of;
use super::wire::{STEP_WITHIN, Wire, WireReply};
use super::{ServerError, SettingError};
use crate::endpoint::{Endpoint, Login};

/// How long a server may take to notice that clients are gone, and to have room for another.
const ROOM_WITHIN: Duration = Duration::from_secs(3);

/// How often it is asked.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// What makes a server follow another one. It is a setting in every way but the command that sets it.
pub(super) const REPLICAOF: &str = "replicaof";

/// The settings that were changed on one server, in order.
#[derive(Debug, Default)]
pub(super) struct Settings {
    changed: Vec<Changed>,
    /// Where a change is written down before it is made.
    journal: Option<Journal>,
}

/// A setting that was changed. Its debugging form hides the values, which may be passwords.
pub(super) struct Changed {
    pub(super) name: String,
    pub(super) was: String,
    pub(super) set: String,
}

impl std::fmt::Debug for Changed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changed").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Settings {
    /// Settings whose changes are written down first.
    pub(super) fn journalled(journal: Journal) -> Settings {
        Settings { journal: Some(journal), ..Settings::default() }
    }

    /// Settings that a journal says were changed.
    pub(super) fn of(changed: Vec<Changed>) -> Settings {
        Settings { changed, ..Settings::default() }
    }

    /// Sets one, after what it was has been written down.
    pub(super) async fn set(
        &mut self,
        control: &mut Wire,
        endpoint: &Endpoint,
        name: &str,
        value: &str,
    ) -> Result<(), ServerError> {
        let failed = |why: io::Error| SettingError { at: endpoint.clone(), name: name.to_owned(), why };
        let was = read(control, name).await.map_err(failed)?;
        if let Some(journal) = &mut self.journal {
            journal.note(name, &was, value)?;
        }
        self.changed.push(Changed { name: name.to_owned(), was, set: value.to_owned() });
        write(control, name, value).await.map_err(failed)?;
        Ok(())
    }

    /// Puts all of them back, the last first, and reads each back. Those that can't be stay for another try.
    pub(super) async fn put_back(
        &mut self,
        control: &mut Wire,
        endpoint: &Endpoint,
    ) -> Result<(), ServerError> {
        while let Some(changed) = self.changed.last() {
            let restored = restore(control, changed).await;
            let name = || changed.name.clone();
            restored.map_err(|why| SettingError { at: endpoint.clone(), name: name(), why })?;
            self.changed.pop();
        }
        match &mut self.journal {
            Some(journal) => journal.settings_are_back(),
            None => Ok(()),
        }
    }

    /// [`Settings::put_back`] on a connection of its own: for who does not know what became of the server meanwhile.
    ///
    /// Another life of it has its settings from its configuration file: those that are as they were are fine, and others
    /// are nobody's to overwrite.
    pub(super) async fn recover(&mut self, endpoint: &Endpoint, run_id: &str) -> Result<(), ServerError> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let failed = |why: io::Error| ServerError::Unreachable { at: endpoint.clone(), why };
        let mut control = self.control(endpoint).await.map_err(failed)?;
        let now = identity_of(&mut control, STEP_WITHIN).await.map_err(failed)?;
        if now.run_id != run_id && !self.are_back(&mut control).await.map_err(failed)? {
            let why = format!(
                "another server answers, or this one was restarted (run_id {} instead of {run_id}), and its settings are not those of before",
                now.run_id
            );
            return Err(ServerError::Changed { at: endpoint.clone(), why });
        }
        self.put_back(&mut control, endpoint).await
    }

    /// A connection to a server whose number of clients may be one of the changes: those of an audit that died hold their
    /// places until the server has noticed.
    async fn control(&self, endpoint: &Endpoint) -> io::Result<Wire> {
        let until = Instant::now() + ROOM_WITHIN;
        loop {
            match self.let_in(endpoint).await {
                Err(error) if was_turned_away(&error) && Instant::now() < until => {
                    tokio::time::sleep(ASK_EVERY).await;
                }
                connected => return connected,
            }
        }
    }

    /// A connection to a server whose password may be one of the changes.
    async fn let_in(&self, endpoint: &Endpoint) -> io::Result<Wire> {
        let error = match Wire::connect(endpoint, STEP_WITHIN).await {
            // Whatever else it says to a PING, such as that its master is down: it lets us in.
            Ok(mut wire) => match wire.ask(&["PING"], STEP_WITHIN).await? {
                WireReply::Error(error) if error.starts_with("NOAUTH") => io::Error::other(error),
                WireReply::Error(error) if error.contains("max number of clients") => {
                    io::Error::new(io::ErrorKind::ConnectionReset, error)
                }
                _ => return Ok(wire),
            },
            Err(error) => error,
        };
        match self.changed.iter().rev().find(|changed| changed.name == "requirepass") {
            Some(changed) => {
                let login = Login::new(None, changed.set.clone());
                Wire::connect(&endpoint.with_login(Some(login)), STEP_WITHIN).await
            }
            None => Err(error),
        }
    }

    /// Whether all of them are what they were, although nobody put them back.
    async fn are_back(&self, control: &mut Wire) -> io::Result<bool> {
        let mut seen = BTreeSet::new();
        for changed in &self.changed {
            // What it was before the first change is what counts.
            if seen.insert(&changed.name) && read(control, &changed.name).await? != changed.was {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The journal, where changes are written down.
    pub(super) fn journal(&mut self) -> Option<&mut Journal> {
        self.journal.as_mut()
    }
}

/// Whether a server that has too many clients would look like this.
fn was_turned_away(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// Puts one back, unless it is what it was, and makes sure.
async fn restore(control: &mut Wire, changed: &Changed) -> io::Result<()> {
    if read(control, &changed.name).await? == changed.was {
        return Ok(());
    }
    write(control, &changed.name, &changed.was).await?;
    match read(control, &changed.name).await? == changed.was {
        true => Ok(()),
        false => Err(io::Error::other("the server took it and has another value all the same")),
    }
}

pub(super) async fn read(control: &mut Wire, name: &str) -> io::Result<String> {
    match control.ask(&["CONFIG", "GET", name], STEP_WITHIN).await? {
        WireReply::List(pair) if pair.len() == 2 => Ok(pair[1].text()),
        WireReply::List(_) => Err(io::Error::other("the server has no such setting")),
        WireReply::Error(error) => Err(io::Error::other(error)),
        other => Err(io::Error::other(format!("CONFIG GET was answered by {other:?}"))),
    }
}

async fn write(control: &mut Wire, name: &str, value: &str) -> io::Result<()> {
    let reply = match (name, value.split_once(' ')) {
        (REPLICAOF, None) => control.ask(&["REPLICAOF", "NO", "ONE"], STEP_WITHIN).await?,
        (REPLICAOF, Some((host, port))) => control.ask(&["REPLICAOF", host, port], STEP_WITHIN).await?,
        _ => control.ask(&["CONFIG", "SET", name, value], STEP_WITHIN).await?,
    };
    match reply {
        WireReply::Simple(_) => Ok(()),
        WireReply::Error(error) => Err(io::Error::other(error)),
        other => Err(io::Error::other(format!("it was answered by {other:?}"))),
    }
}
