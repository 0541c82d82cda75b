//! Runs the commands of a block as a reader would: in a shell, with `audit` on PATH and the shipped policy files at hand.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::root;
use crate::command::Folder;

/// What a command printed, on both streams, and how it ended.
pub struct Printed {
    pub text: String,
    pub code: i32,
}

/// Runs commands one after the other in a folder of their own.
pub fn all(commands: &[String]) -> Vec<Printed> {
    let folder = Folder::new();
    let (bin, work, temporary) =
        (folder.path().join("bin"), folder.path().join("work"), folder.path().join("tmp"));
    for path in [&bin, &work, &temporary, &work.join("policies")] {
        std::fs::create_dir(path).unwrap();
    }
    for entry in std::fs::read_dir(root().join("policies")).unwrap().flatten() {
        std::fs::copy(entry.path(), work.join("policies").join(entry.file_name())).unwrap();
    }
    link(Path::new(env!("CARGO_BIN_EXE_audit")), &bin.join("audit"));
    if let Some(server) = std::env::var_os("AUDIT_TEST_REDIS_SERVER").map(PathBuf::from) {
        // The audit looks for this name first; which server it is, it asks the server.
        link(&server.canonicalize().unwrap(), &bin.join("redis-server"));
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let printed = commands
        .iter()
        .map(|command| {
            let mut shell = Command::new("bash");
            shell.args(["-o", "pipefail", "-c", &format!("exec 2>&1\n{command}")]);
            shell.current_dir(&work).env("PATH", &path).env("TMPDIR", &temporary).env("CI", "true");
            let output = shell.output().unwrap();
            Printed {
                text: String::from_utf8(output.stdout).unwrap(),
                code: output.status.code().unwrap_or(-1),
            }
        })
        .collect();
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "left behind by {commands:?}");
    printed
}

fn link(target: &Path, link: &Path) {
    std::os::unix::fs::symlink(target, link).unwrap();
}
