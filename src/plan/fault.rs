//! What a proxy has to do so that a state is there as a policy file wants it.

use std::collections::BTreeSet;

use super::Ends;
use crate::kinds::{Call, Command, ProbeId};
use crate::policy::{PolicyFile, StateChoice, Use};
use crate::proxy::{Fault, Glob, Scope, What, keys};
use crate::words::{FAILURES, Parameter, State, declared};

/// The fault that a state is in a file; none where it is brought about on the server itself.
pub(super) fn fault(file: &PolicyFile, state: State, ends: Option<Ends>) -> Option<Fault> {
    let choice = file.choice(state);
    let fault = Fault {
        what: what(&choice)?,
        scope: choice.scope.map(|index| scope(&file.uses[index])),
        failures: choice.count(FAILURES).map(|failures| u32::try_from(failures).unwrap_or(u32::MAX)),
        once: ends == Some(Ends::OnReconnect),
    };
    Some(fault)
}

fn what(choice: &StateChoice) -> Option<What> {
    match choice.state {
        State::Slow => {
            Some(What::Slow { latency: choice.duration("latency"), jitter: choice.duration("jitter") })
        }
        State::ReplyLost => Some(What::ReplyLost),
        State::CutMidReply => {
            let after = choice.count("after").unwrap_or_default();
            Some(What::CutMidReply { after: usize::try_from(after).unwrap_or(usize::MAX) })
        }
        State::BlackHole => Some(What::BlackHole),
        State::Flapping => Some(What::Flapping),
        _ => None,
    }
}

/// What a reader has to know of a state that a proxy brings about: how it is set, and whom it befalls.
pub(super) fn says(file: &PolicyFile, state: State) -> Option<String> {
    let choice = file.choice(state);
    what(&choice)?;
    let mut says: Vec<String> = (state.facts().takes.iter())
        .map(|known| match choice.parameter(known.name).unwrap_or(known.default) {
            Parameter::Duration(duration) => format!("{} {}", known.name, declared(duration)),
            Parameter::Count(count) => format!("{} {count}", known.name),
        })
        .collect();
    says.extend(choice.scope.map(|index| {
        let name = &file.uses[index].name;
        format!("only the keys of {name} are in it; the other uses have no cell there, and requests that call it are run whole")
    }));
    (!says.is_empty()).then(|| format!("{state}: {}", says.join(", ")))
}

/// The keys of a use: those of all its operations' commands, with a star for what differs from call to call.
fn scope(used: &Use) -> Scope {
    let (slot, probe) = (ProbeId::new("scope", 0), ProbeId::new("scope", 1));
    let call = Call { fields: &used.fields, key: &used.key, slot: &slot, probe: &probe };
    let mut all = BTreeSet::new();
    for step in used.operations.iter().flat_map(|operation| operation.operation.steps(&call)) {
        match &step.command {
            Command::Plain(words) => all.extend(keys(words).into_iter().map(str::to_owned)),
            Command::Script { keys, .. } => all.extend(keys.iter().cloned()),
        }
    }
    let pattern =
        |key: &String| Glob::new(key.split(slot.as_str()).map(Glob::escaped).collect::<Vec<_>>().join("*"));
    all.iter().map(pattern).collect()
}
