//! The ledger: which attempts the server executed, and which of them changed anything.
//!
//! The server's monitor lists each command that ran, with the port of the connection that sent it. A connection's
//! commands run in the order in which they were sent, so the attempts on a port and the commands listed for it are
//! matched from the first on; what is left over did not run.

use std::collections::BTreeMap;

use super::replay::Replay;
use super::{Attempt, Probe};
use crate::kinds::{Command, Step};
use crate::words::{Phase, Reply, Tri};

/// On whose behalf the server executed a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executed {
    /// The connection with this port.
    By(u16),
    /// The script whose own line came last.
    ByScript,
}

/// What ran, by connection, with whether it changed anything.
#[derive(Debug, Default)]
pub struct Ledger {
    by_port: BTreeMap<u16, Vec<Entry>>,
    replay: Replay,
    complete: bool,
    /// The port of the last connection that sent a command: a script's own commands follow it.
    script: u16,
}

#[derive(Debug)]
struct Entry {
    name: String,
    effect: Tri,
    taken: bool,
}

impl Ledger {
    /// A ledger of a server on which nothing was executed yet. `complete` says whether every command will be entered:
    /// only then is one that is not listed known not to have run.
    pub fn new(complete: bool) -> Ledger {
        Ledger { complete, ..Ledger::default() }
    }

    /// Enters a command that is known to have run before the monitor began to list.
    pub fn prepared(&mut self, words: &[String]) {
        self.replay.apply(words);
    }

    /// [`Ledger::prepared`] for a step that was sent.
    pub fn prepared_step(&mut self, step: &Step) {
        if let Command::Plain(words) = &step.command {
            self.prepared(words);
        }
    }

    /// Enters a command that the monitor listed: its name, in capitals, and its arguments. They are entered in the order
    /// in which they ran. A script changes what the commands change that it runs: one that was stopped at its first
    /// write changed nothing.
    pub fn enter(&mut self, executed: Executed, words: &[String]) {
        let effect = self.replay.apply(words);
        match executed {
            Executed::By(port) => {
                let name = words.first().cloned().unwrap_or_default();
                self.by_port.entry(port).or_default().push(Entry { name, effect, taken: false });
                self.script = port;
            }
            Executed::ByScript => {
                let script = self.by_port.get_mut(&self.script).and_then(|entries| entries.last_mut());
                if let Some(script) = script {
                    script.effect = match (script.effect, effect) {
                        (Tri::Yes, _) | (_, Tri::Yes) => Tri::Yes,
                        (Tri::Unknown, _) | (_, Tri::Unknown) => Tri::Unknown,
                        (Tri::No, Tri::No) => Tri::No,
                    };
                }
            }
        }
    }

    /// Notes in each attempt of a call whether it ran and took effect. Calls on one connection are settled in the order
    /// in which they were made.
    pub fn settle(&mut self, probe: &mut Probe) {
        for attempt in &mut probe.attempts {
            (attempt.ran, attempt.took_effect) = self.fate(attempt);
        }
    }

    fn fate(&mut self, attempt: &Attempt) -> (Tri, Tri) {
        let absent = if self.complete { (Tri::No, Tri::No) } else { (Tri::Unknown, Tri::Unknown) };
        let Some(port) = attempt.port else {
            // It never had a connection, or one without a port, as over a unix socket.
            let never = matches!(
                attempt.reply,
                Reply::Refused
                    | Reply::NotConnected
                    | Reply::TooManyClients
                    | Reply::TimedOut(Phase::Connect)
            );
            return if never { (Tri::No, Tri::No) } else { absent };
        };
        let Some(entries) = self.by_port.get_mut(&port) else { return absent };
        // The monitor lists names in capitals; a policy file may spell its commands otherwise. A script that the server
        // had forgotten is sent again with its source: the first command ran, and did nothing.
        let wanted = |entry: &Entry| {
            !entry.taken
                && (entry.name.eq_ignore_ascii_case(&attempt.command)
                    || (attempt.command == "EVALSHA" && entry.name == "EVAL"))
        };
        let Some(first) = entries.iter().position(wanted) else { return absent };
        entries[first].taken = true;
        let mut effect = entries[first].effect;
        if let Some(again) =
            entries.get_mut(first + 1).filter(|entry| entry.name == "EVAL" && attempt.command == "EVALSHA")
        {
            again.taken = true;
            effect = if effect == Tri::Yes { effect } else { again.effect };
        }
        (Tri::Yes, effect)
    }

    /// What the key should hold, if everything that ran was entered and understood.
    pub fn expected(&self, key: &str) -> Option<Vec<String>> {
        self.replay.values(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Phase, Reply};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn ran(ledger: &mut Ledger, port: u16, text: &str) {
        ledger.enter(Executed::By(port), &words(text));
    }

    fn timed_out(commands: &[(&str, Option<u16>)]) -> Probe {
        let attempts = commands
            .iter()
            .zip(1..)
            .map(|((command, port), number)| {
                Attempt::new((*command).to_owned(), number, 0, 1, Reply::TimedOut(Phase::Command), *port)
            })
            .collect();
        Probe {
            id: "p".to_owned(),
            sent_us: 0,
            ended_us: 1,
            reply: Reply::TimedOut(Phase::Command),
            own_key: true,
            attempts,
        }
    }

    fn fates(ledger: &mut Ledger, probe: &mut Probe) -> Vec<(Tri, Tri)> {
        ledger.settle(probe);
        probe.attempts.iter().map(|attempt| (attempt.ran, attempt.took_effect)).collect()
    }

    #[test]
    fn without_a_list_that_is_complete_only_what_never_had_a_connection_is_known_not_to_have_run() {
        let mut ledger = Ledger::new(false);
        let mut probe = timed_out(&[("SET", Some(7)), ("SET", None), ("SET", None), ("SET", None)]);
        probe.attempts[2].reply = Reply::Refused;
        probe.attempts[3].reply = Reply::TimedOut(Phase::Connect);
        let (unknown, no) = ((Tri::Unknown, Tri::Unknown), (Tri::No, Tri::No));
        assert_eq!(fates(&mut ledger, &mut probe), [unknown, unknown, no, no]);
    }

    #[test]
    fn attempts_on_one_connection_are_matched_in_order_and_only_the_first_set_nx_takes_effect() {
        let mut ledger = Ledger::new(true);
        ran(&mut ledger, 7, "SET l a NX PX 1000");
        ran(&mut ledger, 7, "SET l a NX PX 1000");
        let mut probe = timed_out(&[("SET", Some(7)), ("SET", Some(7)), ("SET", Some(7)), ("SET", None)]);
        assert_eq!(
            fates(&mut ledger, &mut probe),
            [(Tri::Yes, Tri::Yes), (Tri::Yes, Tri::No), (Tri::No, Tri::No), (Tri::No, Tri::No)]
        );
        assert_eq!(ledger.expected("l"), Some(vec!["a".to_owned()]));
    }

    #[test]
    fn a_command_is_found_however_the_policy_file_spells_it() {
        let mut ledger = Ledger::new(true);
        ran(&mut ledger, 7, "SET f 1");
        let mut probe = timed_out(&[("set", Some(7)), ("set", Some(7))]);
        assert_eq!(fates(&mut ledger, &mut probe), [(Tri::Yes, Tri::Yes), (Tri::No, Tri::No)]);
    }

    #[test]
    fn without_a_complete_list_nobody_knows_that_something_did_not_run() {
        let mut ledger = Ledger::new(false);
        let mut probe = timed_out(&[("INCR", Some(7))]);
        assert_eq!(fates(&mut ledger, &mut probe), [(Tri::Unknown, Tri::Unknown)]);
    }

    #[test]
    fn a_script_that_was_forgotten_and_sent_again_is_one_attempt() {
        let mut ledger = Ledger::new(true);
        ledger.prepared(&words("SET l a"));
        let hash = ::redis::Script::new(crate::kinds::COMPARE_AND_DELETE).get_hash().to_owned();
        ran(&mut ledger, 7, "GET other");
        ran(&mut ledger, 7, &format!("EVALSHA {hash} 1 l a"));
        let source = crate::kinds::COMPARE_AND_DELETE;
        let eval = ["EVAL", source, "1", "l", "a"].map(str::to_owned);
        ledger.enter(Executed::By(7), &eval);
        ledger.enter(Executed::ByScript, &words("GET l"));
        ledger.enter(Executed::ByScript, &words("DEL l"));
        let mut probe = timed_out(&[("EVALSHA", Some(7)), ("EVALSHA", Some(7))]);
        let fates = fates(&mut ledger, &mut probe);
        assert_eq!(fates, [(Tri::Yes, Tri::Yes), (Tri::No, Tri::No)]);
        assert_eq!(ledger.expected("l"), Some(Vec::new()));
    }

    #[test]
    fn a_script_that_was_stopped_before_its_first_write_changed_nothing() {
        let mut ledger = Ledger::new(true);
        ledger.prepared(&words("SET l a"));
        ran(&mut ledger, 7, "EVALSHA hash 1 l a");
        ledger.enter(Executed::ByScript, &words("GET l"));
        ran(&mut ledger, 8, "EVALSHA hash 1 l a");
        ledger.enter(Executed::ByScript, &words("GET l"));
        ledger.enter(Executed::ByScript, &words("DEL l"));
        let mut stopped = timed_out(&[("EVALSHA", Some(7))]);
        assert_eq!(fates(&mut ledger, &mut stopped), [(Tri::Yes, Tri::No)]);
        let mut ran = timed_out(&[("EVALSHA", Some(8))]);
        assert_eq!(fates(&mut ledger, &mut ran), [(Tri::Yes, Tri::Yes)]);
    }
}
