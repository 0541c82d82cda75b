//! What became of each use as a whole: whether its guarantee was kept, and whether its users were served.

use std::collections::BTreeMap;

use super::found::{Found, Subject};
use crate::policy::PolicyFile;
use crate::words::{Basis, Code, Harm, State};

/// A finding that takes something away from a use in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Harmed {
    /// Which.
    pub code: Code,
    /// What it takes away.
    pub harm: Harm,
    /// What it rests on.
    pub basis: Basis,
    /// In how many of how many runs it was seen, where it was.
    pub seen: Option<(usize, usize)>,
}

/// By use and state: what was taken away, what was seen before what is implied, and each code once.
pub(super) fn by_use(
    file: &PolicyFile,
    found: &[(Found, Option<String>)],
) -> BTreeMap<(usize, State), Vec<Harmed>> {
    let mut harms: BTreeMap<(usize, State), Vec<Harmed>> = BTreeMap::new();
    for (found, _) in found {
        let Some(state) = found.state else { continue };
        let (Subject::Operation { use_index, .. } | Subject::Use(use_index)) = found.subject else {
            continue;
        };
        let harm = match found.code {
            // What it means that data is gone depends on what it was for.
            Code::DataLostWithServer => file.uses[use_index].kind.spec().without_data_harms,
            code => code.harm(),
        };
        if harm == Harm::Other {
            continue;
        }
        let harmed = Harmed { code: found.code, harm, basis: found.basis, seen: found.seen };
        let list = harms.entry((use_index, state)).or_default();
        match list.iter_mut().find(|known| known.code == harmed.code) {
            // What was seen says more than what follows.
            Some(known) if known.seen.is_none() && harmed.seen.is_some() => *known = harmed,
            Some(_) => {}
            None => list.push(harmed),
        }
    }
    for list in harms.values_mut() {
        list.sort_by_key(|harmed| (harmed.seen.is_none(), harmed.basis == Basis::Implied));
    }
    harms
}
