//! From a path to a checked policy file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::check::{Check, document};
use super::yaml::{self, Value};
use super::{Lines, NotFound, PolicyFile, Problems, Source};
use crate::words::Span;

/// The largest file that is read: a thousand uses take less than a tenth of it.
const LARGEST: u64 = 4 * 1024 * 1024;

const WRITE_ONE: &str = "write one with `audit init`, or name another file with `--policies`";

/// Reads and checks a policy file.
///
/// # Errors
///
/// All that is wrong with the file.
pub fn load(path: &Path) -> Result<PolicyFile, Problems> {
    let refused = |error: std::io::Error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            Problems::of_file(path, "no such policy file".to_owned(), WRITE_ONE)
        } else {
            let help = "check that it is a file and may be read, or name another with `--policies`";
            Problems::of_file(path, format!("the policy file can't be read: {error}"), help)
        }
    };
    let mut bytes = Vec::new();
    if is_standard_input(path) {
        std::io::stdin().take(LARGEST + 1).read_to_end(&mut bytes).map_err(refused)?;
    } else {
        // Opening a named pipe would wait for its writer, and a device never ends.
        let kind = std::fs::metadata(path).map_err(refused)?;
        if !is_open_already(path) && !kind.is_file() && !kind.is_dir() {
            let help = "name a file or a folder, or give the text on standard input with `--policies -`";
            return Err(Problems::of_file(path, "it is neither a file nor a folder".to_owned(), help));
        }
        File::open(path).map_err(refused)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(refused)?;
    }
    if bytes.len() as u64 > LARGEST {
        let size = std::fs::metadata(path).ok().map(|data| data.len()).filter(|size| *size > LARGEST);
        let size = size.map_or("more than 4".to_owned(), |size| format!("{:.1}", in_mebibytes(size)));
        let message = format!("the file has {size} MiB, and at most 4 MiB are read");
        return Err(Problems::of_file(path, message, "split it into several files in one folder"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => parse(Arc::new(Source { path: path.to_owned(), text })),
        Err(error) => Err(not_utf8(path, &error)),
    }
}

/// Whether the path stands for standard input.
fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether the path names what this process was started with, such as a shell's `<(...)`: opening that waits for
/// nobody.
fn is_open_already(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd")
}

/// Checks the text of a policy file.
///
/// # Errors
///
/// All that is wrong with it.
pub fn parse(source: Arc<Source>) -> Result<PolicyFile, Problems> {
    let source = match source.text.strip_prefix('\u{feff}') {
        Some(text) => Arc::new(Source { path: source.path.clone(), text: text.to_owned() }),
        None => source,
    };
    let root = match yaml::read(&source.text) {
        Ok(root) => root,
        Err(error) => {
            let mut check = Check::new(source);
            check.wrong(error.at.unwrap_or_default(), error.message, error.help.map(str::to_owned));
            return Err(check.into_problems());
        }
    };
    if root.value == Value::Null {
        let message = "the policy file is empty".to_owned();
        return Err(Problems::of_file(&source.path, message, WRITE_ONE));
    }
    document(&source, &root)
}

fn not_utf8(path: &Path, error: &std::string::FromUtf8Error) -> Problems {
    let valid = error.utf8_error().valid_up_to();
    let byte = error.as_bytes().get(valid).copied().unwrap_or_default();
    let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
    let lines = Lines::of(&text);
    let at = lines.place(&text, Span { line: 1, column: 1, start: valid, len: 1 });
    let mut check = Check::new(Arc::new(Source { path: path.to_owned(), text }));
    let help = "save the file as UTF-8".to_owned();
    check.wrong(at, format!("the byte 0x{byte:02X} is not UTF-8"), Some(help));
    check.into_problems()
}

#[expect(clippy::cast_precision_loss, reason = "a size for a message")]
fn in_mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1024 * 1024)
}

/// The policy files that some paths name: each a file, or a folder whose `*.yaml` and `*.yml` are taken in
/// the order of their names. Without paths, `policies.yaml`, or else the folder `policies`.
///
/// # Errors
///
/// The first path that is not there, or a folder without policy files.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, NotFound> {
    if paths.is_empty() {
        return find_in(Path::new(""));
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        for file in files_of(path)? {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// The policy files that a folder holds where none is named.
pub(super) fn find_in(folder: &Path) -> Result<Vec<PathBuf>, NotFound> {
    let usual = ["policies.yaml", "policies"].map(|name| folder.join(name));
    usual.iter().find(|path| path.exists()).map_or(Err(NotFound::Nothing), |path| files_of(path))
}

fn files_of(path: &Path) -> Result<Vec<PathBuf>, NotFound> {
    let unreadable = |reason: std::io::Error| match reason.kind() {
        std::io::ErrorKind::NotFound => NotFound::NoSuchFile(path.to_owned()),
        _ => NotFound::Unreadable { path: path.to_owned(), reason },
    };
    if is_standard_input(path) || !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let is_yaml = file.extension().is_some_and(|end| end == "yaml" || end == "yml");
        if is_yaml && !file.is_dir() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() { Err(NotFound::EmptyFolder(path.to_owned())) } else { Ok(files) }
}
