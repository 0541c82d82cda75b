//! The failure table in a document.
//!
//! Everything in it is stable between two runs that saw the same: a table that changes with the noise would be
//! neither reviewed nor kept.

mod document;
pub(super) mod grid;
pub(super) mod guarantees;
pub(super) mod tables;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use self::document::{DocumentError, read_between_markers};
use super::facts::{probes_of_rows, runs_of_requests, samples_in_words, states_in_words};
use super::output::{OutputError, write_whole};
use super::{Report, markdown::grid::escape};
use crate::text::clean;
use crate::words::{Evidence, Whose};

/// Where the part of a document begins that belongs to the audit.
pub const BEGIN: &str = "<!-- audit:begin -->";
/// Where it ends.
pub const END: &str = "<!-- audit:end -->";

/// What a file of our own begins with.
const TITLE: &str = "# What happens when Redis does not answer";

/// Why a table could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The document that is there cannot take it.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The file could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// The failure table, the requests and the guarantees below it, and what they rest on.
pub fn table(report: &Report) -> String {
    let mut text = tables::operations(report).render();
    let requests = tables::requests(report);
    if !requests.rows.is_empty() {
        text.push_str(&format!("\n{}", requests.render()));
    }
    let guarantees = guarantees::guarantees(report);
    if !guarantees.rows.is_empty() {
        text.push_str(&format!("\n{}", guarantees.render()));
    }
    text.push_str(&format!("\n{}\n", legend(report)));
    text
}

/// A whole document: a title, and the table between its markers.
pub fn document(report: &Report) -> String {
    format!("{TITLE}\n\n{BEGIN}\n\n{}\n{END}\n", table(report))
}

/// Writes the table to a file: as a document of its own where there is none, and between the markers of one that
/// is there, whose other bytes stay as they are.
pub fn write(path: &Path, report: &Report) -> Result<(), WriteError> {
    let text = match document::existing(path)? {
        Some(existing) => document::replaced(path, &existing, &table(report))?,
        None => document(report).into_bytes(),
    };
    Ok(write_whole(path, &text)?)
}

/// Whether [`write()`] could write there, asked before a run that would otherwise end in vain.
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    if let Some(existing) = document::existing(path)? {
        document::replaced(path, &existing, "")?;
    }
    Ok(super::output::check_writable(path)?)
}

/// What the tables rest on, and what their words mean.
fn legend(report: &Report) -> String {
    let rows = || report.services.iter().flat_map(|service| &service.rows);
    let server = format!("{} {}", clean(&report.server.name), clean(&report.server.version));
    let server = match report.server.whose {
        Whose::Owned | Whose::Proxied => server,
        Whose::Attached => format!("{server}, which was not the audit's own,"),
    };
    let mut parts = vec![format!("Probed on {server} in the states {}.", states_in_words(&report.states))];
    let probes = probes_of_rows(rows());
    if !probes.is_empty() {
        parts.push(format!("Costs are medians of n probes a cell: {}.", clean(&samples_in_words(&probes))));
    }
    let requests = report.services.iter().flat_map(|service| &service.requests);
    let runs = runs_of_requests(requests);
    if !runs.is_empty() {
        parts.push(format!("Requests: medians of n runs: {}.", clean(&samples_in_words(&runs))));
    }
    if rows().flat_map(|row| &row.cells).any(|cell| cell.evidence == Evidence::Simulated) {
        parts.push(
            "Simulated: the built-in probe got a real reply of a real server, and the declared policy was applied to it."
                .to_owned(),
        );
    }
    if rows().any(|row| row.cells.is_empty() || row.cells.iter().any(|c| c.evidence == Evidence::Declared)) {
        parts.push("Not measured: only declared.".to_owned());
    }
    if report.services.iter().any(|service| !service.uses.is_empty()) {
        parts.push(
            "Guarantees: n of n is how many runs of a use's scenario showed it; implied: follows from what is declared."
                .to_owned(),
        );
    }
    escape(&parts.join(" "))
}
