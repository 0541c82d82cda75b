//! A page, its blocks of code and its links.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::compare;
use super::run::Printed;

/// A page of the documentation.
pub struct Page {
    /// From the root of the repository.
    pub path: PathBuf,
    pub blocks: Vec<Block>,
    links: Vec<String>,
}

/// A block of code.
pub struct Block {
    /// Path and line.
    pub place: String,
    pub language: String,
    pub text: String,
}

/// A command of a block, and what the page says that it prints.
struct Step<'a> {
    command: &'a str,
    expected: Vec<&'a str>,
}

impl Page {
    pub fn read(root: &Path, path: PathBuf) -> Page {
        let text = std::fs::read_to_string(root.join(&path)).unwrap();
        let (mut blocks, mut links) = (Vec::<Block>::new(), Vec::new());
        let mut inside = false;
        for (event, range) in Parser::new(&text).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = match kind {
                        CodeBlockKind::Fenced(language) => language.to_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    let line = text[..range.start].lines().count() + 1;
                    let place = format!("{}:{line}", path.display());
                    blocks.push(Block { place, language, text: String::new() });
                    inside = true;
                }
                Event::End(TagEnd::CodeBlock) => inside = false,
                Event::Text(part) if inside => blocks.last_mut().unwrap().text.push_str(&part),
                Event::Start(Tag::Link { dest_url, .. }) => links.push(dest_url.to_string()),
                _ => {}
            }
        }
        Page { path, blocks, links }
    }

    /// The paths in the repository that the page links to.
    pub fn targets(&self) -> Vec<PathBuf> {
        let folder = self.path.parent().unwrap();
        let here = self.links.iter().filter(|link| !link.contains("://") && !link.starts_with('#'));
        here.map(|link| plain(&folder.join(link.split('#').next().unwrap()))).collect()
    }
}

/// A path without its `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} leaves the repository", path.display()),
            part => plain.push(part),
        }
    }
    plain
}

impl Block {
    fn steps(&self) -> Vec<Step<'_>> {
        let mut steps: Vec<Step> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step { command, expected: Vec::new() }),
                (None, Some(step)) => step.expected.push(line),
                (None, None) => panic!("{}: a console block begins with a command", self.place),
            }
        }
        assert!(!steps.is_empty(), "{}: a console block without a command", self.place);
        steps
    }

    /// The commands, but not the questions about exit codes, which are known without asking.
    pub fn commands(&self) -> Vec<String> {
        let asks = |command: &str| command == ASKS_THE_CODE;
        self.steps().iter().map(|step| step.command.to_owned()).filter(|command| !asks(command)).collect()
    }

    /// How the block differs from what its commands printed; nothing where it does not.
    pub fn differs_from(&self, done: &HashMap<Vec<String>, Vec<Printed>>) -> Option<String> {
        let mut printed = done[&self.commands()].iter();
        let mut code = 0;
        for step in self.steps() {
            let text = if step.command == ASKS_THE_CODE {
                code.to_string()
            } else {
                let printed = printed.next().unwrap();
                code = printed.code;
                printed.text.clone()
            };
            if let Err(missing) = compare::holds(&step.expected, &text) {
                return Some(format!(
                    "{}: `{}` does not print what the page says from this line on:\n    {missing}\nit printed:\n{text}",
                    self.place, step.command
                ));
            }
        }
        None
    }
}

/// How a block shows the exit code of the command above.
const ASKS_THE_CODE: &str = "echo $?";
