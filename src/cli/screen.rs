//! Where text goes: standard output and standard error, with colours where they are wanted.

use std::io::{ErrorKind, Write};

use unicode_width::UnicodeWidthStr;

use super::exit::Exit;

/// Prints to standard output, and says what that comes to for the exit code. A reader that went away
/// (`audit kinds | head`) is not an error; a full disk is.
pub(crate) fn out(text: &str) -> Exit {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(problem) if problem.kind() != ErrorKind::BrokenPipe => {
            error(&anyhow::anyhow!("standard output cannot be written: {problem}; send it elsewhere"));
            Exit::Environment
        }
        _ => Exit::Conforms,
    }
}

/// Prints to standard error, without passwords: any argument may be a URL that was meant for another flag.
pub(crate) fn err(text: &str) {
    let _ = anstream::stderr().lock().write_all(without_passwords(text).as_bytes());
}

/// How URLs of servers begin; `redis+unix` ends as `unix` does.
const SCHEMES: [&str; 5] = ["redis", "rediss", "valkey", "valkeys", "unix"];

/// A text without the password of any URL of a server in it.
///
/// What is special in a password may not be escaped, and a list is taken apart at its commas. So whatever stands before
/// the last `@` of a line is hidden, and where there is none, all that is not plainly an address.
pub(crate) fn without_passwords(text: &str) -> String {
    text.split_inclusive('\n').map(line_without_passwords).collect()
}

fn line_without_passwords(line: &str) -> String {
    let Some((at, slashes)) = line.match_indices("://").find(|(at, _)| scheme(&line[..*at]).is_some()) else {
        return line.to_owned();
    };
    let (before, after) = line.split_at(at + slashes.len());
    let is_socket = scheme(&line[..at]) == Some("unix");
    let (hidden, rest) = match after.rsplit_once('@') {
        Some((_, rest)) if !is_socket => ("***@", rest),
        _ => ("", after),
    };
    let ends = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '\u{1b}');
    let (word, rest) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
    let word = match word.split_once('?') {
        Some((path, _)) => format!("{path}?***"),
        None if is_socket || !hidden.is_empty() || is_address(word) => word.to_owned(),
        None => "***".to_owned(),
    };
    format!("{before}{hidden}{word}{}", line_without_passwords(rest))
}

/// The scheme that this text ends with.
fn scheme(text: &str) -> Option<&'static str> {
    let text = text.to_ascii_lowercase();
    SCHEMES.into_iter().find(|scheme| text.ends_with(scheme))
}

/// Whether this is a host, with a port or without, and whatever a sentence puts after it.
fn is_address(word: &str) -> bool {
    let word = word.trim_end_matches([':', ',', ';', '.', ')']);
    let port = |port: &str| port.trim_end_matches('/').chars().all(|c| c.is_ascii_digit());
    match word.rsplit_once(':') {
        Some((host, after)) => !host.is_empty() && !host.contains(':') && port(after),
        None => true,
    }
}

/// Prints `error: ...` with its chain of causes to standard error.
pub(crate) fn error(error: &anyhow::Error) {
    err(&format!("{}: {}\n", bad("error"), chain(error)));
}

/// A word that says that something is wrong.
pub(crate) fn bad(word: &str) -> String {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    format!("{style}{word}{style:#}")
}

/// An error and its causes. Many errors name their cause in their own words, which need not be read twice.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// A text that is read as prose: each line is wrapped, and what was wrapped is indented as the line was.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        let mut column = 0;
        for word in line.split_whitespace() {
            if column > 0 && column + 1 + word.width() <= width {
                wrapped.push(' ');
                wrapped.push_str(word);
                column += 1 + word.width();
            } else {
                wrapped.push_str(if column > 0 { "\n" } else { "" });
                wrapped.push_str(indent);
                wrapped.push_str(word);
                column = indent.width() + word.width();
            }
        }
        wrapped.push('\n');
    }
    wrapped
}

/// How wide the terminal is; what is not a terminal is as wide as a table wants to be read.
pub(crate) fn width() -> usize {
    const IN_A_PIPE: u16 = 100;
    let (_, columns) = console_size().unwrap_or((0, IN_A_PIPE));
    usize::from(columns).max(60)
}

fn console_size() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()))
        .ok()?;
    (size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("table.md: cannot be read: {0}; give another path")]
    struct Unreadable(#[source] std::io::Error);

    #[test]
    fn a_cause_that_was_named_already_is_not_named_again() {
        let unreadable = || anyhow::Error::new(Unreadable(ErrorKind::NotFound.into()));
        let once = "table.md: cannot be read: entity not found; give another path";
        assert_eq!(chain(&unreadable()), once);
        assert_eq!(chain(&unreadable().context("nothing to compare")), format!("nothing to compare: {once}"));
    }

    #[test]
    fn a_url_that_was_meant_for_another_flag_shows_no_password() {
        for (text, shown) in [
            ("unexpected 'redis://u:s3cret@host:1/0' found", "unexpected 'redis://***@host:1/0' found"),
            (
                "'\u{1b}[33mredis://:it's s3@cret@host\u{1b}[0m'\nb",
                "'\u{1b}[33mredis://***@host\u{1b}[0m'\nb",
            ),
            ("unix:///run/x?user=a&pass=s3@cret and", "unix:///run/x?*** and"),
            ("unix:///x?pass=s\u{1b}[0m", "unix:///x?***\u{1b}[0m"),
            ("http://host REDISS://a:s3cret@h: no file", "http://host REDISS://***@h: no file"),
            ("--states redis://:s3: no such state", "--states redis://*** no such state"),
            ("redis://me:s3/cret", "redis://***"),
            ("valkey://host:6379/: no file", "valkey://host:6379/: no file"),
            ("a\nredis://h:1\nme@there", "a\nredis://h:1\nme@there"),
            ("see https://site.test/a?b and me@there", "see https://site.test/a?b and me@there"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }

    #[test]
    fn prose_is_wrapped_between_words_and_keeps_its_indent() {
        assert_eq!(wrapped("paused\n  one two three\n\nend", 9), "paused\n  one two\n  three\n\nend\n");
        assert_eq!(wrapped("aVeryLongWord b", 5), "aVeryLongWord\nb\n");
    }
}
