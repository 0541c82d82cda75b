//! A kind's own fields: what the policy reader checks, and what an operation reads.

use std::collections::BTreeMap;
use std::time::Duration;

use super::KeyTemplate;

/// One field that uses of a kind may have.
#[derive(Debug)]
pub struct FieldSpec {
    /// The name in policy files.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether it may be left out, and what then holds.
    pub presence: Presence,
    /// What it says, in one line.
    pub says: &'static str,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A duration with its unit, such as `30s`, of at least a millisecond.
    Duration,
    /// The same, or `none`.
    DurationOrNone,
    /// A whole number of at least 1.
    Count,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A key template, such as `jwt:valid-after:${user}`.
    Key,
}

/// Whether a field may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Every use of the kind has it.
    Required,
    /// Left out, it is this word.
    DefaultWord(&'static str),
    /// Left out, it is `false`.
    DefaultFalse,
    /// Left out, this sentence holds.
    Optional(&'static str),
}

/// A checked field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// For [`Shape::Duration`].
    Duration(Duration),
    /// For [`Shape::Count`].
    Count(u64),
    /// For [`Shape::Flag`].
    Flag(bool),
    /// For [`Shape::Word`].
    Word(&'static str),
    /// For [`Shape::Key`].
    Key(KeyTemplate),
}

/// The checked fields of one use, defaults filled in.
///
/// The reader puts each required field in, so an accessor meets a missing one only through a mistake of
/// ours; it then answers a value that harms nothing instead of panicking.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields(BTreeMap<&'static str, FieldValue>);

impl Fields {
    /// Puts a checked value in.
    pub fn insert(&mut self, name: &'static str, value: FieldValue) {
        self.0.insert(name, value);
    }

    /// The same fields with each duration this many times as long.
    #[must_use]
    pub fn scaled(&self, factor: u32) -> Fields {
        let scaled = |value: &FieldValue| match value {
            FieldValue::Duration(duration) => FieldValue::Duration(duration.saturating_mul(factor)),
            other => other.clone(),
        };
        Fields(self.0.iter().map(|(name, value)| (*name, scaled(value))).collect())
    }

    /// The shortest life that the fields give to a key.
    pub fn shortest_life(&self) -> Option<Duration> {
        let lives = self.0.iter().filter_map(|(name, value)| match value {
            FieldValue::Duration(life) if *name != "work" => Some(*life),
            _ => None,
        });
        lives.min()
    }

    /// A duration, or none where the field was left out.
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.0.get(name) {
            Some(FieldValue::Duration(value)) => Some(*value),
            _ => None,
        }
    }

    /// A count, or none where the field was left out.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.0.get(name) {
            Some(FieldValue::Count(value)) => Some(*value),
            _ => None,
        }
    }

    /// A flag; `false` where it was left out.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(FieldValue::Flag(true)))
    }

    /// A word; empty where it was left out and has no default.
    pub fn word(&self, name: &str) -> &'static str {
        match self.0.get(name) {
            Some(FieldValue::Word(value)) => value,
            _ => "",
        }
    }

    /// A key template, or none where the field was left out.
    pub fn key(&self, name: &str) -> Option<&KeyTemplate> {
        match self.0.get(name) {
            Some(FieldValue::Key(value)) => Some(value),
            _ => None,
        }
    }
}
