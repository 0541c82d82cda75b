//! What the connections of a proxy have in common: what was harmed, whose turn it is, and who is who.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a proxy has done since its fault was last set or cleared. A reset counts once the connection is doomed, a delay or
/// a hold as soon as the request has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests, or packets where the fault does not pick its requests, that were slowed down.
    pub delayed: u64,
    /// Requests that were held; connections where all is silent.
    pub held: u64,
    /// Bytes that were held or slowed down. Where all is silent: those that had come when a connection first said something.
    pub bytes_held: u64,
    /// Replies that were dropped, and their connections reset.
    pub replies_lost: u64,
    /// Connections that were reset in the middle of a reply.
    pub replies_cut: u64,
    /// Connections that were reset instead of carrying a request.
    pub refused: u64,
}

/// The book that all connections write to.
#[derive(Debug, Default)]
pub(super) struct Book(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    counts: Counts,
    harmed: BTreeSet<u16>,
    turns: HashMap<Vec<u8>, u32>,
    clients: HashMap<u16, u16>,
}

impl Book {
    /// Begins the counts anew; who is who stays.
    pub(super) fn turn_over(&self) {
        let mut pages = self.pages();
        (pages.counts, pages.harmed, pages.turns) = Default::default();
    }

    /// Notes what was done to a client.
    pub(super) fn harmed(&self, client: u16, note: impl FnOnce(&mut Counts)) {
        let mut pages = self.pages();
        note(&mut pages.counts);
        pages.harmed.insert(client);
    }

    /// Whether it is this request's turn to be harmed, where so many of a key are harmed before one is spared.
    pub(super) fn turn(&self, key: Vec<u8>, failures: u32) -> bool {
        let mut pages = self.pages();
        let failed = pages.turns.entry(key).or_default();
        let harmed = *failed < failures;
        *failed = if harmed { *failed + 1 } else { 0 };
        harmed
    }

    /// Notes which client a connection to the server belongs to.
    pub(super) fn belongs(&self, upstream: u16, client: u16) {
        self.pages().clients.insert(upstream, client);
    }

    pub(super) fn counts(&self) -> Counts {
        self.pages().counts
    }

    pub(super) fn harmed_ports(&self) -> Vec<u16> {
        self.pages().harmed.iter().copied().collect()
    }

    pub(super) fn client_port(&self, upstream: u16) -> Option<u16> {
        self.pages().clients.get(&upstream).copied()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_turns_of_its_own() {
        let book = Book::default();
        let turn = |key: &str| book.turn(key.into(), 2);
        assert_eq!(
            [turn("a"), turn("b"), turn("a"), turn("a"), turn("b"), turn("b"), turn("a")],
            [true, true, true, false, true, false, true]
        );
        assert!(!book.turn(b"c".to_vec(), 0), "no failures harm nobody");
    }
}
