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

/// Prints to standard error.
pub(crate) fn err(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
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
    fn prose_is_wrapped_between_words_and_keeps_its_indent() {
        assert_eq!(wrapped("paused\n  one two three\n\nend", 9), "paused\n  one two\n  three\n\nend\n");
        assert_eq!(wrapped("aVeryLongWord b", 5), "aVeryLongWord\nb\n");
    }
}
