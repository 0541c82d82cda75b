//! Reports: each renders the same [`Report`], and none decides anything.

mod assemble;
mod model;

pub use assemble::{RunInfo, assemble};
pub use model::{CellReport, REPORT_VERSION, ReplyCount, Report, RequestCell, RequestRow, Row, Service};
