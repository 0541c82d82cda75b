//! `audit`: plan, run, judge, report.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, bail};
use redis_outage_audit::plan::{Limits, Plan, Wishes};
use redis_outage_audit::policy::PolicyFile;
use redis_outage_audit::redis::states::can_enter;
use redis_outage_audit::redis::{ServerBinary, Workshop, open_file_limit};
use redis_outage_audit::report::{self, Report, RunInfo};
use redis_outage_audit::run::Run;
use redis_outage_audit::words::{State, closest};
use tokio::signal::unix::{SignalKind, signal};

use super::args::AuditArgs;
use super::deliver::Delivery;
use super::exit::Exit;
use super::progress::Progress;
use super::{load, screen};

/// Runs the audit.
pub(crate) fn run(args: &AuditArgs) -> Exit {
    let files = match load::load(&args.policies) {
        Ok(files) => files,
        Err(exit) => return exit,
    };
    let wishes = match wishes(args, &files) {
        Ok(wishes) => wishes,
        Err(error) => {
            screen::error(&error);
            return Exit::Usage;
        }
    };
    let delivery = match Delivery::of(args) {
        Ok(delivery) => delivery,
        Err(error) => {
            screen::error(&error);
            return Exit::Environment;
        }
    };
    match audit(args, &files, &wishes) {
        Ok(Ended::Interrupted(exit)) => {
            screen::err("interrupted: the servers are gone, and nothing was reported\n");
            exit
        }
        Ok(Ended::Reported(report)) => delivery.deliver(&files, &report),
        Err(error) => {
            screen::error(&error);
            Exit::Environment
        }
    }
}

/// How a run ended.
enum Ended {
    Reported(Box<Report>),
    Interrupted(Exit),
}

fn wishes(args: &AuditArgs, files: &[Arc<PolicyFile>]) -> anyhow::Result<Wishes> {
    let mut states = vec![State::Healthy];
    if args.states.is_empty() {
        states.extend(files.iter().flat_map(|file| file.audited_states()));
    }
    for name in &args.states {
        match (name.as_str(), State::from_name(name)) {
            ("all", _) => states.extend(State::ALL.iter().copied().filter(|state| can_enter(*state))),
            (_, Some(state)) => states.push(state),
            (_, None) => {
                bail!(
                    "--states {name}: no such state{}; there are {} and all",
                    closest(name, State::names()),
                    State::names().collect::<Vec<_>>().join(", ")
                );
            }
        }
    }
    states.sort_unstable();
    states.dedup();
    if let Some(state) = states.iter().find(|state| !can_enter(**state)) {
        bail!(
            "{state}: this state needs a proxy between the clients and the server, which this version does not have yet; leave it out of `--states` or of the file's `states`"
        );
    }
    let uses = || files.iter().flat_map(|file| file.uses.iter().map(|used| used.name.as_str()));
    for name in &args.only {
        if !uses().any(|known| known == name) {
            bail!(
                "--only {name}: no policy file has a use of this name{}; there are {}",
                closest(name, uses()),
                uses().collect::<Vec<_>>().join(", ")
            );
        }
    }
    if let (Some(markdown), Some(json)) = (&args.markdown, &args.json)
        && markdown == json
    {
        bail!("--markdown and --json both name {}: give each a place of its own", markdown.display());
    }
    Ok(Wishes {
        states,
        only: args.only.clone(),
        samples: args.samples,
        give_up: args.give_up,
        serial: args.serial,
    })
}

fn audit(args: &AuditArgs, files: &[Arc<PolicyFile>], wishes: &Wishes) -> anyhow::Result<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime did not start")?;
    let progress = OnceLock::new();
    let ended = runtime.block_on(async {
        tokio::select! {
            // The signals are watched before the first process is started.
            biased;
            exit = interrupted() => Ok(Ended::Interrupted(exit)),
            ended = carried_out(args, files, wishes, &progress) => ended,
        }
    });
    if let Some(progress) = progress.get() {
        progress.finish();
    }
    // Ends what was interrupted, and with it the servers; the guard ends what this does not.
    runtime.shutdown_timeout(Duration::from_secs(2));
    ended
}

/// Starts what is needed, carries the plan out, and puts the report together.
async fn carried_out(
    args: &AuditArgs,
    files: &[Arc<PolicyFile>],
    wishes: &Wishes,
    progress: &OnceLock<Arc<Progress>>,
) -> anyhow::Result<Ended> {
    let binary = ServerBinary::find(args.redis_server.as_deref()).await?;
    let setinfo = binary.setinfo_waits();
    let exe = std::env::current_exe().context("the path of this program is not known")?;
    let workshop = Workshop::open(binary, exe).await?;
    let limits = Limits::of(open_file_limit(), ephemeral_ports());
    let plan = Arc::new(Plan::new(files.to_vec(), wishes, limits, setinfo));
    let watcher =
        Arc::clone(progress.get_or_init(|| Arc::new(Progress::new(args.quiet, plan.longest_chain()))));
    let name = format!("{:08x}", rand::random::<u32>());
    let seed = args.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    let events = Box::new(move |event| watcher.show(event));
    let run = Run::new(Arc::clone(&plan), workshop, name.clone(), seed, events);
    let observations = run.carry_out(args.deadline).await?;
    let info = RunInfo { run: name, seed, setinfo };
    Ok(Ended::Reported(Box::new(report::assemble(&plan, observations, &info))))
}

/// Returns when the user or the system asks the audit to stop.
async fn interrupted() -> Exit {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the signals end the process at once, and the reaper ends its servers.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => Exit::Interrupted,
        _ = terminate.recv() => Exit::Terminated,
    }
}

/// How many ports the system has for outgoing connections.
fn ephemeral_ports() -> usize {
    const USUAL: usize = 28_000;
    let Ok(range) = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range") else { return USUAL };
    let mut ends = range.split_whitespace().map(str::parse::<usize>);
    match (ends.next(), ends.next()) {
        (Some(Ok(first)), Some(Ok(last))) if last > first => last - first,
        _ => USUAL,
    }
}
