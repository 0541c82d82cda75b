//! What a list of executed commands makes of the keys: enough of Redis to say which commands changed something.
//!
//! It computes; what it says is believed only where the keys, read from the server afterwards, hold what it expects.

use std::collections::{HashMap, HashSet};

use crate::words::Tri;

/// The keys as the commands left them.
#[derive(Debug, Default)]
pub(super) struct Replay {
    keys: HashMap<String, Vec<String>>,
    /// Keys that a command touched which is not understood.
    lost: HashSet<String>,
}

impl Replay {
    /// Applies one command, and says whether it changed anything.
    pub(super) fn apply(&mut self, words: &[String]) -> Tri {
        let mut parts = words.iter().map(String::as_str);
        let name = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        match (name, rest.as_slice()) {
            ("SET", [key, value, options @ ..]) => {
                let there = self.keys.contains_key(*key);
                let has = |wanted| options.iter().any(|option| option.eq_ignore_ascii_case(wanted));
                self.change((has("NX") && there) || (has("XX") && !there), key, |keys| {
                    keys.insert((*key).to_owned(), vec![(*value).to_owned()]);
                })
            }
            ("SETNX", [key, value]) => {
                let there = self.keys.contains_key(*key);
                self.change(there, key, |keys| {
                    keys.insert((*key).to_owned(), vec![(*value).to_owned()]);
                })
            }
            ("DEL" | "GETDEL", [key]) => self.delete(key, |_| true),
            ("DELEX", [key, "IFEQ", value]) | ("DELIFEQ", [key, value]) => {
                self.delete(key, |held| held.first().is_some_and(|held| held == value))
            }
            ("INCR", [key]) => self.count(key),
            ("PEXPIRE" | "EXPIRE", [key, ..]) => {
                if self.lost.contains(*key) {
                    Tri::Unknown
                } else {
                    yes(self.keys.contains_key(*key))
                }
            }
            ("LPUSH", [key, values @ ..]) => self.change(false, key, |keys| {
                let list = keys.entry((*key).to_owned()).or_default();
                values.iter().for_each(|value| list.insert(0, (*value).to_owned()));
            }),
            ("RPOP", [key]) => self.pop(key).1,
            ("LMOVE", [from, to, "RIGHT", "LEFT"]) => {
                let (value, effect) = self.pop(from);
                if let Some(value) = value {
                    self.keys.entry((*to).to_owned()).or_default().insert(0, value);
                }
                effect
            }
            // What a script runs has lines of its own.
            ("EVAL" | "EVALSHA" | "EVAL_RO" | "EVALSHA_RO" | "FCALL" | "FCALL_RO", _) => Tri::No,
            (
                "GET" | "EXISTS" | "PTTL" | "TTL" | "TYPE" | "LRANGE" | "PING" | "HELLO" | "CLIENT"
                | "SCRIPT" | "SCAN" | "DBSIZE" | "INFO",
                _,
            ) => Tri::No,
            (_, rest) => {
                for word in rest {
                    self.lost.insert((*word).to_owned());
                }
                Tri::Unknown
            }
        }
    }

    /// What a key should hold; empty where it should not be there, none where that is not known.
    pub(super) fn values(&self, key: &str) -> Option<Vec<String>> {
        if self.lost.contains(key) {
            return None;
        }
        Some(self.keys.get(key).cloned().unwrap_or_default())
    }

    fn change(
        &mut self,
        declined: bool,
        key: &str,
        change: impl FnOnce(&mut HashMap<String, Vec<String>>),
    ) -> Tri {
        if self.lost.contains(key) {
            return Tri::Unknown;
        }
        if declined {
            return Tri::No;
        }
        change(&mut self.keys);
        Tri::Yes
    }

    fn delete(&mut self, key: &str, matches: impl FnOnce(&[String]) -> bool) -> Tri {
        let held = self.keys.get(key).is_some_and(|held| matches(held));
        self.change(!held, key, |keys| {
            keys.remove(key);
        })
    }

    fn count(&mut self, key: &str) -> Tri {
        self.change(false, key, |keys| {
            let held = keys.get(key).and_then(|held| held.first()).and_then(|held| held.parse::<i64>().ok());
            keys.insert(key.to_owned(), vec![(held.unwrap_or(0) + 1).to_string()]);
        })
    }

    fn pop(&mut self, key: &str) -> (Option<String>, Tri) {
        if self.lost.contains(key) {
            return (None, Tri::Unknown);
        }
        let popped = self.keys.get_mut(key).and_then(Vec::pop);
        if self.keys.get(key).is_some_and(Vec::is_empty) {
            self.keys.remove(key);
        }
        let effect = yes(popped.is_some());
        (popped, effect)
    }
}

fn yes(so: bool) -> Tri {
    if so { Tri::Yes } else { Tri::No }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of these commands, one after the other, changed; and what the key `k` then holds.
    fn replayed(commands: &[&str]) -> (Vec<Tri>, Option<Vec<String>>) {
        let mut replay = Replay::default();
        let effects = commands
            .iter()
            .map(|command| replay.apply(&command.split(' ').map(str::to_owned).collect::<Vec<_>>()))
            .collect();
        (effects, replay.values("k"))
    }

    fn holds(values: &[&str]) -> Option<Vec<String>> {
        Some(values.iter().map(|value| (*value).to_owned()).collect())
    }

    use Tri::{No, Unknown, Yes};

    #[test]
    fn set_keeps_to_its_conditions_in_capitals_or_not() {
        assert_eq!(replayed(&["SET k a", "SET k b PX 5"]), (vec![Yes, Yes], holds(&["b"])));
        assert_eq!(replayed(&["SET k a NX PX 5", "SET k b nx"]), (vec![Yes, No], holds(&["a"])));
        assert_eq!(replayed(&["SET k a XX", "SET k a", "SET k b xx"]), (vec![No, Yes, Yes], holds(&["b"])));
        assert_eq!(replayed(&["SETNX k a", "SETNX k b"]), (vec![Yes, No], holds(&["a"])));
    }

    #[test]
    fn what_deletes_takes_effect_only_where_there_is_something_to_delete() {
        for delete in ["DEL k", "GETDEL k"] {
            assert_eq!(replayed(&[delete, "SET k a", delete, delete]).0, [No, Yes, Yes, No], "{delete}");
        }
    }

    #[test]
    fn what_compares_before_it_deletes_leaves_another_holders_key() {
        for (wrong, right) in [
            ("DELEX k IFEQ b".to_owned(), "DELEX k IFEQ a".to_owned()),
            ("DELIFEQ k b".to_owned(), "DELIFEQ k a".to_owned()),
        ] {
            let (effects, left) = replayed(&["SET k a", &wrong, &right, &right]);
            assert_eq!((effects, left), (vec![Yes, No, Yes, No], holds(&[])), "{right}");
        }
    }

    #[test]
    fn each_count_takes_effect_and_a_script_by_what_it_runs() {
        let commands = ["INCR k", "EVALSHA hash 1 k 60000", "INCR k"];
        assert_eq!(replayed(&commands), (vec![Yes, No, Yes], holds(&["2"])));
    }

    #[test]
    fn an_expiry_needs_a_key() {
        for expire in ["PEXPIRE k 5", "EXPIRE k 5"] {
            assert_eq!(replayed(&[expire, "INCR k", expire]).0, [No, Yes, Yes]);
        }
    }

    #[test]
    fn a_list_gives_its_oldest_job_first_and_is_gone_with_its_last_one() {
        assert_eq!(replayed(&["LPUSH k a", "LPUSH k b"]), (vec![Yes, Yes], holds(&["b", "a"])));
        assert_eq!(replayed(&["LPUSH k a", "LPUSH k b", "RPOP k"]).1, holds(&["b"]));
        assert_eq!(replayed(&["LPUSH k a", "RPOP k", "RPOP k"]), (vec![Yes, Yes, No], holds(&[])));
    }

    #[test]
    fn a_job_that_is_moved_is_on_the_other_list() {
        let moved = ["LPUSH q a", "LMOVE q k RIGHT LEFT", "LMOVE q k RIGHT LEFT"];
        assert_eq!(replayed(&moved), (vec![Yes, Yes, No], holds(&["a"])));
    }

    #[test]
    fn what_only_reads_changes_nothing() {
        for read in ["GET k", "EXISTS k", "PTTL k", "LRANGE k 0 -1", "PING", "CLIENT SETINFO LIB-NAME x"] {
            assert_eq!(replayed(&["SET k a", read]), (vec![Yes, No], holds(&["a"])), "{read}");
        }
    }

    #[test]
    fn a_command_that_is_not_understood_takes_the_knowledge_of_its_keys_along() {
        assert_eq!(replayed(&["SET k a", "APPEND k b", "DEL k"]), (vec![Yes, Unknown, Unknown], None));
        assert_eq!(replayed(&["APPEND other b", "SET k a"]), (vec![Unknown, Yes], holds(&["a"])));
        assert_eq!(replayed(&["APPEND k b", "PEXPIRE k 5", "RPOP k"]).0, [Unknown, Unknown, Unknown]);
    }
}
