//! Writing files whole or not at all.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// The path that stands for standard output.
pub const STDOUT: &str = "-";

/// How often a link may lead to another before it counts as a loop, as on Linux.
const MOST_LINKS: usize = 40;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {problem}; {mend}", path.display())]
pub struct OutputError {
    /// The path as the user gave it.
    pub path: PathBuf,
    problem: String,
    mend: &'static str,
}

/// Whether the path stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == STDOUT
}

/// Writes a file whole or not at all: a reader sees what was there before or all that is new, and never a part.
///
/// A link stays a link, and what it leads to is written. A file that was there keeps its mode. What is no file (a pipe, a
/// terminal) is written to as it is.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    match prepare(path)? {
        Prepared::Stream(mut stream) => {
            stream.write_all(bytes).and_then(|()| stream.flush()).map_err(|error| failed(path, &error))
        }
        Prepared::File(mut file, target) => {
            let written = file.write_all(bytes).and_then(|()| file.as_file().sync_all());
            written.map_err(|error| failed(path, &error))?;
            file.persist(target).map_err(|error| failed(path, &error.error))?;
            Ok(())
        }
    }
}

/// Whether [`write_whole`] could write there; nothing is left behind.
pub fn check_writable(path: &Path) -> Result<(), OutputError> {
    // Opening a pipe waits for its reader, who may come only when there is something to read.
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Ok(()),
        _ => prepare(path).map(drop),
    }
}

/// What the bytes go into.
enum Prepared {
    /// What takes them as they come.
    Stream(File),
    /// A file beside the target, which becomes the target once it is whole.
    File(NamedTempFile, PathBuf),
}

fn prepare(path: &Path) -> Result<Prepared, OutputError> {
    let target = follow(path).map_err(|error| failed(path, &error))?;
    let mode = match std::fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(wrong(path, "it is a folder", "give the path of a file in it"));
        }
        Ok(metadata) if !metadata.is_file() => {
            let stream = OpenOptions::new().write(true).open(&target);
            return stream.map(Prepared::Stream).map_err(|error| failed(path, &error));
        }
        Ok(metadata) => Some(writable(path, &target, metadata)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(path, &error)),
    };
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if !folder.exists() {
        let problem = format!("the folder {} does not exist", folder.display());
        return Err(wrong(path, &problem, "make it, or give another path"));
    }
    let file = temporary(folder).map_err(|error| failed(path, &error))?;
    if let Some(metadata) = mode {
        file.as_file().set_permissions(metadata.permissions()).map_err(|error| failed(path, &error))?;
    }
    Ok(Prepared::File(file, target))
}

/// A file that is read-only is one that somebody does not want to be replaced, which its folder would allow.
fn writable(path: &Path, target: &Path, metadata: Metadata) -> Result<Metadata, OutputError> {
    if metadata.permissions().readonly() {
        return Err(wrong(path, "it is read-only", "make it writable, or give another path"));
    }
    OpenOptions::new().write(true).open(target).map_err(|error| failed(path, &error))?;
    Ok(metadata)
}

/// A file of the mode that any new file gets; a temporary one would be for its owner alone.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".audit-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Where a path leads, even if nothing is there yet.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

fn failed(path: &Path, error: &io::Error) -> OutputError {
    let mend = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "give a path that you may write to"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, or give another path",
        _ => "give another path",
    };
    wrong(path, &error.to_string(), mend)
}

fn wrong(path: &Path, problem: &str, mend: &'static str) -> OutputError {
    OutputError { path: path.to_owned(), problem: problem.to_owned(), mend }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        write_whole(&path, b"one").unwrap();
        std::fs::write(folder.path().join("usual"), "").unwrap();
        assert_eq!(mode(&path), mode(&folder.path().join("usual")), "as any new file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!((std::fs::read(&path).unwrap().as_slice(), mode(&path)), (b"two".as_slice(), 0o640));
        assert_eq!(names(folder.path()), ["report.json", "usual"], "nothing is left beside it");
    }

    #[test]
    fn a_link_stays_a_link_even_if_it_leads_to_nothing_yet() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("target", &link).unwrap();
        for text in ["new", "again"] {
            write_whole(&link, text.as_bytes()).unwrap();
            assert!(link.is_symlink());
            assert_eq!(std::fs::read_to_string(folder.path().join("target")).unwrap(), text);
        }
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(write_whole(&circle, b"").unwrap_err().to_string().contains("circle"));
    }

    #[test]
    fn what_cannot_be_written_names_the_path_and_the_mend_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "kept").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
        let cases = [
            (file.clone(), "it is read-only; make it writable"),
            (folder.path().to_owned(), "it is a folder; give the path of a file in it"),
            (folder.path().join("no/such/report.md"), "does not exist; make it"),
            (file.join("report.md"), "give another path"),
        ];
        for (path, says) in cases {
            for result in [write_whole(&path, b"x"), check_writable(&path)] {
                let message = result.unwrap_err().to_string();
                assert!(message.starts_with(&path.display().to_string()), "{message}");
                assert!(message.contains(says), "{message}");
            }
        }
        assert_eq!(names(folder.path()), ["file"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    }

    #[test]
    fn asking_whether_a_file_can_be_written_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        check_writable(&folder.path().join("report.json")).unwrap();
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn what_is_no_file_is_written_to_as_it_is() {
        write_whole(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!Path::new("/dev/null").is_file());
    }
}
