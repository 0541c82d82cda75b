//! Reads of a request what decides whether it is harmed: its command, and its keys.

use super::Fault;
use super::keys::{Keys, keys_of};
use super::resp::LONGEST_LINE;

/// The longest word that is looked at. A longer key is in nobody's scope.
const LONGEST_KEY: usize = LONGEST_LINE;

/// What a request turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing that the fault is meant for.
    Spared,
    /// What it is meant for, and by what that counts: the key, or else the command's name.
    Meant(Vec<u8>),
    /// The end of taking turns: from here on replies no longer follow requests one for one.
    NoTurns,
}

/// The request that is being read.
#[derive(Debug, Default)]
pub(super) struct Request {
    name: Vec<u8>,
    /// Which word comes next, and what has come of it.
    index: u64,
    text: Vec<u8>,
    /// How many keys a word said that there are.
    counted: Option<u64>,
    /// Whether the word that keys stand behind has come.
    behind: bool,
}

impl Request {
    /// Forgets it: the next one begins.
    pub(super) fn reset(&mut self) {
        self.name.clear();
        self.text.clear();
        (self.index, self.counted, self.behind) = (0, None, false);
    }

    /// The command, in capitals.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// More of the word that is being read.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let room = (LONGEST_KEY + 1).saturating_sub(self.text.len());
        self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// A word ended, of so many; what the request is, as soon as that is known. A fault that picks may be in force.
    pub(super) fn word(&mut self, words: u64, fault: Option<&Fault>) -> Option<Found> {
        let text = std::mem::take(&mut self.text);
        let found = self.judge(&text, words, fault);
        self.text = text;
        self.text.clear();
        self.index += 1;
        found
    }

    /// A line of plain words ended; none where it is blank. Quotes around a word are taken off; escapes stay.
    pub(super) fn line(&mut self, fault: Option<&Fault>) -> Option<Found> {
        let line = std::mem::take(&mut self.text);
        let words = || line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let count = words().count() as u64;
        let mut found = None;
        for word in words() {
            let quoted = word.len() > 1 && word.first() == word.last() && matches!(word[0], b'"' | b'\'');
            self.bytes(if quoted { &word[1..word.len() - 1] } else { word });
            found = self.word(count, fault);
            if found.is_some() {
                break;
            }
        }
        (count > 0).then_some(found.unwrap_or(Found::Spared))
    }

    fn judge(&mut self, text: &[u8], words: u64, fault: Option<&Fault>) -> Option<Found> {
        if self.index == 0 {
            self.name.extend(text.iter().map(u8::to_ascii_uppercase));
            if takes_no_turns(&self.name) {
                return Some(Found::NoTurns);
            }
        }
        if self.name == b"CLIENT" {
            // CLIENT REPLY turns replies off.
            return match (self.index, text.eq_ignore_ascii_case(b"REPLY")) {
                (0, _) => None,
                (1, true) => Some(Found::NoTurns),
                _ => Some(Found::Spared),
            };
        }
        let Some(fault) = fault else { return Some(Found::Spared) };
        let keys = keys_of(&self.name);
        if self.index == 0 {
            return match keys {
                Keys::SetUp => Some(Found::Spared),
                Keys::Nowhere if fault.scope.is_some() => Some(Found::Spared),
                Keys::Nowhere => Some(Found::Meant(self.name.clone())),
                _ => None,
            };
        }
        if self.counts(keys, text) {
            return (self.counted.unwrap_or(0) == 0).then_some(Found::Spared);
        }
        let in_scope =
            fault.scope.as_ref().is_none_or(|scope| text.len() <= LONGEST_KEY && scope.matches(text));
        let (is_key, none_follow) = self.place(keys, words);
        self.passes(keys, text);
        match (is_key && in_scope, none_follow) {
            (true, _) => Some(Found::Meant(text.to_vec())),
            (false, true) => Some(Found::Spared),
            (false, false) => None,
        }
    }

    /// Whether the present word is no key but says how many there are.
    fn counts(&mut self, keys: Keys, text: &[u8]) -> bool {
        let Keys::Counted { count, .. } = keys else { return false };
        let counts = self.index == u64::from(count);
        if counts {
            self.counted = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        }
        counts
    }

    /// Notes whether the present word is the one that keys stand behind.
    fn passes(&mut self, keys: Keys, text: &[u8]) {
        if let Keys::Behind(word) = keys {
            self.behind |= text.eq_ignore_ascii_case(word.as_bytes());
        }
    }

    /// Whether the present word is a key, and whether no key comes after it.
    fn place(&self, keys: Keys, words: u64) -> (bool, bool) {
        let index = self.index;
        match keys {
            Keys::SetUp | Keys::Nowhere => (false, true),
            Keys::Range(first, last, step) => {
                let (first, step) = (u64::from(first), u64::from(step));
                let last = match u64::try_from(last) {
                    Ok(last) => last,
                    Err(_) => words.saturating_sub(u64::from(last.unsigned_abs())),
                };
                let within = (first..=last).contains(&index);
                (within && (index - first).is_multiple_of(step), index >= last)
            }
            Keys::Counted { count, also } => match (u64::from(count), self.counted) {
                (_, None) => (also.is_some_and(|also| u64::from(also) == index), false),
                (count, Some(keys)) => (true, index >= count.saturating_add(keys)),
            },
            Keys::Behind(_) => (self.behind, false),
        }
    }
}

/// The words of a command that are keys.
pub fn keys(command: &[String]) -> Vec<&str> {
    let Some((name, rest)) = command.split_first() else { return Vec::new() };
    let keys = keys_of(name.to_ascii_uppercase().as_bytes());
    let mut request = Request::default();
    let mut found = Vec::new();
    for word in rest {
        request.index += 1;
        if request.counts(keys, word.as_bytes()) {
            match request.counted {
                None | Some(0) => break,
                Some(_) => continue,
            }
        }
        let (is_key, none_follow) = request.place(keys, command.len() as u64);
        found.extend(is_key.then_some(word.as_str()));
        if none_follow {
            break;
        }
        request.passes(keys, word.as_bytes());
    }
    found
}

/// Whether it is a command after which a server sends what is no reply to a request. (RESP3 marks that, RESP2 does not.)
fn takes_no_turns(name: &[u8]) -> bool {
    matches!(
        name,
        b"SUBSCRIBE"
            | b"PSUBSCRIBE"
            | b"SSUBSCRIBE"
            | b"UNSUBSCRIBE"
            | b"PUNSUBSCRIBE"
            | b"SUNSUBSCRIBE"
            | b"MONITOR"
            | b"SYNC"
            | b"PSYNC"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::{Glob, What};

    /// What a request is under a fault with this scope.
    fn found(line: &str, scope: Option<&str>) -> Found {
        let fault =
            Fault { scope: scope.map(|scope| Glob::new(scope).into()), ..Fault::new(What::ReplyLost) };
        let mut request = Request::default();
        let words: Vec<&str> = line.split(' ').collect();
        for word in &words {
            request.bytes(word.as_bytes());
            if let Some(found) = request.word(words.len() as u64, Some(&fault)) {
                return found;
            }
        }
        Found::Spared
    }

    #[test]
    fn a_request_is_meant_where_one_of_its_keys_is_in_scope() {
        for line in [
            "get lock:1",
            "SET lock:1 v NX PX 100",
            "DEL a b lock:1",
            "MSET a lock lock:1 b",
            "LMOVE a lock:1 RIGHT LEFT",
            "BLPOP lock:1 0",
            "BITOP AND a lock:1",
            "OBJECT ENCODING lock:1",
            "EVALSHA 0123 2 a lock:1 arg",
            "EVAL return 1 lock:1",
            "LMPOP 2 a lock:1 LEFT",
            "ZUNIONSTORE lock:1 1 a",
            "ZUNIONSTORE a 2 b lock:1",
            "XREAD COUNT 1 STREAMS lock:1 0",
            "JSON.GET lock:1",
        ] {
            assert_eq!(found(line, Some("lock:*")), Found::Meant(b"lock:1".to_vec()), "{line}");
        }
        for line in [
            "GET a",
            "SET a lock:1",
            "MSET a lock:1",
            "BLPOP a lock:1",
            "EVALSHA lock:1 1 a lock:1",
            "EVALSHA lock:1 0 lock:1",
            "EVAL lock:1 x lock:1",
            "LMPOP 1 a lock:1",
            "ZUNIONSTORE a 1 b lock:1",
            "PING lock:1",
            "CLIENT SETINFO lib-name lock:1",
            "GET",
        ] {
            assert_eq!(found(line, Some("lock:*")), Found::Spared, "{line}");
        }
    }

    #[test]
    fn the_keys_of_a_whole_command_are_found_as_those_of_one_that_comes_in_pieces() {
        let keys = |line: &str| {
            let command: Vec<String> = line.split(' ').map(str::to_owned).collect();
            super::keys(&command).into_iter().map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(keys("set a 1"), "a");
        assert_eq!(keys("LMOVE a b RIGHT LEFT"), "a b");
        assert_eq!(keys("MSET a 1 b 2"), "a b");
        assert_eq!(keys("EVAL script 2 a b 3"), "a b");
        assert_eq!(keys("XREAD COUNT 1 STREAMS a 0"), "a 0");
        assert_eq!(keys("PING"), "");
        assert_eq!(keys("EVAL script 0 a"), "");
    }

    #[test]
    fn without_a_scope_all_are_meant_but_what_sets_a_connection_up() {
        assert_eq!(found("GET a", None), Found::Meant(b"a".to_vec()));
        assert_eq!(found("ping", None), Found::Meant(b"PING".to_vec()));
        for line in ["HELLO 3", "AUTH u p", "CLIENT SETINFO lib-name x", "SELECT 0"] {
            assert_eq!(found(line, None), Found::Spared, "{line}");
        }
    }

    #[test]
    fn turns_end_where_replies_no_longer_follow_requests() {
        for line in ["subscribe a", "MONITOR", "CLIENT REPLY OFF"] {
            assert_eq!(found(line, None), Found::NoTurns, "{line}");
        }
    }

    #[test]
    fn a_line_of_plain_words_is_read_as_a_list_is() {
        let fault = Fault::new(What::ReplyLost).on(Glob::new("lock:*"));
        let line = |text: &str| {
            let mut request = Request::default();
            request.bytes(text.as_bytes());
            request.line(Some(&fault))
        };
        assert_eq!(line("  \r"), None, "a blank line has no reply");
        assert_eq!(line("GET a\r"), Some(Found::Spared));
        assert_eq!(line("GET \"lock:1\" \r"), Some(Found::Meant(b"lock:1".to_vec())));
    }

    #[test]
    fn a_key_that_is_too_long_is_in_nobodys_scope() {
        let key = "k".repeat(LONGEST_KEY);
        assert_eq!(found(&format!("GET {key}"), Some("*")), Found::Meant(key.clone().into_bytes()));
        assert_eq!(found(&format!("GET {key}k"), Some("*")), Found::Spared);
    }
}
