//! A state that has to end inside the calls: whether it did.
//!
//! The plan chooses the instant, and a busy machine can miss it. Where the state was still there at the second
//! attempt's deadline, the calls show what a state shows that outlasts them, and that must not be told as anything else.

use super::actor::{Outcome, Part};
use super::outage::Acted;
use crate::clients::Clock;
use crate::observe::{Probe, Proof};
use crate::words::Reply;

/// The end of a state, as it is being ended.
pub(super) struct Ending {
    began_us: u64,
}

/// The end of a state that is over: it came between these two.
pub(super) struct Ended {
    began_us: u64,
    over_us: u64,
}

impl Ending {
    /// The state is about to be ended.
    pub(super) fn begins(clock: Clock) -> Ending {
        Ending { began_us: clock.now_us() }
    }

    /// The server answers again.
    pub(super) fn over(self, clock: Clock) -> Ended {
        Ended { began_us: self.began_us, over_us: clock.now_us() }
    }
}

impl Ended {
    /// The state's own proof, if it also ended inside the first call of each caller.
    pub(super) fn proof(&self, proof: Proof, acted: &[Acted]) -> Proof {
        let Proof::Held(shown) = proof else { return proof };
        let first_calls = acted.iter().filter_map(|acted| match (&acted.part, &acted.outcome) {
            (Part::Caller(_, caller), Some(Outcome::Caller(played))) if caller.begins_at_once() => {
                played.first().map(|(_, first)| &first.probe)
            }
            _ => None,
        });
        match first_calls.filter_map(|call| self.missed(call)).next() {
            Some(why) => Proof::NotProven(why.to_owned()),
            None => Proof::Held(format!(
                "{shown}; it ended after the first attempts' deadline and before the second's"
            )),
        }
    }

    /// Why the state did not end between the first attempt's deadline and the second one's.
    fn missed(&self, call: &Probe) -> Option<&'static str> {
        let first = call.attempts.first()?;
        if !matches!(first.reply, Reply::TimedOut(_)) || first.ended_us > self.began_us {
            return Some("the state may have ended before a first attempt's deadline");
        }
        let second = call.attempts.get(1)?;
        let given_up = matches!(second.reply, Reply::TimedOut(_)) && second.ended_us <= self.over_us;
        given_up.then_some("the state may have ended after a second attempt's deadline")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Attempt;
    use crate::words::{Answer, Phase};

    const TIMED_OUT: Reply = Reply::TimedOut(Phase::Command);

    /// A call whose attempts ended then, and so.
    fn missed(attempts: &[(u64, Reply)]) -> bool {
        let attempts: Vec<Attempt> = attempts
            .iter()
            .zip(1..)
            .map(|((ended_us, reply), number)| {
                Attempt::new("SET".to_owned(), number, 0, *ended_us, reply.clone(), Some(7))
            })
            .collect();
        let call = Probe {
            id: "p".to_owned(),
            sent_us: 0,
            ended_us: 1_000,
            reply: TIMED_OUT,
            own_key: false,
            attempts,
        };
        Ended { began_us: 450, over_us: 460 }.missed(&call).is_some()
    }

    #[test]
    fn a_state_ended_inside_a_call_whose_first_attempt_was_given_up_and_whose_second_was_not() {
        let answered = Reply::Answered(Answer::No);
        assert!(!missed(&[(300, TIMED_OUT), (455, answered.clone())]));
        assert!(!missed(&[(300, TIMED_OUT), (600, TIMED_OUT)]), "it ended while the second attempt waited");
        assert!(missed(&[(300, TIMED_OUT), (449, TIMED_OUT)]), "too late");
        assert!(missed(&[(300, TIMED_OUT), (455, TIMED_OUT), (456, answered.clone())]), "nobody can say");
        assert!(missed(&[(200, answered.clone())]), "it never was");
        assert!(missed(&[(451, TIMED_OUT), (500, answered)]), "too early");
    }

    #[test]
    fn a_second_attempt_that_did_not_wait_says_nothing() {
        assert!(!missed(&[(300, TIMED_OUT), (301, Reply::NotConnected)]));
    }
}
