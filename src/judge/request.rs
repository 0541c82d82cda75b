//! What whole requests cost, and how many threads they hold.

use super::cost::{excess, forgiven_us};
use super::found::{Found, Subject};
use super::proof::Believable;
use crate::observe::{Chain, ChainProbe, Cost};
use crate::policy::PolicyFile;
use crate::words::{Code, coarse_count, coarse_us, declared};

/// The findings on requests.
pub(super) fn findings(file: &PolicyFile, chains: &[&Chain], believable: &Believable) -> Vec<Found> {
    let mut found = Vec::new();
    for chain in chains.iter().filter(|chain| believable.chain(chain.key)) {
        let request = &file.requests[chain.key.request];
        let subject = Subject::Request(chain.key.request);
        let state = chain.key.state;
        let Some(cost) = Cost::of(chain.probes.iter().map(ChainProbe::cost_us)) else { continue };
        if let Some(line) = request.budget.get(state)
            && let Some(excess) = excess(cost, line, state, chain.jitter_us)
        {
            found.push(Found {
                code: Code::RequestBudgetExceeded,
                subject,
                state: Some(state),
                at: line.at,
                basis: Code::RequestBudgetExceeded.basis(),
                seen: None,
                declared: format!("budget {}", declared(line.limit)),
                observed: excess,
                cause: format!("its calls run one after the other: {}", parts(chain)),
                knob: "shorter timeouts on the calls, fewer calls before the request is answered, or a higher budget"
                    .to_owned(),
            });
        }
        if let (Some(waiting), Some(threads)) = (waiting(request.rate, cost), request.threads)
            && exhausts(request.rate, cost, forgiven_us(state, chain.jitter_us), threads)
        {
            found.push(Found {
                code: Code::ThreadsExhausted,
                subject,
                state: Some(state),
                at: request.at,
                basis: Code::ThreadsExhausted.basis(),
                seen: None,
                declared: format!("{threads} threads"),
                observed: format!("{} requests wait at once", coarse_count(waiting)),
                cause: format!(
                    "{} requests a second, each for {} (rate times cost)",
                    request.rate.unwrap_or_default(),
                    coarse_us(cost.p50_us)
                ),
                knob: "shorter timeouts, or a breaker that stops asking a silent Redis; more threads only move the limit"
                    .to_owned(),
            });
        }
    }
    found
}

/// How many requests wait at once: what arrives in a second times how long each stays.
pub fn waiting(rate: Option<f64>, cost: Cost) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a product of two measured figures")]
    rate.map(|rate| rate * cost.p50_us as f64 / 1_000_000.0)
}

/// Whether more requests wait than there are threads, even without the jitter.
fn exhausts(rate: Option<f64>, cost: Cost, jitter_us: u64, threads: u32) -> bool {
    let calm = Cost { p50_us: cost.p50_us.saturating_sub(jitter_us), ..cost };
    waiting(rate, calm).is_some_and(|waiting| waiting > f64::from(threads))
}

/// What each call of the slowest run cost.
fn parts(chain: &Chain) -> String {
    let slowest = chain.probes.iter().max_by_key(|probe| probe.cost_us());
    slowest.map_or_else(String::new, |slowest| {
        slowest
            .calls
            .iter()
            .map(|call| format!("{} {}", call.call, coarse_us(call.probe.cost_us())))
            .collect::<Vec<_>>()
            .join(", then ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_exhausted_only_where_they_are_without_the_jitter_too() {
        let cost = |us| Cost::of([us; 20]).unwrap();
        for (us, jitter_us, exhausted) in
            [(1_690_000, 0, true), (1_690_000, 25_000, false), (1_700_000, 25_000, true)]
        {
            assert_eq!(exhausts(Some(120.0), cost(us), jitter_us, 200), exhausted, "{us} {jitter_us}");
        }
        assert!(!exhausts(None, cost(1_690_000), 0, 1));
    }
}
