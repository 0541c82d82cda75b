//! The fields that a kind has beside those of every use, read as the kind's specification says.

use super::uses::FIELDS;
use super::{Check, Map, listed};
use crate::kinds::{FieldSpec, FieldValue, Fields, Kind, Presence, Shape};
use crate::policy::yaml::{Node, Value};

impl Check {
    /// Records each field that neither every use nor this kind has, and says whose it is.
    pub(super) fn fields_known(&mut self, map: &Map<'_>, what: &str, kind: Kind) {
        let own = fields_of(kind);
        for (key, _) in map.entries {
            let name = key.text.as_str();
            if FIELDS.contains(&name) || own.contains(&name) {
                continue;
            }
            let others: Vec<&str> = Kind::ALL
                .into_iter()
                .filter(|other| fields_of(*other).contains(&name))
                .map(Kind::name)
                .collect();
            if others.is_empty() {
                let known = || FIELDS.into_iter().chain(own.iter().copied());
                let help = format!("the fields of the kind `{}` are {}", kind.name(), listed(known()));
                self.unknown(key.at, format!("{what} has no field `{name}`"), name, known(), Some(help));
            } else {
                let message = format!("the kind `{}` does not use the field `{name}`", kind.name());
                let help = format!("it belongs to {}: remove the field, or change the kind", listed(others));
                self.wrong(key.at, message, Some(help));
            }
        }
    }

    /// Where the kind is not known: records the fields that no kind has.
    pub(super) fn fields_of_any_kind(&mut self, map: &Map<'_>, what: &str) {
        let kinds = Kind::ALL.into_iter().flat_map(fields_of);
        let known: Vec<&str> = FIELDS.into_iter().chain(kinds).collect();
        for (key, _) in map.entries {
            if !known.contains(&key.text.as_str()) {
                let message = format!("{what} has no field `{}`, whatever its kind", key.text);
                self.unknown(key.at, message, &key.text, known.iter().copied(), None);
            }
        }
    }

    /// The fields of the kind, as its specification says. A use in memory sends nothing, so it needs none.
    pub(super) fn kind_fields(&mut self, map: &Map<'_>, what: &str, kind: Kind, in_memory: bool) -> Fields {
        let mut fields = Fields::default();
        let mut whole = true;
        for spec in kind.spec().fields {
            let value = match (map.get(spec.name), spec.presence) {
                (Some(node), _) => {
                    let value = self.kind_field(node, spec);
                    whole &= value.is_some();
                    value
                }
                (None, Presence::Required) => {
                    whole = false;
                    if !in_memory && !map.misspells(spec.name) {
                        let message = format!("{what} has no `{}`", spec.name);
                        let help = format!("add `{}: {}` ({})", spec.name, example(spec.shape), spec.says);
                        self.wrong(map.at, message, Some(help));
                    }
                    None
                }
                (None, Presence::DefaultWord(word)) => Some(FieldValue::Word(word)),
                (None, Presence::DefaultFalse) => Some(FieldValue::Flag(false)),
                (None, Presence::Optional(_)) => None,
            };
            if let Some(value) = value {
                fields.insert(spec.name, value);
            }
        }
        if whole && let Err((field, sentence)) = (kind.spec().check)(&fields) {
            self.wrong(map.get(field).map_or(map.at, |node| node.at), sentence, None);
        }
        fields
    }

    fn kind_field(&mut self, node: &Node, spec: &FieldSpec) -> Option<FieldValue> {
        let what = format!("`{}`", spec.name);
        match spec.shape {
            Shape::DurationOrNone if matches!(&node.value, Value::Text(text) if text == "none") => None,
            Shape::Duration | Shape::DurationOrNone => {
                self.server_duration(node, &what).map(FieldValue::Duration)
            }
            Shape::Count => self.count(node, &what, u64::from(u32::MAX)).map(FieldValue::Count),
            Shape::Flag => self.flag(node, &what).map(FieldValue::Flag),
            Shape::Word(words) => {
                self.word(node, &what, words.iter().map(|word| (*word, *word))).map(FieldValue::Word)
            }
            Shape::Key => self.key(node, &what).map(FieldValue::Key),
        }
    }
}

/// The fields of a kind beside those of every use.
fn fields_of(kind: Kind) -> Vec<&'static str> {
    let commands = (kind == Kind::Custom).then_some("commands");
    kind.spec().fields.iter().map(|field| field.name).chain(commands).collect()
}

fn example(shape: Shape) -> String {
    match shape {
        Shape::Duration | Shape::DurationOrNone => "30s".to_owned(),
        Shape::Count => "100".to_owned(),
        Shape::Flag => "true".to_owned(),
        Shape::Word(words) => words.first().copied().unwrap_or_default().to_owned(),
        Shape::Key => "\"my-use:${id}\"".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::closest;
    use super::*;

    #[test]
    fn no_field_of_a_use_can_be_taken_for_a_misspelt_required_one() {
        for kind in Kind::ALL {
            let own = kind.spec().fields.iter().filter(|field| field.presence == Presence::Required);
            let required: Vec<&str> =
                own.map(|field| field.name).chain(["name", "kind", "key", "commands"]).collect();
            for field in FIELDS.into_iter().chain(fields_of(kind)) {
                let others = required.iter().copied().filter(|name| *name != field);
                assert_eq!(closest(field, others), None, "{}: {field}", kind.name());
            }
        }
    }
}
