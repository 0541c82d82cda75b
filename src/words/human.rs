//! Durations as people read them.

/// A duration in microseconds with three significant digits: `0.04 ms`, `12.3 ms`, `2.00 s`, `1 min 40 s`.
pub fn human_us(us: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let ms = us as f64 / 1_000.0;
    match ms {
        ms if ms < 1.0 => format!("{ms:.2} ms"),
        ms if ms < 9.995 => format!("{ms:.2} ms"),
        ms if ms < 99.95 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms if ms < 9_995.0 => format!("{:.2} s", ms / 1_000.0),
        ms if ms < 99_950.0 => format!("{:.1} s", ms / 1_000.0),
        ms => {
            let seconds = (ms / 1_000.0).round();
            format!("{} min {} s", (seconds / 60.0).floor(), seconds % 60.0)
        }
    }
}

/// [`human_us`] of a duration.
pub fn human(duration: std::time::Duration) -> String {
    human_us(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

/// A duration as a policy file declares it: exact, and without more digits than it has.
pub fn declared(duration: std::time::Duration) -> String {
    humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_has_three_digits_and_the_unit_that_suits_it() {
        let shown =
            [0, 42, 999, 1_500, 12_345, 123_456, 999_600, 2_001_600, 12_345_678, 100_000_000].map(human_us);
        assert_eq!(
            shown,
            [
                "0.00 ms",
                "0.04 ms",
                "1.00 ms",
                "1.50 ms",
                "12.3 ms",
                "123 ms",
                "1.00 s",
                "2.00 s",
                "12.3 s",
                "1 min 40 s"
            ]
        );
    }
}
