//! What the sample's uses promise, what was left behind, and what was replayed.

use std::collections::BTreeMap;

use crate::kinds::Phase;
use crate::observe::{Found, Played, Protocol, ReplayedStep, Snapshot, Timing};
use crate::report::{Loss, Repeats, ReplayReport, SceneReport, Service, UseCell, UseReport};
use crate::words::{Code, Decision, OutagePolicy, Reply, State};

/// Fills a service with what an outage left behind.
pub(super) fn fill(service: &mut Service) {
    service.uses = uses();
    service.scenes = vec![scene()];
    service.replays = replays();
}

fn loss(code: Code, seen: Option<usize>) -> Loss {
    Loss { code, basis: code.basis(), seen, of: seen.map(|_| 5) }
}

fn used(name: &str, kind: &str, guarantee: &str, cells: [(State, [Vec<Loss>; 2]); 3]) -> UseReport {
    let cell = |(state, [guarantee, availability]): (State, [Vec<Loss>; 2])| UseCell {
        state,
        proven: true,
        guarantee,
        availability,
    };
    UseReport {
        name: name.to_owned(),
        kind: kind.to_owned(),
        guarantee: guarantee.to_owned(),
        cells: cells.map(cell).to_vec(),
        repeats: None,
    }
}

fn uses() -> Vec<UseReport> {
    use State::{Healthy, Paused, Stopped};
    let none = || [Vec::new(), Vec::new()];
    let refused = || [Vec::new(), vec![loss(Code::ValidRequestRefused, None)]];
    let double = || vec![loss(Code::DoubleEntry, None)];
    let stuck = vec![
        loss(Code::BeatSuppressedByLateClaim, Some(5)),
        loss(Code::ReadFailed, None),
        loss(Code::ValidRequestFailed, None),
    ];
    let mut cache = used(
        "project-cache",
        "cache",
        "the reader gets the current value",
        [
            (Healthy, none()),
            (Paused, [Vec::new(), stuck]),
            (Stopped, [vec![loss(Code::StaleAfterRecovery, Some(3))], vec![loss(Code::ReadFailed, None)]]),
        ],
    );
    cache.repeats = Some(Repeats { every_us: 20_000_000, calls_in_a_minute: 3, calls_in_an_hour: 180 });
    let mut lock = used(
        "dataset-lock",
        "lock",
        "at most one holder",
        [
            (Healthy, none()),
            (Paused, [double(), Vec::new()]),
            (Stopped, [double(), vec![loss(Code::LockHeldByNobody, Some(5))]]),
        ],
    );
    // It is not served in one outage state, and that is enough.
    lock.repeats = Some(Repeats { every_us: 1_000_000, calls_in_a_minute: 60, calls_in_an_hour: 3_600 });
    vec![
        used(
            "jwt-revocation",
            "jwt_revocation",
            "a revoked token is refused",
            [(Healthy, none()), (Paused, refused()), (Stopped, refused())],
        ),
        lock,
        cache,
    ]
}

fn scene() -> SceneReport {
    let mut probe = super::probes(State::Stopped, 61, &Reply::Refused, 1).remove(0);
    probe.own_key = false;
    let held = Found {
        key: "audit:lock:1".to_owned(),
        values: vec!["run-stopped-1".to_owned()],
        left_ms: Some(29_700),
    };
    let snapshot = || BTreeMap::from([("L2".to_owned(), Snapshot { keys: vec![held.clone()] })]);
    SceneReport {
        use_name: "dataset-lock".to_owned(),
        state: State::Stopped,
        timing: Timing::Holding,
        scaled: 1,
        canary_survived: true,
        calls: vec![Played {
            actor: "A".to_owned(),
            phase: Phase::During,
            slot: "L2".to_owned(),
            operation: "release".to_owned(),
            decision: Some(Decision::Allowed),
            probe,
        }],
        after: snapshot(),
        end: snapshot(),
        proof: super::cell(State::Stopped, OutagePolicy::FailOpen, 61).proof,
    }
}

fn replays() -> Vec<ReplayReport> {
    let step =
        ReplayedStep { who: "A".to_owned(), did: "DEL audit:lock:1".to_owned(), answer: "no".to_owned() };
    let of = |what| ReplayReport { use_name: "dataset-lock".to_owned(), what, steps: vec![step.clone()] };
    vec![
        of(Protocol::Acquisition { left_ms: Some(30_000) }),
        of(Protocol::LateRelease { second_got_in: true, released: false, third_got_in: false }),
        of(Protocol::TwoConsumers { accepted: 1 }),
        of(Protocol::Count { left_ms: None }),
    ]
}

/// Replaces everything here that someone else wrote by a text.
pub(super) fn written_by(service: &mut Service, text: &str) {
    let set = |field: &mut String| *field = text.to_owned();
    for used in &mut service.uses {
        [&mut used.name, &mut used.kind, &mut used.guarantee].into_iter().for_each(set);
    }
    for scene in &mut service.scenes {
        set(&mut scene.use_name);
        for played in &mut scene.calls {
            [&mut played.actor, &mut played.slot, &mut played.operation].into_iter().for_each(set);
        }
        for found in scene.after.values_mut().chain(scene.end.values_mut()).flat_map(|slot| &mut slot.keys) {
            set(&mut found.key);
            found.values.iter_mut().for_each(set);
        }
    }
    for replay in &mut service.replays {
        set(&mut replay.use_name);
        for step in &mut replay.steps {
            [&mut step.who, &mut step.did, &mut step.answer].into_iter().for_each(set);
        }
    }
}
