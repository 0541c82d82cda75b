//! A server that exists: which, how to get in, and what the audit may do to it.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use redis_outage_audit::endpoint::{Candidates, UrlError, candidates};
use redis_outage_audit::policy::{Hooks, PolicyFile};
use redis_outage_audit::redis::Allow;

/// A text that is never shown.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Secret, Infallible> {
        Ok(Secret(text.to_owned()))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// Which server.
#[derive(Debug, Args)]
#[group(id = "server_that_exists", multiple = false)]
pub(crate) struct UrlArgs {
    /// The server, as redis://, rediss:// or unix://; a password in it stands in the process list
    #[arg(long, value_name = "URL")]
    pub(crate) redis_url: Option<Secret>,
    /// The environment variable that holds its URL
    #[arg(long, value_name = "NAME")]
    pub(crate) redis_url_env: Option<String>,
    /// The file that holds its URL
    #[arg(long, value_name = "FILE")]
    pub(crate) redis_url_file: Option<PathBuf>,
}

/// Which server, and how to get in.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) url: UrlArgs,
    /// The certificate of the authority that signed the server's, for rediss:// [default: the system's authorities]
    #[arg(long, value_name = "FILE", requires = "server_that_exists")]
    pub(crate) redis_ca: Option<PathBuf>,
}

impl TargetArgs {
    /// Whether a server is named.
    pub(crate) fn is_named(&self) -> bool {
        let UrlArgs { redis_url, redis_url_env, redis_url_file } = &self.url;
        redis_url.is_some() || redis_url_env.is_some() || redis_url_file.is_some()
    }

    /// Where the server may be, to which nobody has connected yet; none where none is named.
    pub(crate) async fn candidates(&self) -> Result<Option<Candidates>> {
        let url = match &self.url {
            UrlArgs { redis_url: Some(url), .. } => url.0.clone(),
            UrlArgs { redis_url_env: Some(name), .. } => std::env::var(name).map_err(|error| {
                // The error itself would show what the variable holds.
                let why = match error {
                    std::env::VarError::NotPresent => "is not set",
                    std::env::VarError::NotUnicode(_) => "holds no text",
                };
                Wrong(format!("--redis-url-env {name}: this environment variable {why}"))
            })?,
            UrlArgs { redis_url_file: Some(path), .. } => std::fs::read_to_string(path)
                .map_err(|error| Wrong(format!("--redis-url-file {}: {error}", path.display())))?,
            _ => return Ok(None),
        };
        match candidates(&url, self.redis_ca.as_deref()).await {
            Ok(candidates) => Ok(Some(candidates)),
            Err(error @ UrlError::Resolve { .. }) => Err(error.into()),
            Err(error) => Err(Wrong(error.to_string()).into()),
        }
    }
}

/// What is wrong about the command line, though it could be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Wrong(pub(crate) String);

/// A server that exists, and what may be done to it.
#[derive(Debug, Args)]
#[command(next_help_heading = "A server that exists")]
pub(crate) struct AttachArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Audit a server on this host, which is not this machine; repeatable
    #[arg(long, value_name = "HOST", requires = "server_that_exists")]
    allow_host: Vec<String>,
    /// Audit a server to which others are connected, who share what it is put through
    #[arg(long, requires = "server_that_exists")]
    allow_other_clients: bool,
    /// Audit a server that holds keys which are not the audit's
    #[arg(long, requires = "server_that_exists")]
    allow_keys: bool,
    /// Bring about states that change settings, and put them back
    #[arg(long, requires = "server_that_exists")]
    allow_config: bool,
    /// The longest that the server may be paused at a time
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = super::args::duration)]
    max_pause: Duration,
    /// Where is written down what was changed until it is put back [default: a file in ~/.local/state/redis-outage-audit]
    #[arg(long, value_name = "FILE", requires = "server_that_exists")]
    journal: Option<PathBuf>,
    /// Say what would be done, and do nothing but look
    #[arg(long, requires = "server_that_exists")]
    pub(crate) dry_run: bool,
}

impl AttachArgs {
    /// What is allowed; none where the audit starts servers of its own.
    pub(crate) fn allow(&self, files: &[Arc<PolicyFile>]) -> Result<Option<Allow>> {
        if !self.target.is_named() {
            return Ok(None);
        }
        Ok(Some(Allow {
            hosts: self.allow_host.clone(),
            other_clients: self.allow_other_clients,
            keys: self.allow_keys,
            config: self.allow_config,
            max_pause: self.max_pause,
            hooks: hooks(files)?,
            journal: self.journal.clone(),
        }))
    }
}

/// The hooks that the files agree on: there is one server.
fn hooks(files: &[Arc<PolicyFile>]) -> Result<Option<Hooks>> {
    let mut named = files.iter().filter_map(|file| Some((file, file.hooks.as_ref()?)));
    let Some((first, hooks)) = named.next() else { return Ok(None) };
    if let Some((other, _)) = named.find(|(_, others)| *others != hooks) {
        bail!(
            "{} and {} have different `hooks`, and --redis-url names one server: let one of them have them",
            first.source.name(),
            other.source.name()
        );
    }
    Ok(Some(hooks.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_no_form_that_shows_it() {
        assert!(!format!("{:?}", Secret::from_str("redis://:s3cret@h").unwrap()).contains("s3cret"));
    }
}
