//! Reports: each renders the same [`Report`], and none decides anything.

mod facts;
mod format;
pub mod json;
mod model;
pub mod output;
#[cfg(test)]
mod sample;
mod snippet;
pub mod terminal;
mod text;

pub use model::{CellReport, REPORT_VERSION, ReplyCount, Report, RequestCell, RequestRow, Row, Service};
