//! The progress line on standard error: what is being done, and how long it can still take.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use redis_outage_audit::run::Event;
use redis_outage_audit::words::{State, declared};

/// A line that is redrawn while the audit runs; hidden in a pipe, in CI, and where quiet was asked for.
pub(crate) struct Progress {
    bar: ProgressBar,
    longest: Duration,
    busy: Mutex<Vec<State>>,
}

impl Progress {
    /// A line for a run whose outage states take this long.
    pub(crate) fn new(quiet: bool, longest: Duration) -> Progress {
        let hidden = quiet || std::env::var_os("CI").is_some();
        let bar = ProgressBar::new_spinner();
        if hidden {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        bar.set_message("starting a server");
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress { bar, longest, busy: Mutex::new(Vec::new()) }
    }

    /// Shows what has begun or ended.
    pub(crate) fn show(&self, event: Event) {
        let mut busy = self.busy.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match event {
            Event::ControlBegins => {
                self.bar.set_message("healthy: one call at a time");
                return;
            }
            Event::ControlEnded => {}
            Event::StateBegins(state) => busy.push(state),
            Event::StateEnded(state) => {
                if let Some(index) = busy.iter().position(|other| *other == state) {
                    busy.swap_remove(index);
                }
            }
        }
        self.bar.set_message(message(&busy, self.longest));
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// What is being waited for, and for how long at most.
fn message(busy: &[State], longest: Duration) -> String {
    let mut states = busy.to_vec();
    states.sort_unstable();
    states.dedup();
    let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
    if names.is_empty() {
        return "waiting for the servers".to_owned();
    }
    format!("{}: calls one after the other take up to {}", names.join(", "), declared(longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_each_state_once_and_how_long_it_can_take() {
        let busy = [State::Stopped, State::Paused, State::Stopped];
        let says = message(&busy, Duration::from_millis(4_500));
        assert_eq!(says, "paused, stopped: calls one after the other take up to 4.5 s");
        assert!(says.len() < 70, "it fits beside the spinner and the time");
        assert_eq!(message(&[], Duration::from_secs(4)), "waiting for the servers");
    }
}
