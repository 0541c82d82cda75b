//! Merges what says the same of one place into one finding.

use super::found::{Found, Subject};
use crate::policy::PolicyFile;
use crate::words::{Finding, Severity};

/// The findings as reports show them: one for each code, place, cause and reason; what counts most first, then in the file's
/// order.
pub(super) fn merge(file: &PolicyFile, found: Vec<(Found, Option<String>)>) -> Vec<Finding> {
    let mut groups: Vec<(Vec<Found>, Option<String>)> = Vec::new();
    for (one, reason) in found {
        let same = groups.iter_mut().find(|(group, other)| {
            group.first().is_some_and(|first| {
                first.code == one.code
                    && first.at == one.at
                    && first.basis == one.basis
                    && is_alike(&first.cause, &one.cause)
                    && owner(&first.subject) == owner(&one.subject)
            }) && *other == reason
        });
        match same {
            Some((group, _)) => group.push(one),
            None => groups.push((vec![one], reason)),
        }
    }
    let mut findings: Vec<Finding> =
        groups.into_iter().filter_map(|(group, reason)| finding(file, &group, reason)).collect();
    findings.sort_by_key(|finding| (rank(finding), finding.place.span.start));
    findings
}

/// Departing first, then what is inconclusive, then warnings, then the rest; accepted ones last.
fn rank(finding: &Finding) -> u8 {
    match finding.severity {
        _ if finding.accepted.is_some() => 4,
        Severity::Deny => 0,
        Severity::Inconclusive => 1,
        Severity::Warn => 2,
        Severity::Allow => 3,
    }
}

/// The use or the request that a finding belongs to.
fn owner(subject: &Subject) -> (bool, usize) {
    match subject {
        Subject::Operation { use_index, .. } | Subject::Use(use_index) => (false, *use_index),
        Subject::Request(index) => (true, *index),
    }
}

fn finding(file: &PolicyFile, group: &[Found], accepted: Option<String>) -> Option<Finding> {
    let first = group.first()?;
    let (request, index) = owner(&first.subject);
    let subject = if request { file.requests[index].name.clone() } else { file.uses[index].name.clone() };
    let mut operations = Vec::new();
    let mut states = Vec::new();
    for found in group {
        let name = operation_name(file, found);
        operations.extend(name.filter(|name| !operations.contains(name)));
        states.extend(found.state.filter(|state| !states.contains(state)));
    }
    states.sort_unstable();
    Some(Finding {
        code: first.code,
        severity: file.rules.severity(first.code),
        basis: first.basis,
        subject,
        operations,
        states,
        place: file.source.place(first.at),
        declared: distinct(group.iter().map(|found| found.declared.clone())),
        observed: observed(file, group),
        cause: first.cause.clone(),
        knob: first.knob.clone(),
        accepted,
    })
}

fn operation_name(file: &PolicyFile, found: &Found) -> Option<String> {
    match found.subject {
        Subject::Operation { use_index, operation_index } => {
            Some(file.uses[use_index].operations[operation_index].name().to_owned())
        }
        Subject::Use(_) | Subject::Request(_) => None,
    }
}

/// What was observed, each phrase once, with the operations and states that it holds for in front where the group has
/// more than one phrase.
fn observed(file: &PolicyFile, group: &[Found]) -> String {
    let mut phrases: Vec<(String, Vec<String>)> = Vec::new();
    for found in group {
        let place = [operation_name(file, found), found.state.map(|state| state.name().to_owned())]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        match phrases.iter_mut().find(|(phrase, _)| is_alike(phrase, &found.observed)) {
            Some((phrase, places)) => {
                *phrase = the_larger(phrase, &found.observed);
                places.push(place);
            }
            None => phrases.push((found.observed.clone(), vec![place])),
        }
    }
    match phrases.as_slice() {
        [(phrase, _)] => phrase.clone(),
        many => many
            .iter()
            .map(|(phrase, places)| format!("{}: {phrase}", places.join(", ")))
            .collect::<Vec<_>>()
            .join("; "),
    }
}

/// Whether two texts say the same: the same words, and measured figures no further apart than noise takes them.
fn is_alike(one: &str, other: &str) -> bool {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.split(' ').collect(), other.split(' ').collect());
    let is_measured = |at: usize| {
        let unit = one.get(at + 1).map(|word| word.trim_end_matches([',', ';']));
        unit.is_some_and(|unit| ["ms", "s", "requests"].contains(&unit))
    };
    one.len() == other.len()
        && one.iter().zip(&other).enumerate().all(|(at, (one, other))| {
            one == other
                || is_measured(at)
                    && one
                        .parse::<f64>()
                        .ok()
                        .zip(other.parse::<f64>().ok())
                        .is_some_and(|(one, other)| (one - other).abs() <= one.max(other) / 10.0)
        })
}

/// Of two texts that are alike, the one with the larger of each figure.
fn the_larger(one: &str, other: &str) -> String {
    let larger = |(one, other): (&str, &str)| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(a), Ok(b)) if b > a => other.to_owned(),
        _ => one.to_owned(),
    };
    one.split(' ').zip(other.split(' ')).map(larger).collect::<Vec<_>>().join(" ")
}

fn distinct(texts: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for text in texts {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct.join("; ")
}

#[cfg(test)]
mod tests {
    use super::{is_alike, the_larger};

    #[test]
    fn of_figures_that_are_alike_the_larger_is_shown() {
        assert_eq!(
            the_larger("2.00 s at worst, 5 of 5", "2.01 s at worst, 5 of 5"),
            "2.01 s at worst, 5 of 5"
        );
        assert_eq!(the_larger("2.01 s at worst", "2.00 s at worst"), "2.01 s at worst");
    }

    #[test]
    fn figures_that_noise_tells_apart_are_alike_and_counts_and_other_words_are_not() {
        assert!(is_alike("each for 2.0 s (rate)", "each for 2.1 s (rate)"));
        assert!(is_alike("240 requests wait at once", "250 requests wait at once"));
        for (one, other) in [
            ("2.0 s at worst", "4.0 s at worst"),
            ("2.0 s at worst", "2.0 ms at worst"),
            ("19 of 20 runs", "20 of 20 runs"),
            ("2.0 s at worst", "2.0 s at p50"),
        ] {
            assert!(!is_alike(one, other), "{one} and {other}");
        }
    }
}
