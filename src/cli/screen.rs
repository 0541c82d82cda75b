//! Where text goes: standard output and standard error, with colours where they are wanted.

use std::io::Write;

use super::exit::Exit;

/// Prints to standard output, and says how a command ends that has done so: what could not be printed is a report that
/// could not be written. A reader that went away (`audit kinds | head`) has read what it wanted.
pub(crate) fn out(text: &str) -> Exit {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(problem) if problem.kind() != std::io::ErrorKind::BrokenPipe => {
            error(&anyhow::Error::new(problem).context("standard output can't be written to"));
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
    let style = anstyle::AnsiColor::Red.on_default().bold();
    err(&format!("{style}error{style:#}: {error:#}\n"));
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
