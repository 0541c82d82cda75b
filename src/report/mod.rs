//! Reports: each renders the same [`Report`], and none decides anything.

mod assemble;
pub mod check;
mod facts;
mod format;
pub mod json;
pub mod markdown;
mod model;
pub mod output;
#[cfg(test)]
mod sample;
pub mod terminal;
mod uses;

pub use assemble::{RunInfo, assemble};
pub use model::{
    CellReport, Loss, REPORT_VERSION, Repeats, ReplayReport, ReplyCount, Report, RequestCell, RequestRow,
    Row, SceneReport, Service, UseCell, UseReport,
};
