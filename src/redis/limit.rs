//! How many files, and so how many connections, this process and the servers that it starts may open.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What macOS grants a process whose hard limit reads "unlimited".
const FALLBACK: u64 = 10_240;

/// The open-file limit of this process, raised to the hard limit at the first call.
///
/// Servers started afterwards inherit it.
pub fn open_file_limit() -> u64 {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    *LIMIT.get_or_init(raise)
}

fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // A kernel may refuse its own hard limit; keeping the soft one is then no failure, only fewer connections.
    for wanted in [maximum, maximum.map(|hard| hard.min(FALLBACK)).or(Some(FALLBACK))] {
        if current.is_some_and(|soft| wanted.is_some_and(|wanted| wanted <= soft)) {
            break;
        }
        if setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum }).is_ok() {
            break;
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_as_high_as_the_hard_one() {
        let limit = open_file_limit();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current.unwrap_or(u64::MAX), limit);
        assert!(limit >= now.maximum.unwrap_or(FALLBACK).min(FALLBACK), "{limit} of {now:?}");
    }
}
