//! The states that Redis can be in, as words; how each is entered, proven and left is `redis::states`.

use serde::{Deserialize, Serialize};

/// What is wrong with Redis while operations are probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing is wrong: the control that every other state is compared with.
    Healthy,
    /// Connections stay open and nothing is answered (`CLIENT PAUSE`).
    Paused,
    /// The process is gone and its port refuses, after the clients had connected.
    Stopped,
}

impl State {
    /// Every state, in the order in which reports show them.
    pub const ALL: [State; 3] = [State::Healthy, State::Paused, State::Stopped];

    /// The states in which something is wrong.
    pub fn outages() -> impl Iterator<Item = State> {
        State::ALL.into_iter().filter(|state| state.is_outage())
    }

    /// The name in policy files, on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            State::Healthy => "healthy",
            State::Paused => "paused",
            State::Stopped => "stopped",
        }
    }

    /// The state of this name.
    pub fn from_name(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether something is wrong with Redis in this state.
    pub fn is_outage(self) -> bool {
        self != State::Healthy
    }

    /// How the audit brings the state about, in one sentence.
    pub fn how(self) -> &'static str {
        match self {
            State::Healthy => "a redis-server that answers; the control",
            State::Paused => "CLIENT PAUSE ALL, after the clients had connected",
            State::Stopped => {
                "the process is killed after the clients had connected, its port refuses, and it starts again with its data"
            }
        }
    }

    /// What the state reproduces of a real outage, and what it does not.
    pub fn fidelity(self) -> &'static str {
        match self {
            State::Healthy => {
                "one server on loopback: no network in between, so its latency is a lower bound for yours"
            }
            State::Paused => {
                "reproduces a server that keeps its connections and answers nothing (a long command, a stalled disk, a silent network); the kernel still accepts connections; a command whose connection was closed is dropped, where a frozen process would run it later"
            }
            State::Stopped => {
                "reproduces a crashed process on a host that is up: connections are reset, new ones refused at once; a host that is gone answers nothing instead, and costs the connect timeout"
            }
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
