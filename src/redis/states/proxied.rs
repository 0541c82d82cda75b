//! Brought about by a proxy between the clients and the server: slow, a reply lost or cut, a black hole, flapping.
//!
//! The server is healthy all the time. The witness is a client like any other, connected through the proxy before the
//! fault was set: it asks for a key of its own that the fault is meant for, and has to meet the fault each time. What the
//! proxy did to the others it says itself, by number and by port.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::super::wire::{STEP_WITHIN, Wire, bounded};
use super::super::{Front, ServerError};
use super::look::NO_KEY;
use super::watch::{LOOK_EVERY, Watch};
use super::{Verdict, counted};
use crate::proxy::{Fault, What};

/// On loopback a connection opens at once, or hangs.
const HANGS_AFTER: Duration = Duration::from_millis(20);

/// A front with the witness connected, and no fault set.
#[derive(Debug)]
pub(super) struct Ready {
    front: Front,
    witness: io::Result<Witness>,
}

impl Ready {
    pub(super) async fn before(front: &Front) -> Ready {
        Ready { front: front.clone(), witness: Witness::connect(front).await }
    }
}

/// A fault that is set.
#[derive(Debug)]
pub(super) struct Proxied {
    front: Front,
    watch: Result<Watch<Witness>, String>,
}

/// What a proxy did to clients, its witness left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harmed {
    /// How many requests ended in a reset, where the fault resets.
    pub resets: u64,
    /// The ports of the clients that something was done to.
    pub ports: BTreeSet<u16>,
}

/// What the end of a fault showed.
pub(super) struct End {
    pub(super) verdict: Verdict,
    pub(super) ended: Result<(), ServerError>,
    pub(super) harmed: Harmed,
    pub(super) front: Front,
}

impl Proxied {
    pub(super) async fn enter(ready: Ready) -> Proxied {
        let Ready { front, witness } = ready;
        let watch = match witness {
            Err(error) => Err(format!("the witness could not connect through the proxy: {error}")),
            Ok(mut witness) => match front.proxy().set(front.fault().clone()).await {
                Err(error) => Err(format!("the fault could not be set: {error}")),
                Ok(()) => {
                    witness.look(false).await;
                    Ok(Watch::start(move |stopped| watch(witness, stopped)))
                }
            },
        };
        Proxied { front, watch }
    }

    /// Looks a last time and ends the fault.
    pub(super) async fn leave(self) -> End {
        let Proxied { front, watch } = self;
        let mut seen = match watch {
            Ok(watch) => watch.stop().await.ok_or("the task that watched the proxy broke".to_owned()),
            Err(why) => Err(why),
        };
        if let Ok(witness) = &mut seen {
            // A connect that hangs takes time, in which a state that is to end now would go on; nor is a slow one asked
            // again, as one that took long enough has just ended.
            let slow = matches!(front.fault().what, What::Slow { .. });
            if !slow {
                witness.look(true).await;
            }
        }
        // Whatever was seen, it has to end.
        let doing = format!("ending the fault in front of {}", front.endpoint());
        let ended = front.proxy().clear().await.map_err(ServerError::io(doing));
        let counts = front.proxy().counts();
        let mut harmed = Harmed {
            resets: counts.replies_lost + counts.replies_cut + counts.refused,
            ports: front.proxy().harmed_ports().into_iter().collect(),
        };
        let verdict = match seen {
            Ok(witness) => witness.last(&mut harmed).await,
            Err(why) => Err(why),
        };
        End { verdict, ended, harmed, front }
    }
}

/// A client of the audit's own that has to meet the fault.
#[derive(Debug)]
struct Witness {
    front: Front,
    /// What it asks for: a key of its own that the fault is meant for.
    key: String,
    wire: Wire,
    /// A connection that asks for what the fault is not meant for, where there is any such thing.
    beside: Option<Wire>,
    /// Where only connections from before are harmed, one that says nothing until the last look.
    spare: Option<Wire>,
    /// The ports of all its connections.
    ports: BTreeSet<u16>,
    rounds: u32,
    /// How many of its requests were reset.
    resets: u64,
    /// How many of its connections hung.
    hung: u32,
    /// The first thing that spoke against the fault.
    against: Option<String>,
}

impl Witness {
    async fn connect(front: &Front) -> io::Result<Witness> {
        let fault = front.fault();
        let key = match &fault.scope {
            None => NO_KEY.to_owned(),
            Some(scope) => scope
                .key(NO_KEY)
                .ok_or_else(|| io::Error::other("no key can be told that is in the fault's scope"))?,
        };
        let mut ports = BTreeSet::new();
        let wire = connect_and_ask(front, &mut ports).await?;
        let elsewhere = fault.scope.as_ref().is_some_and(|scope| !scope.matches(NO_KEY.as_bytes()));
        let beside = if elsewhere { Some(connect_and_ask(front, &mut ports).await?) } else { None };
        let spare = if fault.once { Some(connect_and_ask(front, &mut ports).await?) } else { None };
        let front = front.clone();
        Ok(Witness { front, key, wire, beside, spare, ports, rounds: 0, resets: 0, hung: 0, against: None })
    }

    /// Looks once; for the `last` time, at nothing that takes long.
    async fn look(&mut self, last: bool) {
        if let Err(why) = self.looked(last).await {
            self.against.get_or_insert(why);
        }
        self.rounds += 1;
    }

    async fn looked(&mut self, last: bool) -> Result<(), String> {
        let fault = self.front.fault().clone();
        if let Some(beside) = &mut self.beside {
            let asked = beside.ask(&["GET", NO_KEY], STEP_WITHIN).await;
            asked.map_err(|error| {
                format!("a key that the fault is not meant for was not answered: {error}")
            })?;
        }
        match fault.what {
            What::Slow { latency, jitter } => self.asks_slowly(latency.saturating_sub(jitter)).await,
            What::BlackHole => self.waits(!last && fault.scope.is_none()).await,
            What::ReplyLost | What::CutMidReply { .. } | What::Flapping => {
                self.asks_in_turn(&fault, last).await
            }
        }
    }

    /// A round trip takes its time.
    async fn asks_slowly(&mut self, least: Duration) -> Result<(), String> {
        let asked = Instant::now();
        let reply = self.wire.ask(&["GET", &self.key], least.saturating_mul(4) + STEP_WITHIN).await;
        reply.map_err(|error| format!("the witness was not answered, late or not: {error}"))?;
        let took = asked.elapsed();
        if took < least {
            return Err(format!("the witness was answered after {took:?}, and not {least:?} or more"));
        }
        Ok(())
    }

    /// Its first request waits for ever, and where all is silent so does each new connection.
    async fn waits(&mut self, knocks: bool) -> Result<(), String> {
        if self.rounds == 0 {
            let sent = self.wire.send(&["GET", &self.key]).await;
            sent.map_err(|error| format!("the witness could not send: {error}"))?;
        }
        // A reply that came would be told by the last look at the latest.
        if let Ok(reply) = bounded(Duration::from_millis(1), self.wire.reply()).await {
            return Err(format!("the witness was answered: {reply:?}"));
        }
        if knocks {
            match tokio::time::timeout(HANGS_AFTER, self.front.endpoint().knock()).await {
                Err(_) => self.hung += 1,
                Ok(Ok(())) => return Err("a new connection was let in".to_owned()),
                Ok(Err(error)) => return Err(format!("a new connection did not hang: {error}")),
            }
        }
        Ok(())
    }

    /// Each request is reset, or each but every so-manyth, or the first connection's.
    async fn asks_in_turn(&mut self, fault: &Fault, last: bool) -> Result<(), String> {
        let round = u64::from(self.rounds);
        let of_turn = |failures| round % (u64::from(failures) + 1) == u64::from(failures);
        let spare = self.spare.take_if(|_| last);
        let spared = (fault.once && round > 0 && spare.is_none()) || fault.failures.is_some_and(of_turn);
        if let Some(spare) = spare {
            self.wire = spare;
        }
        let reply = self.wire.ask(&["GET", &self.key], STEP_WITHIN).await;
        match (reply, spared) {
            (Ok(_), true) => Ok(()),
            (Ok(reply), false) => Err(format!("the witness was answered, and not reset: {reply:?}")),
            (Err(error), _) if error.kind() == io::ErrorKind::TimedOut => {
                Err("the witness was neither answered nor reset".to_owned())
            }
            (Err(error), true) => Err(format!("the witness was reset out of turn: {error}")),
            (Err(_), false) => {
                self.resets += 1;
                let again = connect(&self.front, &mut self.ports).await;
                self.wire = again.map_err(|error| format!("the witness could not connect again: {error}"))?;
                Ok(())
            }
        }
    }

    /// What it has seen, now that the fault is over. What was done to it is taken from what was done to all.
    async fn last(mut self, harmed: &mut Harmed) -> Verdict {
        let met = self.ports.iter().any(|port| harmed.ports.contains(port));
        let beside = self.beside.as_ref().and_then(Wire::local);
        let beside_harmed = beside.is_some_and(|local| harmed.ports.contains(&local.port()));
        harmed.ports.retain(|port| !self.ports.contains(port));
        harmed.resets = harmed.resets.saturating_sub(self.resets);
        if let Some(why) = self.against.take() {
            return Err(why);
        }
        if !met {
            return Err("the proxy did nothing to the witness".to_owned());
        }
        if beside_harmed {
            return Err("the proxy harmed a connection that the fault is not meant for".to_owned());
        }
        let rounds = usize::try_from(self.rounds).unwrap_or(usize::MAX);
        let asked = counted(rounds, "time");
        let mut shown = match self.front.fault().what {
            What::Slow { latency, jitter } => {
                let least = latency.saturating_sub(jitter);
                format!(
                    "a client of the audit's own asked {asked} through the proxy, and was answered after {least:?} or more each time"
                )
            }
            What::BlackHole => {
                let reply = bounded(STEP_WITHIN, self.wire.reply()).await;
                reply.map_err(|error| {
                    format!("what the witness had sent was not answered at the end: {error}")
                })?;
                let hung = match self.hung {
                    0 => String::new(),
                    hung => format!(
                        ", and {} hung in connect",
                        counted(usize::try_from(hung).unwrap_or(usize::MAX), "new connection")
                    ),
                };
                format!(
                    "what a client of the audit's own had sent through the proxy was answered only at the end{hung}"
                )
            }
            What::ReplyLost | What::CutMidReply { .. } | What::Flapping => {
                let which = match u64::from(self.rounds).saturating_sub(self.resets) {
                    0 => "reset each time".to_owned(),
                    answered => format!("reset {} of them and answered {answered}", self.resets),
                };
                format!("a client of the audit's own asked {asked} through the proxy, and was {which}")
            }
        };
        if self.beside.is_some() {
            shown.push_str("; another that asked for what the fault is not meant for was answered each time");
        }
        Ok(shown)
    }
}

/// Looks again and again. Where a look takes a while, the next one begins at once, so that one always outlasts the last probe.
async fn watch(mut witness: Witness, mut stopped: oneshot::Receiver<()>) -> Witness {
    let takes = match witness.front.fault().what {
        What::Slow { latency, .. } => latency,
        _ => Duration::ZERO,
    };
    let pause = LOOK_EVERY.saturating_sub(takes).max(Duration::from_millis(1));
    loop {
        tokio::select! {
            _ = &mut stopped => return witness,
            () = tokio::time::sleep(pause) => {}
        }
        witness.look(false).await;
    }
}

async fn connect(front: &Front, ports: &mut BTreeSet<u16>) -> io::Result<Wire> {
    let wire = Wire::connect(front.endpoint(), STEP_WITHIN).await?;
    ports.extend(wire.local().map(|local| local.port()));
    Ok(wire)
}

/// The same before the fault, when a PING shows that the proxy has connected to the server as well.
async fn connect_and_ask(front: &Front, ports: &mut BTreeSet<u16>) -> io::Result<Wire> {
    let mut wire = connect(front, ports).await?;
    wire.ask(&["PING"], STEP_WITHIN).await?;
    Ok(wire)
}
