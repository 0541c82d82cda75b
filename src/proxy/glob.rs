//! Redis' own patterns for keys: `*`, `?`, `[a-c]`, `[^a]` and `\` before what is meant as it stands.

use std::ffi::c_char;
use std::fmt;

/// A pattern as `KEYS` and `SCAN MATCH` read it.
#[derive(Clone, PartialEq, Eq)]
pub struct Glob(Vec<u8>);

impl Glob {
    /// Any bytes are a pattern.
    pub fn new(pattern: impl Into<Vec<u8>>) -> Glob {
        Glob(pattern.into())
    }

    /// The pattern that this text and nothing else matches.
    pub fn escaped(text: &str) -> String {
        let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '\\');
        text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
    }

    /// Whether a key matches.
    ///
    /// A star first takes nothing, and then a byte more each time that what follows it fails. Only the last star has to be
    /// tried again, so the time is at most the product of both lengths.
    pub fn matches(&self, key: &[u8]) -> bool {
        if key.is_empty() {
            // So does Redis: of several stars, each waits for a byte to look at.
            return matches!(self.0.as_slice(), [] | [b'*']);
        }
        let (mut pattern, mut key) = (self.0.as_slice(), key);
        let mut star = None;
        loop {
            if let [b'*', rest @ ..] = pattern {
                (pattern, star) = (rest, Some((rest, key)));
                continue;
            }
            match key {
                [] => return pattern.is_empty(),
                [byte, after @ ..] => match one(pattern, *byte) {
                    Some(rest) => (pattern, key) = (rest, after),
                    None => match star {
                        Some((rest, [_, later @ ..])) => {
                            (pattern, key, star) = (rest, later, Some((rest, later)))
                        }
                        _ => return false,
                    },
                },
            }
        }
    }
}

/// What is left of a pattern once its first part, which is no star, took this byte; none where it does not.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [b'?', rest @ ..] => Some(rest),
        [b'[', rest @ ..] => class(rest, byte),
        [b'\\', wanted, rest @ ..] | [wanted, rest @ ..] => (*wanted == byte).then_some(rest),
        [] => None,
    }
}

/// The same behind an opening bracket. One that is never closed reaches to the end of the pattern.
fn class(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (mut rest, inverted) = match pattern {
        [b'^', rest @ ..] => (rest, true),
        rest => (rest, false),
    };
    let mut found = false;
    loop {
        (found, rest) = match rest {
            [] => break,
            [b']', after @ ..] => {
                rest = after;
                break;
            }
            [b'\\', wanted, after @ ..] => (found | (*wanted == byte), after),
            [from, b'-', to, after @ ..] => {
                let [from, to, byte] = [*from, *to, byte].map(as_char);
                (found | (from.min(to)..=from.max(to)).contains(&byte), after)
            }
            [wanted, after @ ..] => (found | (*wanted == byte), after),
        };
    }
    (found != inverted).then_some(rest)
}

/// A byte as C compares it, and so the server does: whether the upper half is below zero depends on the machine.
fn as_char(byte: u8) -> c_char {
    c_char::from_ne_bytes([byte])
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Glob({})", self.0.escape_ascii())
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cases::cases;

    #[test]
    fn a_pattern_matches_as_redis_documents_it() {
        let matches = |pattern: &str, key: &str| Glob::new(pattern).matches(key.as_bytes());
        for (pattern, key) in [
            ("lock:*", "lock:7"),
            ("h?llo", "hallo"),
            ("h[ae]llo", "hello"),
            ("h[^e]llo", "hallo"),
            ("h[b-a]llo", "hallo"),
            (r"a\*b", "a*b"),
            ("*a*b", "xaxbxb"),
            ("", ""),
            ("*", ""),
            ("[a", "a"),
        ] {
            assert!(matches(pattern, key), "{pattern} {key}");
        }
        for (pattern, key) in [
            ("lock:*", "cache:7"),
            ("h?llo", "hllo"),
            ("h[^e]llo", "hello"),
            (r"a\*b", "axb"),
            ("*a*b", "xaxbx"),
            ("", "a"),
            ("[]a]", "a"),
            ("a", ""),
            ("**", ""),
        ] {
            assert!(!matches(pattern, key), "{pattern} {key}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_takes_no_time() {
        let pattern = Glob::new("a*".repeat(100) + "b");
        assert!(!pattern.matches(&[b'a'; 10_000]));
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn an_escaped_text_matches_itself_alone(text in r"[-a*?^\[\]\\]{0,8}", other in r"[-a*?^\[\]\\]{0,8}") {
            let glob = Glob::new(Glob::escaped(&text));
            prop_assert!(glob.matches(text.as_bytes()));
            prop_assert_eq!(glob.matches(other.as_bytes()), text == other);
        }

        #[test]
        fn any_bytes_are_a_pattern(pattern: Vec<u8>, key: Vec<u8>) {
            Glob::new(pattern).matches(&key);
        }
    }
}
