//! A distribution of costs.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// What calls cost, in microseconds. Timeouts are inside the distribution, at what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// How many calls.
    pub n: u64,
    /// The cheapest, exactly.
    pub min_us: u64,
    /// The median, within 0.1 %.
    pub p50_us: u64,
    /// The 99th percentile, within 0.1 %; only from 100 calls on, below which it would be the maximum.
    pub p99_us: Option<u64>,
    /// The dearest, exactly.
    pub max_us: u64,
}

/// From how many calls on a 99th percentile says more than the maximum.
const P99_FROM: u64 = 100;

/// Calls that cost more count as this much in the percentiles: an hour.
const DEAREST_US: u64 = 3_600_000_000;

impl Cost {
    /// The distribution of these costs; none where there are none.
    pub fn of(costs_us: impl IntoIterator<Item = u64>) -> Option<Cost> {
        // Three significant digits: within 0.1 %. With these bounds it can't fail.
        let mut histogram = Histogram::<u64>::new_with_bounds(1, DEAREST_US, 3).ok()?;
        let (mut min, mut max) = (u64::MAX, 0);
        for cost in costs_us {
            histogram.saturating_record(cost);
            min = min.min(cost);
            max = max.max(cost);
        }
        let n = histogram.len();
        if n == 0 {
            return None;
        }
        // The histogram answers a bucket's edge, which can lie outside of what was recorded.
        let at = |quantile| histogram.value_at_quantile(quantile).clamp(min, max);
        Some(Cost { n, min_us: min, p50_us: at(0.5), p99_us: (n >= P99_FROM).then(|| at(0.99)), max_us: max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_distribution_is_none_and_not_zero() {
        assert_eq!(Cost::of([]), None);
    }

    #[test]
    fn minimum_and_maximum_are_exact_and_p99_waits_for_a_hundred() {
        let cost = Cost::of((1..=99).map(|n| n * 10_007)).unwrap();
        assert_eq!((cost.n, cost.min_us, cost.max_us, cost.p99_us), (99, 10_007, 990_693, None));
        let cost = Cost::of((1..=100).map(|n| n * 10_007)).unwrap();
        let p99 = cost.p99_us.unwrap();
        assert!(p99.abs_diff(990_693) < 1_000, "{p99}");
    }
}
