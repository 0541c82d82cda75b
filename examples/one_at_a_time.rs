//! Makes healthy calls with the built-in probe, one at a time, against a server that runs already.
//!
//! `one_at_a_time ADDRESS POLICIES CALLS [USE.OPERATION]...` prints a line for each operation of the policy file, or
//! for those named: its name, the commands that a call sends, and the median of its calls in microseconds.
//! `scripts/bench healthy` runs it in turns with redis-benchmark.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use redis_outage_audit::clients::{Clock, ProbeClient};
use redis_outage_audit::endpoint::Endpoint;
use redis_outage_audit::kinds::ProbeId;
use redis_outage_audit::policy::{Backend, Use, UseOperation, load};
use redis_outage_audit::words::Reply;

const GIVE_UP: Duration = Duration::from_secs(15);

/// A current-thread runtime, as the audit itself has.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [addr, policies, calls, only @ ..] = arguments.as_slice() else {
        bail!("usage: one_at_a_time ADDRESS POLICIES CALLS [USE.OPERATION]...");
    };
    let target = Endpoint::plain(addr.parse::<SocketAddr>().context("the address")?);
    let calls: u64 = calls.parse().context("the number of calls")?;
    ensure!(calls > 0, "the number of calls has to be above zero");
    let file =
        load(Path::new(policies)).map_err(|_| anyhow::anyhow!("{policies}: `audit check` says why"))?;
    for used in file.uses.iter().filter(|used| used.backend == Backend::Redis) {
        for operation in &used.operations {
            let name = format!("{}.{}", used.name, operation.name());
            if only.is_empty() || only.contains(&name) {
                let (commands, p50_us) =
                    measure(&target, used, operation, calls).await.context(name.clone())?;
                println!("{name},{},{p50_us}", commands.join("+"));
            }
        }
    }
    Ok(())
}

/// The commands that the operation sends, and the median of so many calls.
async fn measure(
    target: &Endpoint,
    used: &Use,
    operation: &UseOperation,
    calls: u64,
) -> anyhow::Result<(Vec<String>, u64)> {
    let operation = &operation.operation;
    let mut client = ProbeClient::warmed_up(Arc::new(used.client.clone()), target.clone(), Clock::start(), 0)
        .await
        .map_err(|reply| anyhow::anyhow!("no connection to {target}: {}", reply.class()))?;
    // Keys of its own in each process, so that no call meets what an earlier run left behind.
    let run = format!("bench-{}", std::process::id());
    let ids: Vec<ProbeId> = (0..calls).map(|number| ProbeId::new(&run, number)).collect();
    for id in &ids {
        client.call(id, &operation.prepare(&used.call(id)), GIVE_UP).await;
    }
    let steps: Vec<_> = ids.iter().map(|id| operation.steps(&used.call(id))).collect();
    let mut costs = Vec::new();
    let mut commands = Vec::new();
    for (id, steps) in ids.iter().zip(&steps) {
        let probe = client.call(id, steps, GIVE_UP).await;
        ensure!(matches!(probe.reply, Reply::Answered(_)), "not answered: {}", probe.reply.class());
        costs.push(probe.cost_us());
        commands = probe.attempts.into_iter().map(|attempt| attempt.command).collect();
    }
    costs.sort_unstable();
    Ok((commands, costs[costs.len() / 2]))
}
