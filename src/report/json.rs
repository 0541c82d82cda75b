//! The report as JSON: everything, each attempt included, and back.

use serde::Deserialize;

use super::{REPORT_VERSION, Report};

/// Why a JSON report could not be read.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// It has another version.
    #[error(
        "this report has version {found}, and this audit reads version {REPORT_VERSION}; write it anew with `--json`, or read it with the audit that wrote it"
    )]
    Version {
        /// Its version.
        found: u64,
    },
    /// It is no report.
    #[error("not a report of this audit: {0}; write one with `--json FILE`")]
    Shape(#[from] serde_json::Error),
}

/// The version alone, so that a report of another shape is refused for the right reason.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

/// The report as pretty JSON, with a line end.
pub fn to_json(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}

/// The report that a JSON text holds.
pub fn from_json(text: &str) -> Result<Report, JsonError> {
    let Versioned { version } = serde_json::from_str(text)?;
    if version != u64::from(REPORT_VERSION) {
        return Err(JsonError::Version { found: version });
    }
    Ok(serde_json::from_str(text)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::report::sample;
    use crate::words::Reply;

    const DOC: &str = include_str!("../../docs/json-report.md");

    #[test]
    fn a_report_comes_back_as_it_was() {
        for report in [sample::report(), sample::two_services()] {
            assert_eq!(from_json(&to_json(&report).unwrap()).unwrap(), report);
        }
        for text in sample::hostile_texts() {
            let report = sample::written_by(sample::report(), &text);
            assert_eq!(from_json(&to_json(&report).unwrap()).unwrap(), report);
        }
    }

    #[test]
    fn another_version_is_refused_by_its_number_even_if_its_shape_differs() {
        let error = from_json("{\"version\": 7, \"else\": true}").unwrap_err().to_string();
        assert!(error.contains("version 7") && error.contains("version 1"), "{error}");
        let error = from_json("{\"version\": 1}").unwrap_err().to_string();
        assert!(error.starts_with("not a report of this audit: missing field"), "{error}");
        assert!(from_json("[]").is_err() && from_json("").is_err());
    }

    fn names(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    found.insert(name.clone());
                    names(value, found);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_field_is_documented() {
        let mut report = sample::report();
        let rejected =
            Reply::Rejected { code: "OOM".to_owned(), message: "OOM command not allowed".to_owned() };
        report.services[0].rows[0].cells[1].probes[0].reply = rejected;
        let mut found = BTreeSet::new();
        names(&serde_json::to_value(&report).unwrap(), &mut found);
        assert!(found.len() > 60, "the sample has too few fields to prove anything: {found:?}");
        let missing: Vec<_> = found.iter().filter(|name| !DOC.contains(&format!("`{name}`"))).collect();
        assert_eq!(missing, [""; 0]);
    }
}
