//! How long a client waits before it tries again.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::policy::Backoff;

/// The longest wait after the failed attempt with this number (from 1).
pub(crate) fn longest_wait(backoff: Backoff, failed_attempt: u32) -> Duration {
    match backoff {
        Backoff::None => Duration::ZERO,
        Backoff::Fixed(wait) => wait,
        Backoff::Exponential { base, cap, .. } => {
            let doublings = failed_attempt.saturating_sub(1);
            1u32.checked_shl(doublings).and_then(|factor| base.checked_mul(factor)).unwrap_or(cap).min(cap)
        }
    }
}

/// The shortest wait after the failed attempt with this number (from 1).
pub(crate) fn shortest_wait(backoff: Backoff, failed_attempt: u32) -> Duration {
    let longest = longest_wait(backoff, failed_attempt);
    match backoff {
        Backoff::Exponential { jitter, .. } => longest.mul_f64(1.0 - jitter.clamp(0.0, 1.0)),
        Backoff::None | Backoff::Fixed(_) => longest,
    }
}

/// The wait after the failed attempt with this number (from 1), jitter drawn.
pub(super) fn wait(backoff: Backoff, failed_attempt: u32, random: &mut StdRng) -> Duration {
    let longest = longest_wait(backoff, failed_attempt);
    match backoff {
        Backoff::Exponential { jitter, .. } if jitter > 0.0 => {
            longest.mul_f64(1.0 - jitter.min(1.0) * random.random::<f64>())
        }
        _ => longest,
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const EXPONENTIAL: Backoff =
        Backoff::Exponential { base: Duration::from_millis(10), cap: Duration::from_millis(50), jitter: 0.5 };

    #[test]
    fn an_exponential_backoff_doubles_up_to_its_cap_even_after_very_many_attempts() {
        let waits = [1, 2, 3, 4, 40, u32::MAX].map(|attempt| longest_wait(EXPONENTIAL, attempt).as_millis());
        assert_eq!(waits, [10, 20, 40, 50, 50, 50]);
    }

    #[test]
    fn jitter_only_shortens_a_wait_and_by_no_more_than_its_share() {
        let mut random = StdRng::seed_from_u64(7);
        let waits: Vec<_> = (0..1_000).map(|_| wait(EXPONENTIAL, 2, &mut random)).collect();
        let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
        assert_eq!(shortest_wait(EXPONENTIAL, 2), Duration::from_millis(10));
        assert!(*least >= Duration::from_millis(10) && *least < Duration::from_millis(11), "{least:?}");
        assert!(*most <= Duration::from_millis(20) && *most > Duration::from_millis(19), "{most:?}");
    }
}
