//! The command `audit`: arguments and exit code, nothing else.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    cli.color.write_global();
    cli::run(cli)
}

/// Shows help, or what is wrong about the command line, which may hold a password.
fn refused(error: &clap::Error) -> ExitCode {
    let said = error.render().ansi().to_string();
    let shown = cli::without_passwords(&said);
    if said == shown {
        // As clap does it, which knows help from errors.
        error.exit();
    }
    anstream::eprint!("{shown}");
    ExitCode::from(2)
}
