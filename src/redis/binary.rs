//! The server program: where it is, and what it says of itself.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::ServerError;
use crate::observe::ServerInfo;
use crate::words::Whose;

/// The programs that are looked for on PATH, in this order.
pub(super) const NAMES: [&str; 2] = ["redis-server", "valkey-server"];

/// The first version whose CLIENT PAUSE knows ALL and whose UNPAUSE exists.
pub(super) const OLDEST: Version = Version(6, 2, 0);

/// How long `--version` may take; a program that waits for something else is no server.
const VERSION_WITHIN: Duration = Duration::from_secs(10);

/// A server's version: major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Version {
    /// Whether `CLIENT SETINFO`, which clients send when they connect, waits in a pause as other commands do.
    ///
    /// Servers from 7.2 on know it. Those before 7.0 look no further than at `CLIENT` before they let it wait, and only
    /// 7.0 rejects the subcommand that it does not know at once.
    pub fn setinfo_waits(self) -> bool {
        !(Version(7, 0, 0)..Version(7, 2, 0)).contains(&self)
    }

    /// Reads `7.0.15`, and what stands before the suffix of a release candidate.
    pub(super) fn read(text: &str) -> Option<Version> {
        let mut parts = text.split(['.', '-']).map(|part| part.parse::<u32>().ok());
        Some(Version(parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
    }
}

/// A server program that can be started.
#[derive(Debug, Clone)]
pub struct ServerBinary {
    /// Where it is, as an absolute path.
    pub path: PathBuf,
    /// What it is, as reports name it.
    pub info: ServerInfo,
    /// Its version, to compare.
    pub version: Version,
}

impl ServerBinary {
    /// Finds the program: the given one (a path, or a name on PATH), else `redis-server`, else `valkey-server`.
    ///
    /// # Errors
    /// Where there is none, where it is no server, and where it is older than 6.2.
    pub async fn find(given: Option<&Path>) -> Result<Self, ServerError> {
        let path = match given {
            Some(given) => which::which(given).map_err(|_| ServerError::BadBinary {
                path: given.to_owned(),
                why: "is no program that can be run".to_owned(),
            })?,
            None => NAMES.iter().find_map(|name| which::which(name).ok()).ok_or(ServerError::NoBinary)?,
        };
        // Servers run in a directory of their own, where a relative path would lead nowhere. Links stay as they
        // are: the program behaves by the name that it is called by.
        let path = std::path::absolute(&path)
            .map_err(ServerError::io(format!("making {} absolute", path.display())))?;
        let said = ask_version(&path).await?;
        let Some((info, version)) = parse(&said) else {
            let why = format!("is no redis-server: its --version says {:?}", first_line(&said));
            return Err(ServerError::BadBinary { path, why });
        };
        if version < OLDEST {
            return Err(ServerError::TooOld { path, version });
        }
        Ok(ServerBinary { path, info, version })
    }
}

async fn ask_version(path: &Path) -> Result<String, ServerError> {
    let bad = |why: String| ServerError::BadBinary { path: path.to_owned(), why };
    let output =
        tokio::process::Command::new(path).arg("--version").stdin(Stdio::null()).kill_on_drop(true).output();
    match tokio::time::timeout(VERSION_WITHIN, output).await {
        Ok(Ok(output)) => {
            let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
            Ok(String::from_utf8_lossy(&text).into_owned())
        }
        Ok(Err(error)) => Err(bad(format!("can't be run: {error}"))),
        Err(_) => Err(bad(format!("did not answer --version within {VERSION_WITHIN:?}"))),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(100).collect()
}

/// Reads `Redis server v=7.0.15 sha=...` and `Valkey server v=9.1.2 sha=...`.
fn parse(text: &str) -> Option<(ServerInfo, Version)> {
    let line = text.lines().find(|line| line.contains(" server v="))?;
    let (program, rest) = line.split_once(" server v=")?;
    let name = match program.trim() {
        "Redis" => NAMES[0],
        "Valkey" => NAMES[1],
        _ => return None,
    };
    let said = rest.split_whitespace().next()?;
    let info = ServerInfo { name: name.to_owned(), version: said.to_owned(), whose: Whose::Owned };
    Some((info, Version::read(said)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, String, Version) {
        let (info, version) = parse(text).unwrap();
        (info.name, info.version, version)
    }

    #[test]
    fn both_families_say_their_name_and_version() {
        let redis =
            "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0\n";
        assert_eq!(read(redis), ("redis-server".into(), "7.0.15".into(), Version(7, 0, 15)));
        let valkey = "Valkey server v=9.1.2 sha=00000000:0 malloc=libc bits=64 build=1\n";
        assert_eq!(read(valkey), ("valkey-server".into(), "9.1.2".into(), Version(9, 1, 2)));
    }

    #[test]
    fn a_release_candidate_keeps_its_name_and_compares_as_its_version() {
        let (_, said, version) = read("Redis server v=8.0-rc1 sha=0 bits=64");
        assert_eq!((said.as_str(), version), ("8.0-rc1", Version(8, 0, 0)));
        assert!(Version(8, 10, 2) > Version(8, 2, 3), "versions compare by number, not by text");
    }

    #[test]
    fn the_library_name_waits_in_a_pause_everywhere_but_on_7_0() {
        let waits = |version| Version::read(version).unwrap().setinfo_waits();
        let versions = ["6.2.5", "7.0.0", "7.0.15", "7.2.0", "8.10.2"];
        assert_eq!(versions.map(waits), [true, false, false, true, true]);
    }

    #[test]
    fn another_program_is_no_server() {
        assert!(parse("KeyDB server v=6.3.4 sha=0").is_none());
        assert!(parse("cat (GNU coreutils) 9.1").is_none());
        assert!(parse("").is_none());
    }

    #[tokio::test]
    async fn a_missing_program_and_a_wrong_one_are_told_apart() {
        let missing = ServerBinary::find(Some(Path::new("/nowhere/redis-server"))).await.unwrap_err();
        assert!(missing.to_string().contains("/nowhere/redis-server: is no program"), "{missing}");
        let wrong = ServerBinary::find(Some(Path::new("sh"))).await.unwrap_err();
        assert!(wrong.to_string().contains("is no redis-server"), "{wrong}");
    }

    #[test]
    fn without_a_server_the_message_has_an_install_line_for_each_system() {
        let text = ServerError::NoBinary.to_string();
        for line in [
            "apt-get install redis-server",
            "dnf install valkey",
            "apk add redis",
            "pacman -S valkey",
            "brew install redis",
            "--redis-server PATH",
        ] {
            assert!(text.contains(line), "{line} is missing from {text}");
        }
    }
}
