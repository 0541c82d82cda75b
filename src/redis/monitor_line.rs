//! One line of MONITOR: a command that ran, for whom and when.

use std::net::SocketAddr;

/// On whose behalf a command ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A client's connection, by the address that the client knows as its local one.
    Client(SocketAddr),
    /// A script or a function; the call of the script has a line of its own.
    Script,
    /// Anything else, as the server wrote it (a Unix socket).
    Other(String),
}

/// A command that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorLine {
    /// When, on the server's clock: microseconds since 1970.
    pub at_us_unix: u64,
    /// The database's number.
    pub database: u32,
    /// For whom.
    pub origin: Origin,
    /// The command's words, as the client spelt them.
    pub args: Vec<Vec<u8>>,
}

impl MonitorLine {
    /// The client's address; none for scripts and Unix sockets.
    pub fn client(&self) -> Option<SocketAddr> {
        match self.origin {
            Origin::Client(addr) => Some(addr),
            Origin::Script | Origin::Other(_) => None,
        }
    }

    /// The command's name, in capitals, and its arguments; bytes that are not UTF-8 are replaced.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> =
            self.args.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        if let Some(name) = words.first_mut() {
            name.make_ascii_uppercase();
        }
        words
    }

    /// The client's port, which joins the line to the attempt that caused it.
    pub fn port(&self) -> Option<u16> {
        self.client().map(|addr| addr.port())
    }

    /// The command's name in upper case.
    pub fn command(&self) -> String {
        self.args.first().map(|name| String::from_utf8_lossy(name).to_ascii_uppercase()).unwrap_or_default()
    }

    /// Reads `1699.123456 [0 127.0.0.1:5000] "SET" "k" "v"`; none where the line is no such line.
    pub fn parse(line: &[u8]) -> Option<MonitorLine> {
        let open = find(line, b" [")?;
        let at_us_unix = microseconds(std::str::from_utf8(&line[..open]).ok()?)?;
        let inside = &line[open + 2..];
        // An address may hold brackets of its own; the words begin at the first quote after one.
        let close = find(inside, b"] \"").or_else(|| inside.ends_with(b"]").then(|| inside.len() - 1))?;
        let (database, from) = std::str::from_utf8(&inside[..close]).ok()?.split_once(' ')?;
        let origin = match (from, from.parse::<SocketAddr>()) {
            (_, Ok(addr)) => Origin::Client(addr),
            ("lua", _) => Origin::Script,
            (other, _) => Origin::Other(other.to_owned()),
        };
        let args = words(inside.get(close + 1..)?)?;
        Some(MonitorLine { at_us_unix, database: database.parse().ok()?, origin, args })
    }
}

impl std::fmt::Display for MonitorLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = self.args.get(1).map(|key| format!(" {}", key.escape_ascii())).unwrap_or_default();
        match &self.origin {
            Origin::Client(addr) => write!(f, "{}{key} from {addr}", self.command()),
            Origin::Script => write!(f, "{}{key} from a script", self.command()),
            Origin::Other(other) => write!(f, "{}{key} from {other}", self.command()),
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// `1699.123456` in microseconds, without a detour through floating point.
fn microseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    if fraction.len() != 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction.parse().ok()?)
}

/// Quoted words with C escapes, a space before each.
fn words(mut rest: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    while !rest.is_empty() {
        rest = rest.strip_prefix(b" \"")?;
        let mut word = Vec::new();
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            match byte {
                b'"' => break,
                b'\\' => {
                    let (&escaped, after) = rest.split_first()?;
                    rest = after;
                    word.push(match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'a' => 0x07,
                        b'b' => 0x08,
                        b'x' => {
                            let (digits, after) = rest.split_at_checked(2)?;
                            rest = after;
                            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
                        }
                        other => other,
                    });
                }
                other => word.push(other),
            }
        }
        words.push(word);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> MonitorLine {
        MonitorLine::parse(text.as_bytes()).unwrap_or_else(|| panic!("not read: {text}"))
    }

    #[test]
    fn a_line_gives_time_client_and_words() {
        let line = parse(r#"1796054027.942306 [3 127.0.0.1:52708] "set" "k" "a\"\\\r\n\x01""#);
        assert_eq!(line.at_us_unix, 1_796_054_027_942_306);
        assert_eq!((line.database, line.port(), line.command().as_str()), (3, Some(52708), "SET"));
        assert_eq!(line.args[2], b"a\"\\\r\n\x01");
    }

    #[test]
    fn each_origin_is_told_apart() {
        assert_eq!(parse(r#"1.000001 [0 lua] "get" "k""#).origin, Origin::Script);
        assert_eq!(parse(r#"1.000001 [0 [::1]:6379] "PING""#).port(), Some(6379));
        let unix = parse(r#"1.000001 [0 unix:/tmp/a] b.sock] "PING""#);
        assert_eq!((unix.client(), unix.origin), (None, Origin::Other("unix:/tmp/a] b.sock".into())));
    }

    #[test]
    fn a_value_that_looks_like_a_line_is_one_word() {
        let line = parse(r#"1.000001 [0 127.0.0.1:1] "SET" "1.5 [0 127.0.0.1:2] \"GET\" \"x\"" """#);
        assert_eq!(line.args.len(), 3);
        assert_eq!((line.port(), line.args[2].len()), (Some(1), 0));
    }

    #[test]
    fn what_is_no_line_is_none() {
        for text in ["", "OK", "PONG", "1.5 [0 lua] \"GET\"", "1.000001 [0 lua] \"GET", "1.000001 [0 lua"] {
            assert_eq!(MonitorLine::parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut line = b"1.000001 [0 127.0.0.1:1] ".to_vec();
            line.extend(&bytes);
            let _ = MonitorLine::parse(&line);
            let _ = MonitorLine::parse(&bytes);
        }
    }
}
