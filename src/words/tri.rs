//! What is known of a fact.

use serde::{Deserialize, Serialize};

/// Yes, no, or nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tri {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// Nobody knows.
    #[default]
    Unknown,
}
