//! What the command line can do: one file a command.

mod args;
mod attach;
mod audit;
mod check;
mod deliver;
mod dry_run;
mod exit;
mod generate;
mod ground;
mod list;
mod load;
mod progress;
mod restore;
mod screen;

use std::process::ExitCode;

pub(crate) use args::Cli;
use args::Command;
pub(crate) use screen::without_passwords;

/// Carries out a command line.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let exit = match cli.command {
        None => audit::run(&cli.audit),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Init(args)) => generate::init(&args),
        Some(Command::Kinds(args)) => list::kinds(&args),
        Some(Command::States) => list::states(),
        Some(Command::Explain(args)) => list::explain(&args),
        Some(Command::Restore(args)) => restore::run(&args),
        Some(Command::Completions(args)) => generate::completions(&args),
        Some(Command::Man(args)) => generate::man(&args),
        Some(Command::Reap(args)) => return redis_outage_audit::redis::Reaper::main(&args.directory),
    };
    exit.into()
}
