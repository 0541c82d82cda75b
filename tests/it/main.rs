//! Tests against a real server, in one program so that linking stays cheap.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod aftermath;
mod cli_costs;
mod cli_ends;
mod cli_portfolio;
mod cli_reports;
mod command;
mod correctness;
mod docs;
mod processes;
mod redis_reaper;
mod redis_servers;
mod redis_states;
mod support;
