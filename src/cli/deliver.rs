//! Where the reports go: files, standard output, the terminal, and the table that `--check` holds against them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use redis_outage_audit::policy::PolicyFile;
use redis_outage_audit::report::check::{self, Document};
use redis_outage_audit::report::output::{self, is_stdout, write_whole};
use redis_outage_audit::report::terminal::{TerminalOptions, render};
use redis_outage_audit::report::{Report, json, markdown};

use super::args::{AuditArgs, Inconclusive};
use super::exit::Exit;
use super::screen;

/// What is done with a report. What can be known to fail beforehand has failed before the run.
pub(crate) struct Delivery<'a> {
    args: &'a AuditArgs,
    checked: Option<(&'a PathBuf, Document)>,
}

impl<'a> Delivery<'a> {
    /// Reads the table to check, and looks whether the reports can be written.
    pub(crate) fn of(args: &'a AuditArgs) -> Result<Delivery<'a>> {
        // The table is read now: `--markdown` may write the same file anew.
        let checked = match &args.check {
            Some(path) => Some((path, check::read(path)?)),
            None => None,
        };
        if let Some(path) = args.markdown.as_deref().filter(|path| !is_stdout(path)) {
            markdown::check_writable(path)?;
        }
        if let Some(path) = args.json.as_deref().filter(|path| !is_stdout(path)) {
            output::check_writable(path)?;
        }
        Ok(Delivery { args, checked })
    }

    /// Writes the reports, shows the table, and says how the command ends.
    pub(crate) fn deliver(&self, files: &[Arc<PolicyFile>], report: &Report) -> Exit {
        let mut exit = Exit::of(report.verdict, self.args.inconclusive == Inconclusive::Fail);
        let written = [
            self.args.markdown.as_deref().map(|path| write_markdown(path, report)),
            self.args.json.as_deref().map(|path| write_json(path, report)),
        ];
        let mut to_stdout = String::new();
        for text in written.into_iter().flatten() {
            match text {
                Ok(text) => to_stdout.push_str(&text),
                Err(error) => {
                    screen::error(&error);
                    exit = exit.or(Exit::Environment);
                }
            }
        }
        let sources: Vec<_> = files.iter().map(|file| Arc::clone(&file.source)).collect();
        let options = TerminalOptions { width: screen::width(), color: true, quiet: self.args.quiet };
        let table = render(report, &sources, &options);
        if to_stdout.is_empty() {
            exit = exit.or(screen::out(&table));
        } else {
            exit = exit.or(screen::out(&to_stdout));
            screen::err(&table);
        }
        // Last, as it decides the exit code even under a table that conforms.
        if self.is_stale(report) {
            exit = exit.or(Exit::Departs);
        }
        exit
    }

    /// Whether the checked table no longer says what was observed; the differences are shown.
    fn is_stale(&self, report: &Report) -> bool {
        let Some((path, document)) = &self.checked else { return false };
        let place = path.display();
        let comparison = check::compare(document, report);
        for cell in &comparison.not_compared {
            screen::err(&format!("not compared: {cell}: this run could not prove it\n"));
        }
        if comparison.differences.is_empty() {
            return false;
        }
        let lines: String = comparison.differences.iter().map(|line| format!("  {line}\n")).collect();
        screen::err(&format!(
            "{}: {place} no longer says what was observed\n{lines}  write it anew with --markdown {place}\n",
            screen::bad("stale")
        ));
        true
    }
}

/// Writes the failure table, or gives its text where standard output was asked for.
fn write_markdown(path: &Path, report: &Report) -> Result<String> {
    if is_stdout(path) {
        return Ok(markdown::table(report));
    }
    markdown::write(path, report)?;
    Ok(String::new())
}

/// Writes everything that was seen, or gives its text where standard output was asked for.
fn write_json(path: &Path, report: &Report) -> Result<String> {
    let text = json::to_json(report)?;
    if is_stdout(path) {
        return Ok(text);
    }
    write_whole(path, text.as_bytes())?;
    Ok(String::new())
}
