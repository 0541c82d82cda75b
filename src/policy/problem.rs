//! What is wrong with a policy file, and how it is told.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Source;
use crate::text::{Look, Message, Tone, ceil, floor, snippet};
use crate::words::{Place, Span};

/// One thing that is wrong with a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where; line 0 where it concerns the file as a whole.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What was expected, or what to do.
    pub help: Option<String>,
    /// The word that was probably meant.
    pub did_you_mean: Option<String>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.place.span.line == 0 {
            write!(f, "{}: {}", self.place.file, self.message)?;
        } else {
            write!(f, "{}: {}", self.place, self.message)?;
        }
        if let Some(word) = &self.did_you_mean {
            write!(f, "; did you mean `{word}`?")?;
        }
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

/// Everything that is wrong with a policy file, in the order of the file; never empty.
#[derive(Debug, Clone)]
pub struct Problems {
    /// The text, where there is one.
    source: Option<Arc<Source>>,
    list: Vec<Problem>,
    /// How many more were found than are kept.
    left_out: usize,
}

/// So many problems are kept: nobody reads more, and a hostile file must not cost more.
pub(super) const KEPT: usize = 200;

impl Problems {
    /// The problems, in the order of the file.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// How many more there are than [`Problems::list`] has.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Each problem beside the line that it speaks of, and a last line that counts them.
    pub fn render(&self, look: Look) -> String {
        let mut text = String::new();
        for (index, problem) in self.list.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            let suggested = problem.did_you_mean.as_ref().map(|word| format!("did you mean `{word}`?"));
            let notes: Vec<_> =
                suggested.into_iter().chain(problem.help.clone()).map(|help| ("help", help)).collect();
            let message = Message {
                tone: Tone::Error,
                word: "error",
                id: None,
                title: &problem.message,
                notes: &notes,
            };
            let source = self.source.as_ref().map(|source| source.text.as_str());
            text.push_str(&snippet(&problem.place, source, &message, look));
        }
        let count = self.list.len() + self.left_out;
        if self.left_out > 0 {
            text.push_str(&format!("\n{} more are not shown\n", self.left_out));
        }
        if count > 1 {
            text.push_str(&format!("\n{count} problems\n"));
        }
        text
    }

    /// A problem that concerns a file as a whole.
    pub(super) fn of_file(path: &Path, message: String, help: &str) -> Problems {
        Problems {
            source: None,
            list: vec![Problem {
                place: Place { file: path.display().to_string(), span: Span::default() },
                message,
                help: Some(help.to_owned()),
                did_you_mean: None,
            }],
            left_out: 0,
        }
    }

    /// What was found in a text, sorted into its order.
    pub(super) fn in_source(source: Arc<Source>, mut list: Vec<Problem>, left_out: usize) -> Problems {
        list.sort_by_key(|problem| problem.place.span.start);
        Problems { source: Some(source), list, left_out }
    }
}

impl std::fmt::Display for Problems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            write!(f, "{line_end}{problem}")?;
        }
        if self.left_out > 0 {
            write!(f, "\n{} more are not shown", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// No policy file was found where one was looked for.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// A path that was named is not there.
    #[error("{}: no such file or folder: name a policy file, or write one with `audit init`", .0.display())]
    NoSuchFile(PathBuf),
    /// A path that was named can't be looked at.
    #[error("{}: can't be read ({reason}): check its permissions, or name another policy file", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// A folder holds no policy file.
    #[error("{}: the folder has no file that ends in .yaml or .yml: name a policy file, or write one with `audit init`", .0.display())]
    EmptyFolder(PathBuf),
    /// Nothing was named, and nothing stands where a policy file usually does.
    #[error(
        "no policy file: neither `policies.yaml` nor the folder `policies` is here: name one with `--policies`, or write one with `audit init`"
    )]
    Nothing,
}

/// Where the lines of a text begin, so that a place costs no walk through it.
#[derive(Debug)]
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Lines {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The span moved into the text, its line and column those of its first byte.
    pub(super) fn place(&self, text: &str, span: Span) -> Span {
        let start = if span.start == 0 { self.byte(text, span.line, span.column) } else { span.start };
        let start = floor(text, start);
        let end = ceil(text, start.saturating_add(span.len));
        let line = self.0.partition_point(|begin| *begin <= start);
        let begin = self.0.get(line.saturating_sub(1)).copied().unwrap_or(0);
        Span { line, column: text[begin..start].chars().count() + 1, start, len: end - start }
    }

    /// The byte at a line and a column, both from 1.
    fn byte(&self, text: &str, line: usize, column: usize) -> usize {
        let begin = match line.checked_sub(1).map(|index| self.0.get(index)) {
            Some(Some(begin)) => *begin,
            Some(None) => text.len(),
            None => 0,
        };
        let rest = &text[begin..];
        let rest = rest.split_once('\n').map_or(rest, |(line, _)| line);
        let ahead = rest.char_indices().nth(column.saturating_sub(1));
        begin + ahead.map_or(rest.len(), |(at, _)| at)
    }
}
