//! Reads the policy files that a command line names, and shows all problems of all of them at once.

use std::sync::Arc;

use redis_outage_audit::policy::{self, PolicyFile};
use redis_outage_audit::text::Look;

use super::args::PolicyArgs;
use super::exit::Exit;
use super::screen;

/// The policy files, or the exit after their problems were shown.
pub(crate) fn load(args: &PolicyArgs) -> Result<Vec<Arc<PolicyFile>>, Exit> {
    let paths = policy::find(&args.policies).map_err(|error| {
        screen::error(&error.into());
        Exit::Usage
    })?;
    let mut files = Vec::new();
    let mut failed = false;
    for path in paths {
        match policy::load(&path) {
            Ok(file) => files.push(Arc::new(file)),
            Err(problems) => {
                failed = true;
                screen::err(&problems.render(Look { color: true, width: screen::width() }));
            }
        }
    }
    if failed { Err(Exit::Usage) } else { Ok(files) }
}
