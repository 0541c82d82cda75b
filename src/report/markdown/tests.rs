use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;
use crate::report::sample;

/// The number of cells of each row of each table, and whether there is any HTML.
fn shape(markdown: &str) -> (Vec<Vec<usize>>, bool) {
    let (mut tables, mut html, mut cells) = (Vec::<Vec<usize>>::new(), false, 0);
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Table(_)) => tables.push(Vec::new()),
            Event::Start(Tag::TableHead | Tag::TableRow) => cells = 0,
            Event::Start(Tag::TableCell) => cells += 1,
            Event::End(TagEnd::TableHead | TagEnd::TableRow) => tables.last_mut().unwrap().push(cells),
            Event::Html(_) | Event::InlineHtml(_) | Event::Code(_) => html = true,
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::Strong) => html = true,
            _ => {}
        }
    }
    (tables, html)
}

/// The unescaped pipes of each line of a table's source: a reader fills missing cells, so the source is counted too.
fn pipes(line: &str) -> usize {
    let mut escaped = false;
    line.chars()
        .filter(|c| {
            let counts = *c == '|' && !escaped;
            escaped = *c == '\\' && !escaped;
            counts
        })
        .count()
}

#[test]
fn the_table_reads_as_if_a_person_had_written_it() {
    let text = table(&sample::report());
    println!("{text}");
    println!("{}", table(&sample::two_services()));
    let lines: Vec<&str> = text.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(lines.len(), 9);
    let read = lines.iter().find(|line| line.contains("project-cache.read")).unwrap();
    for says in [
        "undecided: the error climbs to the caller; paused: never returned",
        "never returned (more than 15 s)",
        "assumed; simulated",
        "undecided, policy-unreachable",
        "< 1 ms",
    ] {
        let found = says.split(", ").all(|part| read.contains(part));
        assert!(found, "{says}: {read}");
    }
    let acquire = lines.iter().find(|line| line.contains("dataset-lock.acquire")).unwrap();
    assert!(acquire.contains("allows: runs unlocked  ") && acquire.contains("2.0 s |"), "{acquire}");
    assert!(acquire.contains("double-entry (accepted)"), "{acquire}");
    let ends: Vec<usize> = lines.iter().map(|line| crate::text::width(line)).collect();
    assert!(ends.iter().all(|end| *end == ends[0]), "the source is aligned: {ends:?}");
    assert!(text.contains("Probed on redis-server 7.0.15 in the states healthy, paused, stopped."), "{text}");
    assert!(text.contains("healthy 200, paused 20, stopped 20"), "{text}");
}

#[test]
fn a_guarantee_reads_as_a_sentence_and_a_count_that_wavers_is_left_out() {
    let text = table(&sample::report());
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("| {name} "))).unwrap();
        line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let lock = row("dataset-lock");
    assert_eq!(lock[2..4], ["at most one holder", "kept; users served"]);
    assert_eq!(lock[4], "lost: double-entry (implied, accepted); users served");
    let both = "lost: double-entry (implied, accepted); users not served: lock-held-by-nobody (5 of 5)";
    assert_eq!(lock[5], both);
    let cache = row("project-cache");
    assert!(
        cache[4].contains("read-failed (implied)") && cache[4].contains("-late-claim (5 of 5)"),
        "{cache:?}"
    );
    let wavers = "lost: stale-after-recovery (in some runs); users not served: read-failed (implied)";
    assert_eq!(cache[5], wavers);
}

#[test]
fn noise_does_not_change_a_byte() {
    let mut report = sample::report();
    let cells = report.services[0].uses.iter_mut().flat_map(|used| &mut used.cells);
    for loss in cells.flat_map(|cell| cell.guarantee.iter_mut().chain(&mut cell.availability)) {
        loss.seen = loss.seen.map(|seen| if seen == 3 { 4 } else { seen });
    }
    for cell in report.services[0].uses.iter_mut().flat_map(|used| &mut used.cells) {
        cell.availability.reverse();
    }
    report.services[0].scenes.clear();
    for cell in report.services[0].rows.iter_mut().flat_map(|row| &mut row.cells) {
        let cost = cell.cost.unwrap();
        let noisy = (0..cost.n).map(|at| if cost.p50_us < 1_000 { 30 + at } else { cost.p50_us + at * 900 });
        cell.cost = crate::observe::Cost::of(noisy);
        cell.jitter_us += 2_000;
        cell.probes.clear();
    }
    report.wall_us += 1_000_000;
    report.seed = 7;
    let mut expected = sample::report();
    for row in &mut expected.services[0].rows {
        row.cells.iter_mut().for_each(|cell| cell.probes.clear());
    }
    assert_eq!(table(&report), table(&expected));
}

#[test]
fn several_services_share_a_table_with_a_column_for_them() {
    let text = table(&sample::two_services());
    let (tables, _) = shape(&text);
    assert_eq!(tables, [vec![10; 15], vec![10; 7], vec![6; 7]]);
    assert!(text.starts_with("| service"), "{text}");
}

#[test]
fn what_others_wrote_is_text_and_nothing_else() {
    let (ordinary, _) = shape(&table(&sample::report()));
    for text in sample::hostile_texts() {
        let written = table(&sample::written_by(sample::report(), &text));
        assert_eq!(shape(&written), (ordinary.clone(), false), "{text:?}\n{written}");
        assert!(!written.contains('\r') && !written.contains('\u{202e}'));
        for line in written.lines().filter(|line| line.starts_with('|')) {
            assert!([6, 10, 11].contains(&pipes(line)), "{line}");
        }
    }
}

fn at(folder: &tempfile::TempDir, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.path().join("doc.md");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn only_what_is_between_the_markers_changes() {
    let folder = tempfile::tempdir().unwrap();
    let before: [(&[u8], &[u8]); 5] = [
        (b"# Ours\n\ntext\n<!-- audit:begin -->\n", b"<!-- audit:end -->\n\nmore\n"),
        (b"\xef\xbb\xbf<!-- audit:begin -->\n", b"<!-- audit:end -->"),
        (b"latin \xe8 \xff\n\n<!-- audit:begin -->\n", b"<!-- audit:end -->\n\xe8 no line end"),
        (
            b"```\n<!-- audit:begin -->\n<!-- audit:end -->\n```\n<!-- audit:begin -->  \n",
            b"  <!-- audit:end -->\n",
        ),
        (b"\r\nwindows\r\n<!-- audit:begin -->\r\n", b"<!-- audit:end -->\r\nmore\r\n"),
    ];
    for (head, tail) in before {
        let path = at(&folder, &[head, b"old | table\n", tail].concat());
        check_writable(&path).unwrap();
        write(&path, &sample::report()).unwrap();
        let once = std::fs::read(&path).unwrap();
        let shown = String::from_utf8_lossy(&once);
        assert!(once.starts_with(head) && once.ends_with(tail), "{shown}");
        assert!(shown.contains("dataset-lock.acquire") && !shown.contains("old | table"), "{shown}");
        let newlines = shown.matches('\n').count();
        let expected = if head.contains(&b'\r') { newlines } else { 0 };
        assert_eq!(shown.matches("\r\n").count(), expected, "line ends are the document's own");
        write(&path, &sample::report()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), once, "a second time changes nothing");
        assert!(read_between_markers(&path).unwrap().contains("| use and operation"));
    }
}

#[test]
fn a_document_that_did_not_ask_for_a_table_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, &str); 6] = [
        ("# Ours\n", "doc.md: has no line `<!-- audit:begin -->`"),
        ("a\n<!-- audit:begin -->\n", "doc.md:2: the first marker has no second one"),
        ("a\nb\n<!-- audit:end -->\n", "doc.md:3: the second marker has no first one"),
        ("<!-- audit:end -->\n<!-- audit:begin -->\n", "doc.md:1: the second marker stands before the first"),
        (
            "<!-- audit:begin -->\n<!-- audit:begin -->\n<!-- audit:end -->\n",
            "doc.md:2: the first marker stands here again",
        ),
        (
            "<!-- audit:begin -->\n<!-- audit:end -->\n\n<!-- audit:end -->\n",
            "doc.md:4: the second marker stands here again",
        ),
    ];
    for (text, says) in cases {
        let path = at(&folder, text.as_bytes());
        for result in [write(&path, &sample::report()), check_writable(&path)] {
            let message = result.unwrap_err().to_string();
            assert!(message.contains(says), "{message}");
            assert!(message.contains("audit:end"), "the mend: {message}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_file_of_its_own_is_written_and_updated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.md");
    write(&path, &sample::report()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), document(&sample::report()));
    write(&path, &sample::two_services()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), document(&sample::two_services()));
    std::fs::write(&path, "\n").unwrap();
    write(&path, &sample::report()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), document(&sample::report()));
}

#[test]
fn a_name_like_a_marker_does_not_end_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.md");
    let report = sample::written_by(sample::report(), "x\n<!-- audit:end -->\n<!-- audit:begin -->");
    for _ in 0..2 {
        write(&path, &report).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), document(&report));
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]
    #[test]
    fn no_text_changes_the_shape_of_the_table(text in sample::any_text()) {
        let (ordinary, _) = shape(&table(&sample::report()));
        let written = table(&sample::written_by(sample::report(), &text));
        prop_assert_eq!(shape(&written), (ordinary, false), "{}", written);
    }

    #[test]
    fn escaped_text_reads_as_itself(text in sample::any_text()) {
        let text = clean(&text);
        let grid = grid::Grid {
            heads: vec![grid::Head { title: "a".to_owned(), figures: false }],
            rows: vec![vec![text]],
        };
        let read = crate::report::check::read::grids(&grid.render());
        prop_assert_eq!(read, vec![grid]);
    }
}
