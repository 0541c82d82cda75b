//! `--dry-run`: what an audit of a server that exists would do.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use redis_outage_audit::kinds::ProbeId;
use redis_outage_audit::plan::Plan;
use redis_outage_audit::redis::{Attached, Touch, states};
use redis_outage_audit::words::declared;

/// What would be done, in lines.
pub(crate) fn says(attached: &Attached, plan: &Plan, left_out: &[String], run: &str) -> String {
    let mut text = String::new();
    let (server, allow) = (attached.info(), attached.allow());
    let _ =
        writeln!(text, "{}: {} {}; nothing was changed", attached.endpoint(), server.name, server.version);
    text.push_str("guards: its address, role, replicas, Sentinels, other clients and keys are as they must be, or allowed\n");
    let connections = plan.batches.iter().map(|batch| batch.connections).max();
    let _ = writeln!(
        text,
        "connections: up to {} of the probes at once, of {} that are free",
        connections.unwrap_or(0),
        attached.connections()
    );
    let _ = writeln!(
        text,
        "keys: all carry audit-{run}-, have names of their own, and are removed one by one at the end"
    );
    let _ = writeln!(text, "commands: {}", commands(plan, run).into_iter().collect::<Vec<_>>().join(", "));
    for &state in &plan.states {
        let touch = Touch::of(state);
        let _ = write!(text, "{state}: {}", touch.says());
        if touch == Touch::Pause {
            let longest = plan.batches.iter().filter(|batch| batch.state == state).map(|batch| batch.bound);
            let longest = longest.max().unwrap_or_default();
            let times = plan.batches.iter().filter(|batch| batch.state == state).count();
            let _ = write!(
                text,
                "; {times} of them, for {} at most by what is declared, and none above {}",
                declared(longest),
                declared(allow.max_pause)
            );
        }
        if let (Touch::Process, Some(hooks)) = (touch, &allow.hooks) {
            let _ = write!(text, ": `{}`, `{}`", hooks.stop.join(" "), hooks.start.join(" "));
        }
        if touch == Touch::Settings {
            let _ = write!(text, ": {}", states::settings(state).join(", "));
            if states::closes_connections(state) {
                text.push_str("; the connections of all clients are closed");
            }
        }
        text.push('\n');
    }
    for why in left_out {
        let _ = writeln!(text, "left out: {why}");
    }
    text
}

/// The commands that the audited uses and the audit itself send.
fn commands(plan: &Plan, run: &str) -> BTreeSet<String> {
    let id = ProbeId::new(run, 0);
    let uses = plan.files.iter().flat_map(|file| &file.uses).filter(|used| plan.wants(used));
    let mut names: BTreeSet<String> = uses
        .flat_map(|used| {
            let operations = used.operations.iter();
            operations.flat_map(|operation| operation.operation.steps(&used.call(&id))).collect::<Vec<_>>()
        })
        .map(|step| step.command.name().to_ascii_uppercase())
        .collect();
    let own = [
        "PING", "INFO", "CLIENT", "SCAN", "DEL", "EXISTS", "TYPE", "PTTL", "MGET", "LRANGE", "SET", "PEXPIRE",
    ];
    names.extend(own.map(str::to_owned));
    if plan.states.iter().any(|state| state.is_outage()) {
        names.insert("MONITOR".to_owned());
    }
    for &state in &plan.states {
        let settings = states::settings(state);
        names.extend((!settings.is_empty()).then(|| "CONFIG".to_owned()));
        names.extend(settings.contains(&"replicaof").then(|| "REPLICAOF".to_owned()));
    }
    if names.contains("EVALSHA") {
        names.extend(["EVAL", "SCRIPT LOAD"].map(str::to_owned));
    }
    names
}
