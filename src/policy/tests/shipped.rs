use std::collections::BTreeMap;
use std::path::Path;

use super::good;
use crate::policy::yaml::{self, Node, Value};
use crate::policy::{Backend, PolicyFile, STARTER, Source, load};
use crate::text::Look;
use crate::words::{Code, KnownFrom, OutagePolicy, Span};

const FILES: [&str; 3] = ["portfolio.yaml", "portfolio-improved.yaml", "minimal.yaml"];

fn path(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies").join(name)
}

#[track_caller]
fn shipped(name: &str) -> PolicyFile {
    match load(&path(name)) {
        Ok(file) => file,
        Err(problems) => panic!("{}", problems.render(Look::PLAIN)),
    }
}

fn policies(file: &PolicyFile) -> BTreeMap<String, OutagePolicy> {
    file.uses
        .iter()
        .filter(|one| one.backend == Backend::Redis)
        .flat_map(|one| one.operations.iter().map(|op| (format!("{}.{}", one.name, op.name()), op.on_outage)))
        .collect()
}

#[test]
fn every_shipped_file_is_read_without_a_problem() {
    for name in FILES {
        assert!(!shipped(name).uses.is_empty());
    }
}

#[test]
fn the_starter_file_is_read_without_a_problem_and_explains_itself() {
    let file = good(STARTER);
    assert_eq!(file.uses.len(), 3);
    assert_eq!(file.requests.len(), 1);
    assert!(STARTER.lines().filter(|line| line.trim_start().starts_with('#')).count() > 20);
}

#[test]
fn the_portfolio_has_seven_uses_and_thirteen_operations() {
    for name in ["portfolio.yaml", "portfolio-improved.yaml"] {
        let file = shipped(name);
        assert_eq!(file.uses.len(), 7);
        assert_eq!(file.uses.iter().map(|one| one.operations.len()).sum::<usize>(), 13);
    }
}

#[test]
fn the_portfolio_declares_what_the_article_says_of_each_use() {
    let file = shipped("portfolio.yaml");
    let policies = policies(&file);
    for (operation, policy) in [
        ("jwt-revocation.check", OutagePolicy::FailClosed),
        ("idempotency-key.reserve", OutagePolicy::FailOpen),
        ("dataset-lock.acquire", OutagePolicy::FailOpen),
        ("booking-token.issue", OutagePolicy::Propagate),
        ("booking-token.consume", OutagePolicy::Undecided),
        ("heartbeat.claim", OutagePolicy::Undecided),
        ("spring-cache.read", OutagePolicy::Undecided),
    ] {
        assert_eq!(policies[operation], policy, "{operation}");
    }
    let cache = file.uses.iter().find(|one| one.name == "spring-cache").expect("it is there");
    assert_eq!(cache.operations[0].known_from, KnownFrom::Docs);
    for one in &file.uses {
        assert!(one.operations.iter().all(|op| op.code.is_some()), "{}", one.name);
    }
    let counted: Vec<&str> = file.requests[0]
        .calls
        .iter()
        .map(|call| file.uses[call.use_index].operations[call.operation_index].name())
        .collect();
    assert_eq!(counted, ["acquire", "reserve"]);
}

#[test]
fn the_improved_portfolio_leaves_nothing_undecided_and_waits_less() {
    let (before, after) = (shipped("portfolio.yaml"), shipped("portfolio-improved.yaml"));
    assert!(policies(&after).values().all(|policy| *policy != OutagePolicy::Undecided));
    assert!(after.uses[0].client.command_timeout < before.uses[0].client.command_timeout);
    for one in &after.uses {
        for accepted in &one.accepts {
            // Each acceptance is of something that the declared policy really makes inevitable.
            let implied = one.operations.iter().any(|op| {
                op.operation.implied(op.on_outage) == Some(accepted.finding)
                    && (accepted.operations.is_empty() || accepted.operations.contains(&op.name().to_owned()))
            });
            assert!(implied, "{} accepts {}", one.name, accepted.finding);
        }
    }
    let visible = |code: Code| after.uses.iter().all(|one| one.accepts.iter().all(|a| a.finding != code));
    assert!(visible(Code::OriginStampede) && visible(Code::ValidRequestFailed));
}

#[test]
fn every_shipped_file_means_the_same_to_another_reader_of_yaml() {
    let texts = FILES.map(|name| std::fs::read_to_string(path(name)).expect("it is there"));
    for text in texts.iter().map(String::as_str).chain([STARTER]) {
        let other: serde_yaml::Value = serde_yaml::from_str(text).expect("it is YAML");
        assert_eq!(plain(&yaml::read(text).expect("it is YAML")), other);
    }
}

fn plain(node: &Node) -> serde_yaml::Value {
    use serde_yaml::Value as Other;
    match &node.value {
        Value::Null => Other::Null,
        Value::Bool(value) => Other::Bool(*value),
        Value::Int(value) => Other::Number(i64::try_from(*value).expect("it is small").into()),
        Value::Float(value) => Other::Number((*value).into()),
        Value::Text(text) => Other::String(text.clone()),
        Value::List(list) => Other::Sequence(list.iter().map(plain).collect()),
        Value::Map(entries) => Other::Mapping(
            entries.iter().map(|(key, node)| (Other::String(key.text.clone()), plain(node))).collect(),
        ),
    }
}

#[test]
fn the_place_of_a_declaration_is_its_value() {
    let file = shipped("portfolio.yaml");
    let heartbeat = file.uses.iter().find(|one| one.name == "heartbeat").expect("it is there");
    let at: Span = heartbeat.operations[0].on_outage_at;
    let source: &Source = &file.source;
    assert_eq!(&source.text[at.start..at.start + at.len], "undecided");
}

#[test]
fn the_documentation_names_every_field_operation_and_word() {
    use crate::kinds::{Kind, Shape};
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy-file.md");
    let text = std::fs::read_to_string(path).expect("it is there");
    for kind in Kind::ALL {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", kind.name())))
            .unwrap_or_else(|| panic!("no row for {}", kind.name()));
        let operations = kind.spec().operations.iter().map(|operation| operation.name);
        for name in operations.chain(kind.spec().fields.iter().map(|field| field.name)) {
            assert!(row.contains(&format!("`{name}`")), "{}: {name}", kind.name());
        }
        for field in kind.spec().fields {
            let Shape::Word(words) = field.shape else { continue };
            assert!(words.iter().all(|word| row.contains(&format!("`{word}`"))), "{}", field.name);
        }
    }
    for policy in OutagePolicy::ALL {
        assert!(text.contains(&format!("`{}`", policy.name())));
    }
}

#[test]
fn the_examples_of_the_documentation_are_read_without_a_problem() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy-file.md");
    let text = std::fs::read_to_string(path).expect("it is there");
    let blocks: Vec<&str> =
        text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [minimal, uses, requests, custom] = blocks.as_slice() else { panic!("four examples") };
    good(minimal);
    let jwt = "  - {name: jwt-revocation, kind: jwt_revocation, key: \"j:${id}\", ttl: 1h}\n";
    good(&format!("{}{uses}{jwt}{custom}{requests}", super::HEAD));
}
