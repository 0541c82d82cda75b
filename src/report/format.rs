//! Costs and budgets in words, and back.

use crate::text::clean;
use crate::words::{coarse_us, exact_us};

/// All callers of an outage call at once, so that of what round trips cost there, this much is the machine's.
const AT_ONCE_US: u64 = 100_000;

/// The cost of a cell as a document keeps it: [`coarse_us`], and no figure for what ends at once.
pub(super) fn coarse_cost(us: u64, at_once: bool) -> String {
    match us {
        0..AT_ONCE_US if at_once => format!("< {}", exact_us(AT_ONCE_US)),
        us => coarse_us(us),
    }
}

/// By how much a cost may differ from what is stated, in microseconds, whatever part of it that is: more where it is made
/// of an outage's round trips, and then what the machine overslept besides.
#[expect(clippy::cast_precision_loss, reason = "a cost is compared within a quarter of itself")]
pub(super) fn noise_us(round_trips: bool, jitter_us: u64) -> f64 {
    if round_trips { AT_ONCE_US.saturating_add(jitter_us) as f64 } else { 50_000.0 }
}

/// What a call cost that was given up after a wait: `> 15 s`. The wait is a setting, so what it took beyond a tenth
/// of a second is the machine's.
pub(super) fn more_than(gave_up_us: u64) -> String {
    let tenths = gave_up_us / 100_000 * 100_000;
    format!("> {}", exact_us(if tenths == 0 { gave_up_us } else { tenths }))
}

/// An amount as a document states it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Stated {
    /// About this much.
    About(f64),
    /// Less than this.
    Below(f64),
}

impl Stated {
    /// How far an observed amount lies from what is stated.
    pub(super) fn distance(self, observed: f64) -> f64 {
        match self {
            Stated::About(amount) => (observed - amount).abs(),
            Stated::Below(limit) => (observed - limit).max(0.0),
        }
    }

    /// The stated amount itself.
    pub(super) fn amount(self) -> f64 {
        match self {
            Stated::About(amount) | Stated::Below(amount) => amount,
        }
    }
}

/// A cost in microseconds, as written by [`coarse_us`] or by hand; none where the text is none.
pub(super) fn parse_cost(text: &str) -> Option<Stated> {
    let text = clean(text);
    let (below, rest) = strip_below(&text);
    let at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = rest[..at].parse().ok()?;
    let unit = match rest[at..].trim() {
        "us" | "µs" => 1.0,
        "ms" => 1_000.0,
        "s" => 1_000_000.0,
        "min" => 60_000_000.0,
        _ => return None,
    };
    Some(if below { Stated::Below(number * unit) } else { Stated::About(number * unit) })
}

/// A number as written by [`coarse_count`].
pub(super) fn parse_number(text: &str) -> Option<Stated> {
    let (below, rest) = strip_below(text);
    let number: f64 = rest.parse().ok()?;
    number.is_finite().then_some(if below { Stated::Below(number) } else { Stated::About(number) })
}

fn strip_below(text: &str) -> (bool, &str) {
    match text.strip_prefix('<') {
        Some(rest) => (true, rest.trim()),
        None => (false, text.trim()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_wait_that_was_given_up_reads_as_its_setting() {
        assert_eq!(more_than(15_000_400), "> 15 s");
        assert_eq!(more_than(1_500_900), "> 1.5 s");
        assert_eq!(more_than(20_000), "> 20 ms");
    }

    #[test]
    fn costs_written_by_hand_are_read_and_others_are_not() {
        assert_eq!(parse_cost("2 s"), Some(Stated::About(2_000_000.0)));
        assert_eq!(parse_cost("250ms"), Some(Stated::About(250_000.0)));
        assert_eq!(parse_cost("<1 ms"), Some(Stated::Below(1_000.0)));
        for text in ["", "-", "ms", "2", "1.2.3 s", "never returned", "2 days"] {
            assert_eq!(parse_cost(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_a_document_states_is_within_half_a_unit_of_its_last_digit(us in 0_u64..1_000_000_000) {
            let stated = parse_cost(&coarse_us(us)).unwrap();
            #[expect(clippy::cast_precision_loss, reason = "a test")]
            let observed = us as f64;
            prop_assert!(stated.distance(observed) <= (observed * 0.0501).max(501.0), "{stated:?}");
        }
    }
}
