//! Paused: CLIENT PAUSE ALL. Connections stay, nothing runs, nothing is answered.
//!
//! There is one pause, bounded from the start: a second one would be queued and add to it. Two witnesses watch it.
//! The monitor connection is not paused: it shows that the server lives, what ran, and lifts the pause. A normal
//! connection sends one command once the pause is in force, which must stay unanswered until the pause is lifted.
//!
//! CLIENT PAUSE WRITE is the same for writes alone; a third connection then reads, and is answered.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::super::Server;
use super::super::monitor::Monitor;
use super::super::monitor_line::MonitorLine;
use super::super::wire::{STEP_WITHIN, Wire, WireReply, bounded};
use super::look::{READ, WRITE};
use super::watch::{LOOK_EVERY, Watch};
use super::{Verdict, counted, seconds};
use crate::endpoint::Endpoint;

/// How long the monitor connection may take to answer before the server counts as frozen and not as paused.
const ALIVE_WITHIN: Duration = Duration::from_secs(2);

/// What a pause stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stops {
    /// Every command.
    All,
    /// What writes, and scripts that may.
    Writes,
}

impl Stops {
    /// The word of the command.
    fn word(self) -> &'static str {
        match self {
            Stops::All => "ALL",
            Stops::Writes => "WRITE",
        }
    }

    /// What is sent into the pause.
    fn waiting(self) -> &'static [&'static str] {
        match self {
            Stops::All => &["PING"],
            Stops::Writes => WRITE,
        }
    }

    /// What that is answered once the pause is lifted.
    fn answer(self) -> WireReply {
        match self {
            Stops::All => WireReply::Simple("PONG".to_owned()),
            Stops::Writes => WireReply::Bulk(None),
        }
    }
}

/// A pause that is watched.
#[derive(Debug)]
pub(super) struct Paused {
    /// No later than this, the pause ends by itself.
    ends: Instant,
    /// None where a witness could not be placed.
    watch: Result<Watch<Seen>, String>,
}

/// The end of a pause.
#[derive(Debug)]
pub(super) struct End {
    pub(super) verdict: Verdict,
    pub(super) held_for: Duration,
    pub(super) ran: Vec<MonitorLine>,
    /// How long the pause may still hold the server back, where it could not be lifted.
    pub(super) still_paused: Duration,
}

impl Paused {
    pub(super) async fn enter(server: &Server, bound: Duration, stops: Stops) -> Paused {
        let witnesses = place(server.endpoint(), bound, stops)
            .await
            .map_err(|error| format!("the pause could not be proven: {error}"));
        let ends = Instant::now() + bound;
        let watch = witnesses.map(|witnesses| Watch::start(move |stopped| watch(witnesses, stopped)));
        Paused { ends, watch }
    }

    /// Proves that the pause held until now, then lifts it.
    pub(super) async fn leave(self, entered: Instant) -> End {
        let left = |ends: Instant| ends.saturating_duration_since(Instant::now());
        let failed = |why: String, still_paused| End {
            verdict: Err(why),
            held_for: entered.elapsed(),
            ran: Vec::new(),
            still_paused,
        };
        let seen = match self.watch {
            Ok(watch) => watch.stop().await,
            Err(why) => return failed(why, left(self.ends)),
        };
        let Some(mut seen) = seen else {
            return failed("the task that watched the pause broke".to_owned(), left(self.ends));
        };
        seen.look().await;
        let held_for = entered.elapsed();
        let ran = seen.witnesses.ran_since_it_began();
        let held = seen.verdict(&ran);
        let lifted = seen.lift().await;
        let still_paused = if lifted.is_ok() { Duration::ZERO } else { left(self.ends) };
        let verdict = held.and_then(|shown| {
            lifted.map(|()| shown).map_err(|error| format!("the pause could not be lifted: {error}"))
        });
        End { verdict, held_for, ran, still_paused }
    }
}

/// The two connections that prove a pause.
#[derive(Debug)]
struct Witnesses {
    stops: Stops,
    monitor: Monitor,
    /// A normal connection that sent a command into the pause.
    waiting: Wire,
    /// A normal connection that goes on reading, where only writes are paused, and the names of all writes.
    reading: Option<(Wire, HashSet<String>)>,
    /// How many commands the monitor had listed when the pause was in force.
    ran_before: usize,
    /// Before this the pause can't have run out by itself.
    lasts: Instant,
}

/// Places the witnesses, pauses the server, and proves that the pause began.
async fn place(endpoint: &Endpoint, bound: Duration, stops: Stops) -> io::Result<Witnesses> {
    let mut monitor = Monitor::open(endpoint).await?;
    let reading = match stops {
        Stops::All => None,
        Stops::Writes => {
            let mut wire = Wire::connect(endpoint, STEP_WITHIN).await?;
            let writes = names_of_writes(&mut wire).await?;
            Some((wire, writes))
        }
    };
    let mut waiting = Wire::connect(endpoint, STEP_WITHIN).await?;
    expect("PONG", waiting.ask(&["PING"], STEP_WITHIN).await?)?;
    let lasts = Instant::now() + bound;
    match begin(endpoint, bound, stops, &mut monitor, &mut waiting).await {
        Ok(ran_before) => Ok(Witnesses { stops, monitor, waiting, reading, ran_before, lasts }),
        Err(error) => {
            // The pause may be in force all the same, and nobody else would lift it.
            let _ = monitor.unpause().await;
            Err(error)
        }
    }
}

/// Pauses the server; how many commands had run until then.
async fn begin(
    endpoint: &Endpoint,
    bound: Duration,
    stops: Stops,
    monitor: &mut Monitor,
    waiting: &mut Wire,
) -> io::Result<usize> {
    let mut control = Wire::connect(endpoint, STEP_WITHIN).await?;
    let millis = bound.as_millis().to_string();
    expect("OK", control.ask(&["CLIENT", "PAUSE", &millis, stops.word()], STEP_WITHIN).await?)?;
    // Answered after the pause was: whatever ran before the pause is listed by then.
    monitor.ping(ALIVE_WITHIN).await?;
    let ran_before = monitor.count();

    waiting.send(stops.waiting()).await?;
    // The server reads every connection in turn, so by the second answer it has read the command that waits, and
    // has listed it if it ran.
    monitor.ping(ALIVE_WITHIN).await?;
    monitor.ping(ALIVE_WITHIN).await?;
    match monitor.since(ran_before).first() {
        None => Ok(ran_before),
        Some(line) => Err(io::Error::other(format!("{line} ran although CLIENT PAUSE was answered"))),
    }
}

fn expect(status: &str, reply: WireReply) -> io::Result<()> {
    match reply.is(status) {
        true => Ok(()),
        false => Err(io::Error::other(format!("{status} was expected and {reply:?} came"))),
    }
}

/// The commands that the server counts as writes, in capitals.
async fn names_of_writes(wire: &mut Wire) -> io::Result<HashSet<String>> {
    match wire.ask(&["ACL", "CAT", "write"], STEP_WITHIN).await? {
        WireReply::List(names) => Ok(names.iter().map(|name| name.text().to_ascii_uppercase()).collect()),
        other => Err(io::Error::other(format!("ACL CAT write was answered by {other:?}"))),
    }
}

impl Witnesses {
    /// What ran although it should have waited.
    fn ran_since_it_began(&self) -> Vec<MonitorLine> {
        let mut ran = self.monitor.since(self.ran_before);
        if let Some((_, writes)) = &self.reading {
            ran.retain(|line| writes.contains(&line.command()));
        }
        ran
    }
}

/// What was seen while the pause held.
#[derive(Debug)]
struct Seen {
    witnesses: Witnesses,
    entered: Instant,
    /// How often the monitor connection answered.
    answers: usize,
    /// The first thing that spoke against the pause.
    against: Option<String>,
}

impl Seen {
    /// Lifts the pause and waits until the PING that was sent into it is answered, where it still waits.
    async fn lift(&mut self) -> io::Result<()> {
        self.witnesses.monitor.unpause().await?;
        match self.against {
            Some(_) => Ok(()),
            None => {
                let reply = bounded(STEP_WITHIN, self.witnesses.waiting.reply()).await?;
                match reply == self.witnesses.stops.answer() {
                    true => Ok(()),
                    false => Err(io::Error::other(format!("what waited was answered by {reply:?}"))),
                }
            }
        }
    }

    /// Looks once: the monitor connection must answer, the PING that waits must not be answered.
    async fn look(&mut self) {
        let after = self.entered.elapsed();
        match self.witnesses.monitor.ping(ALIVE_WITHIN).await {
            Ok(_) => self.answers += 1,
            Err(error) => self
                .note(format!("the monitor connection was not answered after {}: {error}", seconds(after))),
        }
        if let Some((reading, _)) = &mut self.witnesses.reading
            && let answer = reading.ask(READ, ALIVE_WITHIN).await
            && answer.as_ref().map_or(true, |reply| *reply != WireReply::Bulk(None))
        {
            self.note(format!("a read was not answered after {}: {answer:?}", seconds(after)));
        }
        if let Ok(reply) = tokio::time::timeout(Duration::ZERO, self.witnesses.waiting.reply()).await {
            self.answered(reply);
        }
    }

    fn answered(&mut self, reply: io::Result<WireReply>) {
        let after = seconds(self.entered.elapsed());
        self.note(match reply {
            Ok(_) => {
                let sent = self.witnesses.stops.waiting()[0];
                format!("a {sent} sent at the start was answered after {after}, before the pause was lifted")
            }
            Err(error) => format!("the connection that waited in the pause was lost after {after}: {error}"),
        });
    }

    /// Keeps the first thing only: the rest follows from it.
    fn note(&mut self, why: String) {
        self.against.get_or_insert(why);
    }

    fn verdict(&self, ran: &[MonitorLine]) -> Verdict {
        if let Some(why) = &self.against {
            return Err(why.clone());
        }
        if let Some(first) = ran.first() {
            return Err(format!(
                "{} ran while the pause held, the first: {first}",
                counted(ran.len(), "command")
            ));
        }
        if Instant::now() >= self.witnesses.lasts {
            return Err(
                "the pause had run out by itself before it was lifted; it needs a longer bound".to_owned()
            );
        }
        let answered = counted(self.answers, "PING");
        Ok(match self.witnesses.stops {
            Stops::All => format!(
                "the monitor connection answered {answered}, nothing ran, and a PING sent at the start was answered only after the pause was lifted"
            ),
            Stops::Writes => format!(
                "the monitor connection answered {answered}, reads were answered, no write ran, and a SET sent at the start was answered only after the pause was lifted"
            ),
        })
    }
}

/// Looks now and then until told to stop.
async fn watch(witnesses: Witnesses, mut stopped: oneshot::Receiver<()>) -> Seen {
    let mut seen = Seen { witnesses, entered: Instant::now(), answers: 0, against: None };
    while seen.against.is_none() {
        seen.look().await;
        tokio::select! {
            _ = &mut stopped => return seen,
            () = tokio::time::sleep(LOOK_EVERY) => {}
            reply = seen.witnesses.waiting.reply() => seen.answered(reply),
        }
    }
    let _ = stopped.await;
    seen
}
