//! The long form of each finding: what it means, why it matters, what to do.

use crate::words::Code;

/// The text that `audit explain CODE` prints.
pub fn explain(code: Code) -> &'static str {
    match code {
        Code::Undecided => UNDECIDED,
        _ => "",
    }
}

const UNDECIDED: &str = "x";
