//! Key templates, and the identity that makes each probe's keys its own.

use std::sync::Arc;

/// Which probe a key or a value belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeId(Arc<str>);

impl ProbeId {
    /// The probe with this number in this run. Numbers are never reused within a run.
    pub fn new(run: &str, number: u64) -> Self {
        ProbeId(format!("audit-{run}-{number}").into())
    }

    /// The text that stands in keys and values.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ProbeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

/// A key as the service builds it: text, and placeholders such as `${jti}`.
///
/// Plain braces are Redis hash tags and stay as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTemplate {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder,
}

impl KeyTemplate {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// A sentence where the text is empty, or a placeholder is empty or not closed.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("a key can't be empty".to_owned());
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            if start > 0 {
                parts.push(Part::Text(rest[..start].to_owned()));
            }
            let inside = &rest[start + 2..];
            let Some(end) = inside.find('}') else {
                return Err(format!("the placeholder `{}` is not closed: add `}}`", &rest[start..]));
            };
            if inside[..end].trim().is_empty() {
                return Err("the placeholder `${}` has no name".to_owned());
            }
            parts.push(Part::Placeholder);
            rest = &inside[end + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(KeyTemplate { text: text.to_owned(), parts })
    }

    /// The template as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether two probes would share a key were it used as written.
    pub fn is_constant(&self) -> bool {
        !self.parts.contains(&Part::Placeholder)
    }

    /// The text with each placeholder filled with the probe's identity.
    pub fn substitute(&self, probe: &ProbeId) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Placeholder => probe.as_str(),
            })
            .collect()
    }

    /// The key of one probe: the placeholders filled with its identity, which is appended where there is none.
    pub fn fill(&self, probe: &ProbeId) -> String {
        let key = self.substitute(probe);
        if self.is_constant() { format!("{key}:{probe}") } else { key }
    }
}
