//! After an outage, in this order: what ran, what is left, the callers that come afterwards, what is left then, who
//! recovers, and what of ours has to go. Reading before the server answers again, or cleaning before reading, would miss
//! what runs late.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::actor::{Cast, Outcome, Part};
use super::collect::Collected;
use super::outage::Acted;
use super::recovery::{WINDOW, recovery};
use super::scene::Staged;
use super::server::{Hand, per_scene};
use super::{Run, RunError, side_by_side};
use crate::kinds::Phase;
use crate::observe::{
    Cell, CellKey, Chain, ChainKey, ChainProbe, Ledger, Probe, Proof, Recovery, Scene, Snapshot,
};
use crate::plan::Batch;
use crate::redis::Server;
use crate::words::Tri;

/// What was seen from outside of the calls.
pub(super) struct Witnessed {
    pub(super) proof: Proof,
    pub(super) jitter_us: u64,
    pub(super) ledger: Ledger,
    /// Whether the state outlasted the calls, so that what they cost is what they cost in it.
    pub(super) holding: bool,
}

/// A server that answers again.
pub(super) struct Aftermath<'a> {
    pub(super) run: &'a Arc<Run>,
    pub(super) batch: &'a Batch,
    pub(super) casts: Vec<Cast>,
    pub(super) acted: Vec<Acted>,
    pub(super) witnessed: Witnessed,
    /// When the server answered again.
    pub(super) answers_since: Instant,
}

impl Aftermath<'_> {
    /// Takes stock, and hands over what was seen.
    pub(super) async fn settle(mut self, server: &Server, collected: &Collected) -> Result<(), RunError> {
        let recovering = if self.witnessed.holding { self.recovering() } else { JoinSet::new() };
        let mut hand = Hand::on(server.endpoint()).await?;
        let (mut cells, chains) = self.outcomes();
        let mut scenes: Vec<Staged> = self.casts.drain(..).flat_map(|cast| cast.scenes).collect();

        let slots: Vec<_> = scenes.iter().flat_map(Staged::keys).collect();
        let counts: Vec<usize> = scenes.iter().map(|staged| staged.keys().len()).collect();
        let after = per_scene(hand.snapshot(&slots).await?, &counts);
        let canaries: Vec<String> = scenes.iter().map(|staged| staged.canary.clone()).collect();
        let survived = hand.present(&canaries).await?;
        for (staged, snapshot) in scenes.iter_mut().zip(&after) {
            forget_what_does_not_add_up(staged, snapshot, &self.witnessed.ledger);
        }
        let (scenes, _) = side_by_side::play(self.run, server.endpoint(), scenes, Phase::After).await?;
        let end = per_scene(hand.snapshot(&slots).await?, &counts);
        for (((mut staged, after), end), canary_survived) in
            scenes.into_iter().zip(after).zip(end).zip(survived)
        {
            let played = staged.in_order();
            collected.add_scene(Scene {
                key: staged.key,
                played,
                after,
                end,
                canary_survived,
                scaled: staged.scaled,
                proof: self.witnessed.proof.clone(),
            });
        }

        let mut recoveries = recovered(recovering).await?;
        for (key, probes) in std::mem::take(&mut cells) {
            let recovery = recoveries.remove(&key);
            let (proof, jitter_us) = (self.witnessed.proof.clone(), self.witnessed.jitter_us);
            collected.add_cell(Cell { key, probes, proof, jitter_us, recovery });
        }
        for (key, probes) in chains {
            let (proof, jitter_us) = (self.witnessed.proof.clone(), self.witnessed.jitter_us);
            collected.add_chain(Chain { key, probes, proof, jitter_us });
        }
        collected.note_left_behind(hand.clean(&self.run.name).await?);
        Ok(())
    }

    /// Sorts out what the parts came to, with what the ledger knows of each attempt. The calls of scenarios are probes of
    /// their operations too.
    fn outcomes(&mut self) -> (BTreeMap<CellKey, Vec<Probe>>, BTreeMap<ChainKey, Vec<ChainProbe>>) {
        let mut cells: BTreeMap<CellKey, Vec<Probe>> = BTreeMap::new();
        let mut chains: BTreeMap<ChainKey, Vec<ChainProbe>> = BTreeMap::new();
        let ledger = &mut self.witnessed.ledger;
        for acted in &mut self.acted {
            match (acted.outcome.take(), &acted.part) {
                (Some(Outcome::Cell(mut probe)), Part::Cell(key, ..)) => {
                    ledger.settle(&mut probe);
                    cells.entry(*key).or_default().push(probe);
                }
                (Some(Outcome::Chain(mut run)), Part::Chain(key, actor)) => {
                    run.calls.iter_mut().for_each(|call| ledger.settle(&mut call.probe));
                    // A request's first call is a probe of its operation; the others depend on what came before.
                    if let (Some(cell), Some(first)) = (actor.first_cell(), run.calls.first()) {
                        cells.entry(cell).or_default().push(first.probe.clone());
                    }
                    chains.entry(*key).or_default().push(run);
                }
                (Some(Outcome::Caller(mut played)), Part::Caller(scene, caller)) => {
                    let Some(staged) = self.casts[acted.job].scenes.get_mut(*scene) else { continue };
                    for ((.., position), one) in &mut played {
                        ledger.settle(&mut one.probe);
                        // What a flow calls next depends on what its first call came to, and is no probe of its own.
                        let first = self.witnessed.holding && *position == 0;
                        if let Some(key) = caller.cell(staged.key, &one.operation).filter(|_| first) {
                            cells.entry(key).or_default().push(one.probe.clone());
                        }
                    }
                    staged.played.extend(played);
                }
                _ => {}
            }
        }
        (cells, chains)
    }

    /// Looks for each operation's first success on a client that was connected before the outage, and was not put to
    /// rest: beside everything else, and on keys of its own.
    fn recovering(&mut self) -> Recovering {
        let mut waiting = JoinSet::new();
        for acted in self.acted.iter_mut().filter(|acted| acted.awake) {
            let Some(key) = acted.part.first_call(self.batch.state) else { continue };
            let used = &self.run.plan.files[key.file].uses[key.use_index];
            let operation = &used.operations[key.operation_index];
            let id = self.run.probe_id();
            let steps = operation.operation.steps(&used.call(&id));
            let budget = operation.budget.recovery;
            let window = budget.map_or(WINDOW, |line| WINDOW.max(line.limit + Duration::from_millis(500)));
            let (mut clients, since) = (std::mem::take(&mut acted.clients), self.answers_since);
            waiting.spawn(async move {
                let client = clients.first_mut()?;
                Some((key, recovery(client, &id, &steps, since, window).await))
            });
        }
        waiting
    }
}

/// What each operation's way back came to, as soon as it is known.
type Recovering = JoinSet<Option<(CellKey, Recovery)>>;

async fn recovered(mut recovering: Recovering) -> Result<BTreeMap<CellKey, Recovery>, RunError> {
    let mut recoveries = BTreeMap::new();
    while let Some(one) = recovering.join_next().await {
        recoveries.extend(one.map_err(|error| RunError::Internal(error.to_string()))?);
    }
    Ok(recoveries)
}

/// Where a key does not hold what the ledger expects, nobody knows which of the commands on it took effect.
fn forget_what_does_not_add_up(
    staged: &mut Staged,
    snapshot: &BTreeMap<&'static str, Snapshot>,
    ledger: &Ledger,
) {
    for (slot, snapshot) in snapshot {
        let adds_up =
            snapshot.keys.iter().all(|found| ledger.expected(&found.key).as_ref() == Some(&found.values));
        if adds_up {
            continue;
        }
        for (_, played) in staged.played.iter_mut().filter(|(_, played)| played.slot == *slot) {
            played.probe.attempts.iter_mut().for_each(|attempt| attempt.took_effect = Tri::Unknown);
        }
    }
}
