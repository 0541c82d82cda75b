//! Where something stands in a policy file.

use serde::{Deserialize, Serialize};

/// A stretch of a policy file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// The line, from 1; 0 where the place is not known.
    pub line: usize,
    /// The column, in characters, from 1; 0 where the place is not known.
    pub column: usize,
    /// The first byte, from 0.
    pub start: usize,
    /// The length in bytes.
    pub len: usize,
}

/// A [`Span`] and the file it lies in, as the user named that file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The policy file's path as given.
    pub file: String,
    /// Where in it.
    pub span: Span,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.span.line, self.span.column)
    }
}
