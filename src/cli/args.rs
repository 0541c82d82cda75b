//! The command line's shape.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use redis_outage_audit::words::State;

use super::attach::{AttachArgs, TargetArgs};

const AFTER_HELP: &str = "\
Exit codes: 0 conforms, 1 departs, 2 wrong command line or policy file, 3 inconclusive,
4 the environment failed, 5 something could not be put back, 130 and 143 interrupted.

Examples:
  audit init > policies.yaml             a commented policy file to start from
  audit check --policies policies.yaml   reads and lints it, without Redis
  audit --policies policies.yaml         runs the audit on a redis-server of its own
  audit --redis-url-env REDIS_URL --dry-run   what it would do to one that exists
  audit explain budget-exceeded          what a finding means";

/// Audits what a backend does when Redis is paused, stopped or silent: declared beside observed.
///
/// Without a command it runs the audit: it starts a redis-server of its own, takes it through the states, and reports
/// latency and outcome for each use that the policy file lists.
#[derive(Debug, Parser)]
#[command(name = "audit", version, after_help = AFTER_HELP, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) audit: AuditArgs,
    #[command(flatten)]
    pub(crate) color: colorchoice_clap::Color,
}

/// The commands beside the audit itself.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read and lint policy files without Redis, and show what the settings cost by arithmetic
    Check(CheckArgs),
    /// Write a commented policy file to start from
    Init(InitArgs),
    /// List the kinds of use, their operations and fields
    Kinds(KindsArgs),
    /// List the states that Redis is put into
    States,
    /// Explain a finding, or list all of them
    Explain(ExplainArgs),
    /// Put back what an audit that was killed left changed on a server that is not its own
    Restore(RestoreArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    Man(ManArgs),
    /// End the servers of an audit that died (the audit starts this itself)
    #[command(hide = true)]
    Reap(ReapArgs),
}

/// Which policy files.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// A policy file, a folder of them, or `-` for standard input; repeatable [default: policies.yaml, then policies/]
    #[arg(long, value_name = "PATH")]
    pub(crate) policies: Vec<PathBuf>,
}

/// The audit.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) policies: PolicyArgs,
    /// The states to probe in, or `all`; `healthy` is always among them, as the control [default: healthy, paused, stopped]
    #[arg(long, value_name = "STATE,..", value_delimiter = ',')]
    pub(crate) states: Vec<String>,
    /// Only this use, and the requests that call nothing else; repeatable
    #[arg(long, value_name = "USE", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Probes for each operation in each outage state; ten times as many on the healthy server
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one)]
    pub(crate) samples: usize,
    /// When a call is given up as "never returned"
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    pub(crate) give_up: Duration,
    /// When the whole run ends, finished or not
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) deadline: Option<Duration>,
    /// Begin everything random here, to repeat a run
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// One server after the other instead of side by side
    #[arg(long)]
    pub(crate) serial: bool,
    /// The server to start [default: redis-server, then valkey-server, on PATH]
    #[arg(long, value_name = "PATH", conflicts_with = "server_that_exists")]
    pub(crate) redis_server: Option<PathBuf>,
    /// Write the failure table here, as a file or between its markers; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Fail where the failure table in this file no longer says what was observed
    #[arg(long, value_name = "FILE")]
    pub(crate) check: Option<PathBuf>,
    /// Write everything that was seen here, each attempt included; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Whether an inconclusive run fails
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    pub(crate) inconclusive: Inconclusive,
    /// Print only what departs, and the last line
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
}

impl AuditArgs {
    /// Whether this state was asked for by its name.
    pub(crate) fn names(&self, state: State) -> bool {
        self.states().any(|name| name == state.name())
    }

    /// The states that were asked for.
    pub(crate) fn states(&self) -> impl Iterator<Item = &str> {
        self.states.iter().map(|name| name.trim())
    }
}

/// Whether an inconclusive run fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inconclusive {
    /// With exit code 3.
    Fail,
    /// It does not.
    Ok,
}

/// `audit check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) policies: PolicyArgs,
    /// Print only what departs, and the last line
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `audit init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Where to write it; a file that exists is left alone [default: standard output]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// `audit kinds`.
#[derive(Debug, Args)]
pub(crate) struct KindsArgs {
    /// Only this kind
    #[arg(value_name = "KIND")]
    pub(crate) kind: Option<String>,
}

/// `audit explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The finding's code, such as `budget-exceeded`; without it, the list of all codes
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

/// `audit completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// `audit man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder; it is made where it is missing
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// `audit restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Where is written down what was changed [default: every file in ~/.local/state/redis-outage-audit]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
}

/// `audit reap`.
#[derive(Debug, Args)]
pub(crate) struct ReapArgs {
    /// The directory that goes with the servers
    pub(crate) directory: PathBuf,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("must be a whole number, such as 20".to_owned()),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write a number and a unit, such as 250ms or 15s"))?;
    if duration.is_zero() { Err("must be longer than nothing".to_owned()) } else { Ok(duration) }
}
