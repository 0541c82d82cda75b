//! Exit codes.

use std::process::ExitCode;

use redis_outage_audit::words::Verdict;

/// How a command ended. The documentation of the codes is `docs/exit-codes.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is as declared.
    Conforms,
    /// Something departs from what is declared, or the checked table is stale.
    Departs,
    /// The command line or a policy file is wrong.
    Usage,
    /// The run could not prove what it set out to prove.
    Inconclusive,
    /// The environment failed: no server, a report that could not be written.
    Environment,
    /// Something on a server that is not the audit's own could not be put back.
    NotPutBack,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Exit::Conforms => 0,
            Exit::Departs => 1,
            Exit::Usage => 2,
            Exit::Inconclusive => 3,
            Exit::Environment => 4,
            Exit::NotPutBack => 5,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }

    /// Which of two counts where both hold: interrupted, then what could not be put back, the environment, then usage, then departs.
    pub(crate) fn or(self, other: Exit) -> Exit {
        let rank = |exit| match exit {
            Exit::Interrupted | Exit::Terminated => 0,
            Exit::NotPutBack => 1,
            Exit::Environment => 2,
            Exit::Usage => 3,
            Exit::Departs => 4,
            Exit::Inconclusive => 5,
            Exit::Conforms => 6,
        };
        if rank(other) < rank(self) { other } else { self }
    }

    /// What a verdict comes to.
    pub(crate) fn of(verdict: Verdict, inconclusive_fails: bool) -> Exit {
        match verdict {
            Verdict::Conforms => Exit::Conforms,
            Verdict::Departs => Exit::Departs,
            Verdict::Inconclusive if inconclusive_fails => Exit::Inconclusive,
            Verdict::Inconclusive => Exit::Conforms,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit::*;

    #[test]
    fn where_several_hold_the_one_that_a_script_must_see_first_counts() {
        let order = [Interrupted, NotPutBack, Environment, Usage, Departs, Inconclusive, Conforms];
        for (index, first) in order.into_iter().enumerate() {
            for second in &order[index..] {
                assert_eq!(first.or(*second), first);
                assert_eq!(second.or(first), first);
            }
        }
    }
}
