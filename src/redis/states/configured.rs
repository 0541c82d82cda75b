//! States that a server is put into by its own commands and settings, and taken out of by putting back what was there.

use std::io;

use super::super::port::HeldPort;
use super::super::wire::{STEP_WITHIN, Wire, WireReply};
use super::super::{Server, ServerError};
use super::clients;
use super::look::{Look, Looking, Where};
use super::watch::Watch;
use super::{Verdict, dump};

/// What a state is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    /// What is set, in this order.
    pub(super) settings: &'static [(&'static str, Value)],
    /// What is done beside it.
    pub(super) also: Also,
    /// What shows that the state holds.
    pub(super) looks: &'static [Look],
}

/// What a setting is set to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    /// This.
    Is(&'static str),
    /// As many clients as stay when all others are killed.
    ThoseThatStay,
    /// Something that no client knows.
    Secret,
}

/// What is done beside the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Also {
    /// Nothing.
    Nothing,
    /// The server becomes a replica of a port that refuses.
    FollowNobody,
    /// A snapshot fails.
    FailToSave,
    /// Every client's connection is killed.
    KillClients,
}

/// What has to be put back, in the reverse of this order.
#[derive(Debug)]
enum Undo {
    Setting(&'static str, String),
    BeMaster(HeldPort),
    Unblock(dump::Blocked),
}

/// A state that holds.
#[derive(Debug)]
pub(super) struct Configured {
    recipe: Recipe,
    /// None where not even a connection could be had.
    control: Option<Wire>,
    undo: Vec<Undo>,
    /// None where a step of the way failed.
    watch: Result<Watch<Looking>, String>,
}

impl Configured {
    pub(super) async fn enter(server: &Server, recipe: Recipe) -> Configured {
        let mut this = Configured { recipe, control: None, undo: Vec::new(), watch: Err(String::new()) };
        this.watch =
            this.begin(server).await.map_err(|error| format!("the state could not be entered: {error}"));
        this
    }

    async fn begin(&mut self, server: &Server) -> io::Result<Watch<Looking>> {
        let mut control = Wire::connect(server.addr(), STEP_WITHIN).await?;
        let done = self.change(&mut control, server).await;
        self.control = Some(control);
        done?;
        let place = match self.recipe.looks {
            [Look { ask: [], .. }, ..] => Where::AtTheDoor(server.addr()),
            _ => Where::On(Box::new(Wire::connect(server.addr(), STEP_WITHIN).await?)),
        };
        Ok(Looking::start(place, self.recipe.looks).await)
    }

    async fn change(&mut self, control: &mut Wire, server: &Server) -> io::Result<()> {
        for (name, value) in self.recipe.settings {
            let value = match value {
                Value::Is(value) => (*value).to_owned(),
                Value::ThoseThatStay => clients::that_stay(control).await?.to_string(),
                Value::Secret => format!("not-{}", server.run_id()),
            };
            let before = setting(control, name).await?;
            self.undo.push(Undo::Setting(name, before));
            expect_ok(control.ask(&["CONFIG", "SET", name, &value], STEP_WITHIN).await?)?;
        }
        match self.recipe.also {
            Also::Nothing => {}
            Also::FollowNobody => {
                let port = HeldPort::any()?;
                let addr = port.addr()?;
                self.undo.push(Undo::BeMaster(port));
                let (host, port) = (addr.ip().to_string(), addr.port().to_string());
                expect_ok(control.ask(&["REPLICAOF", &host, &port], STEP_WITHIN).await?)?;
            }
            Also::FailToSave => {
                self.undo.push(Undo::Unblock(dump::block(server.dir())?));
                dump::save(control, dump::Saved::No).await?;
            }
            Also::KillClients => {
                clients::kill(control).await?;
            }
        }
        Ok(())
    }

    /// Whether clients were killed and may connect again.
    pub(super) fn takes_new_connections(&self) -> bool {
        self.recipe.also == Also::KillClients && !matches!(self.recipe.looks, [Look { ask: [], .. }, ..])
    }

    /// Looks a last time and puts back what was there.
    pub(super) async fn leave(self, server: &Server) -> (Verdict, Result<(), ServerError>) {
        let verdict = match self.watch {
            Ok(watch) => match watch.stop().await {
                Some(looking) => looking.last().await,
                None => Err("the task that watched the state broke".to_owned()),
            },
            Err(why) => Err(why),
        };
        let Some(mut control) = self.control else { return (verdict, Ok(())) };
        for step in self.undo.into_iter().rev() {
            if let Err(error) = put_back(&mut control, step).await {
                let doing = format!("putting back what was set on {}", server.addr());
                return (verdict, Err(ServerError::Io { doing, source: error }));
            }
        }
        (verdict, Ok(()))
    }
}

async fn put_back(control: &mut Wire, step: Undo) -> io::Result<()> {
    match step {
        Undo::Setting(name, value) => {
            expect_ok(control.ask(&["CONFIG", "SET", name, &value], STEP_WITHIN).await?)?;
            let now = setting(control, name).await?;
            if now == value {
                return Ok(());
            }
            Err(io::Error::other(format!(
                "{name} was {value:?}, and is {now:?} after it was set to that again"
            )))
        }
        Undo::BeMaster(_held) => expect_ok(control.ask(&["REPLICAOF", "NO", "ONE"], STEP_WITHIN).await?),
        Undo::Unblock(blocked) => {
            blocked.clear()?;
            // Only a snapshot that succeeds makes the server forget the one that failed.
            dump::save(control, dump::Saved::Yes).await?;
            blocked.restore()
        }
    }
}

/// What a setting is now.
pub(super) async fn setting(control: &mut Wire, name: &str) -> io::Result<String> {
    match control.ask(&["CONFIG", "GET", name], STEP_WITHIN).await? {
        WireReply::List(pair) if pair.len() == 2 => Ok(pair[1].text()),
        other => Err(io::Error::other(format!("CONFIG GET {name} was answered by {other:?}"))),
    }
}

pub(super) fn expect_ok(reply: WireReply) -> io::Result<()> {
    if reply.is("OK") { Ok(()) } else { Err(io::Error::other(format!("OK was expected and {reply:?} came"))) }
}
