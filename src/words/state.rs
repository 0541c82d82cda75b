//! What is fixed about a state that Redis can be in; which ones there are is `states`, and how each is entered, proven and
//! left is `redis::states`.

use std::time::Duration;

pub use super::states::State;

/// The parameter of a state in which requests of a key fail by turns: how many in a row.
pub const FAILURES: &str = "failures";

/// Whether a state lasts or happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It is held over time: the calls are made while it lasts.
    Condition,
    /// It happens once, to clients that are connected: the calls are made on the server that answers after it.
    Event,
}

/// Where a state is brought about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// On the server itself.
    Server,
    /// In a proxy between the clients and the server.
    Proxy,
}

/// What an attempt waits for in a state, which decides what it can cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// For nothing: it is answered, rejected, refused or reset at once.
    Nothing,
    /// For a server that accepts connections and runs no command, but may reject an unknown one.
    Paused,
    /// For a server that answers reads and lets writes wait.
    Writes,
    /// For a server whose process runs nothing at all, while its kernel still accepts connections.
    Frozen,
    /// For a network that brings no answer, and accepts no new connection either.
    Network,
    /// For a network that is slow, by as much as the state is told.
    Latency,
}

/// What is left of what was stored before a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// All that the server's own persistence keeps.
    All,
    /// All but what was written after the replica was cut off.
    AllButTheLast,
    /// Nothing.
    Nothing,
}

/// A parameter of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterSpec {
    /// The name in policy files.
    pub name: &'static str,
    /// What it is where the file does not say, and so what sort of value it takes.
    pub default: Parameter,
    /// What it sets.
    pub says: &'static str,
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// A duration.
    Duration(Duration),
    /// A whole number.
    Count(u64),
}

/// What is fixed about a state.
#[derive(Debug)]
pub struct StateFacts {
    /// The name in policy files, on the command line and in reports.
    pub name: &'static str,
    /// Whether it lasts or happens.
    pub form: Form,
    /// Whether the clients connect for the first time while it lasts.
    pub cold: bool,
    /// Where it is brought about.
    pub by: By,
    /// Whether it is audited where neither the command line nor the policy file names states.
    pub by_default: bool,
    /// What an attempt waits for.
    pub waits: Waits,
    /// Whether what an attempt sent can still run once the state has ended, so that a state that ends inside of a call
    /// shows what a second attempt is told.
    pub straddles: bool,
    /// Whether some commands are answered meanwhile: what a call comes to then depends on its commands.
    pub answers: bool,
    /// What is left of what was stored before.
    pub keeps: Keeps,
    /// What a policy file can say of it.
    pub takes: &'static [ParameterSpec],
    /// How the audit brings the state about, in one sentence.
    pub how: &'static str,
    /// What it reproduces of a real outage.
    pub reproduces: &'static str,
    /// What it does not reproduce.
    pub lacks: &'static str,
    /// What becomes of a command that was sent in it, or of what was stored before it.
    pub fate: &'static str,
    /// On which systems.
    pub systems: &'static str,
    /// A public report of such an outage; empty for the control.
    pub reported: &'static str,
}

impl State {
    /// The states that are audited where nobody names any.
    pub fn by_default() -> impl Iterator<Item = State> {
        State::ALL.iter().copied().filter(|state| state.facts().by_default)
    }

    /// The states in which something is wrong.
    pub fn outages() -> impl Iterator<Item = State> {
        State::ALL.iter().copied().filter(|state| state.is_outage())
    }

    /// The names of all states.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        State::ALL.iter().map(|state| state.name())
    }

    /// The name in policy files, on the command line and in reports.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The state of this name.
    pub fn from_name(name: &str) -> Option<State> {
        State::ALL.iter().copied().find(|state| state.name() == name)
    }

    /// Whether something is wrong with Redis in this state.
    pub fn is_outage(self) -> bool {
        self != State::Healthy
    }

    /// Whether an operation may be answered in it: then its declared outage policy may not come into play.
    pub fn may_answer(self, writes: bool) -> bool {
        self.facts().answers && !(writes && self.facts().waits == Waits::Writes)
    }

    /// Whether scenarios are played in it. Where requests of a key fail by turns, callers that share one take turns from
    /// each other: what became of them would be chance.
    pub fn is_played(self) -> bool {
        !self.facts().takes.iter().any(|known| known.name == FAILURES)
    }

    /// Whether the clients connect for the first time while it lasts.
    pub fn is_cold(self) -> bool {
        self.facts().cold
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_named_as_it_is_serialised_and_says_what_it_does_and_does_not_reproduce() {
        for state in State::ALL {
            let facts = state.facts();
            assert_eq!(serde_json::to_value(state).unwrap(), facts.name);
            assert_eq!(State::from_name(facts.name), Some(*state));
            for text in [facts.how, facts.reproduces, facts.lacks, facts.fate, facts.systems] {
                assert!(text.len() > 4, "{state}: {text}");
            }
            assert_eq!(facts.reported.starts_with("https://"), state.is_outage(), "{state}");
            assert!(
                !(facts.cold && facts.form == Form::Event),
                "{state}: an event happens to clients that are connected"
            );
        }
    }

    #[test]
    fn scenarios_are_played_wherever_callers_take_no_turns_from_each_other() {
        let not_played: Vec<_> = State::ALL.iter().filter(|state| !state.is_played()).collect();
        assert_eq!(not_played, [&State::Flapping]);
    }

    #[test]
    fn three_states_are_audited_where_nobody_names_any() {
        assert_eq!(State::by_default().collect::<Vec<_>>(), [State::Healthy, State::Paused, State::Stopped]);
    }
}
