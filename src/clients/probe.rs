//! The built-in probe: one client of a service, obeying the declared settings exactly and counting its attempts.

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::time::Instant;

use super::backoff;
use super::connection::Connection;
use super::link::Link;
use crate::endpoint::Endpoint;
use crate::kinds::{ProbeId, RespValue, Step};
use crate::observe::{Attempt, Probe};
use crate::policy::{Client, Handshake, OnTimeout};
use crate::words::{Answer, Reply};

/// Microseconds since the run began.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    /// The time since it began, in microseconds.
    pub fn now_us(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// A client with a connection of its own. Dropping it closes the connection, so whoever wants to know what runs
/// late holds it until the server has answered again.
pub struct ProbeClient {
    client: Arc<Client>,
    target: Endpoint,
    link: Link,
    seed: u64,
    /// Made when a wait is first drawn: most clients never draw one.
    random: Option<Box<StdRng>>,
    clock: Clock,
}

/// How long a connection may take to open while the server is healthy: the declared limit is not for the audit's own
/// preparation, which opens thousands at once.
const WARM_UP: Duration = Duration::from_secs(10);

impl ProbeClient {
    /// A client that is connected and has had a first answer, as a service's clients have before an outage.
    ///
    /// # Errors
    ///
    /// What the client saw instead.
    pub async fn warmed_up(
        client: Arc<Client>,
        target: Endpoint,
        clock: Clock,
        seed: u64,
    ) -> Result<ProbeClient, Reply> {
        let mut connection = Connection::open(&target, client.handshake, Some(WARM_UP)).await?;
        // A handshake was answered already.
        if client.handshake == Handshake::None {
            let ping = crate::kinds::Command::Plain(vec!["PING".to_owned()]);
            connection.send(&ping, Some(WARM_UP)).await?;
        }
        Ok(ProbeClient { client, target, link: Link::Up(connection), seed, random: None, clock })
    }

    /// A client that has never connected: its first attempt does, as after a deploy or where a pool grows.
    pub fn cold(client: Arc<Client>, target: Endpoint, clock: Clock, seed: u64) -> ProbeClient {
        ProbeClient { client, target, link: Link::Fresh, seed, random: None, clock }
    }

    /// Runs the steps of one operation and records each attempt. The call is given up after `give_up`.
    pub async fn call(&mut self, id: &ProbeId, steps: &[Step], give_up: Duration) -> Probe {
        let sent_us = self.clock.now_us();
        let mut record = Record { done: Vec::new(), under_way: None };
        let reply = match tokio::time::timeout(give_up, self.run(steps, &mut record)).await {
            Ok(reply) => reply,
            Err(_) => Reply::NeverReturned,
        };
        let ended_us = self.clock.now_us();
        if let Some((command, number, sent_us)) = record.under_way.take() {
            let reply = Reply::NeverReturned;
            record.done.push(Attempt::new(command, number, sent_us, ended_us, reply, None));
        }
        // Thousands of records are kept, and most calls make one attempt.
        record.done.shrink_to_fit();
        Probe { id: id.to_string(), sent_us, ended_us, reply, own_key: true, attempts: record.done }
    }

    /// Lets a client that reconnects beside its calls do so, where its connection is gone; no longer than this.
    pub async fn settle(&mut self, within: Duration) {
        let client = Arc::clone(&self.client);
        let _ = tokio::time::timeout(within, self.link.settle(&self.target, &client)).await;
    }

    /// How long it waits after so many failed attempts.
    fn wait(&mut self, failed: u32) -> Duration {
        let seed = self.seed;
        let random = self.random.get_or_insert_with(|| Box::new(StdRng::seed_from_u64(seed)));
        backoff::wait(self.client.backoff, failed, random)
    }

    /// Stops what the client does beside its calls, until the next one. Its connection stays open.
    pub fn rest(&mut self) {
        self.link.rest();
    }

    /// The operation: its commands in order, up to the first that is not answered.
    async fn run(&mut self, steps: &[Step], record: &mut Record) -> Reply {
        // An operation without a command (a lock that is left to expire) has nothing that could fail.
        let mut answer = Answer::Yes;
        let mut previous = None;
        for step in steps {
            if !step.when.holds(previous.as_ref()) {
                continue;
            }
            match self.step(step, record).await {
                Ok(value) => {
                    answer = (step.read)(&value);
                    previous = Some(value);
                }
                Err(reply) => return reply,
            }
        }
        Reply::Answered(answer)
    }

    /// One command: as many attempts as are declared. An error that the server answered with is not tried again.
    async fn step(&mut self, step: &Step, record: &mut Record) -> Result<RespValue, Reply> {
        let mut number = 1;
        loop {
            let command = step.command.name().to_owned();
            let sent_us = self.clock.now_us();
            record.under_way = Some((command.clone(), number, sent_us));
            let (outcome, port) = self.attempt(step).await;
            record.under_way = None;
            let reply = match &outcome {
                Ok(value) => Reply::Answered((step.read)(value)),
                Err(reply) => reply.clone(),
            };
            let ended_us = self.clock.now_us();
            record.done.push(Attempt::new(command, number, sent_us, ended_us, reply, port));
            match outcome {
                Err(reply) if number < self.client.attempts && !matches!(reply, Reply::Rejected { .. }) => {
                    tokio::time::sleep(self.wait(number)).await;
                    number += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// One try: gets a connection, sends the command, and lets the connection go where the settings say so.
    async fn attempt(&mut self, step: &Step) -> (Result<RespValue, Reply>, Option<u16>) {
        let client = Arc::clone(&self.client);
        let connection = match self.link.connection(&self.target, &client).await {
            Ok(connection) => connection,
            Err(reply) => return (Err(reply), None),
        };
        let port = connection.port;
        let outcome = connection.send(&step.command, client.command_timeout).await;
        let lost = match &outcome {
            Err(Reply::Reset | Reply::Refused | Reply::TooManyClients) => true,
            Err(Reply::TimedOut(_)) => client.on_timeout == OnTimeout::Close,
            _ => false,
        };
        if lost {
            self.link.lose(&self.target, &client);
        }
        (outcome, port)
    }
}

/// The attempts of a call, and the one that is under way, which outlives the call when it is given up.
struct Record {
    done: Vec<Attempt>,
    under_way: Option<(String, u32, u64)>,
}
