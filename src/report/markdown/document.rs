//! A document and its markers.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Parser, Tag};

use super::{BEGIN, END};

/// Why a document's table can neither be read nor replaced.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It could not be read.
    #[error("{}: cannot be read: {source}; give the path of a markdown file", path.display())]
    Unreadable {
        /// The document.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is someone's document, and says nowhere that it wants a table.
    #[error(
        "{}: has no line `{BEGIN}`: it is left as it is; put `{BEGIN}` and `{END}` on lines of their own where the table belongs, or give another file",
        path.display()
    )]
    NoMarkers {
        /// The document.
        path: PathBuf,
    },
    /// A marker is missing, doubled, or on the wrong side of the other.
    #[error("{}:{line}: {problem}; one `{BEGIN}` and, below it, one `{END}` are needed", path.display())]
    Markers {
        /// The document.
        path: PathBuf,
        /// The marker's line, from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// What is between the markers is not text.
    #[error("{}:{line}: not UTF-8 between the markers; write the table anew with `--markdown {}`", path.display(), path.display())]
    NotUtf8 {
        /// The document.
        path: PathBuf,
        /// The first marker's line, from 1.
        line: usize,
    },
}

/// The text between the markers of a document.
pub fn read_between_markers(path: &Path) -> Result<String, DocumentError> {
    let bytes = read(path)?;
    let part = between(path, &bytes)?;
    match std::str::from_utf8(&bytes[part.clone()]) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => {
            Err(DocumentError::NotUtf8 { path: path.to_owned(), line: line_of(&bytes, part.start) - 1 })
        }
    }
}

/// The document that is there; none where there is no file, an empty one, or something that is no file (a pipe).
pub(super) fn existing(path: &Path) -> Result<Option<Vec<u8>>, DocumentError> {
    match std::fs::metadata(path) {
        // A folder, and all that else is wrong with a path, is for the writer to say.
        Ok(metadata) if !metadata.is_file() => return Ok(None),
        Err(_) => return Ok(None),
        Ok(_) => {}
    }
    let bytes = read(path)?;
    Ok((!bytes.trim_ascii().is_empty()).then_some(bytes))
}

/// The document with another text between its markers, in its own kind of line ends; no other byte differs.
pub(super) fn replaced(path: &Path, document: &[u8], table: &str) -> Result<Vec<u8>, DocumentError> {
    let part = between(path, document)?;
    let crlf = document[..part.start].ends_with(b"\r\n");
    let text = format!("\n{table}\n");
    let text = if crlf { text.replace('\n', "\r\n") } else { text };
    Ok([&document[..part.start], text.as_bytes(), &document[part.end..]].concat())
}

fn read(path: &Path) -> Result<Vec<u8>, DocumentError> {
    std::fs::read(path).map_err(|source| DocumentError::Unreadable { path: path.to_owned(), source })
}

/// The bytes between the line of the first marker and that of the second.
fn between(path: &Path, document: &[u8]) -> Result<Range<usize>, DocumentError> {
    let wrong = |at, problem| {
        Err(DocumentError::Markers { path: path.to_owned(), line: line_of(document, at), problem })
    };
    let (begins, ends) = markers(document);
    match (begins.as_slice(), ends.as_slice()) {
        ([], []) => Err(DocumentError::NoMarkers { path: path.to_owned() }),
        ([_, second, ..], _) => wrong(second.start, "the first marker stands here again"),
        (_, [_, second, ..]) => wrong(second.start, "the second marker stands here again"),
        ([begin], []) => wrong(begin.start, "the first marker has no second one"),
        ([], [end]) => wrong(end.start, "the second marker has no first one"),
        ([begin], [end]) if end.start < begin.end => {
            wrong(end.start, "the second marker stands before the first")
        }
        ([begin], [end]) => Ok(begin.end..end.start),
    }
}

/// The whole lines that are a marker, those in code blocks left out: they show markers to a reader.
fn markers(document: &[u8]) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    // The markers are ASCII. With one letter for each other byte, a document in any encoding is a text whose places are
    // the document's own.
    let ascii: String =
        document.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { 'x' }).collect();
    let skipped = if document.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let code: Vec<Range<usize>> = Parser::new(&ascii[skipped..])
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Start(Tag::CodeBlock(_))))
        .map(|(_, range)| range.start + skipped..range.end + skipped)
        .collect();
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    let mut start = skipped;
    for line in ascii[skipped..].split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let found = match line.trim() {
            BEGIN => &mut begins,
            END => &mut ends,
            _ => continue,
        };
        if !code.iter().any(|code| code.contains(&range.start)) {
            found.push(range);
        }
    }
    (begins, ends)
}

fn line_of(document: &[u8], at: usize) -> usize {
    document[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}
