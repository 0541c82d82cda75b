//! `accepts` and `rules`: the findings that a file accepts, and how much each counts.

use super::operations::Names;
use super::{Check, listed};
use crate::policy::yaml::{Node, Value};
use crate::policy::{Acceptance, Rules};
use crate::words::{Code, Severity, Span, State};

const SEVERITIES: [(&str, Severity); 4] = [
    ("allow", Severity::Allow),
    ("warn", Severity::Warn),
    ("inconclusive", Severity::Inconclusive),
    ("deny", Severity::Deny),
];

impl Check {
    pub(super) fn accepts(&mut self, node: &Node, names: &Names<'_>) -> Vec<Acceptance> {
        let list = self.list(node, "`accepts`").unwrap_or_default();
        list.iter().filter_map(|node| self.acceptance(node, names)).collect()
    }

    fn acceptance(&mut self, node: &Node, names: &Names<'_>) -> Option<Acceptance> {
        let what = "an acceptance";
        let map = self.map(node, what)?;
        self.only(&map, what, &["finding", "operation", "in", "because"]);
        let finding = self
            .required(&map, what, "finding", "double-entry")
            .and_then(|node| self.code(node).filter(|code| self.may_be_lowered(*code, node.at, "accepted")));
        let because = self
            .required(&map, what, "because", "a sentence that says why it is acceptable")
            .and_then(|node| self.text(node, "`because`"));
        let mut operations = Vec::new();
        for node in one_or_many(map.get("operation")) {
            match &node.value {
                Value::Text(text) if names.has(text) => operations.push(text.clone()),
                Value::Text(text) => self.unknown_operation(text, node.at, names),
                other => self.wrong_type(node.at, "`operation`", "an operation, or a list of them", other),
            }
        }
        let mut states = Vec::new();
        for node in one_or_many(map.get("in")) {
            match &node.value {
                Value::Text(text) => match State::from_name(text) {
                    Some(state) => states.push(state),
                    None => self.unknown_state(text, node.at),
                },
                other => self.wrong_type(node.at, "`in`", "a state, or a list of them", other),
            }
        }
        Some(Acceptance { finding: finding?, operations, states, because: because?, at: node.at })
    }

    pub(super) fn rules(&mut self, node: &Node) -> Rules {
        let mut rules = Rules::default();
        let Some(map) = self.map(node, "`rules`") else { return rules };
        for (key, value) in map.entries {
            let severity = self.word(value, &format!("the severity of `{}`", key.text), SEVERITIES);
            let Some(code) = self.code_text(&key.text, key.at) else { continue };
            let Some(severity) = severity else { continue };
            if matches!(severity, Severity::Inconclusive | Severity::Deny)
                || self.may_be_lowered(code, value.at, &format!("`{}`", severity.name()))
            {
                rules.0.insert(code, severity);
            }
        }
        rules
    }

    /// A run that proves nothing is never green, so what says so can't be switched off.
    fn may_be_lowered(&mut self, code: Code, at: Span, to: &str) -> bool {
        let fixed = code.default_severity() == Severity::Inconclusive;
        if fixed {
            let help = "a run that proves nothing is never green; it is `inconclusive` or `deny`".to_owned();
            self.wrong(at, format!("`{code}` can't be {to}"), Some(help));
        }
        !fixed
    }

    fn code(&mut self, node: &Node) -> Option<Code> {
        match &node.value {
            Value::Text(text) => self.code_text(text, node.at),
            other => {
                self.wrong_type(node.at, "`finding`", "a finding's code, such as `double-entry`", other);
                None
            }
        }
    }

    fn code_text(&mut self, text: &str, at: Span) -> Option<Code> {
        let code = Code::from_name(text);
        if code.is_none() {
            let known = || Code::ALL.iter().map(|code| code.name());
            let help = format!("`audit explain` lists them: {}", listed(known()));
            self.unknown(at, format!("there is no finding `{text}`"), text, known(), Some(help));
        }
        code
    }
}

/// A single value is a list of one.
fn one_or_many(node: Option<&Node>) -> &[Node] {
    match node {
        None => &[],
        Some(Node { value: Value::List(list), .. }) => list,
        Some(node) => std::slice::from_ref(node),
    }
}
