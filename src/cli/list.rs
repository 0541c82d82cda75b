//! `audit kinds`, `audit states`, `audit explain`: what there is.

use std::fmt::Write as _;

use redis_outage_audit::judge::explain as long_form;
use redis_outage_audit::kinds::{Kind, KindSpec, Presence, Shape};
use redis_outage_audit::words::{Code, Form, OutagePolicy, State, closest};

use super::args::{ExplainArgs, KindsArgs};
use super::exit::Exit;
use super::screen;

/// Lists the kinds, or shows one.
pub(crate) fn kinds(args: &KindsArgs) -> Exit {
    let text = match &args.kind {
        None => {
            let names = Kind::ALL.map(|kind| kind.spec());
            let mut text: String =
                names.iter().map(|spec| format!("{:<17}{}\n", spec.name, spec.summary)).collect();
            text.push_str("\naudit kinds KIND shows its operations and fields\n");
            text
        }
        Some(name) => match Kind::from_name(name) {
            Some(kind) => one_kind(kind.spec()),
            None => return unknown("kind", name, Kind::ALL.map(Kind::name)),
        },
    };
    screen::out(&text)
}

fn one_kind(spec: &KindSpec) -> String {
    let mut text = format!("{}: {}\n", spec.name, spec.summary);
    for operation in spec.operations {
        let _ = write!(text, "\n  {:<11}{}\n", operation.name, operation.commands);
        let means = [
            (OutagePolicy::FailOpen, operation.means.fail_open),
            (OutagePolicy::FailClosed, operation.means.fail_closed),
            (OutagePolicy::Fallback, operation.means.fallback),
        ];
        for (policy, meaning) in means.iter().filter(|(_, meaning)| !meaning.is_empty()) {
            let _ = writeln!(text, "    {:<13}{meaning}", policy.name());
        }
    }
    if !spec.fields.is_empty() {
        text.push_str("\n  fields\n");
    }
    for field in spec.fields {
        let _ = writeln!(text, "    {:<16}{}", field.name, shape(field.shape));
        let _ = writeln!(text, "    {:<16}{}", "", field.says);
        let _ = writeln!(text, "    {:<16}{}", "", presence(field.presence));
    }
    if spec.operations.is_empty() {
        text.push_str(
            "\n  commands: {NAME: {run: [[WORD, ..], ..], writes: true, idempotent: false, ok_when: any}}\n",
        );
    }
    text
}

fn shape(shape: Shape) -> String {
    match shape {
        Shape::Duration => "a duration, such as 30s".to_owned(),
        Shape::DurationOrNone => "a duration, such as 30s, or none".to_owned(),
        Shape::Count => "a whole number".to_owned(),
        Shape::Flag => "true or false".to_owned(),
        Shape::Word(words) => words.join(" | "),
        Shape::Key => "a key template, such as user:${id}".to_owned(),
    }
}

fn presence(presence: Presence) -> String {
    match presence {
        Presence::Required => "required".to_owned(),
        Presence::DefaultWord(word) => format!("left out: {word}"),
        Presence::DefaultFalse => "left out: false".to_owned(),
        Presence::Optional(otherwise) => format!("left out: {otherwise}"),
    }
}

/// Lists the states.
pub(crate) fn states() -> Exit {
    let text: String = State::ALL
        .iter()
        .map(|state| {
            let facts = state.facts();
            let asked = if facts.by_default { "" } else { ", only when asked for" };
            let form = match facts.form {
                Form::Condition => "condition",
                Form::Event => "event",
            };
            format!(
                "{state} ({form}{asked})\n  {}\n  reproduces: {}\n  does not reproduce: {}\n  on {}\n",
                facts.how, facts.reproduces, facts.lacks, facts.systems
            )
        })
        .collect::<Vec<_>>()
        .join("\n");
    screen::out(&screen::wrapped(&text, screen::width()))
}

/// Explains a finding, or lists all.
pub(crate) fn explain(args: &ExplainArgs) -> Exit {
    let text = match &args.code {
        None => Code::ALL
            .iter()
            .map(|code| {
                format!("{:<25}{:<14}{}\n", code.name(), code.default_severity().name(), code.summary())
            })
            .collect(),
        Some(name) => match Code::from_name(name) {
            Some(code) => {
                let text = format!("{code}: {}\n\n{}", code.summary(), paragraphs(long_form(code)));
                screen::wrapped(&text, screen::width())
            }
            None => return unknown("finding", name, Code::ALL.iter().map(|code| code.name())),
        },
    };
    screen::out(&text)
}

/// A page's text with each paragraph on one line, as the page is wrapped for another width.
fn paragraphs(page: &str) -> String {
    page.split("\n\n").map(|paragraph| paragraph.replace('\n', " ") + "\n").collect::<Vec<_>>().join("\n")
}

fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Exit {
    let all: Vec<&str> = known.clone().into_iter().collect();
    screen::error(&anyhow::anyhow!(
        "no {what} `{name}`{}; there are {}",
        closest(name, known),
        all.join(", ")
    ));
    Exit::Usage
}
