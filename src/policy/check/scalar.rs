//! Single values: texts, names, words, durations, numbers, flags and key templates.

use std::time::Duration;

use super::{Check, listed};
use crate::kinds::KeyTemplate;
use crate::policy::yaml::{Node, Value};
use crate::words::Span;

/// Longer than anything that is meant, and short enough that sums of it stay in range.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

impl Check {
    /// A text on one line: line ends and runs of spaces become one space.
    pub(super) fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        let Value::Text(text) = &node.value else {
            self.wrong_type(node.at, what, "a text (put a number between quotes)", &node.value);
            return None;
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            self.wrong(
                node.at,
                format!("{what} is empty"),
                Some("say something, or leave it out".to_owned()),
            );
            return None;
        }
        self.without_control(&text, node.at, what).then_some(text)
    }

    /// A name: what reports, `use.operation` and the command line refer to.
    pub(super) fn name(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = match &node.value {
            Value::Text(text) => text,
            other => {
                self.wrong_type(node.at, what, "a name (put a number between quotes)", other);
                return None;
            }
        };
        self.name_text(text, node.at, what).then(|| text.clone())
    }

    pub(super) fn name_text(&mut self, text: &str, at: Span, what: &str) -> bool {
        let wrong = if text.is_empty() {
            "is empty"
        } else if text.contains(char::is_whitespace) {
            "contains a space"
        } else if text.contains('.') {
            "contains a dot"
        } else if text.contains(char::is_control) {
            "contains a control character"
        } else {
            return true;
        };
        let help = "a name is letters, digits, `-` and `_`; a dot separates use and operation".to_owned();
        self.wrong(at, format!("{what} {wrong}"), Some(help));
        false
    }

    fn without_control(&mut self, text: &str, at: Span, what: &str) -> bool {
        let bad = text.contains(char::is_control);
        if bad {
            self.wrong(at, format!("{what} contains a control character"), Some("remove it".to_owned()));
        }
        !bad
    }

    /// One of some words.
    pub(super) fn word<T>(
        &mut self,
        node: &Node,
        what: &str,
        known: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Option<T> {
        let known: Vec<(&'static str, T)> = known.into_iter().collect();
        let names = || known.iter().map(|(name, _)| *name);
        let Value::Text(text) = &node.value else {
            self.wrong_type(node.at, what, &format!("one of {}", listed(names())), &node.value);
            return None;
        };
        if !names().any(|name| name == text) {
            let message = format!("{what} can't be `{text}`");
            self.unknown(node.at, message, text, names(), Some(format!("it is one of {}", listed(names()))));
            return None;
        }
        known.into_iter().find(|(name, _)| name == text).map(|(_, value)| value)
    }

    /// A duration with its unit, above zero.
    pub(super) fn duration(&mut self, node: &Node, what: &str) -> Option<Duration> {
        let written = "write a number and its unit, such as `250ms` or `1.5s`";
        let (message, help) = match &node.value {
            Value::Int(0) => (format!("{what} is 0"), "a duration is above zero".to_owned()),
            Value::Int(number @ 1..) => (
                format!("{what} has no unit"),
                format!("write `{number}ms` or `{number}s`, whichever is meant"),
            ),
            Value::Int(_) => (format!("{what} is negative"), written.to_owned()),
            Value::Float(number) if *number > 0.0 => (
                format!("{what} has no unit"),
                format!("write `{number}ms` or `{number}s`, whichever is meant"),
            ),
            Value::Text(text) if text.trim_start().starts_with('-') => {
                (format!("{what} is negative"), written.to_owned())
            }
            Value::Text(text) => match humantime::parse_duration(text) {
                Ok(duration) if duration.is_zero() => {
                    (format!("{what} is 0"), "a duration is above zero".to_owned())
                }
                Ok(duration) if duration > LONGEST => {
                    (format!("{what} is above ten years"), "a shorter duration says as much".to_owned())
                }
                Ok(duration) => return Some(duration),
                Err(error) => (format!("{what} is no duration: `{text}` ({error})"), written.to_owned()),
            },
            other => {
                self.wrong_type(node.at, what, "a duration, such as `250ms` or `1.5s`", other);
                return None;
            }
        };
        self.wrong(node.at, message, Some(help));
        None
    }

    /// A duration with its unit, or zero.
    pub(super) fn duration_or_zero(&mut self, node: &Node, what: &str) -> Option<Duration> {
        let zero = match &node.value {
            Value::Int(0) => true,
            Value::Text(text) => humantime::parse_duration(text).is_ok_and(|duration| duration.is_zero()),
            _ => false,
        };
        if zero { Some(Duration::ZERO) } else { self.duration(node, what) }
    }

    /// A duration that a server is told: whole milliseconds, at least one.
    pub(super) fn server_duration(&mut self, node: &Node, what: &str) -> Option<Duration> {
        let duration = self.duration(node, what)?;
        if duration < Duration::from_millis(1) {
            let help = "the server counts in milliseconds: at least `1ms`".to_owned();
            self.wrong(node.at, format!("{what} is below a millisecond"), Some(help));
            return None;
        }
        Some(duration)
    }

    /// A duration, or `none` for one that never ends.
    pub(super) fn timeout(&mut self, node: &Node, what: &str) -> Option<Option<Duration>> {
        match &node.value {
            Value::Text(text) if text == "none" => Some(None),
            Value::Null => {
                let help = "write a duration, or `none` for a client that waits for ever".to_owned();
                self.wrong(node.at, format!("{what} is empty"), Some(help));
                None
            }
            _ => self.duration(node, what).map(Some),
        }
    }

    /// A whole number from 1 to a largest one.
    pub(super) fn count(&mut self, node: &Node, what: &str, largest: u64) -> Option<u64> {
        let expected = format!("a whole number from 1 to {largest}");
        match &node.value {
            Value::Int(number) => match u64::try_from(*number) {
                Ok(number) if number >= 1 && number <= largest => Some(number),
                _ => {
                    self.wrong(node.at, format!("{what} is {number}"), Some(format!("expected {expected}")));
                    None
                }
            },
            other => {
                self.wrong_type(node.at, what, &expected, other);
                None
            }
        }
    }

    /// A number of something, within what a plan can hold.
    pub(super) fn small_count(&mut self, node: &Node, what: &str, largest: u32) -> Option<u32> {
        self.count(node, what, largest.into()).and_then(|number| u32::try_from(number).ok())
    }

    /// A number, whole or not, for which a condition holds.
    pub(super) fn number(
        &mut self,
        node: &Node,
        what: &str,
        expected: &str,
        fits: fn(f64) -> bool,
    ) -> Option<f64> {
        let number = match &node.value {
            #[expect(clippy::cast_precision_loss, reason = "a rate or a share needs no more than 15 digits")]
            Value::Int(number) => *number as f64,
            Value::Float(number) => *number,
            other => {
                self.wrong_type(node.at, what, expected, other);
                return None;
            }
        };
        if number.is_finite() && fits(number) {
            return Some(number);
        }
        self.wrong(node.at, format!("{what} is {number}"), Some(format!("expected {expected}")));
        None
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, node: &Node, what: &str) -> Option<bool> {
        match &node.value {
            Value::Bool(value) => Some(*value),
            other => {
                self.wrong_type(node.at, what, "`true` or `false`", other);
                None
            }
        }
    }

    /// A key template.
    pub(super) fn key(&mut self, node: &Node, what: &str) -> Option<KeyTemplate> {
        match &node.value {
            Value::Text(text) => self.key_text(text, node.at, what),
            other => {
                self.wrong_type(node.at, what, "a key, such as `\"jwt:denylist:${jti}\"`", other);
                None
            }
        }
    }

    pub(super) fn key_text(&mut self, text: &str, at: Span, what: &str) -> Option<KeyTemplate> {
        if !self.without_control(text, at, what) {
            return None;
        }
        if text.contains("${env:") {
            let help =
                "write the text itself; a placeholder such as `${id}` is filled by the audit".to_owned();
            self.wrong(
                at,
                format!("{what} takes no `${{env:...}}`: it is reserved and not there yet"),
                Some(help),
            );
            return None;
        }
        match KeyTemplate::parse(text) {
            Ok(key) => Some(key),
            Err(sentence) => {
                self.wrong(at, format!("{what}: {sentence}"), None);
                None
            }
        }
    }
}
