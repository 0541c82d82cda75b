//! `audit init`, `audit completions`, `audit man`: files for the user to keep.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};
use clap::CommandFactory;
use redis_outage_audit::policy::STARTER;

use super::Cli;
use super::args::{CompletionsArgs, InitArgs, ManArgs};
use super::exit::Exit;
use super::screen;

/// Writes the starter file. One that exists is left alone.
pub(crate) fn init(args: &InitArgs) -> Exit {
    let Some(path) = &args.file else {
        return screen::out(STARTER);
    };
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(STARTER.as_bytes()));
    match written {
        Ok(()) => {
            screen::err(&format!(
                "wrote {}; next: audit check --policies {}\n",
                path.display(),
                path.display()
            ));
            Exit::Conforms
        }
        Err(error) => {
            let mend = match error.kind() {
                ErrorKind::AlreadyExists => "it exists and is left alone; give another name, or move it away",
                ErrorKind::NotFound => "its folder does not exist; make it, or give another path",
                _ => "give another path",
            };
            let place = path.display();
            screen::error(&anyhow::Error::new(error).context(format!("{place}: was not written: {mend}")));
            Exit::Environment
        }
    }
}

/// Prints a completion script.
pub(crate) fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "audit", &mut script);
    screen::out(&String::from_utf8_lossy(&script))
}

/// Writes the manual pages.
pub(crate) fn man(args: &ManArgs) -> Exit {
    let written: Result<()> = (|| {
        std::fs::create_dir_all(&args.folder)?;
        clap_mangen::generate_to(Cli::command(), &args.folder)?;
        Ok(())
    })();
    match written.with_context(|| format!("{}: the manual pages were not written", args.folder.display())) {
        Ok(()) => Exit::Conforms,
        Err(error) => {
            screen::error(&error);
            Exit::Environment
        }
    }
}
