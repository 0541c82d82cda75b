//! Costs and budgets in words, and back.

use crate::text::clean;
use crate::words::{exact_us, millis, seconds};

/// A cost as a document keeps it: two digits, and fewer where the second one would be noise.
pub(super) fn coarse(us: u64) -> String {
    match us {
        0..1_000 => "< 1 ms".to_owned(),
        1_000..99_500 => format!("{:.0} ms", millis(us)),
        99_500..995_000 => format!("{:.0} ms", (millis(us) / 10.0).round() * 10.0),
        995_000..9_950_000 => format!("{:.1} s", seconds(us)),
        9_950_000..99_500_000 => format!("{:.0} s", seconds(us)),
        _ => format!("{:.0} s", (seconds(us) / 10.0).round() * 10.0),
    }
}

/// What a call cost that was given up after a wait: `> 15 s`. The wait is a setting, so what it took beyond a tenth
/// of a second is the machine's.
pub(super) fn more_than(gave_up_us: u64) -> String {
    let tenths = gave_up_us / 100_000 * 100_000;
    format!("> {}", exact_us(if tenths == 0 { gave_up_us } else { tenths }))
}

/// A number of requests at two digits; a part of one is less than one.
pub(super) fn waiting(requests: f64) -> String {
    if requests < 1.0 {
        "< 1".to_owned()
    } else if requests < 9.95 {
        format!("{requests:.1}")
    } else if requests < 99.5 {
        format!("{requests:.0}")
    } else {
        let scale = 10_f64.powf(requests.log10().floor() - 1.0);
        format!("{:.0}", (requests / scale).round() * scale)
    }
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

/// A cost in microseconds, as written by [`coarse`] or by hand; none where the text is none.
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

/// A number as written by [`waiting`].
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
    fn a_document_gets_two_digits_and_nothing_below_a_millisecond() {
        let cases = [
            (42, "< 1 ms"),
            (51, "< 1 ms"),
            (2_149, "2 ms"),
            (12_300, "12 ms"),
            (252_000, "250 ms"),
            (997_000, "1.0 s"),
            (2_001_000, "2.0 s"),
            (6_103_000, "6.1 s"),
            (15_000_900, "15 s"),
            (123_000_000, "120 s"),
        ];
        for (us, text) in cases {
            assert_eq!(coarse(us), text, "{us}");
        }
    }

    #[test]
    fn a_wait_that_was_given_up_reads_as_its_setting() {
        assert_eq!(more_than(15_000_400), "> 15 s");
        assert_eq!(more_than(1_500_900), "> 1.5 s");
        assert_eq!(more_than(20_000), "> 20 ms");
    }

    #[test]
    fn waiting_requests_have_two_digits() {
        for (requests, text) in [(0.003, "< 1"), (1.26, "1.3"), (20.004, "20"), (1_234.0, "1200")] {
            assert_eq!(waiting(requests), text);
        }
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
            let stated = parse_cost(&coarse(us)).unwrap();
            #[expect(clippy::cast_precision_loss, reason = "a test")]
            let observed = us as f64;
            prop_assert!(stated.distance(observed) <= (observed * 0.0501).max(501.0), "{stated:?}");
        }
    }
}
