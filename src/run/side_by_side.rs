//! The audit's own calls on a healthy server, scenario beside scenario: one call at a time is for measuring, and these are
//! not measured.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::scene::{Staged, patient};
use super::server::Hand;
use super::{Run, RunError, correctness, prepare};
use crate::endpoint::Endpoint;
use crate::kinds::{Phase, Step};
use crate::observe::Replayed;
use crate::plan::OWN_CLIENTS;

/// Plays a phase of all of these scenarios, and gives them back in order with the commands that were sent.
pub(super) async fn play(
    run: &Arc<Run>,
    target: &Endpoint,
    scenes: Vec<Staged>,
    phase: Phase,
) -> Result<(Vec<Staged>, Vec<Step>), RunError> {
    let shares = shares(scenes);
    let wanted = shares.iter().map(|_| (patient(), run.probe_id())).collect();
    let clients = prepare::clients(run, target, wanted).await?;
    let mut playing = JoinSet::new();
    for (index, (mut share, mut client)) in shares.into_iter().zip(clients).enumerate() {
        let give_up = run.plan.give_up;
        playing.spawn(async move {
            let mut sent = Vec::new();
            for staged in &mut share {
                sent.extend(staged.play(phase, &mut client, give_up).await);
            }
            (index, share, sent)
        });
    }
    let mut done = in_order(playing).await?;
    let sent = done.iter_mut().flat_map(|(_, _, sent)| std::mem::take(sent)).collect();
    Ok((done.into_iter().flat_map(|(_, share, _)| share).collect(), sent))
}

/// Replays the protocols of all of these uses: indices into the plan's files and a file's uses.
pub(super) async fn replay(
    run: &Arc<Run>,
    target: &Endpoint,
    uses: Vec<(usize, usize)>,
) -> Result<Vec<Replayed>, RunError> {
    let mut replaying = JoinSet::new();
    for (index, share) in shares(uses).into_iter().enumerate() {
        let (run, target) = (Arc::clone(run), target.clone());
        replaying.spawn(async move {
            let mut replayed = Vec::new();
            let outcome = async {
                let mut hand = Hand::on(&target).await?;
                let mut own = prepare::clients(&run, &target, vec![(patient(), run.probe_id())]).await?;
                for (file, use_index) in share {
                    if let Some(client) = own.first_mut() {
                        replayed.extend(correctness::replay(&run, &mut hand, client, file, use_index).await?);
                    }
                }
                Ok::<_, RunError>(())
            }
            .await;
            (index, outcome, replayed)
        });
    }
    let mut all = Vec::new();
    for (_, outcome, replayed) in in_order(replaying).await? {
        outcome?;
        all.extend(replayed);
    }
    Ok(all)
}

/// As many equal parts as there are clients, or fewer.
fn shares<T>(all: Vec<T>) -> Vec<Vec<T>> {
    let size = all.len().div_ceil(OWN_CLIENTS).max(1);
    let mut all = all.into_iter().peekable();
    let mut shares = Vec::new();
    while all.peek().is_some() {
        shares.push(all.by_ref().take(size).collect());
    }
    shares
}

async fn in_order<A: 'static, B: 'static>(
    mut tasks: JoinSet<(usize, A, B)>,
) -> Result<Vec<(usize, A, B)>, RunError> {
    let mut done = Vec::new();
    while let Some(one) = tasks.join_next().await {
        done.push(one.map_err(|error| RunError::Internal(error.to_string()))?);
    }
    done.sort_by_key(|(index, ..)| *index);
    Ok(done)
}
