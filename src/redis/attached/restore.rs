//! `audit restore`: puts back what an audit that was killed left changed.

use std::path::Path;
use std::time::Duration;

use super::super::barrier::barrier;
use super::super::settings::Settings;
use super::super::{ByHand, JournalError, ServerError};
use super::hooks;
use super::journal::LeftBehind;
use crate::endpoint::Candidates;

/// How long the start hook of an audit that was killed may take, and the server after it.
const START_WITHIN: Duration = Duration::from_secs(60);

/// What became of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOver {
    /// What it lists is put back, and it is gone.
    PutBack(Restored),
    /// The audit that wrote it still lives.
    InUse,
    /// It is about this other server than the one that was named.
    OfAnother(String),
}

/// What was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Where.
    pub server: String,
    /// Which settings, in the order in which they were changed.
    pub settings: Vec<String>,
    /// Whether it was stopped, and was started.
    pub started: bool,
}

/// Puts back what this journal lists, and removes it.
///
/// `given` is how to get in, where the journal's address is not enough.
///
/// # Errors
/// Where the journal can't be read, and where something can't be put back; it then stays.
pub async fn restore(path: &Path, given: Option<&Candidates>) -> Result<LeftOver, ServerError> {
    let Some(left) = LeftBehind::read(path)? else { return Ok(LeftOver::InUse) };
    let server = left.header.server.clone();
    let target = match given {
        // Nobody connects to it to find out which it is: it may be stopped.
        Some(given) => match left.header.among(given.endpoints()) {
            Some(target) => target.clone(),
            None => return Ok(LeftOver::OfAnother(server)),
        },
        None if left.header.needs_url => {
            let why = format!(
                "is about {server}, which asks for a login or TLS: say how with --redis-url, --redis-url-env or --redis-url-file"
            );
            return Err(JournalError { path: path.to_owned(), why }.into());
        }
        None => left.header.endpoint(),
    };
    let by_hand =
        ByHand { journal: path.to_owned(), start: left.start.clone(), settings: !left.changed.is_empty() };
    let failed =
        |why: String| ServerError::NotPutBack { at: target.clone(), why, by_hand: Some(by_hand.clone()) };
    let mut started = false;
    if let Some(start) = &left.start
        && target.knock().await.is_err()
    {
        hooks::run("start", start, START_WITHIN).await.map_err(|error| failed(error.to_string()))?;
        barrier(&target, START_WITHIN).await.map_err(|error| failed(error.to_string()))?;
        started = true;
    }
    let names: Vec<String> = left.changed.iter().map(|changed| changed.name.clone()).collect();
    let run_id = left.header.run_id.clone();
    let mut settings = Settings::of(left.changed);
    settings.recover(&target, &run_id).await.map_err(|error| failed(error.to_string()))?;
    std::fs::remove_file(path)
        .map_err(|error| JournalError { path: path.to_owned(), why: format!("can't be removed: {error}") })?;
    Ok(LeftOver::PutBack(Restored { server, settings: names, started }))
}
