//! What a use gets wrong without any outage.

use super::found::{Found, Subject};
use super::proof::Believable;
use crate::observe::{Protocol, Replayed};
use crate::policy::{PolicyFile, Use};
use crate::words::{Code, State, declared, human_us};

/// The findings on replays.
pub(super) fn findings(file: &PolicyFile, replays: &[&Replayed], believable: &Believable) -> Vec<Found> {
    let mut found = Vec::new();
    for replay in replays {
        let used = &file.uses[replay.use_index];
        for (code, operation, observed, cause, knob) in departures(used, &replay.what) {
            let Some(operation_index) = used.operation(operation) else { continue };
            if !believable.operation(replay.use_index, operation_index) {
                continue;
            }
            found.push(Found {
                code,
                subject: Subject::Operation { use_index: replay.use_index, operation_index },
                state: Some(State::Healthy),
                at: used.at,
                basis: code.basis(),
                seen: None,
                declared: settings(used, operation),
                observed,
                cause: cause.to_owned(),
                knob: knob.to_owned(),
            });
        }
    }
    found
}

type Departure = (Code, &'static str, String, &'static str, &'static str);

fn departures(used: &Use, what: &Protocol) -> Vec<Departure> {
    let mut departures = Vec::new();
    match what {
        Protocol::LateRelease { second_got_in, released, third_got_in } => {
            if *released && *third_got_in {
                departures.push((
                    Code::ForeignLockReleased,
                    "release",
                    "A's lock expired and B took it; A's late release answered 1 and removed B's lock, and C got in while B works".to_owned(),
                    "the release does not look whose lock it is",
                    "`token: unique` and `release: compare_and_delete` (or delex, delifeq), in the code and here",
                ));
            }
            let (ttl, work) = (used.fields.duration("ttl"), used.fields.duration("work"));
            if let (true, Some(ttl), Some(work)) = (*second_got_in, ttl, work)
                && work >= ttl
            {
                departures.push((
                    Code::TtlShorterThanWork,
                    "acquire",
                    format!("B got in as soon as A's lock had expired after {}; A works for up to {}", declared(ttl), declared(work)),
                    "the lock's life is chosen below the longest that its holder works",
                    "a `ttl` above the longest `work`, or a lock that is renewed while its holder works",
                ));
            }
            let may_outlive = work.is_none_or(|work| ttl.is_none_or(|ttl| work >= ttl));
            if *second_got_in && may_outlive && !used.fields.flag("fencing") {
                departures.push((
                    Code::NoFencing,
                    "acquire",
                    "A's lock expired while A worked, and B got in: two holders at once".to_owned(),
                    "an expiring lock can't stop a holder that is slower than its life",
                    "have the protected resource refuse an old holder by a token that grows (`fencing: true`), or declare the longest `work` if it is below the `ttl`",
                ));
            }
        }
        Protocol::Acquisition { left_ms: None } if used.fields.word("acquire") == "two_step" => departures.push((
            Code::SetThenExpire,
            "acquire",
            "cut between SETNX and EXPIRE, the lock stays for ever (PTTL -1)".to_owned(),
            "the lock and its expiry are two commands, and a process can die between them",
            "`SET key token NX PX ttl`: one command (`acquire: one_step`)",
        )),
        Protocol::Acquisition { left_ms: None } => departures.push((
            Code::LockWithoutExpiry,
            "acquire",
            "the lock has no expiry (PTTL -1): a holder that dies keeps it for ever".to_owned(),
            "the lock is declared without a life",
            "a `ttl` above the longest that a holder works",
        )),
        Protocol::TwoConsumers { accepted } if *accepted > 1 => departures.push((
            Code::ConsumedTwice,
            "consume",
            format!("{accepted} users of one token were accepted, their commands interleaved"),
            "between GET and DEL another can read the same token",
            "GETDEL: one command (`consume: getdel`)",
        )),
        Protocol::Count { left_ms: None } => departures.push((
            Code::KeyWithoutExpiry,
            "take",
            "cut between INCR and EXPIRE, the counter never expires (PTTL -1): once it is over the limit, it refuses for ever".to_owned(),
            "the count and its expiry are two commands, and a process can die between them",
            "one script that counts and expires (`two_step: false`)",
        )),
        Protocol::Acquisition { .. } | Protocol::TwoConsumers { .. } | Protocol::Count { .. } => {}
    }
    departures
}

/// The fields that the finding speaks of, as the file has them.
fn settings(used: &Use, operation: &str) -> String {
    let fields = &used.fields;
    match operation {
        "consume" => format!("consume {}", fields.word("consume")),
        "take" => "two_step true".to_owned(),
        "release" => format!(
            "token {}, release {}, a late release: {}",
            fields.word("token"),
            fields.word("release"),
            fields.word("on_late_release")
        ),
        _ => {
            let ttl = fields.duration("ttl").map_or("none".to_owned(), |ttl| {
                human_us(u64::try_from(ttl.as_micros()).unwrap_or(u64::MAX))
            });
            format!("ttl {ttl}, acquire {}", fields.word("acquire"))
        }
    }
}
