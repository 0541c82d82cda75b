//! A use's scenario on a healthy server: what it shows there is wrong without any outage.

use std::sync::Arc;

use super::scene::{Staged, patient};
use super::server::Hand;
use super::{Run, RunError, prepare};
use crate::kinds::Phase;
use crate::observe::{Proof, Scene};

/// Plays one run of a scenario, one call after the other.
pub(super) async fn scene(run: &Arc<Run>, hand: &mut Hand, staged: &mut Staged) -> Result<Scene, RunError> {
    let slots = staged.keys();
    let mut clients = prepare::clients(run, hand.addr(), vec![(patient(), run.probe_id())]).await?;
    let mut after = Vec::new();
    for phase in [Phase::Before, Phase::During, Phase::After] {
        if phase == Phase::After {
            after = hand.snapshot(&slots).await?;
        }
        if let Some(client) = clients.first_mut() {
            staged.play(phase, client, run.plan.give_up).await;
        }
    }
    let end = hand.snapshot(&slots).await?;
    Ok(Scene {
        key: staged.key,
        played: staged.in_order(),
        after: after.into_iter().collect(),
        end: end.into_iter().collect(),
        canary_survived: true,
        scaled: staged.scaled,
        proof: Proof::Held("the server answered each call".to_owned()),
    })
}
