//! `audit restore`: puts back what an audit that was killed left changed.

use std::path::PathBuf;

use redis_outage_audit::redis::{LeftOver, Restored, journals, left_behind, restore};

use super::args::RestoreArgs;
use super::attach::Wrong;
use super::exit::Exit;
use super::screen;

/// Puts back what each journal lists.
pub(crate) fn run(args: &RestoreArgs) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            screen::error(&anyhow::Error::new(error).context("the asynchronous runtime did not start"));
            return Exit::Environment;
        }
    };
    runtime.block_on(all(args))
}

async fn all(args: &RestoreArgs) -> Exit {
    let given = match args.target.candidates().await {
        Ok(given) => given,
        Err(error) => {
            let usage = error.is::<Wrong>();
            screen::error(&error);
            return if usage { Exit::Usage } else { Exit::Environment };
        }
    };
    let paths: Vec<PathBuf> = match &args.journal {
        Some(path) => vec![path.clone()],
        None => left_behind(&journals()),
    };
    let mut exit = Exit::Conforms;
    if paths.is_empty() {
        exit = screen::out(&format!("nothing to put back: no journal in {}\n", journals().display()));
    }
    for path in paths {
        let place = path.display();
        exit = exit.or(match restore(&path, given.as_ref()).await {
            Ok(LeftOver::PutBack(restored)) => screen::out(&said(&restored)),
            Ok(LeftOver::InUse) => {
                screen::out(&format!("{place}: the audit that wrote it still runs, and puts it back itself\n"))
            }
            Ok(LeftOver::OfAnother(server)) if args.journal.is_none() => {
                screen::out(&format!("{place}: it is about {server}, and is left alone\n"))
            }
            Ok(LeftOver::OfAnother(server)) => {
                screen::error(&anyhow::anyhow!(
                    "{place}: the journal is about {server}, and not about the server that is named: nothing was done"
                ));
                Exit::Usage
            }
            Err(error) => {
                screen::error(&error.into());
                Exit::NotPutBack
            }
        });
    }
    exit
}

fn said(restored: &Restored) -> String {
    let Restored { server, settings, started } = restored;
    let settings = match settings.as_slice() {
        [] => String::new(),
        names => format!(" put back {}", names.join(", ")),
    };
    let started = if *started { " started again" } else { "" };
    let both = if !settings.is_empty() && !started.is_empty() { "," } else { "" };
    let nothing = if settings.is_empty() && started.is_empty() { " is as it was" } else { "" };
    format!("{server}:{started}{both}{settings}{nothing}\n")
}
