//! What the audit stands on: servers of its own, or one that exists; and how it leaves it.

use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use redis_outage_audit::plan::{Limits, Plan, Wishes};
use redis_outage_audit::redis::{Allow, Attached, ServerBinary, Servers, Workshop, open_file_limit};
use redis_outage_audit::run::clean;

use super::args::AuditArgs;
use super::attach::Wrong;
use super::exit::Exit;
use super::screen;

/// What the audit stands on.
pub(crate) struct Ground {
    pub(crate) servers: Servers,
    /// Whether `CLIENT SETINFO` waits in a pause there.
    pub(crate) setinfo: bool,
    pub(crate) limits: Limits,
    /// What a reader of the report has to know of it.
    pub(crate) notes: Vec<String>,
}

/// A server that exists and what the audit did there, so that it can be left as it was however the audit ends.
pub(crate) type Borrowed = OnceLock<(Arc<Attached>, String)>;

/// Finds servers for this run: its own, or the one that is named, which is then remembered.
pub(crate) async fn find(
    args: &AuditArgs,
    allow: Option<&Allow>,
    run: &str,
    borrowed: &Borrowed,
) -> Result<Ground> {
    let limits = Limits::of(open_file_limit(), ephemeral_ports());
    if let (Some(candidates), Some(allow)) = (args.attach.target.candidates().await?, allow) {
        let attached = Attached::open(&candidates, allow.clone(), run).await?;
        // Nothing was done to it yet, so nobody else has set it.
        let _ = borrowed.set((Arc::clone(&attached), run.to_owned()));
        let limits = limits.on_one_server(attached.connections());
        let (setinfo, notes) = (attached.version().setinfo_waits(), attached.notes());
        return Ok(Ground { servers: Servers::Attached(attached), setinfo, limits, notes });
    }
    let binary = ServerBinary::find(args.redis_server.as_deref()).await?;
    let setinfo = binary.version.setinfo_waits();
    let exe = std::env::current_exe().context("the path of this program is not known")?;
    let workshop = Workshop::open(binary, exe).await?;
    Ok(Ground { servers: Servers::Owned(workshop), setinfo, limits, notes: Vec::new() })
}

/// Leaves out the states that were not asked for by name and that this server may not be put into: what is wished for
/// then, and of each that is left out why, with what lifts that.
pub(crate) fn leave_out(wishes: &Wishes, attached: &Attached, args: &AuditArgs) -> (Wishes, Vec<String>) {
    let mut wishes = wishes.clone();
    let mut left_out = Vec::new();
    wishes.states.retain(|state| match attached.refuses(*state) {
        Some(why) if !args.names(*state) => {
            left_out.push(why);
            false
        }
        _ => true,
    });
    (wishes, left_out)
}

/// Refuses a plan that would hold a server up for longer than is allowed, or do to it what can't be done.
pub(crate) fn hold_within(plan: &Plan, attached: &Attached) -> Result<()> {
    let states = plan.states.iter().filter_map(|state| attached.refuses(*state));
    let pauses =
        plan.batches.iter().filter_map(|batch| attached.allow().refuses_pause(batch.state, batch.bound));
    let mut refused: Vec<String> = states.chain(pauses).collect();
    refused.dedup();
    if refused.is_empty() { Ok(()) } else { Err(Wrong(refused.join("\n")).into()) }
}

/// Leaves a server that exists as it was: nothing held up, nothing changed, no key of the run. `thorough` where the run
/// did not come to its end, and so did not clean up itself.
pub(crate) async fn leave(borrowed: &Borrowed, thorough: bool) -> Exit {
    let Some((attached, run)) = borrowed.get() else { return Exit::Conforms };
    // Tasks that were called off end at their next turn, and let go of the server.
    tokio::task::yield_now().await;
    let mut exit = Exit::Conforms;
    if let Err(error) = attached.put_back().await {
        screen::error(&error.into());
        exit = Exit::NotPutBack;
    }
    if !thorough {
        return exit;
    }
    let left = match clean(attached.endpoint(), run).await {
        Ok(left) if left.is_empty() => return exit,
        Ok(left) => left.join(", "),
        Err(error) => error.to_string(),
    };
    screen::error(&anyhow::anyhow!(
        "{}: keys of the audit's own could not be removed ({left}); they carry `audit-{run}-` in their names: remove them by hand",
        attached.endpoint()
    ));
    exit.or(Exit::NotPutBack)
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
