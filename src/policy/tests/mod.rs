//! Tests of the reader as a whole: a text goes in, a file or its problems come out.

mod declared;
mod hostile;
mod looked_for;
mod problems;
mod shipped;

use std::path::PathBuf;
use std::sync::Arc;

use super::{PolicyFile, Problem, Problems, Source, parse};

fn read(text: &str) -> Result<PolicyFile, Problems> {
    parse(Arc::new(Source { path: PathBuf::from("policies.yaml"), text: text.to_owned() }))
}

#[track_caller]
fn good(text: &str) -> PolicyFile {
    match read(text) {
        Ok(file) => file,
        Err(problems) => panic!("{problems}"),
    }
}

#[track_caller]
fn bad(text: &str) -> Vec<Problem> {
    let problems = read(text).expect_err("the file has a problem");
    assert!(!problems.list().is_empty());
    problems.list().to_vec()
}

/// The only problem of a text, as one line.
#[track_caller]
fn one(text: &str) -> String {
    let list = bad(text);
    assert_eq!(list.len(), 1, "{list:#?}");
    list[0].to_string()
}

/// A file with one lock, and lines added to the lock.
fn lock_with(lines: &str) -> String {
    format!(
        "{HEAD}uses:\n  - name: l\n    kind: lock\n    key: l:${{id}}\n    ttl: 30s\n{}",
        indent(lines, 4)
    )
}

/// A file with two uses, `l` and `m` (in memory), and lines added to the file.
fn file_with(lines: &str) -> String {
    format!("{}  - name: m\n    kind: rate_limit\n    backend: in_memory\n{lines}", lock_with(""))
}

const HEAD: &str = "version: 1\nservice: s\nclient: {command_timeout: 2s}\n";

fn indent(lines: &str, by: usize) -> String {
    lines.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect()
}
