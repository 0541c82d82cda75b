//! Gathers what the servers' tasks saw.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::observe::{Cell, CellKey, Chain, ChainKey, Observations, Proof, Replayed, Scene, ServerInfo};
use crate::plan::{Plan, Target};
use crate::words::declared;

/// What was seen so far. One cell's probes may come from several servers.
#[derive(Default)]
pub(super) struct Collected {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    cells: BTreeMap<CellKey, Cell>,
    chains: BTreeMap<ChainKey, Chain>,
    scenes: Vec<Scene>,
    replays: Vec<Replayed>,
    left_behind: Vec<String>,
}

impl Collected {
    /// Adds the probes of one operation on one server.
    pub(super) fn add_cell(&self, cell: Cell) {
        let mut seen = self.lock();
        match seen.cells.get_mut(&cell.key) {
            Some(known) => {
                known.probes.extend(cell.probes);
                known.jitter_us = known.jitter_us.max(cell.jitter_us);
                known.proof = both(known.proof.clone(), cell.proof);
                known.recovery = known.recovery.or(cell.recovery);
            }
            None => {
                seen.cells.insert(cell.key, cell);
            }
        }
    }

    /// Adds the runs of one request on one server.
    pub(super) fn add_chain(&self, chain: Chain) {
        let mut seen = self.lock();
        match seen.chains.get_mut(&chain.key) {
            Some(known) => {
                known.probes.extend(chain.probes);
                known.jitter_us = known.jitter_us.max(chain.jitter_us);
                known.proof = both(known.proof.clone(), chain.proof);
            }
            None => {
                seen.chains.insert(chain.key, chain);
            }
        }
    }

    /// Adds one run of a scenario.
    pub(super) fn add_scene(&self, scene: Scene) {
        self.lock().scenes.push(scene);
    }

    /// Adds what was replayed of a use's own protocol.
    pub(super) fn add_replays(&self, replays: Vec<Replayed>) {
        self.lock().replays.extend(replays);
    }

    /// Notes keys of ours that cleaning up did not remove.
    pub(super) fn note_left_behind(&self, keys: Vec<String>) {
        self.lock().left_behind.extend(keys);
    }

    /// Notes what the plan wanted and the deadline left undone. A cell of which only a part was probed is not proven
    /// either: the plan's samples are what its table claims.
    pub(super) fn fill_in(&self, plan: &Plan, deadline: Duration) {
        let why = format!("the deadline of {} ran out before it was probed", declared(deadline));
        let jobs = || plan.controls.iter().chain(&plan.batches).flat_map(|batch| &batch.jobs);
        let mut cells: BTreeMap<CellKey, usize> = BTreeMap::new();
        let mut chains: BTreeMap<ChainKey, usize> = BTreeMap::new();
        for job in jobs() {
            match job.what {
                Target::Cell(key) => *cells.entry(key).or_default() += job.samples,
                Target::Chain(key) => *chains.entry(key).or_default() += job.samples,
                // Its calls are probes of its operations, which are looked at below.
                Target::Scene(_) => {}
            }
        }
        let proof = || Proof::NotProven(why.clone());
        for (key, samples) in cells {
            let have = self.lock().cells.get(&key).map_or(0, |cell| cell.probes.len());
            if have < samples {
                self.add_cell(Cell { key, probes: Vec::new(), proof: proof(), jitter_us: 0, recovery: None });
            }
        }
        for (key, samples) in chains {
            let have = self.lock().chains.get(&key).map_or(0, |chain| chain.probes.len());
            if have < samples {
                self.add_chain(Chain { key, probes: Vec::new(), proof: proof(), jitter_us: 0 });
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that was seen.
    pub(super) fn observations(&self, server: ServerInfo, wall_us: u64) -> Observations {
        let mut seen = self.lock();
        let Seen { cells, chains, mut scenes, replays, left_behind } = std::mem::take(&mut *seen);
        scenes.sort_by_key(|scene| scene.key);
        Observations {
            server,
            cells: cells.into_values().collect(),
            chains: chains.into_values().collect(),
            scenes,
            replays,
            left_behind,
            wall_us,
        }
    }
}

/// The proof of two parts: both must hold.
fn both(one: Proof, other: Proof) -> Proof {
    match (one, other) {
        (Proof::Held(one), Proof::Held(_)) => Proof::Held(one),
        (Proof::Held(_), doubted) | (doubted, _) => doubted,
    }
}
