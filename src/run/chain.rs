//! A request, played as a real caller would: call by call, up to the one that ends it.

use std::sync::Arc;
use std::time::Duration;

use super::Run;
use crate::clients::ProbeClient;
use crate::kinds::{ProbeId, Step};
use crate::observe::{CellKey, ChainCall, ChainKey, ChainProbe};
use crate::plan::{Layout, goes_on};
use crate::policy::{Client, PolicyFile, RequestCall};

/// One run of a request.
pub(super) struct ChainActor {
    file: Arc<PolicyFile>,
    id: ProbeId,
    calls: Vec<PlannedCall>,
    steps: Vec<Vec<Step>>,
    clients: usize,
    /// The operation that its first call to Redis is a probe of.
    first_cell: Option<CellKey>,
}

struct PlannedCall {
    call: RequestCall,
    /// Which of the actor's clients makes it.
    client: usize,
}

impl ChainActor {
    /// Casts one run of a request: all of its calls have one identity, so that what one acquires the next releases.
    pub(super) fn cast(
        run: &Run,
        key: ChainKey,
        before: &mut Vec<Step>,
        clients: &mut Vec<(Arc<Client>, ProbeId)>,
    ) -> ChainActor {
        let file = Arc::clone(&run.plan.files[key.file]);
        let request = &file.requests[key.request];
        let id = run.probe_id();
        let layout = Layout::of(&file, request, key.state);
        // What a state does not befall has no cell in it.
        let first = layout.first_call().filter(|(use_index, _)| file.befalls(key.state, *use_index));
        let first_cell = first.map(|(use_index, operation_index)| CellKey {
            file: key.file,
            use_index,
            operation_index,
            state: key.state,
        });
        let mut prepared = Vec::new();
        let mut calls = Vec::new();
        let mut steps = Vec::new();
        for (call, client) in layout.calls {
            let used = &file.uses[call.use_index];
            let operation = &used.operations[call.operation_index].operation;
            // What an earlier call of the request leaves behind is what this one finds.
            if !prepared.contains(&call.use_index) {
                prepared.push(call.use_index);
                before.extend(operation.prepare(&used.call(&id)));
            }
            steps.push(operation.steps(&used.call(&id)));
            calls.push(PlannedCall { call: call.clone(), client });
        }
        let count = layout.clients.len();
        clients.extend(
            layout.clients.iter().map(|&index| (Arc::new(file.uses[index].client.clone()), id.clone())),
        );
        ChainActor { file: Arc::clone(&file), id, calls, steps, clients: count, first_cell }
    }

    /// The use of each call, as an index into the file's uses.
    pub(super) fn uses(&self) -> impl Iterator<Item = usize> {
        self.calls.iter().map(|planned| planned.call.use_index)
    }

    /// How many clients it needs.
    pub(super) fn clients(&self) -> usize {
        self.clients
    }

    /// The operation that its first call to Redis is a probe of.
    pub(super) fn first_cell(&self) -> Option<CellKey> {
        self.first_cell
    }

    /// The commands of each call.
    pub(super) fn steps(&self) -> &[Vec<Step>] {
        &self.steps
    }

    /// Plays the request.
    pub(super) async fn play(&self, clients: &mut [ProbeClient], give_up: Duration) -> ChainProbe {
        let mut done = Vec::new();
        let mut ended_early = false;
        for (planned, steps) in self.calls.iter().zip(&self.steps) {
            let Some(client) = clients.get_mut(planned.client) else { break };
            let used = &self.file.uses[planned.call.use_index];
            let operation = &used.operations[planned.call.operation_index];
            let probe = client.call(&self.id, steps, give_up).await;
            let decision = operation.decision(&probe.reply);
            done.push(ChainCall { call: format!("{}.{}", used.name, operation.name()), decision, probe });
            if !goes_on(&planned.call, decision) {
                ended_early = true;
                break;
            }
        }
        ChainProbe { calls: done, ended_early }
    }
}
