//! Settings of a server that were changed, and what they were before.

use std::io;

use super::attached::Journal;
use super::identity::{Identity, info};
use super::wire::{STEP_WITHIN, Wire, WireReply};
use super::{ServerError, SettingError};
use crate::endpoint::{Endpoint, Login};

/// What makes a server follow another one. It is a setting in every way but the command that sets it.
const REPLICAOF: &str = "replicaof";

/// The settings that were changed on one server, in order.
#[derive(Debug, Default)]
pub(super) struct Settings {
    changed: Vec<Changed>,
    /// The connection that made the first change. It is kept for putting back: the changes may be such that the server
    /// takes no new one.
    control: Option<Wire>,
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
        endpoint: &Endpoint,
        name: &str,
        value: &str,
    ) -> Result<(), ServerError> {
        let failed = |why: io::Error| SettingError { at: endpoint.clone(), name: name.to_owned(), why };
        let mut control = match self.control.take() {
            Some(control) => control,
            None => Wire::connect(endpoint, STEP_WITHIN).await.map_err(failed)?,
        };
        let was = read(&mut control, name).await.map_err(failed)?;
        if let Some(journal) = &mut self.journal {
            journal.note(name, &was, value)?;
        }
        self.changed.push(Changed { name: name.to_owned(), was, set: value.to_owned() });
        let written = write(&mut control, name, value).await;
        self.control = Some(control);
        written.map_err(failed)?;
        Ok(())
    }

    /// Puts all of them back, the last first, and reads each back. Those that can't be stay for another try.
    pub(super) async fn put_back(&mut self, endpoint: &Endpoint) -> Result<(), ServerError> {
        while let Some(changed) = self.changed.last() {
            let mut done = Err(io::Error::from(io::ErrorKind::NotConnected));
            if let Some(control) = &mut self.control {
                done = restore(control, changed).await;
            }
            if done.is_err() {
                done = match open(endpoint, &self.changed).await {
                    Ok(mut control) => {
                        let restored = restore(&mut control, changed).await;
                        self.control = Some(control);
                        restored
                    }
                    Err(error) => Err(error),
                };
            }
            let name = changed.name.clone();
            done.map_err(|why| SettingError { at: endpoint.clone(), name, why })?;
            self.changed.pop();
        }
        self.control = None;
        match &mut self.journal {
            Some(journal) => journal.settings_are_back(),
            None => Ok(()),
        }
    }

    /// Who answers.
    pub(super) async fn identity(&mut self, endpoint: &Endpoint) -> io::Result<Identity> {
        Identity::read(&info(self.control(endpoint).await?, STEP_WITHIN).await?)
    }

    /// Whether all of them are what they were, although nobody put them back.
    pub(super) async fn are_back(&mut self, endpoint: &Endpoint) -> io::Result<bool> {
        self.control(endpoint).await?;
        let (Some(control), mut first) = (&mut self.control, Vec::new()) else { return Ok(false) };
        for changed in &self.changed {
            // What it was before the first change is what counts.
            if first.contains(&&changed.name) {
                continue;
            }
            first.push(&changed.name);
            if read(control, &changed.name).await? != changed.was {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn control(&mut self, endpoint: &Endpoint) -> io::Result<&mut Wire> {
        let control = match self.control.take() {
            Some(control) => control,
            None => open(endpoint, &self.changed).await?,
        };
        Ok(self.control.insert(control))
    }

    /// The journal, where changes are written down.
    pub(super) fn journal(&mut self) -> Option<&mut Journal> {
        self.journal.as_mut()
    }
}

/// A connection to a server whose password may be one of the changes.
async fn open(endpoint: &Endpoint, changed: &[Changed]) -> io::Result<Wire> {
    let error = match Wire::connect(endpoint, STEP_WITHIN).await {
        Ok(mut wire) => match wire.ask(&["PING"], STEP_WITHIN).await? {
            WireReply::Error(error) => io::Error::other(error),
            _ => return Ok(wire),
        },
        Err(error) => error,
    };
    match changed.iter().rev().find(|changed| changed.name == "requirepass") {
        Some(changed) => {
            let login = Login::new(None, changed.set.clone());
            Wire::connect(&endpoint.with_login(login), STEP_WITHIN).await
        }
        None => Err(error),
    }
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

async fn read(control: &mut Wire, name: &str) -> io::Result<String> {
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
