//! Whether a command printed what a page says, apart from what differs between two runs that saw the same.
//!
//! White space, the server's version and the length of a rule vary freely. A measured time may be another by 25 % or
//! by 50 ms, whichever is more, and the time that a whole run took by a factor of three. A line `...` stands for any
//! number of lines. Durations as a policy file declares them (`250ms`, without a space) are compared as they are.

/// A part of a line.
#[derive(Debug, PartialEq)]
enum Part {
    Word(String),
    /// A measured time in milliseconds.
    Cost(f64),
    /// The time that a run took, in milliseconds.
    Wall(f64),
    /// A count that follows from a measured time.
    Count(f64),
}

/// Whether a text has these lines; else the first of them after which it does not go on as expected.
pub fn holds(expected: &[&str], printed: &str) -> Result<(), String> {
    let expected: Vec<&str> = expected.iter().copied().filter(|line| !line.trim().is_empty()).collect();
    let printed: Vec<Vec<Part>> = printed.lines().filter(|line| !line.trim().is_empty()).map(parts).collect();
    let mut furthest = 0;
    if goes_on(&expected, &printed, 0, &mut furthest) {
        return Ok(());
    }
    Err(expected.get(furthest).map_or("(the page shows nothing more)", |line| *line).to_owned())
}

fn goes_on(expected: &[&str], printed: &[Vec<Part>], at: usize, furthest: &mut usize) -> bool {
    *furthest = at.max(*furthest);
    match expected.get(at) {
        None => printed.is_empty(),
        Some(line) if line.trim() == "..." => {
            (0..=printed.len()).any(|skipped| goes_on(expected, &printed[skipped..], at + 1, furthest))
        }
        Some(line) => {
            printed.first().is_some_and(|first| same(&parts(line), first))
                && goes_on(expected, &printed[1..], at + 1, furthest)
        }
    }
}

fn same(expected: &[Part], printed: &[Part]) -> bool {
    expected.len() == printed.len()
        && expected.iter().zip(printed).all(|pair| match pair {
            (Part::Cost(said), Part::Cost(seen)) => (said - seen).abs() <= (said * 0.25).max(50.0),
            (Part::Wall(said), Part::Wall(seen)) => {
                *seen <= said * 3.0 + 1_000.0 && *said <= seen * 3.0 + 1_000.0
            }
            (Part::Count(said), Part::Count(seen)) => (said - seen).abs() <= said * 0.25,
            (said, seen) => said == seen,
        })
}

fn parts(line: &str) -> Vec<Part> {
    let mut words = line.split_whitespace().peekable();
    let mut parts: Vec<Part> = Vec::new();
    while let Some(word) = words.next() {
        let after = words.peek().copied().unwrap_or_default();
        let part = match word.parse::<f64>() {
            Ok(number) if unit(after).is_some() => {
                let (factor, rest) = unit(after).unwrap_or_default();
                words.next();
                let wall = parts.last() == Some(&Part::Word("in".to_owned())) && words.peek() == Some(&"on");
                // What is below half of what is kept apart anyway need not say so.
                if number * factor < 50.0 && parts.last() == Some(&Part::Word("<".to_owned())) {
                    parts.pop();
                }
                parts.push(if wall { Part::Wall(number * factor) } else { Part::Cost(number * factor) });
                if rest.is_empty() {
                    continue;
                }
                Part::Word(rest.to_owned())
            }
            Ok(number) if number >= 10.0 && ["of", "requests"].contains(&after) => Part::Count(number),
            _ if ["redis-server", "valkey-server"].contains(&word) && is_version(after) => {
                Part::Word("a server".to_owned())
            }
            _ if is_version(word) && parts.last() == Some(&Part::Word("a server".to_owned())) => {
                Part::Word(word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned())
            }
            _ if word.len() >= 3 && word.chars().all(|c| c == '-' || c == ':') => {
                Part::Word("---".to_owned())
            }
            _ => Part::Word(word.to_owned()),
        };
        parts.push(part);
    }
    parts
}

/// The unit that a word begins with, in milliseconds, and the punctuation after it.
fn unit(word: &str) -> Option<(f64, &str)> {
    [("ms", 1.0), ("us", 0.001), ("s", 1_000.0)].into_iter().find_map(|(name, factor)| {
        let rest = word.strip_prefix(name)?;
        rest.chars().all(|c| c.is_ascii_punctuation()).then_some((factor, rest))
    })
}

fn is_version(word: &str) -> bool {
    let digits = word.trim_end_matches(',');
    digits.contains('.') && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

#[test]
fn what_varies_between_two_runs_is_no_difference() {
    for (said, printed) in [
        ("✓ 0.14 ms  ✗ 2.00 s denied", "✓ < 0.01 ms   ✗ 2.04 s denied\n"),
        ("✓ 30 ms", "✓   61 ms"),
        ("on redis-server 7.0.15, aof", "on valkey-server 9.1.2, aof"),
        ("departs in 4.47 s on redis-server 7.0.15", "departs in 9 s on redis-server 8.2.3"),
        ("| --- | -----: |", "| ------- | --------: |"),
        ("240 of 200", "250 of 200"),
        ("jwt-revocation.check 2.00 s, then", "jwt-revocation.check 2.1 s, then"),
    ] {
        assert_eq!(holds(&[said], printed), Ok(()), "{said}");
    }
    assert_eq!(holds(&["a", "...", "d"], "a\nb\n\nc\nd\n"), Ok(()));
    assert_eq!(holds(&["...", "b", "..."], "b\n"), Ok(()));
}

#[test]
fn what_a_reader_would_believe_wrongly_is_a_difference() {
    for (said, printed) in [
        ("✓ 2.00 s denied", "✓ 1.00 s denied"),
        ("✓ 2.00 s denied", "✗ 2.00 s denied"),
        ("✓ 2.00 s denied", "✓ 2.00 s allowed"),
        ("✓ 0.14 ms", "✓ 140 ms"),
        ("budget 250ms", "budget 200ms"),
        ("> 15 s", "15 s"),
        ("n: healthy 200", "n: healthy 20"),
        ("a", "a\nb"),
        ("policies/portfolio.yaml:30:36", "policies/portfolio.yaml:31:36"),
    ] {
        assert_eq!(
            holds(&[said], printed),
            Err(if said == "a" { "(the page shows nothing more)" } else { said }.to_owned())
        );
    }
    assert_eq!(holds(&["a", "...", "d", "e"], "a\nb\nd\nf\n"), Err("e".to_owned()));
}
