//! What an audit of a server that is not ours may do, and which state needs what.

use std::path::PathBuf;
use std::time::Duration;

use crate::policy::Hooks;
use crate::words::{State, declared};

/// What the user allows.
#[derive(Debug, Clone)]
pub struct Allow {
    /// Hosts that are not this machine.
    pub hosts: Vec<String>,
    /// That others are connected, who share whatever the server is put through.
    pub other_clients: bool,
    /// That the server holds keys that are not the audit's.
    pub keys: bool,
    /// That settings are changed, and put back.
    pub config: bool,
    /// The longest that the server may be paused at a time.
    pub max_pause: Duration,
    /// How it is stopped and started.
    pub hooks: Option<Hooks>,
    /// The journal's file; none for one in [`super::journals`].
    pub journal: Option<PathBuf>,
}

/// What a state does to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// Nothing that anybody else could notice.
    Nothing,
    /// It is paused, which ends by itself.
    Pause,
    /// Settings are changed.
    Settings,
    /// Its process is stopped and started again.
    Process,
    /// What only a server may be put through that nobody else will ever use.
    OnlyOwned,
}

impl Touch {
    /// What this state does.
    pub fn of(state: State) -> Touch {
        match state {
            State::Healthy => Touch::Nothing,
            State::Paused | State::PausedCold | State::WritesPaused => Touch::Pause,
            State::Stopped | State::NeverUp => Touch::Process,
            State::OutOfMemory
            | State::ReadOnly
            | State::ReplicaCutOff
            | State::NoReplicas
            | State::AuthRejected
            | State::TooManyClients => Touch::Settings,
            // The signal needs the process; the data would be gone; a connection of somebody else could be killed; a
            // script would run on if the audit died.
            State::Frozen
            | State::FrozenCold
            | State::RestartedEmpty
            | State::FailoverLostWrite
            | State::ConnectionsKilled
            | State::Loading
            | State::Busy
            | State::DiskFailed => Touch::OnlyOwned,
            // The proxy is the audit's own.
            State::Slow | State::ReplyLost | State::CutMidReply | State::BlackHole | State::Flapping => {
                Touch::Nothing
            }
        }
    }

    /// What it comes to, for `--dry-run`.
    pub fn says(self) -> &'static str {
        match self {
            Touch::Nothing => "nothing is changed",
            Touch::Pause => "CLIENT PAUSE, lifted as soon as the last call has ended",
            Touch::Settings => {
                "CONFIG SET, each setting written to the journal first and put back at the end"
            }
            Touch::Process => "the stop hook, then the start hook",
            Touch::OnlyOwned => "not on a server that is not the audit's own",
        }
    }
}

impl Allow {
    /// Why a state may not be brought about, with what lifts that; none where it may.
    pub fn refuses(&self, state: State) -> Option<String> {
        let why = match Touch::of(state) {
            Touch::Nothing | Touch::Pause => return None,
            Touch::Settings if self.config => return None,
            Touch::Process if self.hooks.is_some() => return None,
            Touch::Settings => "it changes settings of the server; --allow-config allows it",
            Touch::Process => {
                "it needs a hand on the process; say under `server` in the policy file how it is stopped and started: `hooks: {stop: [docker, stop, redis], start: [docker, start, redis]}`"
            }
            Touch::OnlyOwned => {
                "only a server that the audit started itself is put through it; leave out --redis-url"
            }
        };
        Some(format!("{state}: {why}"))
    }

    /// Why a pause of this length may not be, with what lifts that.
    pub fn refuses_pause(&self, state: State, needed: Duration) -> Option<String> {
        let pauses = Touch::of(state) == Touch::Pause && needed >= self.max_pause;
        // Up to the next whole second, which is what somebody would write.
        let enough = Duration::from_secs(needed.as_secs() + 1);
        pauses.then(|| {
            format!(
                "{state}: its longest call can wait for {}, and a pause may last {}; --max-pause {}s allows it, and --give-up ends calls earlier",
                declared(needed), declared(self.max_pause), enough.as_secs()
            )
        })
    }
}

#[cfg(test)]
impl Allow {
    /// No flag at all.
    pub(super) fn nothing() -> Allow {
        Allow {
            hosts: Vec::new(),
            other_clients: false,
            keys: false,
            config: false,
            max_pause: Duration::from_secs(10),
            hooks: None,
            journal: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_flag_only_what_ends_by_itself_is_allowed_and_each_refusal_names_its_flag() {
        let allow = Allow::nothing();
        assert_eq!([State::Healthy, State::Paused].map(|state| allow.refuses(state)), [None, None]);
        let says = |state, text| {
            let why = allow.refuses(state).unwrap();
            assert!(why.starts_with(state.name()) && why.contains(text), "{why}");
        };
        says(State::OutOfMemory, "--allow-config");
        says(State::Stopped, "hooks:");
        says(State::Frozen, "leave out --redis-url");
        let config = Allow { config: true, ..Allow::nothing() };
        assert_eq!(config.refuses(State::AuthRejected), None);
        assert!(config.refuses(State::DiskFailed).is_some(), "no flag lays a hand on somebody else's disk");
    }

    #[test]
    fn a_pause_that_could_not_outlast_the_calls_is_refused_with_the_length_that_could() {
        let allow = Allow::nothing();
        let refused = |millis| allow.refuses_pause(State::Paused, Duration::from_millis(millis));
        assert_eq!(refused(9_999), None);
        let why = refused(12_300).unwrap();
        assert!(why.contains("12.3 s") && why.contains("--max-pause 13s"), "{why}");
        assert_eq!(allow.refuses_pause(State::Healthy, Duration::from_secs(60)), None);
    }
}
