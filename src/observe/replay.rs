//! What a list of executed commands makes of the keys: enough of Redis to say which commands changed something.
//!
//! It computes; what it says is believed only where the keys, read from the server afterwards, hold what it expects.

use std::collections::{HashMap, HashSet};

use crate::kinds::script_of;
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
            ("EVAL" | "EVALSHA", [script, "1", key, args @ ..]) => match script_of(script) {
                Some("compare_and_delete") => self.delete(key, |held| {
                    held.first().is_some_and(|held| Some(&held.as_str()) == args.first())
                }),
                Some("count") => self.count(key),
                _ => self.lose(key),
            },
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

    fn lose(&mut self, key: &str) -> Tri {
        self.lost.insert(key.to_owned());
        Tri::Unknown
    }
}

fn yes(so: bool) -> Tri {
    if so { Tri::Yes } else { Tri::No }
}
