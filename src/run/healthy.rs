//! The scenarios on a healthy server: what they show there is wrong without any outage.

use std::sync::Arc;

use super::scene::Staged;
use super::server::{Hand, per_scene};
use super::{Run, RunError, side_by_side};
use crate::kinds::Phase;
use crate::observe::{Proof, Scene};

/// Plays one run of each scenario.
pub(super) async fn scenes(
    run: &Arc<Run>,
    hand: &mut Hand,
    scenes: Vec<Staged>,
) -> Result<Vec<Scene>, RunError> {
    let slots: Vec<_> = scenes.iter().flat_map(Staged::keys).collect();
    let counts: Vec<usize> = scenes.iter().map(|staged| staged.keys().len()).collect();
    let (scenes, _) = side_by_side::play(run, hand.endpoint(), scenes, Phase::Before).await?;
    let (scenes, _) = side_by_side::play(run, hand.endpoint(), scenes, Phase::During).await?;
    let after = per_scene(hand.snapshot(&slots).await?, &counts);
    let (scenes, _) = side_by_side::play(run, hand.endpoint(), scenes, Phase::After).await?;
    let end = per_scene(hand.snapshot(&slots).await?, &counts);
    let played = scenes.into_iter().zip(after).zip(end).map(|((mut staged, after), end)| Scene {
        key: staged.key,
        played: staged.in_order(),
        after,
        end,
        canary_survived: true,
        scaled: staged.scaled,
        proof: Proof::Held("the server answered each call".to_owned()),
    });
    Ok(played.collect())
}
