//! The scenarios on a healthy server: what they show there is wrong without any outage.

use std::sync::Arc;
use std::time::Duration;

use super::actor::Cast;
use super::collect::Collected;
use super::scene::Staged;
use super::server::{Hand, per_scene};
use super::{Run, RunError, prepare, side_by_side};
use crate::kinds::Phase;
use crate::observe::{Proof, Scene};
use crate::plan::Batch;
use crate::redis::states;

/// Plays each scenario once, and replays the protocols of their uses. Nothing is timed here, so it uses the time in which
/// the servers in trouble keep everybody waiting.
pub(super) async fn run(run: &Arc<Run>, batch: &Batch, collected: &Collected) -> Result<(), RunError> {
    let mut server = run.servers.start(batch.persistence).await?;
    // The semaphore is never closed.
    let _working = run.brief.acquire().await;
    let mut casts: Vec<Cast> = batch.jobs.iter().map(|job| Cast::of(run, job, batch.bound)).collect();
    let mut hand = Hand::on(server.endpoint()).await?;
    prepare::keys(&mut hand, &casts).await?;
    let ready = states::prepare(batch.state, &server).await?;
    let holding = states::enter(ready, &mut server, Duration::ZERO).await?;
    let staged: Vec<_> = casts.iter_mut().flat_map(|cast| cast.scenes.drain(..)).collect();
    let uses = staged.iter().map(|staged| (staged.key.file, staged.key.use_index)).collect();
    let scenes = play(run, &mut hand, staged).await?;
    collected.add_replays(side_by_side::replay(run, server.endpoint(), uses).await?);
    let left = holding.leave(&mut server).await;
    left.barrier?;
    for scene in scenes {
        collected.add_scene(Scene { proof: left.proof.clone(), ..scene });
    }
    collected.note_left_behind(hand.clean(&run.name).await?);
    server.shutdown().await;
    Ok(())
}

async fn play(run: &Arc<Run>, hand: &mut Hand, scenes: Vec<Staged>) -> Result<Vec<Scene>, RunError> {
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
