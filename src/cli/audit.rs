//! `audit`: plan, run, judge, report.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, bail};
use redis_outage_audit::plan::{Plan, Wishes};
use redis_outage_audit::policy::PolicyFile;
use redis_outage_audit::redis::{Allow, ServerError, Servers};
use redis_outage_audit::report::{self, Report, RunInfo};
use redis_outage_audit::run::Run;
use redis_outage_audit::words::{State, closest};
use tokio::signal::unix::{SignalKind, signal};

use super::args::AuditArgs;
use super::attach::Wrong;
use super::deliver::Delivery;
use super::exit::Exit;
use super::ground::{Borrowed, Ground};
use super::progress::Progress;
use super::{dry_run, ground, load, screen};

/// Runs the audit.
pub(crate) fn run(args: &AuditArgs) -> Exit {
    let files = match load::load(&args.policies) {
        Ok(files) => files,
        Err(exit) => return exit,
    };
    let wished =
        args.attach.allow(&files).and_then(|allow| Ok((wishes(args, &files, allow.as_ref())?, allow)));
    let (wishes, allow) = match wished {
        Ok(wished) => wished,
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
    let (ended, left) = audit(args, &files, &wishes, allow.as_ref());
    left.or(match ended {
        Ok(Ended::Interrupted(exit)) => {
            let servers = if allow.is_some() { "the server is let go" } else { "the servers are gone" };
            screen::err(&format!("interrupted: {servers}, and nothing was reported\n"));
            exit
        }
        Ok(Ended::Reported(report)) => delivery.deliver(&files, &report),
        Ok(Ended::Said(text)) => screen::out(&screen::wrapped(&text, screen::width())),
        Err(error) => {
            screen::error(&error);
            exit_of(&error)
        }
    })
}

/// What is refused before anything was done is the command line's to mend, all else the environment's.
fn exit_of(error: &anyhow::Error) -> Exit {
    let refused = matches!(error.downcast_ref(), Some(ServerError::Refused { .. }));
    if refused || error.is::<Wrong>() { Exit::Usage } else { Exit::Environment }
}

/// How a run ended.
enum Ended {
    Reported(Box<Report>),
    Interrupted(Exit),
    /// Nothing was to be done but to say what would be.
    Said(String),
}

fn wishes(args: &AuditArgs, files: &[Arc<PolicyFile>], allow: Option<&Allow>) -> anyhow::Result<Wishes> {
    let mut states = vec![State::Healthy];
    if args.states.is_empty() {
        states.extend(files.iter().flat_map(|file| file.audited_states()));
    }
    for name in args.states() {
        match (name, State::from_name(name)) {
            ("", _) => bail!(
                "--states: a name is empty; write `--states paused,stopped`, `--states all`, or leave it out for the default ones"
            ),
            ("all", _) => states.extend(State::ALL),
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
    if let Some(allow) = allow {
        // What was asked for by name is refused, and what was not is left out once the server was seen.
        let by_name = states.iter().filter(|state| args.names(**state));
        let refused: Vec<String> = by_name.filter_map(|state| allow.refuses(*state)).collect();
        if !refused.is_empty() {
            bail!("{}", refused.join("\n"));
        }
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
        // One server can be in one state at a time.
        serial: args.serial || allow.is_some(),
    })
}

/// Carries the audit out and leaves a server that exists as it was: how it ended, and how it was left.
fn audit(
    args: &AuditArgs,
    files: &[Arc<PolicyFile>],
    wishes: &Wishes,
    allow: Option<&Allow>,
) -> (anyhow::Result<Ended>, Exit) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime.context("the asynchronous runtime did not start") {
        Ok(runtime) => runtime,
        Err(error) => return (Err(error), Exit::Conforms),
    };
    let (progress, borrowed) = (OnceLock::new(), Borrowed::new());
    let carried_out = || {
        runtime.block_on(async {
            tokio::select! {
                // The signals are watched before the first process is started.
                biased;
                exit = interrupted() => Ok(Ended::Interrupted(exit)),
                ended = carried_out(args, files, wishes, allow, &progress, &borrowed) => ended,
            }
        })
    };
    let ended = std::panic::catch_unwind(AssertUnwindSafe(carried_out));
    if let Some(progress) = progress.get() {
        progress.finish();
    }
    let finished = matches!(ended, Ok(Ok(Ended::Reported(_) | Ended::Said(_)))) && args.deadline.is_none();
    let left = runtime.block_on(ground::leave(&borrowed, !finished));
    // Ends what was interrupted, and with it the servers; the guard ends what this does not.
    runtime.shutdown_timeout(Duration::from_secs(2));
    match ended {
        Ok(ended) => (ended, left),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Finds what is needed, carries the plan out, and puts the report together.
async fn carried_out(
    args: &AuditArgs,
    files: &[Arc<PolicyFile>],
    wishes: &Wishes,
    allow: Option<&Allow>,
    progress: &OnceLock<Arc<Progress>>,
    borrowed: &Borrowed,
) -> anyhow::Result<Ended> {
    let name = format!("{:08x}", rand::random::<u32>());
    let Ground { servers, setinfo, limits, notes } = ground::find(args, allow, &name, borrowed).await?;
    let (wishes, left_out) = match &servers {
        Servers::Attached(attached) => ground::leave_out(wishes, attached, args),
        Servers::Owned(_) => (wishes.clone(), Vec::new()),
    };
    let mut plan = Plan::new(files.to_vec(), &wishes, limits, setinfo);
    plan.notes.extend(notes);
    plan.notes.extend(left_out.iter().map(|why| format!("left out: {why}")));
    if let Servers::Attached(attached) = &servers {
        ground::hold_within(&plan, attached)?;
        if args.attach.dry_run {
            return Ok(Ended::Said(dry_run::says(attached, &plan, &left_out, &name)));
        }
    }
    let plan = Arc::new(plan);
    let watcher =
        Arc::clone(progress.get_or_init(|| Arc::new(Progress::new(args.quiet, plan.longest_chain()))));
    let seed = args.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    let events = Box::new(move |event| watcher.show(event));
    let run = Run::new(Arc::clone(&plan), servers, name.clone(), seed, events);
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
