//! Redis' own patterns for keys: `*`, `?`, `[a-c]`, `[^a]` and `\` before what is meant as it stands.

use std::ffi::c_char;
use std::fmt;

/// A pattern as `KEYS` and `SCAN MATCH` read it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glob(Vec<u8>);

/// Keys that match one of these patterns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope(Vec<Glob>);

impl Scope {
    /// Whether a key is among them.
    pub fn matches(&self, key: &[u8]) -> bool {
        self.0.iter().any(|glob| glob.matches(key))
    }

    /// A key that is among them: that of its first pattern with this text for each star. None where that is none of its
    /// keys, as the pattern has other signs.
    pub fn key(&self, text: &str) -> Option<String> {
        let mut key = String::new();
        let mut pattern = std::str::from_utf8(&self.0.first()?.0).ok()?.chars();
        while let Some(sign) = pattern.next() {
            match sign {
                '*' => key.push_str(text),
                '\\' => key.extend(pattern.next()),
                plain => key.push(plain),
            }
        }
        self.matches(key.as_bytes()).then_some(key)
    }
}

impl From<Glob> for Scope {
    fn from(glob: Glob) -> Scope {
        Scope(vec![glob])
    }
}

impl FromIterator<Glob> for Scope {
    fn from_iter<I: IntoIterator<Item = Glob>>(globs: I) -> Scope {
        Scope(globs.into_iter().collect())
    }
}

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
    fn a_scope_has_the_keys_of_each_of_its_patterns_and_can_name_one() {
        let scope: Scope = [r"a\[1\]:*:b", "marker:*"].map(Glob::new).into_iter().collect();
        let matches = |key: &str| scope.matches(key.as_bytes());
        assert!(matches("a[1]:7:b") && matches("marker:7") && !matches("a1:7:b"));
        assert_eq!(scope.key("me").as_deref(), Some("a[1]:me:b"));
        assert_eq!(Scope::from(Glob::new("a[bc]*")).key("me"), None, "more than stars");
    }

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
