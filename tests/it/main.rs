//! Tests against a real server, in one program so that linking stays cheap.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod aftermath;
mod answering;
mod attached;
mod attached_changes;
mod attached_doors;
mod cli_costs;
mod cli_ends;
mod cli_limits;
mod cli_portfolio;
mod cli_reports;
mod command;
mod correctness;
mod docs;
mod existing;
mod field_reports;
mod lost_data;
mod processes;
mod proxied;
mod proxy;
mod proxy_keys;
mod recovery;
mod redis_conditions;
mod redis_reaper;
mod redis_servers;
mod redis_states;
mod shown;
mod straddling;
mod support;
