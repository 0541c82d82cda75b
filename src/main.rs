//! The hidden subcommand `reap` alone.

use std::path::Path;
use std::process::ExitCode;

use redis_outage_audit::redis::Reaper;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    match args.as_slice() {
        [command, root] if command == "reap" => Reaper::main(Path::new(root)),
        _ => ExitCode::from(2),
    }
}
