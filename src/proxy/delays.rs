//! How late slow bytes are.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

use super::lane::Due;

/// No delay is longer, so that arithmetic with it can't fail.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Draws delays that are the same on every run with the same seed, whatever other connections do.
#[derive(Debug)]
pub(super) struct Delays {
    seed: u64,
    connection: u64,
    drawn: u64,
}

impl Delays {
    /// Those of this connection of a proxy.
    pub(super) fn new(seed: u64, connection: u64) -> Delays {
        Delays { seed, connection, drawn: 0 }
    }

    /// When what has come now goes on: half of a round trip's delay is met on each way.
    pub(super) fn due(&mut self, now: Instant, latency: Duration, jitter: Duration) -> Due {
        let (latency, jitter) = (latency.min(LONGEST), jitter.min(LONGEST));
        self.drawn += 1;
        let stream = self.connection.rotate_left(32) ^ self.drawn;
        let mut rng = StdRng::seed_from_u64(self.seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let late = jitter.mul_f64(rng.random_range(0.0..=2.0));
        Due::At(now + (latency + late).saturating_sub(jitter) / 2)
    }
}
