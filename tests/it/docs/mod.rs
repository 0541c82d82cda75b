//! The documentation says what the program does: what it shows is run, and what it links to is there.

mod blocks;
mod compare;
mod run;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use blocks::{Block, Page};

use crate::command::{Ended, Folder};

/// How many blocks run at once. A run mostly waits, so this may exceed the number of cores.
const AT_ONCE: usize = 4;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md and all pages below docs/.
fn pages() -> Vec<Page> {
    let mut paths = vec![PathBuf::from("README.md")];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap().flatten() {
            let path = folder.join(entry.file_name());
            match entry.path() {
                found if found.is_dir() => folders.push(path),
                found if found.extension().is_some_and(|extension| extension == "md") => paths.push(path),
                _ => {}
            }
        }
    }
    paths.sort();
    paths.into_iter().map(|path| Page::read(root(), path)).collect()
}

#[test]
fn every_console_block_prints_what_the_page_says() {
    let pages = pages();
    let blocks: Vec<&Block> =
        pages.iter().flat_map(|page| &page.blocks).filter(|block| block.language == "console").collect();
    assert!(blocks.len() >= 5, "the pages show what the program prints: {}", blocks.len());
    // Pages that show the same commands share a run.
    let mut todo: Vec<Vec<String>> = blocks.iter().map(|block| block.commands()).collect();
    todo.sort();
    todo.dedup();
    let (todo, done) = (Mutex::new(todo), Mutex::new(HashMap::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(commands) = { todo.lock().unwrap().pop() } {
                    let printed = run::all(&commands);
                    done.lock().unwrap().insert(commands, printed);
                }
            });
        }
    });
    let done = done.into_inner().unwrap();
    let wrong: Vec<String> = blocks.iter().filter_map(|block| block.differs_from(&done)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn code_that_is_not_run_is_of_a_known_sort_and_little() {
    let pages = pages();
    let blocks = || pages.iter().flat_map(|page| &page.blocks);
    for block in blocks() {
        let known = ["console", "sh", "yaml", "markdown", "json", "text", ""];
        assert!(known.contains(&&*block.language), "{}: {:?}", block.place, block.language);
        let shows_a_run = block.text.lines().any(|line| line.starts_with("$ "));
        assert_eq!(shows_a_run, block.language == "console", "{}: commands are ```console", block.place);
    }
    let set_up = blocks().filter(|block| block.language == "sh").count();
    assert!(set_up <= 8, "{set_up} blocks of shell that no test runs");
}

#[test]
fn every_policy_file_that_a_page_shows_can_be_audited() {
    let mut shown = 0;
    for block in pages().iter().flat_map(|page| &page.blocks) {
        if block.language == "yaml" && block.text.contains("version: 1") {
            let folder = Folder::with(&block.text);
            let ended: Ended = folder.audit(&["check"]);
            assert!(ended.code <= 1, "{}: {}", block.place, ended.stderr);
            shown += 1;
        }
    }
    assert!(shown >= 2, "the README and the page about policy files show one each: {shown}");
}

#[test]
fn every_link_leads_somewhere_and_every_page_can_be_reached_from_the_readme() {
    let pages = pages();
    let mut reached = vec![PathBuf::from("README.md")];
    let mut next = 0;
    while let Some(path) = reached.get(next).cloned() {
        next += 1;
        let Some(page) = pages.iter().find(|page| page.path == path) else { continue };
        for target in page.targets() {
            assert!(root().join(&target).exists(), "{} links to {}", path.display(), target.display());
            let under: Vec<PathBuf> = pages
                .iter()
                .map(|page| page.path.clone())
                .filter(|path| path.starts_with(&target) && !reached.contains(path))
                .collect();
            reached.extend(under);
        }
    }
    for page in &pages {
        assert!(reached.contains(&page.path), "nothing leads from the README to {}", page.path.display());
    }
}
