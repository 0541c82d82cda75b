//! The command `audit`: arguments and exit code, nothing else.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    cli.color.write_global();
    cli::run(cli)
}
