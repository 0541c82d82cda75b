//! `--check`: whether the table in a document still says what was observed. Noise never makes it differ.

mod compare;
mod guarantees;
pub(super) mod read;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use super::Report;
use super::markdown::{BEGIN, DocumentError, END, grid::Grid, read_between_markers};

/// What a document says.
#[derive(Debug, Clone)]
pub struct Document {
    operations: Grid,
    requests: Option<Grid>,
    guarantees: Option<Grid>,
}

/// Why a document could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It could not be read, or has no markers.
    #[error("{0} (`--markdown FILE` writes a table to compare with)")]
    Document(#[from] DocumentError),
    /// There is no table between its markers.
    #[error(
        "{}: no failure table between `{BEGIN}` and `{END}`; write it with `--markdown {}`",
        path.display(), path.display()
    )]
    NoTable {
        /// The document.
        path: PathBuf,
    },
}

/// Something that the document says and that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A cell of the table was observed, or is declared, otherwise.
    Cell {
        /// The row and the column: `dataset-lock.acquire, paused`.
        at: String,
        /// What the document says.
        stated: String,
        /// What holds.
        holds: String,
        /// Whether that was observed; otherwise the policy file declares it.
        observed: bool,
    },
    /// The document lacks a table.
    NewTable(String),
    /// The document lacks a row.
    NewRow(String),
    /// The document has a row that nothing corresponds to.
    LostRow(String),
    /// The document lacks a column.
    NewColumn(String),
    /// The document has a column that nothing corresponds to.
    LostColumn(String),
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Difference::Cell { at, stated, holds, observed: true } => {
                write!(f, "{at}: the file says {stated}, observed {holds}")
            }
            Difference::Cell { at, stated, holds, observed: false } => {
                write!(f, "{at}: the file says {stated}, declared {holds}")
            }
            Difference::NewTable(table) => write!(f, "{table}: the file has no such table"),
            Difference::NewRow(row) => write!(f, "{row}: the file has no such row"),
            Difference::LostRow(row) => write!(f, "{row}: in the file, and no longer declared"),
            Difference::NewColumn(column) => write!(f, "{column}: the file has no such column"),
            Difference::LostColumn(column) => {
                write!(f, "{column}: a column of the file that this run has not")
            }
        }
    }
}

/// What a comparison came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// What no longer holds; the document is stale if there is any.
    pub differences: Vec<Difference>,
    /// What could not be compared, as this run could not prove it: `dataset-lock.acquire, paused`.
    pub not_compared: Vec<String>,
}

/// Reads the table between a document's markers. A run can be spared by doing so before it.
pub fn read(path: &Path) -> Result<Document, CheckError> {
    read::document(&read_between_markers(path)?).ok_or_else(|| CheckError::NoTable { path: path.to_owned() })
}

/// Compares what a document says with what was observed.
pub fn compare(document: &Document, report: &Report) -> Comparison {
    compare::all(document, report)
}

/// [`read`] and [`compare`] in one.
pub fn check(path: &Path, report: &Report) -> Result<Comparison, CheckError> {
    Ok(compare(&read(path)?, report))
}
