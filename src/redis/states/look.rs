//! What a connection of the audit's own is told, again and again, while a state holds.

use std::io;
use std::time::Duration;

use tokio::sync::oneshot;

use super::super::wire::{STEP_WITHIN, Wire, WireReply, bounded};
use super::watch::{LOOK_EVERY, Watch};
use super::{Verdict, counted};
use crate::endpoint::Endpoint;

/// A key that nobody has: a look that reads it finds nothing, and one that writes it with XX changes nothing.
pub(super) const NO_KEY: &str = "audit-witness";

/// How long a server may take to tell a new connection that it is not wanted.
const AT_THE_DOOR: Duration = Duration::from_secs(1);

/// A write that changes nothing, even where the state does not hold.
pub(super) const WRITE: &[&str] = &["SET", NO_KEY, "1", "XX"];

/// A read.
pub(super) const READ: &[&str] = &["GET", NO_KEY];

/// One question and what it has to be told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) ask: &'static [&'static str],
    pub(super) told: Told,
}

/// What a question has to be told.
#[derive(Debug, Clone, Copy)]
pub(super) enum Told {
    /// Anything but an error.
    Answer,
    /// An error that begins so.
    Error(&'static str),
}

impl Look {
    fn judge(&self, reply: io::Result<WireReply>) -> Result<(), String> {
        let asked = if self.ask.is_empty() { "a new connection".to_owned() } else { self.ask.join(" ") };
        let wanted = match self.told {
            Told::Answer => "an answer",
            Told::Error(start) => start,
        };
        match (self.told, reply) {
            (Told::Error(start), Ok(WireReply::Error(text))) if text.starts_with(start) => Ok(()),
            (Told::Answer, Ok(reply)) if !matches!(reply, WireReply::Error(_)) => Ok(()),
            (_, Ok(reply)) => Err(format!("{asked} was told {reply:?} and not {wanted}")),
            (_, Err(error)) => Err(format!("{asked} was not told {wanted}: {error}")),
        }
    }

    /// `SET is rejected with OOM`, `GET answers`.
    fn shown(&self) -> String {
        let name = self.ask.first().unwrap_or(&"a new connection");
        match self.told {
            Told::Answer => format!("{name} was answered"),
            Told::Error(start) => format!("{name} was rejected with \"{start}\""),
        }
    }
}

/// Where the questions are asked.
#[derive(Debug)]
pub(super) enum Where {
    /// On one connection.
    On(Box<Wire>),
    /// On a new connection each time, which is told without asking.
    AtTheDoor(Endpoint),
}

/// A witness that looks, and what it has seen.
#[derive(Debug)]
pub(super) struct Looking {
    place: Where,
    looks: &'static [Look],
    rounds: usize,
    /// The first thing that spoke against the state.
    against: Option<String>,
}

impl Looking {
    /// Looks once now, and then again and again.
    pub(super) async fn start(place: Where, looks: &'static [Look]) -> Watch<Looking> {
        let mut looking = Looking { place, looks, rounds: 0, against: None };
        looking.look().await;
        Watch::start(move |stopped| watch(looking, stopped))
    }

    /// Looks a last time, and says what it has seen.
    pub(super) async fn last(mut self) -> Verdict {
        self.look().await;
        match self.against {
            Some(why) => Err(why),
            None => {
                let shown: Vec<String> = self.looks.iter().map(Look::shown).collect();
                Ok(format!(
                    "{} the audit's own connection looked, one each {LOOK_EVERY:?}: each time {}",
                    counted(self.rounds, "time"),
                    shown.join(", and ")
                ))
            }
        }
    }

    async fn look(&mut self) {
        for look in self.looks {
            let reply = match &mut self.place {
                Where::On(wire) => wire.ask(look.ask, STEP_WITHIN).await,
                Where::AtTheDoor(endpoint) => told_at_the_door(endpoint).await,
            };
            if let Err(why) = look.judge(reply) {
                self.against.get_or_insert(why);
            }
        }
        self.rounds += 1;
    }
}

async fn told_at_the_door(endpoint: &Endpoint) -> io::Result<WireReply> {
    let mut wire = Wire::connect(endpoint, STEP_WITHIN).await?;
    bounded(AT_THE_DOOR, wire.reply()).await
}

async fn watch(mut looking: Looking, mut stopped: oneshot::Receiver<()>) -> Looking {
    while looking.against.is_none() {
        tokio::select! {
            _ = &mut stopped => return looking,
            () = tokio::time::sleep(LOOK_EVERY) => looking.look().await,
        }
    }
    let _ = stopped.await;
    looking
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_content_with_what_the_state_must_show_and_with_nothing_else() {
        let oom = Look { ask: WRITE, told: Told::Error("OOM") };
        let reads = Look { ask: READ, told: Told::Answer };
        let error = |text: &str| Ok(WireReply::Error(text.to_owned()));
        let nil = || Ok(WireReply::Bulk(None));
        let lost = || Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        assert!(oom.judge(error("OOM command not allowed")).is_ok());
        assert!(oom.judge(error("READONLY You can't write")).is_err());
        assert!(oom.judge(nil()).unwrap_err().contains("and not OOM"));
        assert!(oom.judge(lost()).is_err());
        assert!(reads.judge(nil()).is_ok());
        assert!(reads.judge(error("MASTERDOWN")).is_err());
        assert!(reads.judge(lost()).is_err());
    }
}
