//! The way back: how long after an outage an operation first succeeds on a connection from before it.
//!
//! It is measured from the moment at which the server answered again, beside everything else that happens then: a
//! client that reconnects meanwhile would otherwise look as if it had never been away.

use std::time::Duration;

use tokio::time::Instant;

use crate::clients::ProbeClient;
use crate::kinds::{ProbeId, Step};
use crate::observe::Recovery;

/// How long a first success is waited for, at least.
pub(super) const WINDOW: Duration = Duration::from_millis(1_500);

/// The pause between two tries.
const AGAIN: Duration = Duration::from_millis(10);

/// Calls until it is answered, or until the window is over, which began when the server answered again. The key is no
/// caller's of the outage, so that looking changes nothing of what is left there.
pub(super) async fn recovery(
    client: &mut ProbeClient,
    id: &ProbeId,
    steps: &[Step],
    began: Instant,
    window: Duration,
) -> Recovery {
    let us = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    loop {
        let left = window.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Recovery::NotWithin(us(window));
        }
        if client.call(id, steps, left).await.reply.is_answer() {
            return Recovery::After(us(began.elapsed()));
        }
        tokio::time::sleep(AGAIN).await;
    }
}
