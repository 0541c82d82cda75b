//! What the clients saw of a proxy's fault, beside what the proxy says that it did: both have to tell the same.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Run;
use super::actor::{Outcome, Part};
use super::outage::Acted;
use crate::observe::{Attempt, Probe, Proof};
use crate::plan::{Batch, Ends};
use crate::policy::PolicyFile;
use crate::proxy::{Fault, What};
use crate::redis::states::Harmed;
use crate::words::{Phase, Reply, micros};

/// The attempts of the calls that a state was to befall, and those of the others in the same requests.
#[derive(Default)]
pub(super) struct Tally<'a> {
    befallen: Vec<&'a Attempt>,
    others: Vec<&'a Attempt>,
    /// Whether the state ended inside of the calls, at an instant.
    cut_short: bool,
}

impl<'a> Tally<'a> {
    /// Sorts the attempts of what was played.
    pub(super) fn of(run: &Run, batch: &Batch, acted: &'a [Acted]) -> Tally<'a> {
        let mut tally = Tally { cut_short: matches!(batch.ends, Some(Ends::At(_))), ..Tally::default() };
        let mut add = |probe: &'a Probe, file: &PolicyFile, use_index: usize| {
            let befallen = file.befalls(batch.state, use_index);
            if befallen { &mut tally.befallen } else { &mut tally.others }.extend(&probe.attempts);
        };
        for one in acted {
            match (&one.part, &one.outcome) {
                (Part::Cell(key, ..), Some(Outcome::Cell(probe))) => {
                    add(probe, &run.plan.files[key.file], key.use_index);
                }
                (Part::Chain(key, actor), Some(Outcome::Chain(chain))) => {
                    for (call, use_index) in chain.calls.iter().zip(actor.uses()) {
                        add(&call.probe, &run.plan.files[key.file], use_index);
                    }
                }
                (Part::Caller(_, caller), Some(Outcome::Caller(played))) => {
                    let (file, use_index) = caller.used();
                    played.iter().for_each(|(_, one)| add(&one.probe, file, use_index));
                }
                _ => {}
            }
        }
        tally
    }

    /// The state's own proof, if what the clients saw is what was done to them.
    pub(super) fn proof(&self, proof: Proof, fault: &Fault, harmed: &Harmed) -> Proof {
        let Proof::Held(shown) = proof else { return proof };
        match self.against(fault, harmed) {
            Some(why) => Proof::NotProven(why),
            None => Proof::Held(format!("{shown}; {}", self.shown(fault, harmed))),
        }
    }

    fn against(&self, fault: &Fault, harmed: &Harmed) -> Option<String> {
        let against = match fault.what {
            What::ReplyLost | What::CutMidReply { .. } | What::Flapping => {
                let by_turns = fault.once || fault.failures.is_some();
                self.otherwise_reset(harmed).or_else(|| self.answered().filter(|_| !by_turns))
            }
            What::Slow { latency, jitter } => {
                self.early(latency.saturating_sub(jitter)).or_else(|| self.untouched(harmed))
            }
            // Where it ended inside of the calls, later attempts met no harm.
            What::BlackHole if self.cut_short => None,
            What::BlackHole => self.answered().or_else(|| self.untouched(harmed)),
        };
        against.or_else(|| fault.scope.as_ref().and_then(|_| self.strangers(harmed)))
    }

    /// Where requests are reset, each client was told of its own reset, and of no other.
    fn otherwise_reset(&self, harmed: &Harmed) -> Option<String> {
        let resets = self.seen(|reply| *reply == Reply::Reset);
        // One that was given up may have been reset a moment later.
        let most = resets + self.seen(|reply| matches!(reply, Reply::TimedOut(_) | Reply::NeverReturned));
        let done = harmed.resets;
        (!(resets..=most).contains(&done))
            .then(|| format!("the proxy reset {done} requests, and the clients saw {resets} resets"))
    }

    fn seen(&self, reply: impl Fn(&Reply) -> bool) -> u64 {
        self.befallen.iter().filter(|one| reply(&one.reply)).count() as u64
    }

    /// An answer that came before it could.
    fn early(&self, least: Duration) -> Option<String> {
        let took = |one: &Attempt| one.ended_us.saturating_sub(one.sent_us);
        let mut answered = self.befallen.iter().filter(|one| one.reply.is_answer());
        let early = answered.find(|one| took(one) < micros(least))?;
        Some(format!("an attempt was answered after {:?}, and not late", Duration::from_micros(took(early))))
    }

    /// An answer where there is none.
    fn answered(&self) -> Option<String> {
        let answered = self.seen(Reply::is_answer);
        (answered > 0).then(|| format!("{answered} attempts were answered all the same"))
    }

    /// A client that waited, and whom the proxy did not harm.
    fn untouched(&self, harmed: &Harmed) -> Option<String> {
        let waited = |one: &Attempt| one.reply.is_answer() || one.reply == Reply::TimedOut(Phase::Command);
        let ports = self.befallen.iter().filter(|one| waited(one)).filter_map(|one| one.port);
        let untouched = ports.into_iter().find(|port| !harmed.ports.contains(port));
        untouched.map(|port| format!("the proxy did nothing to a client that waited (port {port})"))
    }

    /// Where only some keys are meant, whoever else was harmed.
    fn strangers(&self, harmed: &Harmed) -> Option<String> {
        // Of a call that never returned nobody knows the port.
        let connected = self.befallen.iter().filter(|one| one.reply != Reply::NotConnected);
        let known: BTreeSet<u16> = connected.map(|one| one.port).collect::<Option<_>>()?;
        // Behind a request that is held, or on a connection that is reset for another's sake, anybody fails.
        let failed = |one: &&&Attempt| {
            matches!(one.reply, Reply::Reset | Reply::TimedOut(Phase::Command))
                && one.port.is_none_or(|port| !known.contains(&port))
        };
        if let Some(other) = self.others.iter().find(failed) {
            return Some(format!("a call that the fault was not meant for failed: {}", other.reply.class()));
        }
        let stranger = harmed.ports.difference(&known).next();
        stranger.map(|port| format!("the proxy harmed a client that made no such call (port {port})"))
    }

    fn shown(&self, fault: &Fault, harmed: &Harmed) -> String {
        let mut shown = match fault.what {
            What::ReplyLost | What::CutMidReply { .. } | What::Flapping => {
                format!("the proxy reset {} requests of the clients, who saw as many", harmed.resets)
            }
            What::Slow { .. } => format!("the proxy was late for {} clients", harmed.ports.len()),
            What::BlackHole => format!("the proxy held what {} clients sent", harmed.ports.len()),
        };
        if fault.scope.is_some() {
            shown.push_str(&format!(", and {} attempts beside them met no harm", self.others.len()));
        }
        shown
    }
}
