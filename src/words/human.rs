//! Durations as people read them.

use std::time::Duration;

/// A cost or a life in microseconds for a reader: `0.05 ms`, `12 ms`, `2.00 s`, `180 s`, `24 h`.
pub fn human_us(us: u64) -> String {
    match us {
        0..10 => "< 0.01 ms".to_owned(),
        10..995 => format!("{:.2} ms", millis(us)),
        995..9_950 => format!("{:.1} ms", millis(us)),
        9_950..999_500 => format!("{:.0} ms", millis(us)),
        999_500..9_995_000 => format!("{:.2} s", seconds(us)),
        9_995_000..99_950_000 => format!("{:.1} s", seconds(us)),
        99_950_000..299_500_000 => format!("{:.0} s", seconds(us)),
        _ => long(us),
    }
}

/// A cost in microseconds as a document keeps it, and where equal findings are to read alike: two digits, and fewer where the second one would be noise.
pub fn coarse_us(us: u64) -> String {
    match us {
        0..1_000 => "< 1 ms".to_owned(),
        1_000..99_500 => format!("{:.0} ms", millis(us)),
        99_500..995_000 => format!("{:.0} ms", (millis(us) / 10.0).round() * 10.0),
        995_000..9_950_000 => format!("{:.1} s", seconds(us)),
        9_950_000..99_500_000 => format!("{:.0} s", seconds(us)),
        _ => format!("{:.0} s", (seconds(us) / 10.0).round() * 10.0),
    }
}

/// A number of requests at two digits; a part of one is less than one.
pub fn coarse_count(requests: f64) -> String {
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

/// Minutes, hours or days, each with the next smaller unit where there is a rest.
fn long(us: u64) -> String {
    let rounded = |unit: u64| us.saturating_add(unit / 2) / unit;
    let (seconds, minutes, hours) = (rounded(1_000_000), rounded(60_000_000), rounded(3_600_000_000));
    let (count, unit, rest, smaller) = match (seconds, minutes) {
        (..3_600, _) => (seconds / 60, "min", seconds % 60, "s"),
        (_, ..2_880) => (minutes / 60, "h", minutes % 60, "min"),
        _ => (hours / 24, "d", hours % 24, "h"),
    };
    if rest == 0 { format!("{count} {unit}") } else { format!("{count} {unit} {rest} {smaller}") }
}

/// A declared duration in microseconds, exactly: `250 ms`, `1.5 s`.
pub fn exact_us(us: u64) -> String {
    let (number, unit) = if us < 1_000_000 { (millis(us), "ms") } else { (seconds(us), "s") };
    let digits = format!("{number:.6}");
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// [`exact_us`] of a duration.
pub fn declared(duration: Duration) -> String {
    exact_us(micros(duration))
}

/// A duration in whole microseconds.
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Microseconds in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "a cost is shown in at most six digits")]
fn millis(us: u64) -> f64 {
    us as f64 / 1_000.0
}

/// Microseconds in seconds.
#[expect(clippy::cast_precision_loss, reason = "a cost is shown in at most six digits")]
fn seconds(us: u64) -> f64 {
    us as f64 / 1_000_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_has_the_digits_that_a_reader_can_use() {
        let cases = [
            (0, "< 0.01 ms"),
            (17, "0.02 ms"),
            (50, "0.05 ms"),
            (999, "1.0 ms"),
            (2_149, "2.1 ms"),
            (12_300, "12 ms"),
            (999_499, "999 ms"),
            (999_500, "1.00 s"),
            (2_001_000, "2.00 s"),
            (15_000_000, "15.0 s"),
            (120_000_000, "120 s"),
        ];
        for (us, text) in cases {
            assert_eq!(human_us(us), text, "{us}");
        }
    }

    #[test]
    fn a_long_life_has_two_units_at_most_and_reads_as_it_was_declared_just_after_it_began() {
        let seconds = [
            (179.7, "180 s"),
            (299.4, "299 s"),
            (299.6, "5 min"),
            (599.0, "9 min 59 s"),
            (3_599.4, "59 min 59 s"),
            (3_599.9, "1 h"),
            (5_400.0, "1 h 30 min"),
            (86_399.6, "24 h"),
            (86_340.0, "23 h 59 min"),
            (172_799.9, "2 d"),
            (604_800.0, "7 d"),
            (630_000.0, "7 d 7 h"),
        ];
        for (seconds, text) in seconds {
            assert_eq!(human_us(micros(Duration::from_secs_f64(seconds))), text);
        }
        assert!(human_us(u64::MAX).ends_with(" h"));
    }

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
            assert_eq!(coarse_us(us), text, "{us}");
        }
    }

    #[test]
    fn waiting_requests_have_two_digits() {
        for (requests, text) in [(0.003, "< 1"), (1.26, "1.3"), (20.004, "20"), (1_234.0, "1200")] {
            assert_eq!(coarse_count(requests), text);
        }
    }

    #[test]
    fn a_declared_duration_is_not_rounded() {
        for (us, text) in [(50, "0.05 ms"), (250_000, "250 ms"), (1_500_000, "1.5 s"), (10_000_000, "10 s")] {
            assert_eq!(exact_us(us), text);
        }
    }
}
