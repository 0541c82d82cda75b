//! What becomes of the bytes of one connection: which pass, which wait, which are lost. It does no I/O.
//!
//! All bytes are recognised from the first on, with or without a fault, so that a fault that is set in the middle of a
//! connection knows which request it meets. They are passed on as they came, in chunks that are moved and not copied,
//! unless a fault picks its requests.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::time::Instant;

use super::book::Book;
use super::delays::Delays;
use super::lane::{Due, Lane};
use super::request::{Found, Request};
use super::resp::{Event, Frame, Recogniser, Side};
use super::{Fault, What};

/// One connection's bytes.
#[derive(Debug)]
pub(super) struct Flow {
    /// From the client to the server.
    pub(super) up: Lane,
    /// From the server to the client.
    pub(super) down: Lane,
    requests: Turns,
    replies: Turns,
    request: Request,
    /// Bytes of a request of which it is not known yet whether it is harmed.
    unjudged: Vec<u8>,
    /// When the bytes of the present request go on, once that is known.
    judged: Option<Due>,
    /// Of a transaction that is being queued: a key of its own that is meant. Its EXEC stands for it.
    transaction: Option<Option<Vec<u8>>>,
    /// What becomes of the replies to come, in their order.
    owed: VecDeque<Owed>,
    /// Bytes of the present reply that the client got.
    got: usize,
    /// Whether bytes of the present reply were dropped.
    dropped: bool,
    doomed: bool,
    delays: Delays,
    client: u16,
    book: Arc<Book>,
}

/// Whether one direction still consists of frames that are known.
#[derive(Debug)]
enum Turns {
    Taken(Recogniser),
    /// It has become a stream of bytes.
    Over,
}

/// What becomes of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owed {
    Pass,
    Delay,
    Lose,
    Cut(usize),
    /// There will be none: the request is not sent, and the connection is reset when its turn comes.
    Refuse,
    /// From here on replies don't follow requests.
    NoTurns,
}

impl Flow {
    /// A connection's, the given one of its proxy, with the port of its client.
    pub(super) fn new(book: Arc<Book>, client: u16, seed: u64, connection: u64) -> Flow {
        Flow {
            up: Lane::default(),
            down: Lane::default(),
            requests: Turns::Taken(Recogniser::new(Side::Requests)),
            replies: Turns::Taken(Recogniser::new(Side::Replies)),
            request: Request::default(),
            unjudged: Vec::new(),
            judged: None,
            transaction: None,
            owed: VecDeque::new(),
            got: 0,
            dropped: false,
            doomed: false,
            delays: Delays::new(seed, connection),
            client,
            book,
        }
    }

    /// Whether the client's connection is to be reset as soon as it has got what was before.
    pub(super) fn is_doomed(&self) -> bool {
        self.doomed
    }

    /// The fault that was in force no longer is: what it held goes on, and who was not harmed yet will not be.
    pub(super) fn lift(&mut self) {
        self.up.lift();
        self.down.lift();
        self.judged = self.judged.map(|_| Due::Now);
        for owed in &mut self.owed {
            if *owed != Owed::NoTurns {
                *owed = Owed::Pass;
            }
        }
        // The rest of such a reply would be of use to nobody.
        self.doomed |= self.dropped;
    }

    /// Bytes came from the client.
    pub(super) fn client_sent(&mut self, chunk: Vec<u8>, fault: Option<&Fault>, now: Instant) {
        let picking = fault.filter(|fault| fault.picks());
        // Up to where the chunk's bytes are in the lane.
        let mut passed = 0;
        let mut at = 0;
        while at < chunk.len() {
            let Turns::Taken(recogniser) = &mut self.requests else { break };
            let Ok((used, event)) = recogniser.next(&chunk[at..]) else {
                self.no_turns();
                break;
            };
            let words = recogniser.words();
            let found = match &event {
                _ if self.judged.is_some() => None,
                Event::Within | Event::Frame(Frame::Nothing | Frame::Reply | Frame::Push) => None,
                Event::Bytes(range) => {
                    self.request.bytes(&chunk[at + range.start..at + range.end]);
                    None
                }
                Event::Word => self.request.word(words, picking),
                Event::Frame(Frame::Request) => {
                    Some(self.request.word(words, picking).unwrap_or(Found::Spared))
                }
                Event::Frame(Frame::Line) => self.request.line(picking),
            };
            if let Some(found) = found {
                self.judged = Some(self.judge(found, picking, now));
            }
            at += used;
            if let Event::Frame(_) = event {
                if picking.is_some() {
                    self.pass_on(&chunk[passed..at]);
                    passed = at;
                }
                self.request.reset();
                self.judged = None;
            }
        }
        let over = matches!(self.requests, Turns::Over);
        match picking {
            Some(_) if over => {
                self.judged.get_or_insert(Due::Now);
                self.pass_on(&chunk[passed..]);
            }
            Some(_) if self.judged.is_some() => self.pass_on(&chunk[passed..]),
            Some(_) => self.unjudged.extend_from_slice(&chunk[passed..]),
            None => {
                let due = self.due_of_bytes(chunk.len(), fault, now);
                let before = std::mem::take(&mut self.unjudged);
                self.up.push(before, due);
                self.up.push(chunk, due);
            }
        }
        self.look_at_turn();
    }

    /// Bytes came from the server.
    pub(super) fn server_sent(&mut self, chunk: Vec<u8>, fault: Option<&Fault>, now: Instant) {
        let mut passed = 0;
        let mut at = 0;
        while at < chunk.len() && !self.doomed {
            let Turns::Taken(recogniser) = &mut self.replies else { break };
            let next = recogniser.next(&chunk[at..]);
            let Ok((used, event)) = next else {
                self.no_turns();
                self.replies = Turns::Over;
                break;
            };
            let ended = matches!(event, Event::Frame(_));
            let push = event == Event::Frame(Frame::Push) || recogniser.in_push();
            let owed = self.owed.front().copied().filter(|_| !push).unwrap_or(Owed::Pass);
            let piece = at..at + used;
            at += used;
            match owed {
                Owed::Pass | Owed::Refuse => {}
                Owed::NoTurns => {
                    self.replies = Turns::Over;
                    break;
                }
                Owed::Delay | Owed::Lose | Owed::Cut(_) => {
                    self.down.push(chunk[passed..piece.start].to_vec(), Due::Now);
                    passed = at;
                    self.harm(owed, &chunk[piece], ended, fault, now);
                }
            }
            if ended && !push {
                self.owed.pop_front();
                (self.got, self.dropped) = (0, false);
            }
            self.look_at_turn();
        }
        let due = match fault {
            Some(fault) if !fault.picks() => self.delay_of_bytes(fault, now),
            _ => Due::Now,
        };
        let mut rest = chunk;
        if self.doomed {
            rest.truncate(at);
        }
        rest.drain(..passed);
        self.down.push(rest, due);
    }

    /// The client will send no more.
    pub(super) fn client_ended(&mut self) {
        self.judged.get_or_insert(Due::Now);
        self.pass_on(&[]);
    }

    /// A piece of a reply that is not to arrive as it is.
    fn harm(&mut self, owed: Owed, piece: &[u8], ended: bool, fault: Option<&Fault>, now: Instant) {
        match owed {
            Owed::Delay => {
                let due = fault.map_or(Due::Now, |fault| self.delay_of_bytes(fault, now));
                self.down.push(piece.to_vec(), due);
            }
            Owed::Lose => {
                self.dropped = true;
                if ended {
                    self.doom(|counts| counts.replies_lost += 1);
                }
            }
            Owed::Cut(after) => {
                let taken = (after - self.got).min(piece.len() - usize::from(ended));
                self.down.push(piece[..taken].to_vec(), Due::Now);
                self.got += taken;
                if ended || self.got == after {
                    self.doom(|counts| counts.replies_cut += 1);
                }
            }
            Owed::Pass | Owed::Refuse | Owed::NoTurns => {}
        }
    }

    /// Decides on a request, and so on its reply; when its bytes go on.
    fn judge(&mut self, found: Found, fault: Option<&Fault>, now: Instant) -> Due {
        let key = match found {
            Found::NoTurns => {
                self.no_turns();
                return Due::Now;
            }
            found => self.of_transaction(found),
        };
        let harmed = fault.zip(key).filter(|(fault, key)| {
            fault.failures.is_none_or(|failures| self.book.turn(key.clone(), failures))
        });
        let (owed, due) = match harmed.map(|(fault, _)| fault.what) {
            None => (Owed::Pass, Due::Now),
            Some(What::Slow { latency, jitter }) => {
                self.book.harmed(self.client, |counts| counts.delayed += 1);
                (Owed::Delay, self.delays.due(now, latency, jitter))
            }
            Some(What::BlackHole) => {
                self.book.harmed(self.client, |counts| counts.held += 1);
                (Owed::Pass, Due::Lifted)
            }
            Some(What::ReplyLost) => (Owed::Lose, Due::Now),
            Some(What::CutMidReply { after }) => (Owed::Cut(after), Due::Now),
            Some(What::Flapping) => (Owed::Refuse, Due::Lifted),
        };
        self.owed.push_back(owed);
        due
    }

    /// What a request counts by, where it is meant. What a transaction queues is not: its EXEC is, which runs it.
    fn of_transaction(&mut self, found: Found) -> Option<Vec<u8>> {
        let key = match found {
            Found::Meant(key) => Some(key),
            Found::Spared | Found::NoTurns => None,
        };
        match (self.request.name(), &mut self.transaction) {
            (b"MULTI", queued @ None) => {
                *queued = Some(None);
                None
            }
            (b"EXEC", queued) => queued.take().flatten().or(key),
            (b"DISCARD" | b"RESET", queued) => {
                *queued = None;
                key
            }
            (_, Some(queued)) => {
                *queued = queued.take().or(key);
                None
            }
            (_, None) => key,
        }
    }

    /// Puts bytes of the present request, those before them included, where it was decided that they go.
    fn pass_on(&mut self, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.unjudged);
        all.extend_from_slice(bytes);
        let due = self.judged.unwrap_or(Due::Now);
        if due != Due::Now && !all.is_empty() {
            let held = all.len() as u64;
            self.book.harmed(self.client, |counts| counts.bytes_held += held);
        }
        self.up.push(all, due);
    }

    /// When bytes go on that a fault harms, or none does, whatever they mean.
    fn due_of_bytes(&mut self, length: usize, fault: Option<&Fault>, now: Instant) -> Due {
        let due = fault.map_or(Due::Now, |fault| self.delay_of_bytes(fault, now));
        if due != Due::Now {
            self.book.harmed(self.client, |counts| {
                counts.delayed += 1;
                counts.bytes_held += length as u64;
            });
        }
        due
    }

    fn delay_of_bytes(&mut self, fault: &Fault, now: Instant) -> Due {
        match fault.what {
            What::Slow { latency, jitter } => self.delays.due(now, latency, jitter),
            _ => Due::Now,
        }
    }

    fn no_turns(&mut self) {
        self.requests = Turns::Over;
        self.owed.push_back(Owed::NoTurns);
    }

    /// Resets the connection where it is the turn of a request that is refused: all replies before it have come.
    fn look_at_turn(&mut self) {
        if self.owed.front() == Some(&Owed::Refuse) && !self.doomed {
            self.doom(|counts| counts.refused += 1);
        }
    }

    fn doom(&mut self, note: impl FnOnce(&mut super::Counts)) {
        self.doomed = true;
        self.book.harmed(self.client, note);
    }
}

#[cfg(test)]
mod tests;
