//! `audit check`: what the policy files say without any Redis.

use redis_outage_audit::judge::{lint, verdict};
use redis_outage_audit::report::terminal::{TerminalOptions, arithmetic};

use super::args::CheckArgs;
use super::exit::Exit;
use super::{load, screen};

/// Reads and lints the policy files, and shows what their settings cost by arithmetic.
pub(crate) fn run(args: &CheckArgs) -> Exit {
    let files = match load::load(&args.policies) {
        Ok(files) => files,
        Err(exit) => return exit,
    };
    let options = TerminalOptions { width: screen::width(), color: true, quiet: args.quiet };
    let mut exit = Exit::Conforms;
    let mut parts = Vec::new();
    for file in files {
        let findings = lint(&file);
        exit = exit.or(Exit::of(verdict(&findings), true));
        parts.push(arithmetic(&file, &findings, &options));
    }
    exit.or(screen::out(&parts.join("\n")))
}
