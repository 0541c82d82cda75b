//! States that a server is put into by its own commands and settings, and taken out of by putting back what was there.

use std::io;

use super::super::port::HeldPort;
use super::super::settings::REPLICAOF;
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

impl Recipe {
    /// The names of all that it sets, in order.
    pub(super) fn changes(&self) -> Vec<&'static str> {
        let follows = (self.also == Also::FollowNobody).then_some(REPLICAOF);
        self.settings.iter().map(|(name, _)| *name).chain(follows).collect()
    }
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

/// Where nobody listens, for a server on which no port can be held.
const NOBODY: &str = "127.0.0.1 1";

/// A state that holds.
#[derive(Debug)]
pub(super) struct Configured {
    recipe: Recipe,
    /// None where not even a connection could be had.
    control: Option<Wire>,
    /// The port that it follows, held so that nobody listens there.
    nobody: Option<HeldPort>,
    /// What keeps its snapshots from being written.
    blocked: Option<dump::Blocked>,
    /// None where a step of the way failed.
    watch: Result<Watch<Looking>, String>,
}

impl Configured {
    pub(super) async fn enter(server: &mut Server, recipe: Recipe) -> Configured {
        let watch = Err(String::new());
        let mut this = Configured { recipe, control: None, nobody: None, blocked: None, watch };
        this.watch =
            this.begin(server).await.map_err(|error| format!("the state could not be entered: {error}"));
        this
    }

    async fn begin(&mut self, server: &mut Server) -> io::Result<Watch<Looking>> {
        let mut control = Wire::connect(server.endpoint(), STEP_WITHIN).await?;
        let done = self.change(&mut control, server).await;
        self.control = Some(control);
        done?;
        // Nobody in particular looks: a login would be turned away before it sees what the state is about.
        let anybody = server.endpoint().with_login(None);
        let place = match self.recipe.looks {
            [Look { ask: [], .. }, ..] => Where::AtTheDoor(anybody),
            _ if self.recipe.also == Also::KillClients => {
                Where::On(Box::new(Wire::connect(&anybody, STEP_WITHIN).await?))
            }
            _ => Where::On(Box::new(Wire::connect(server.endpoint(), STEP_WITHIN).await?)),
        };
        Ok(Looking::start(place, self.recipe.looks).await)
    }

    async fn change(&mut self, control: &mut Wire, server: &mut Server) -> io::Result<()> {
        for (name, value) in self.recipe.settings {
            let value = match value {
                Value::Is(value) => (*value).to_owned(),
                Value::ThoseThatStay => clients::that_stay(control).await?.to_string(),
                Value::Secret => format!("not-{}", server.run_id()),
            };
            server.set(control, name, &value).await.map_err(io::Error::other)?;
        }
        match self.recipe.also {
            Also::Nothing => {}
            Also::FollowNobody => {
                let nobody = match server.own() {
                    Ok(_) => {
                        let addr = self.nobody.insert(HeldPort::any()?).addr()?;
                        format!("{} {}", addr.ip(), addr.port())
                    }
                    // Its loopback may not be ours.
                    Err(_) => NOBODY.to_owned(),
                };
                server.set(control, REPLICAOF, &nobody).await.map_err(io::Error::other)?;
            }
            Also::FailToSave => {
                let dir = server.own().map_err(io::Error::other)?.dir();
                self.blocked = Some(dump::block(dir)?);
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
    pub(super) async fn leave(self, server: &mut Server) -> (Verdict, Result<(), ServerError>) {
        let verdict = match self.watch {
            Ok(watch) => match watch.stop().await {
                Some(looking) => looking.last().await,
                None => Err("the task that watched the state broke".to_owned()),
            },
            Err(why) => Err(why),
        };
        let Some(mut control) = self.control else { return (verdict, Ok(())) };
        if let Some(blocked) = self.blocked
            && let Err(source) = unblock(&mut control, blocked).await
        {
            let doing = format!("letting {} write its snapshots again", server.endpoint());
            return (verdict, Err(ServerError::Io { doing, source }));
        }
        let back = server.put_back(&mut control).await;
        (verdict, back)
    }
}

async fn unblock(control: &mut Wire, blocked: dump::Blocked) -> io::Result<()> {
    blocked.clear()?;
    // Only a snapshot that succeeds makes the server forget the one that failed.
    dump::save(control, dump::Saved::Yes).await?;
    blocked.restore()
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
