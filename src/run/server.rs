//! The audit's own hand on a server that answers: sets keys, reads what is there, and takes away what is ours.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;

use super::RunError;
use crate::clients::{multiplexed, reply_of};
use crate::endpoint::Endpoint;
use crate::kinds::{Command, Step};
use crate::observe::{Found, Snapshot};
use crate::policy::Handshake;
use crate::words::{Phase, Reply};

/// How many commands go to the server in one pipeline.
const PIPELINE: usize = 500;

/// A healthy server answers within this.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection of the audit's own.
pub(super) struct Hand {
    endpoint: Endpoint,
    connection: MultiplexedConnection,
}

impl Hand {
    /// Connects.
    pub(super) async fn on(endpoint: &Endpoint) -> Result<Hand, RunError> {
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let opening = multiplexed(endpoint, Handshake::Setinfo, config);
        let opened = tokio::time::timeout(PATIENCE, opening).await;
        match opened.unwrap_or(Err(Reply::TimedOut(Phase::Connect))) {
            Ok(opened) => Ok(Hand { endpoint: endpoint.clone(), connection: opened.redis }),
            Err(reply) => {
                let what = "a connection of the audit's own";
                Err(RunError::Prepare { at: endpoint.clone(), what, reply })
            }
        }
    }

    /// Where the server is.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends commands whose answers do not matter.
    pub(super) async fn send<'a>(
        &mut self,
        what: &'static str,
        commands: impl Iterator<Item = Vec<&'a str>>,
    ) -> Result<(), RunError> {
        let commands: Vec<Vec<&str>> = commands.collect();
        for chunk in commands.chunks(PIPELINE) {
            let mut pipeline = redis::pipe();
            for words in chunk {
                let mut command = redis::Cmd::new();
                words.iter().for_each(|word| {
                    command.arg(word);
                });
                pipeline.add_command(command).ignore();
            }
            pipeline.query_async::<()>(&mut self.connection).await.map_err(failed(&self.endpoint, what))?;
        }
        Ok(())
    }

    /// Sends the plain commands among these steps.
    pub(super) async fn prepare<'a>(
        &mut self,
        steps: impl Iterator<Item = &'a Step>,
    ) -> Result<(), RunError> {
        let plain = steps.filter_map(|step| match &step.command {
            Command::Plain(words) => Some(words.iter().map(String::as_str).collect()),
            Command::Script { .. } => None,
        });
        self.send("keys", plain).await
    }

    /// What the keys of each slot hold.
    pub(super) async fn snapshot(
        &mut self,
        slots: &[(&'static str, Vec<String>)],
    ) -> Result<Vec<(&'static str, Snapshot)>, RunError> {
        let keys: Vec<&String> = slots.iter().flat_map(|(_, keys)| keys).collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut types = redis::pipe();
        for key in &keys {
            types.cmd("TYPE").arg(key);
            types.cmd("PTTL").arg(key);
        }
        let failed = failed(&self.endpoint, "reading keys back");
        let answers: Vec<redis::Value> = types.query_async(&mut self.connection).await.map_err(&failed)?;
        let mut values = redis::pipe();
        for (key, kind) in keys.iter().zip(answers.chunks(2)) {
            let kind: String = redis::from_redis_value(kind[0].clone()).unwrap_or_default();
            match kind.as_str() {
                "list" => values.cmd("LRANGE").arg(key).arg(0).arg(-1),
                "string" => values.cmd("MGET").arg(key),
                // Another type, or no such key: an empty list.
                _ => values.cmd("LRANGE").arg(format!("{key}:none")).arg(0).arg(-1),
            };
        }
        let held: Vec<Vec<Option<String>>> =
            values.query_async(&mut self.connection).await.map_err(&failed)?;
        let mut found = keys.iter().zip(answers.chunks(2)).zip(held).map(|((key, answers), values)| {
            let left: i64 = redis::from_redis_value(answers[1].clone()).unwrap_or(-2);
            Found {
                key: (*key).clone(),
                values: values.into_iter().flatten().collect(),
                left_ms: u64::try_from(left).ok(),
            }
        });
        Ok(slots
            .iter()
            .map(|(slot, keys)| (*slot, Snapshot { keys: found.by_ref().take(keys.len()).collect() }))
            .collect())
    }

    /// Which of these keys are there.
    pub(super) async fn present(&mut self, keys: &[String]) -> Result<Vec<bool>, RunError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipeline = redis::pipe();
        keys.iter().for_each(|key| {
            pipeline.cmd("EXISTS").arg(key);
        });
        pipeline.query_async(&mut self.connection).await.map_err(failed(&self.endpoint, "reading keys back"))
    }

    /// Removes every key that carries the run's name, and gives those that are there all the same.
    pub(super) async fn clean(&mut self, run: &str) -> Result<Vec<String>, RunError> {
        let ours = self.carrying(run).await?;
        self.send("cleaning up", ours.iter().map(|key| vec!["DEL", key.as_str()])).await?;
        self.carrying(run).await
    }

    async fn carrying(&mut self, run: &str) -> Result<Vec<String>, RunError> {
        let mut keys = Vec::new();
        let mut cursor = "0".to_owned();
        loop {
            let (next, page): (String, Vec<String>) = redis::cmd("SCAN")
                .arg(&cursor)
                .arg("MATCH")
                .arg(format!("*audit-{run}-*"))
                .arg("COUNT")
                .arg(1_000)
                .query_async(&mut self.connection)
                .await
                .map_err(failed(&self.endpoint, "looking for keys of ours"))?;
            keys.extend(page);
            if next == "0" {
                return Ok(keys);
            }
            cursor = next;
        }
    }
}

fn failed(endpoint: &Endpoint, what: &'static str) -> impl Fn(redis::RedisError) -> RunError + use<> {
    let endpoint = endpoint.clone();
    move |error| RunError::Prepare { at: endpoint.clone(), what, reply: reply_of(&error) }
}

/// The snapshots of all scenes' slots, scene by scene.
pub(super) fn per_scene(
    snapshots: Vec<(&'static str, Snapshot)>,
    counts: &[usize],
) -> Vec<BTreeMap<&'static str, Snapshot>> {
    let mut snapshots = snapshots.into_iter();
    counts.iter().map(|count| snapshots.by_ref().take(*count).collect()).collect()
}
