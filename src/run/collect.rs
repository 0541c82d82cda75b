//! Gathers what the servers' tasks saw.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::observe::{Cell, CellKey, Chain, ChainKey, Observations, Proof, ServerInfo};
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
}

impl Collected {
    /// Adds the probes of one operation on one server.
    pub(super) fn add_cell(&self, cell: Cell) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.cells.get_mut(&cell.key) {
            Some(known) => {
                known.probes.extend(cell.probes);
                known.jitter_us = known.jitter_us.max(cell.jitter_us);
                known.proof = both(known.proof.clone(), cell.proof);
            }
            None => {
                seen.cells.insert(cell.key, cell);
            }
        }
    }

    /// Adds the runs of one request on one server.
    pub(super) fn add_chain(&self, chain: Chain) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Notes what the plan wanted and the deadline left undone. A cell of which only a part was probed is not proven
    /// either: the plan's samples are what its table claims.
    pub(super) fn fill_in(&self, plan: &Plan, deadline: Duration) {
        let why = format!("the deadline of {} ran out before it was probed", declared(deadline));
        let mut wanted: BTreeMap<(bool, CellKey, Option<ChainKey>), usize> = BTreeMap::new();
        for job in plan.controls.iter().chain(&plan.outages).flat_map(|batch| &batch.jobs) {
            let entry = match job.what {
                Target::Cell(key) => (true, key, None),
                Target::Chain(key) => {
                    let cell = CellKey { file: key.file, use_index: 0, operation_index: 0, state: key.state };
                    (false, cell, Some(key))
                }
            };
            *wanted.entry(entry).or_default() += job.samples;
        }
        for ((_, cell, chain), samples) in wanted {
            let proof = Proof::NotProven(why.clone());
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let have = match chain {
                None => seen.cells.get(&cell).map_or(0, |cell| cell.probes.len()),
                Some(key) => seen.chains.get(&key).map_or(0, |chain| chain.probes.len()),
            };
            drop(seen);
            if have >= samples {
                continue;
            }
            match chain {
                None => self.add_cell(Cell { key: cell, probes: Vec::new(), proof, jitter_us: 0 }),
                Some(key) => self.add_chain(Chain { key, probes: Vec::new(), proof, jitter_us: 0 }),
            }
        }
    }

    /// Everything that was seen.
    pub(super) fn observations(&self, plan: &Plan, server: ServerInfo, wall_us: u64) -> Observations {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { cells, chains } = std::mem::take(&mut *seen);
        debug_assert!(cells.keys().all(|key| key.file < plan.files.len()));
        Observations {
            server,
            cells: cells.into_values().collect(),
            chains: chains.into_values().collect(),
            wall_us,
        }
    }
}

/// The proof of two parts: both must hold.
fn both(one: Proof, other: Proof) -> Proof {
    match (one, other) {
        (Proof::Held(one), Proof::Held(_)) => Proof::Held(one),
        (Proof::NotProven(why), _) | (_, Proof::NotProven(why)) => Proof::NotProven(why),
    }
}
