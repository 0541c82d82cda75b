//! The policy file as written: a tree of values that know where they stand.
//!
//! Reading into a tree first, and checking it in a second step, is what lets the reader report every
//! problem of a file at once: a derived struct would stop at its first unknown field.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use crate::words::Span;

/// One value of the file and the place where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) at: Span,
}

/// What a [`Node`] holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// Entries in the order of the file; the reader refuses doubled keys before they get here.
    Map(Vec<(Key, Node)>),
}

/// The key of a map's entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) at: Span,
}

impl From<Location> for Span {
    fn from(location: Location) -> Self {
        let span = location.span();
        let start = span.byte_offset().unwrap_or(0);
        Span {
            line: usize::try_from(location.line()).unwrap_or(usize::MAX),
            column: usize::try_from(location.column()).unwrap_or(usize::MAX),
            start: usize::try_from(start).unwrap_or(usize::MAX),
            len: usize::try_from(span.byte_len().unwrap_or(0)).unwrap_or(0),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Node { value: spanned.value, at: spanned.referenced.into() })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<String>::deserialize(deserializer)?;
        Ok(Key { text: spanned.value, at: spanned.referenced.into() })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = seq.next_element()? {
            list.push(node);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

/// Why a text is not a YAML document, and where.
#[derive(Debug)]
pub(super) struct NotYaml {
    pub(super) message: String,
    pub(super) help: Option<&'static str>,
    /// A line and a column at least: a syntax error knows no byte.
    pub(super) at: Option<Span>,
}

/// Reads a text into a tree. The limits keep a hostile file from costing more than a moment.
pub(super) fn read(text: &str) -> Result<Node, NotYaml> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            max_nodes: 200_000,
            flow_nesting_limit: 32,
            max_documents: 1,
            max_aliases: 10_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        merge_keys: serde_saphyr::MergeKeyPolicy::Merge,
        reject_unsupported_tags: true,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| explain(&error))
}

/// The reader's own words where they say what is wrong; ours where they speak of its settings.
fn explain(error: &serde_saphyr::Error) -> NotYaml {
    use serde_saphyr::Error;
    use serde_saphyr::budget::BudgetBreach;

    let at = error.location().map(Span::from);
    // What went wrong inside an alias is what went wrong.
    let cause = match error {
        Error::AliasError { error, .. } => error,
        other => other,
    };
    let (message, help) = match cause {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            (format!("the field `{key}` stands twice"), Some("keep one of the two"))
        }
        Error::MultipleDocuments { .. } | Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => (
            "a second document begins here".to_owned(),
            Some("a policy file is one document: remove the `---` and what follows it, or make it a file"),
        ),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => (TOO_MUCH.to_owned(), Some(ENOUGH)),
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            ("an anchor contains itself".to_owned(), Some("write the value out"))
        }
        Error::NullIntoString { .. } => ("a field's name is empty".to_owned(), Some("name the field")),
        other => {
            let text = other.to_string();
            let text = text.split_once(" at line ").map_or(text.as_str(), |(message, _)| message);
            match text {
                "recursion limit exceeded" => (TOO_MUCH.to_owned(), Some(ENOUGH)),
                "expected string scalar" => ("a field's name must be a text".to_owned(), None),
                text if text.starts_with("tabs disallowed") => {
                    ("a tab stands where only spaces may".to_owned(), Some("indent with spaces"))
                }
                text => (text.to_owned(), None),
            }
        }
    };
    NotYaml { message, help, at }
}

const TOO_MUCH: &str = "the file is nested too deep, or its aliases expand too far";
const ENOUGH: &str = "a policy file needs no more than 32 levels and 200,000 values";
