use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{HEAD, read};
use crate::policy::{Problems, STARTER, load};
use crate::text::Look;

/// Every place lies inside the file, and is the one that its line and column name.
fn check_places(text: &str, problems: &Problems) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in problems.list() {
        let span = problem.place.span;
        if span.line == 0 {
            continue;
        }
        assert!(span.start + span.len <= text.len(), "{problem:?}");
        assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.start + span.len));
        let line = lines.get(span.line - 1).unwrap_or_else(|| panic!("{problem:?}"));
        assert!(span.column <= line.chars().count() + 1, "{problem:?}");
        let before: usize = lines[..span.line - 1].iter().map(|line| line.len() + 1).sum();
        let ahead: usize = line.chars().take(span.column - 1).map(char::len_utf8).sum();
        assert_eq!(before + ahead, span.start, "{problem:?}");
    }
}

fn survive(text: &str) {
    if let Err(problems) = read(text) {
        assert!(!problems.list().is_empty());
        check_places(text, &problems);
        let rendered = problems.render(Look::PLAIN) + &problems.to_string();
        assert!(rendered.chars().all(|char| char == '\n' || !char.is_control()), "{rendered:?}");
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(200))]

    #[test]
    fn arbitrary_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &bytes).expect("written");
        if let Err(problems) = load(file.path()) {
            check_places(&String::from_utf8_lossy(&bytes), &problems);
            let rendered = problems.render(Look { color: true, width: 80 });
            prop_assert!(!rendered.is_empty());
        }
    }

    #[test]
    fn texts_that_look_like_yaml_are_survived(text in "([a-z]{1,4}: ?|[-\\[\\]{}&*!|>'\"%@`#,?:~]|\r?\n| {1,4}|\t|é|\u{1b}){0,60}") {
        survive(&text);
    }

    #[test]
    fn mutations_of_the_starter_file_are_survived(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..30, "[\\-a-z0-9:{}\\[\\]\"\n &*é\u{1b}]{0,6}"), 1..5)
    ) {
        let mut chars: Vec<char> = STARTER.chars().collect();
        for (at, len, put) in cuts {
            let at = at.index(chars.len());
            let end = (at + len).min(chars.len());
            chars.splice(at..end, put.chars());
        }
        survive(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn lines_that_are_lost_or_swapped_are_survived(
        drop in any::<prop::sample::Index>(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()
    ) {
        let mut lines: Vec<&str> = STARTER.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
        lines.remove(drop.index(lines.len()));
        let (from, to) = (from.index(lines.len()), to.index(lines.len()));
        lines.swap(from, to);
        survive(&lines.join("\n"));
    }
}

#[track_caller]
fn quick(text: &str) {
    let begun = Instant::now();
    survive(text);
    let took = begun.elapsed();
    // Far above what it takes, and far below what an input that explodes takes.
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
fn hostile_files_cost_only_a_moment() {
    quick(&"[".repeat(40_000));
    quick(&format!("a: {}", "{b: ".repeat(40_000)));
    quick(&"- ".repeat(40_000));
    quick(&"? ".repeat(40_000));
    quick(&"&a ".repeat(40_000));
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let inner = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![inner; 9].join(","));
    }
    quick(&bomb);
}

#[test]
fn many_problems_cost_only_a_moment_and_are_counted() {
    let unknown: String = (0..40_000).map(|n| format!("field{n}: x\n")).collect();
    quick(&unknown);
    let problems = read(&unknown).expect_err("it is wrong");
    assert!(problems.left_out() > 30_000 && problems.list().len() < 1_000);
    let calls: String = (0..20_000).map(|n| format!("      - nobody{n}.take\n")).collect();
    let uses: String =
        (0..5_000).map(|n| format!("  - {{name: u{n}, kind: rate_limit, backend: in_memory}}\n")).collect();
    quick(&format!("{HEAD}uses:\n{uses}requests:\n  - name: r\n    calls:\n{calls}"));
    quick(&format!("a: \"{}\"", "x".repeat(3_000_000)));
}

#[test]
fn a_thousand_uses_are_read() {
    let uses: String = (0..1_000)
        .map(|n| {
            format!("  - {{name: u{n}, kind: lock, key: \"l{n}:${{id}}\", ttl: 30s, on_outage: fail_open}}\n")
        })
        .collect();
    assert_eq!(super::good(&format!("{HEAD}uses:\n{uses}")).uses.len(), 1_000);
}
