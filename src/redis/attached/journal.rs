//! What was changed on a server that is not ours, on disk before it is changed, so that it can be put back whatever
//! becomes of the audit.
//!
//! One file a run, readable by its owner alone: it may hold a password that was a setting. The first line says which
//! server, each line after it what was changed. The file is there exactly as long as something has to be put back, and
//! locked as long as the audit that wrote it lives.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::settings::Changed;
use super::super::{ByHand, JournalError, ServerError};
use crate::endpoint::{Endpoint, Place};

/// How the name of a journal ends.
const ENDING: &str = "journal";

/// The version of the file's shape.
const VERSION: u32 = 1;

/// Where journals are kept: `$XDG_STATE_HOME` or `~/.local/state`, then `redis-outage-audit`.
pub fn journals() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    state.unwrap_or_else(std::env::temp_dir).join("redis-outage-audit")
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    version: u32,
    /// The run that made the changes.
    pub(super) run: String,
    /// Where the server is, as it was given, without a login.
    pub(super) server: String,
    /// Where that is: an address, or a unix socket's path.
    place: String,
    /// Which life of it.
    pub(super) run_id: String,
    /// Whether nobody gets in who only knows where it is.
    pub(super) needs_url: bool,
}

impl Header {
    pub(super) fn new(run: &str, endpoint: &Endpoint, run_id: &str) -> Header {
        Header {
            version: VERSION,
            run: run.to_owned(),
            server: endpoint.to_string(),
            place: place_of(endpoint),
            run_id: run_id.to_owned(),
            needs_url: !endpoint.lets_everybody_in(),
        }
    }

    /// The server that it is about among these: the one at the same address, or else of the same name.
    pub(super) fn among<'a>(&self, endpoints: &'a [Endpoint]) -> Option<&'a Endpoint> {
        let named = || endpoints.iter().find(|one| one.to_string() == self.server);
        endpoints.iter().find(|one| place_of(one) == self.place).or_else(named)
    }

    /// The server, for whom needs no login and no TLS.
    pub(super) fn endpoint(&self) -> Endpoint {
        match self.place.parse() {
            Ok(addr) => Endpoint::plain(addr),
            Err(_) => Endpoint::new(Place::Unix(PathBuf::from(&self.place)), None, None),
        }
    }
}

/// An address, or a unix socket's path.
fn place_of(endpoint: &Endpoint) -> String {
    match endpoint.place() {
        Place::Tcp { addr, .. } => addr.to_string(),
        Place::Unix(path) => path.display().to_string(),
    }
}

/// One change.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Setting { name: String, was: String, set: String },
    Stopped { start: Vec<String> },
}

/// A journal that is being written. There is no file before the first change.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    header: Header,
    file: Option<File>,
    /// How the server is started again, where it is stopped.
    stopped: Option<Vec<String>>,
    /// Whether settings are changed.
    changed: bool,
}

impl Journal {
    pub(super) fn new(path: PathBuf, header: Header) -> Journal {
        Journal { path, header, file: None, stopped: None, changed: false }
    }

    /// The life of the server that the changes are made to.
    pub(super) fn set_run_id(&mut self, run_id: &str) {
        run_id.clone_into(&mut self.header.run_id);
    }

    /// How to put back by hand what it lists; none where that is nothing.
    pub(super) fn by_hand(&self) -> Option<ByHand> {
        self.file.as_ref()?;
        Some(ByHand { journal: self.path.clone(), start: self.stopped.clone(), settings: self.changed })
    }

    /// Writes down that a setting is about to be changed.
    pub(in super::super) fn note(&mut self, name: &str, was: &str, set: &str) -> Result<(), ServerError> {
        self.changed = true;
        self.write(&Line::Setting { name: name.to_owned(), was: was.to_owned(), set: set.to_owned() })
    }

    /// Writes down that the server is about to be stopped, and how it is started again.
    pub(super) fn note_stop(&mut self, start: &[String]) -> Result<(), ServerError> {
        self.stopped = Some(start.to_vec());
        self.write(&Line::Stopped { start: start.to_vec() })
    }

    /// All settings are what they were.
    pub(in super::super) fn settings_are_back(&mut self) -> Result<(), ServerError> {
        self.changed = false;
        self.remove_where_done()
    }

    /// The server runs again.
    pub(super) fn runs_again(&mut self) -> Result<(), ServerError> {
        self.stopped = None;
        self.remove_where_done()
    }

    fn remove_where_done(&mut self) -> Result<(), ServerError> {
        if self.stopped.is_some() || self.changed || self.file.is_none() {
            return Ok(());
        }
        self.file = None;
        std::fs::remove_file(&self.path).map_err(self.failed("be removed"))
    }

    fn write(&mut self, line: &Line) -> Result<(), ServerError> {
        let failed = self.failed("be written");
        self.try_write(line).map_err(failed)
    }

    fn try_write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = String::new();
        if self.file.is_none() {
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&self.path)?;
            file.try_lock()?;
            File::open(folder)?.sync_all()?;
            self.file = Some(file);
            text = serde_json::to_string(&self.header)? + "\n";
        }
        text += &serde_json::to_string(line)?;
        text.push('\n');
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    fn failed(&self, what: &'static str) -> impl Fn(io::Error) -> ServerError + use<> {
        let path = self.path.clone();
        move |error| JournalError { path: path.clone(), why: format!("can't {what}: {error}") }.into()
    }
}

/// A journal that was left behind.
#[derive(Debug)]
pub(super) struct LeftBehind {
    pub(super) header: Header,
    pub(super) changed: Vec<Changed>,
    /// How the server is started again, where it was stopped.
    pub(super) start: Option<Vec<String>>,
    // Held, so that nobody else puts back the same.
    _lock: File,
}

impl LeftBehind {
    /// Reads one; none where the audit that wrote it still lives.
    pub(super) fn read(path: &Path) -> Result<Option<LeftBehind>, JournalError> {
        let bad = |why: String| JournalError { path: path.to_owned(), why };
        let file = File::open(path).map_err(|error| bad(format!("can't be read: {error}")))?;
        if file.try_lock().is_err() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(path).map_err(|error| bad(format!("can't be read: {error}")))?;
        let mut lines = text.lines();
        let header: Header = lines
            .next()
            .and_then(|line| serde_json::from_str(line).ok())
            .filter(|header: &Header| header.version == VERSION)
            .ok_or_else(|| bad("is no journal of this version of the audit".to_owned()))?;
        let (mut changed, mut start) = (Vec::new(), None);
        for line in lines {
            // What is not whole was not written when the audit died, and so the change was not made.
            match serde_json::from_str(line) {
                Ok(Line::Setting { name, was, set }) => changed.push(Changed { name, was, set }),
                Ok(Line::Stopped { start: command }) => start = Some(command),
                Err(_) => break,
            }
        }
        Ok(Some(LeftBehind { header, changed, start, _lock: file }))
    }
}

/// The journals in this folder; none where there is no such folder.
pub fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == ENDING)).collect();
    paths.sort();
    paths
}

/// The journal of this run in this folder.
pub(super) fn named(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("{run}.{ENDING}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn journal(path: &Path) -> Journal {
        let endpoint = Endpoint::plain(([127, 0, 0, 1], 7).into());
        Journal::new(path.to_owned(), Header::new("0badcafe", &endpoint, "life"))
    }

    #[test]
    fn a_journal_is_there_while_something_has_to_be_put_back_and_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = named(&folder.path().join("deep/er"), "0badcafe");
        let mut journal = journal(&path);
        assert!(!path.exists());
        journal.note("requirepass", "s3cret", "other").unwrap();
        journal.note_stop(&["start".to_owned()]).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(LeftBehind::read(&path).unwrap().is_none(), "the audit that wrote it lives");
        assert!(!format!("{journal:?}").contains("s3cret"));
        journal.settings_are_back().unwrap();
        assert!(path.exists(), "the server is still stopped");
        journal.runs_again().unwrap();
        assert!(!path.exists());
        journal.note("maxmemory", "0", "1").unwrap();
        assert!(path.exists(), "a journal can be begun anew");
    }

    #[test]
    fn what_was_left_behind_is_read_up_to_the_line_that_is_not_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = named(folder.path(), "0badcafe");
        let mut writing = journal(&path);
        writing.note("requirepass", "s3cret", "other").unwrap();
        writing.note("save", "3600 1\n\"", "").unwrap();
        drop(writing);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"setting\":{\"name\":\"maxmem").unwrap();
        let left = LeftBehind::read(&path).unwrap().unwrap();
        assert_eq!((left.header.server.as_str(), left.header.needs_url), ("127.0.0.1:7", false));
        let changed: Vec<_> =
            left.changed.iter().map(|one| (one.name.as_str(), one.was.as_str(), one.set.as_str())).collect();
        assert_eq!(changed, [("requirepass", "s3cret", "other"), ("save", "3600 1\n\"", "")]);
        assert!(!format!("{left:?}").contains("s3cret"));
        assert_eq!(left_behind(folder.path()), std::slice::from_ref(&path));
    }

    #[test]
    fn what_is_no_journal_is_told_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = named(folder.path(), "x");
        std::fs::write(&path, "{\"version\":9}\n").unwrap();
        let error = LeftBehind::read(&path).unwrap_err().to_string();
        assert!(error.contains("x.journal") && error.contains("no journal"), "{error}");
    }
}
