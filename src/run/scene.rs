//! A use's scenario, played: who calls what, with which identity, and what came back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::Run;
use crate::clients::ProbeClient;
use crate::kinds::{Act, Begins, Call, Fields, GoesOn, Operation, Phase, ProbeId, Step};
use crate::observe::{CellKey, Played, Probe, SceneKey};
use crate::plan::Cast;
use crate::policy::{Backoff, Client, Handshake, OnTimeout, PolicyFile, Reconnect, Use};
use crate::words::{Decision, Span, State};

/// How much longer than the outage a key has to live, so that what is found afterwards was left there: preparation,
/// recovery and reading back lie around it.
const AROUND: Duration = Duration::from_secs(8);

/// One run of a use's scenario.
pub(super) struct Staged {
    pub(super) key: SceneKey,
    pub(super) file: Arc<PolicyFile>,
    /// The use's fields, with durations that outlast the state.
    fields: Fields,
    /// How many times as long as declared they are.
    pub(super) scaled: u32,
    slots: BTreeMap<&'static str, ProbeId>,
    actors: BTreeMap<(&'static str, usize), ProbeId>,
    /// A key that nobody touches.
    pub(super) canary: String,
    first_calls: Arc<FirstCalls>,
    pub(super) played: Vec<(Position, Played)>,
}

/// Where a call stands in its scenario: the phase, the act, which of its callers, which of the caller's calls.
pub(super) type Position = (Phase, usize, usize, usize);

/// How many callers have yet to make their first call, for those that wait for it.
struct FirstCalls {
    left: AtomicUsize,
    made: Notify,
}

impl FirstCalls {
    fn made(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.made.notify_waiters();
        }
    }

    async fn all(&self) {
        let notified = self.made.notified();
        if self.left.load(Ordering::Acquire) > 0 {
            notified.await;
        }
        // What the others sent next is on its way before this caller's command.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// One caller of the outage.
pub(super) struct CallerPart {
    act: &'static Act,
    act_index: usize,
    number: usize,
    slot: &'static str,
    id: ProbeId,
    file: Arc<PolicyFile>,
    file_index: usize,
    use_index: usize,
    calls: Vec<(usize, GoesOn, Vec<Step>)>,
    pub(super) clients: usize,
    waits: bool,
    first_calls: Arc<FirstCalls>,
}

impl Staged {
    /// Stages one run; `outage` is the longest that its state can last.
    pub(super) fn new(run: &Run, key: SceneKey, outage: Duration) -> Staged {
        let file = Arc::clone(&run.plan.files[key.file]);
        let used = &file.uses[key.use_index];
        let scaled = match used.fields.shortest_life() {
            Some(life) if key.state.is_outage() => {
                let wanted = (outage + AROUND).as_millis();
                u32::try_from(wanted.div_ceil(life.as_millis().max(1))).unwrap_or(u32::MAX).max(1)
            }
            _ => 1,
        };
        let fields = used.fields.scaled(scaled);
        let mut slots = BTreeMap::new();
        let mut actors = BTreeMap::new();
        let cast = Cast::of(used, key.state, key.timing);
        for caller in &cast.callers {
            actors.entry((caller.act.actor, caller.number)).or_insert_with(|| run.probe_id());
        }
        for act in used.kind.spec().scenario.acts {
            slots.entry(act.slot).or_insert_with(|| run.probe_id());
            for number in 0..act.times.of(&used.fields) {
                actors.entry((act.actor, number)).or_insert_with(|| run.probe_id());
            }
        }
        let waiting_for = cast.callers.iter().filter(|caller| !caller.waits).count();
        let first_calls = Arc::new(FirstCalls { left: AtomicUsize::new(waiting_for), made: Notify::new() });
        let canary = format!("{}:canary", run.probe_id());
        Staged { key, file, fields, scaled, slots, actors, canary, first_calls, played: Vec::new() }
    }

    pub(super) fn used(&self) -> &Use {
        &self.file.uses[self.key.use_index]
    }

    fn call<'a>(&'a self, slot: &'static str, id: &'a ProbeId) -> Call<'a> {
        let slot = self.slots.get(slot).unwrap_or(id);
        Call { fields: &self.fields, key: &self.used().key, slot, probe: id }
    }

    /// The keys of each slot, the main one first.
    pub(super) fn keys(&self) -> Vec<(&'static str, Vec<String>)> {
        let keys = self.used().kind.spec().keys;
        self.slots.iter().map(|(slot, id)| (*slot, keys(&self.call(slot, id)))).collect()
    }

    /// The callers of the outage, and the clients that they need.
    pub(super) fn callers(&self) -> (Vec<CallerPart>, Vec<(Arc<Client>, ProbeId)>) {
        let used = self.used();
        let settings = Arc::new(used.client.clone());
        let acts = used.kind.spec().scenario.acts;
        let mut parts = Vec::new();
        let mut clients = Vec::new();
        for caller in Cast::of(used, self.key.state, self.key.timing).callers {
            let Some(id) = self.actors.get(&(caller.act.actor, caller.number)) else { continue };
            let act_index = acts.iter().position(|act| std::ptr::eq(act, caller.act)).unwrap_or(0);
            let calls = caller
                .calls
                .iter()
                .map(|(index, goes_on)| {
                    let operation = &used.operations[*index].operation;
                    (*index, *goes_on, operation.steps(&self.call(caller.act.slot, id)))
                })
                .collect();
            clients.extend(std::iter::repeat_n((Arc::clone(&settings), id.clone()), caller.clients));
            parts.push(CallerPart {
                act: caller.act,
                act_index,
                number: caller.number,
                slot: caller.act.slot,
                id: id.clone(),
                file: Arc::clone(&self.file),
                file_index: self.key.file,
                use_index: self.key.use_index,
                calls,
                clients: caller.clients,
                waits: caller.waits,
                first_calls: Arc::clone(&self.first_calls),
            });
        }
        (parts, clients)
    }

    /// Plays a phase on a healthy server, one call after the other, and gives the commands that were sent.
    pub(super) async fn play(
        &mut self,
        phase: Phase,
        client: &mut ProbeClient,
        give_up: Duration,
    ) -> Vec<Step> {
        let mut sent = Vec::new();
        let spec = self.used().kind.spec();
        for (act_index, act) in spec.scenario.acts.iter().enumerate() {
            let played_now = act.phase == phase
                && match act.begins {
                    Begins::IfLetIn(actor) => self.was_let_in(actor),
                    Begins::AtOnce | Begins::AfterFirstCalls => true,
                };
            if !played_now {
                continue;
            }
            for number in 0..act.times.of(&self.used().fields) {
                let Some(id) = self.actors.get(&(act.actor, number)).cloned() else { continue };
                for (position, one) in act.flow.iter().enumerate() {
                    let Some(operation) = spec.operations.iter().find(|known| known.name == one.operation)
                    else {
                        break;
                    };
                    let steps = Operation::BuiltIn(operation).steps(&self.call(act.slot, &id));
                    let probe = Probe { own_key: false, ..client.call(&id, &steps, give_up).await };
                    sent.extend(steps);
                    let decision = if probe.reply.is_answer() {
                        Some(Decision::Answered)
                    } else {
                        Some(Decision::Raised)
                    };
                    let goes_on = one.goes_on.after(decision, &probe.reply);
                    let played = Played {
                        actor: act.actor.to_owned(),
                        phase,
                        slot: act.slot.to_owned(),
                        operation: one.operation.to_owned(),
                        decision,
                        probe,
                    };
                    self.played.push(((phase, act_index, number, position), played));
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        sent
    }

    fn was_let_in(&self, actor: &str) -> bool {
        let mut during =
            self.played.iter().filter(|((phase, ..), one)| *phase == Phase::During && one.actor == actor);
        during.any(|(_, played)| played.let_in())
    }

    /// Everything that was played, in the scenario's order.
    pub(super) fn in_order(&mut self) -> Vec<Played> {
        let mut played = std::mem::take(&mut self.played);
        played.sort_by_key(|(position, _)| *position);
        played.into_iter().map(|(_, played)| played).collect()
    }
}

impl CallerPart {
    /// The commands that it can send.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.calls.iter().flat_map(|(_, _, steps)| steps)
    }

    /// Makes its calls, each as far as the one before lets it.
    pub(super) async fn play(
        &self,
        clients: &mut [ProbeClient],
        give_up: Duration,
    ) -> Vec<(Position, Played)> {
        if self.waits {
            self.first_calls.all().await;
        }
        let used = &self.file.uses[self.use_index];
        let mut played = Vec::new();
        for (position, (operation_index, goes_on, steps)) in self.calls.iter().enumerate() {
            let last = clients.len().saturating_sub(1);
            let Some(client) = clients.get_mut(position.min(last)) else { break };
            let operation = &used.operations[*operation_index];
            let probe = Probe { own_key: false, ..client.call(&self.id, steps, give_up).await };
            let decision = operation.decision(&probe.reply);
            if position == 0 && !self.waits {
                self.first_calls.made();
            }
            let next = goes_on.after(decision, &probe.reply);
            let one = Played {
                actor: self.act.actor.to_owned(),
                phase: Phase::During,
                slot: self.slot.to_owned(),
                operation: operation.name().to_owned(),
                decision,
                probe,
            };
            played.push(((Phase::During, self.act_index, self.number, position), one));
            if !next {
                break;
            }
        }
        played
    }

    /// Whose calls it makes: the file, and the use in it.
    pub(super) fn used(&self) -> (&PolicyFile, usize) {
        (&self.file, self.use_index)
    }

    /// Whether its first call is made as soon as the state has begun.
    pub(super) fn begins_at_once(&self) -> bool {
        self.act.begins == Begins::AtOnce
    }

    /// The operation that it calls first.
    pub(super) fn first_call(&self, state: State) -> Option<CellKey> {
        let (operation_index, ..) = *self.calls.first()?;
        Some(CellKey { file: self.file_index, use_index: self.use_index, operation_index, state })
    }

    /// The cell that a call of this operation belongs to.
    pub(super) fn cell(&self, key: SceneKey, operation: &str) -> Option<CellKey> {
        let operation_index = self.file.uses[self.use_index].operation(operation)?;
        Some(CellKey { file: key.file, use_index: key.use_index, operation_index, state: key.state })
    }
}

/// The settings of the audit's own calls on a healthy server: patient, and in one attempt.
pub(super) fn patient() -> Arc<Client> {
    const PATIENCE: Duration = Duration::from_secs(10);
    Arc::new(Client {
        connect_timeout: Some(PATIENCE),
        command_timeout: Some(PATIENCE),
        attempts: 1,
        backoff: Backoff::None,
        on_timeout: OnTimeout::Close,
        reconnect: Reconnect::NextUse,
        handshake: Handshake::None,
        command_timeout_at: Span::default(),
        attempts_at: Span::default(),
    })
}
