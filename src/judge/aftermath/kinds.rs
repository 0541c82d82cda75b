//! What became of each kind's guarantee in one run of its scenario.

use super::Departure;
use crate::kinds::{Kind, Phase};
use crate::observe::{Found, Played, Scene};
use crate::policy::Use;
use crate::words::{Code, human_us};

use Phase::{After, Before, During};

/// The departures that this run shows.
pub(super) fn of_run(used: &Use, run: &Scene) -> Vec<Departure> {
    match used.kind {
        Kind::JwtRevocation => jwt_revocation(run),
        Kind::IdempotencyKey => idempotency_key(run),
        Kind::Lock => lock(used, run),
        Kind::OneTimeToken => one_time_token(run),
        Kind::HeartbeatDedup => heartbeat_dedup(run),
        Kind::Cache => cache(run),
        Kind::RateLimit => rate_limit(run),
        Kind::Session => session(run),
        Kind::Queue => queue(run),
        Kind::Custom => Vec::new(),
    }
}

/// How long a key still lives, in words.
fn for_how_long(found: &Found) -> String {
    found.left_ms.map_or("for ever".to_owned(), |left| format!("for {}", human_us(left * 1_000)))
}

/// What the callers of an act were told.
fn told(played: Option<&Played>) -> &str {
    match played {
        None => "nothing",
        Some(played) if played.told_no() => "no",
        Some(played) => played.probe.reply.class(),
    }
}

fn jwt_revocation(run: &Scene) -> Vec<Departure> {
    let (logout, check) = (run.first(During, "L"), run.first(After, "L"));
    let mut departures = Vec::new();
    if logout.is_some_and(Played::allowed) && check.is_some_and(Played::told_no) {
        let text = "the logout was reported done; afterwards its token is accepted until it expires";
        departures.push(Departure::new(Code::RevocationLost, "revoke", text));
    }
    departures
}

fn idempotency_key(run: &Scene) -> Vec<Departure> {
    let mut departures = Vec::new();
    let in_flight = |slot| run.left(slot).filter(|found| found.values[0].starts_with("in-flight"));
    let retry = run.first(After, "D");
    if let (Some(retry), Some(key)) = (retry, in_flight("K1"))
        && retry.told_no()
    {
        let owner = owner(run, "reserve", key);
        departures.push(if owner.is_some_and(Played::told_yes) {
            Departure::new(Code::ReservationStuck, "complete", never_completed(key))
        } else {
            let text = format!(
                "every retry is refused as \"in flight\" {}, and nobody runs it: the reservation ran although its caller was told: {}",
                for_how_long(key),
                told(owner.or(run.first(During, "B")))
            );
            Departure::new(Code::ReservationStuck, "reserve", text)
        });
    }
    if let (Some(again), Some(key)) = (run.first(After, "E"), in_flight("K2"))
        && again.told_no()
        && run.first(During, "A").is_some()
    {
        departures.push(Departure::new(Code::ReservationStuck, "complete", never_completed(key)));
    }
    let ran =
        ["B", "C"].into_iter().filter(|actor| run.first(During, actor).is_some_and(Played::let_in)).count();
    if ran > 0 && retry.is_some_and(Played::told_yes) {
        let text =
            format!("the operation ran {ran} times in the outage, and the retry afterwards ran it once more");
        departures.push(Departure::new(Code::DuplicateRun, "reserve", text));
    }
    departures
}

fn never_completed(key: &Found) -> String {
    format!(
        "the operation is done, and every retry is refused as \"in flight\" {}: its completion was lost",
        for_how_long(key)
    )
}

/// Whose call of this operation in the state put there what a key holds, as its value says.
fn owner<'a>(run: &'a Scene, operation: &'a str, key: &Found) -> Option<&'a Played> {
    let value = key.values.first()?;
    run.during(operation).find(|played| value.ends_with(&played.probe.id))
}

fn lock(used: &Use, run: &Scene) -> Vec<Departure> {
    let mut departures = Vec::new();
    let let_in = |actor| run.first(During, actor).is_some_and(Played::let_in);
    let expires = used.fields.word("release") == "expire";
    if let (Some(next), Some(key)) = (run.first(After, "D"), run.left("L1")) {
        // A lock that is never released stays taken by whoever was let in.
        let by_design = expires && (let_in("B") || let_in("C"));
        if next.told_no() && !by_design {
            let owner = owner(run, "acquire", key);
            departures.push(if owner.is_some_and(Played::told_yes) {
                Departure::new(Code::LockHeldByNobody, "release", never_released(key))
            } else {
                let text = format!(
                    "nobody can take this lock {}, and nobody holds it: the acquisition ran although its caller was told: {}",
                    for_how_long(key),
                    told(owner.or(run.first(During, "B")))
                );
                Departure::new(Code::LockHeldByNobody, "acquire", text)
            });
        }
    }
    if let (Some(next), Some(key)) = (run.first(After, "E"), run.left("L2"))
        && next.told_no()
        && !expires
        && run.first(During, "A").is_some()
    {
        departures.push(Departure::new(Code::LockHeldByNobody, "release", never_released(key)));
    }
    departures
}

fn never_released(key: &Found) -> String {
    format!(
        "nobody can take this lock {}, though its holder is done: the release was lost",
        for_how_long(key)
    )
}

fn one_time_token(run: &Scene) -> Vec<Departure> {
    let mut departures = Vec::new();
    if let (Some(used), Some(again)) = (run.first(During, "B"), run.first(After, "D")) {
        if used.turned_away() && again.told_no() {
            let text = format!(
                "the user was told: {}, and the token is burned: clicking again is refused",
                used.probe.reply.class()
            );
            departures.push(Departure::new(Code::TokenLost, "consume", text));
        }
        if used.allowed() && again.told_yes() {
            let text = "the token was accepted unchecked, and is accepted again afterwards";
            departures.push(Departure::new(Code::TokenReplayed, "consume", text));
        }
    }
    if let (Some(issued), Some(used)) = (run.first(During, "C"), run.first(After, "E"))
        && issued.allowed()
        && used.told_no()
    {
        let text = "the token was handed out and never registered: its user is refused";
        departures.push(Departure::new(Code::DeadTokenHandedOut, "issue", text));
    }
    departures
}

fn heartbeat_dedup(run: &Scene) -> Vec<Departure> {
    let counted = run.calls(During, "B").any(Played::let_in);
    let mut departures = Vec::new();
    if let (Some(next), Some(key)) = (run.first(After, "D"), run.left("P"))
        && !counted
        && next.told_no()
    {
        let text = format!(
            "no beat was counted, and beats are dropped as duplicates {}: a claim ran although its caller was told: {}",
            for_how_long(key),
            told(run.first(During, "B"))
        );
        departures.push(Departure::new(Code::BeatSuppressedByLateClaim, "claim", text));
    }
    departures
}

fn cache(run: &Scene) -> Vec<Departure> {
    let mut departures = Vec::new();
    if let (Some(read), Some(key)) = (run.first(After, "D"), run.left("C1"))
        && read.told_yes()
        && run.first(During, "I").is_some()
    {
        let text = format!(
            "readers get the old value {}: the invalidation was lost, or overtaken",
            for_how_long(key)
        );
        departures.push(Departure::new(Code::StaleAfterRecovery, "invalidate", text));
    }
    let mut written = run.calls(During, "B").filter(|played| played.operation == "write");
    if let Some(write) = written.find(|write| write.turned_away()) {
        let text = format!(
            "the reader had its value from the source, and its request failed on keeping it: {}",
            write.probe.reply.class()
        );
        departures.push(Departure::new(Code::WriteFailedTheRequest, "write", text));
    }
    departures
}

fn rate_limit(run: &Scene) -> Vec<Departure> {
    let mut departures = Vec::new();
    if let Some(counter) = run.left("U").filter(|counter| counter.left_ms.is_none()) {
        let text = format!(
            "the counter stands at {} and never expires: once it is over the limit, it refuses for ever",
            counter.values.join(" ")
        );
        departures.push(Departure::new(Code::KeyWithoutExpiry, "take", text));
    }
    departures
}

fn session(run: &Scene) -> Vec<Departure> {
    let (saved, loaded) = (run.first(During, "C"), run.first(After, "E"));
    let mut departures = Vec::new();
    if saved.is_some_and(Played::allowed) && loaded.is_some_and(Played::told_no) {
        let text = "what the user did was not kept, and nobody was told";
        departures.push(Departure::new(Code::SessionLost, "save", text));
    }
    departures
}

fn queue(run: &Scene) -> Vec<Departure> {
    let mut departures = Vec::new();
    let on_lists = |slot: &str, job: &str| {
        let keys = run.after.get(slot).map(|snapshot| snapshot.keys.as_slice()).unwrap_or_default();
        keys.iter().flat_map(|found| &found.values).filter(|value| *value == job).count()
    };
    if let Some(push) = run.first(During, "C") {
        let times = on_lists("J2", &push.probe.id);
        if push.allowed() && times == 0 {
            let text = "the job was accepted, and is on no list";
            departures.push(Departure::new(Code::AcceptedJobLost, "push", text));
        }
        if push.turned_away() && times > 0 {
            let text = format!(
                "the caller was told: {}, and the job is on the queue: who pushes it again has it done twice",
                push.probe.reply.class()
            );
            departures.push(Departure::new(Code::RefusedJobQueued, "push", text));
        }
    }
    if let (Some(pushed), Some(pop)) = (run.first(Before, "A"), run.first(During, "B"))
        && !pop.told_yes()
        && on_lists("J1", &pushed.probe.id) == 0
    {
        let text = format!("the reader was told: {}, and the job is on no list", pop.probe.reply.class());
        departures.push(Departure::new(Code::PoppedJobLost, "pop", text));
    }
    departures
}
