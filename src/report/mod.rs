//! Reports: each renders the same [`Report`], and none decides anything.

mod model;

pub use model::{CellReport, REPORT_VERSION, ReplyCount, Report, RequestCell, RequestRow, Row, Service};
