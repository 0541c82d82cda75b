//! The monitor connection: it lives through a pause, lists what ran, and can lift the pause.
//!
//! A connection that sent MONITOR is treated as a replica, so CLIENT PAUSE ALL does not stop it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::monitor_line::{MonitorLine, Origin};
use super::wire::{Reader, STEP_WITHIN, Wire, Writer, bounded};
use crate::endpoint::Endpoint;

/// How a monitor connection spells its PING. By that it knows its own in the list where the server names connections
/// otherwise than they name themselves: a unix socket, a port that is forwarded.
const OWN_PING: &str = "ping";

/// A connection that sent MONITOR, and what it has listed.
///
/// A task reads it all the time, so the server never has to keep lines for it.
#[derive(Debug)]
pub struct Monitor {
    writer: Writer,
    replies: mpsc::UnboundedReceiver<io::Result<String>>,
    /// Replies that were asked for and have not come: a request waits for its own, past those before it.
    owed: usize,
    lines: Arc<Mutex<Vec<MonitorLine>>>,
    reader: JoinHandle<()>,
}

impl Monitor {
    /// Connects and sends MONITOR: every command that runs from now on is listed.
    ///
    /// # Errors
    /// Where the server can't be reached, or does not let the connection monitor.
    pub async fn open(endpoint: &Endpoint) -> io::Result<Monitor> {
        Monitor::opened(endpoint, true).await
    }

    /// The same for a connection that is only to lift a pause: what it lists is thrown away.
    pub(super) async fn lifeline(endpoint: &Endpoint) -> io::Result<Monitor> {
        Monitor::opened(endpoint, false).await
    }

    async fn opened(endpoint: &Endpoint, keeps: bool) -> io::Result<Monitor> {
        let mut wire = Wire::connect(endpoint, STEP_WITHIN).await?;
        let reply = wire.ask(&["MONITOR"], STEP_WITHIN).await?;
        if !reply.is("OK") {
            return Err(io::Error::other(format!("MONITOR was answered by {reply:?}")));
        }
        let own = wire.local().map(Origin::Client);
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (reader, writer) = wire.split();
        let (tell, replies) = mpsc::unbounded_channel();
        let kept = keeps.then(|| Arc::clone(&lines));
        let reader = tokio::spawn(read(reader, own, kept, tell));
        Ok(Monitor { writer, replies, owed: 0, lines, reader })
    }

    /// Sends PING and waits for its answer; how long that took.
    ///
    /// Every command that ran before the answer is then listed.
    ///
    /// # Errors
    /// Where the connection is lost, or no answer came in time.
    pub async fn ping(&mut self, within: Duration) -> io::Result<Duration> {
        let sent = Instant::now();
        match self.ask(&[OWN_PING], within).await?.as_str() {
            "+PONG" => Ok(sent.elapsed()),
            other => Err(io::Error::other(format!("PING was answered by {other}"))),
        }
    }

    /// Lifts a pause, which no normal connection can do.
    ///
    /// # Errors
    /// Where the connection is lost, or no answer came in time.
    pub async fn unpause(&mut self) -> io::Result<()> {
        match self.ask(&["CLIENT", "UNPAUSE"], STEP_WITHIN).await?.as_str() {
            "+OK" => Ok(()),
            other => Err(io::Error::other(format!("CLIENT UNPAUSE was answered by {other}"))),
        }
    }

    /// How many commands were listed so far, this connection's own left out.
    pub fn count(&self) -> usize {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The commands listed from this count on.
    pub fn since(&self, count: usize) -> Vec<MonitorLine> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.get(count..).map(<[MonitorLine]>::to_vec).unwrap_or_default()
    }

    async fn ask(&mut self, command: &[&str], within: Duration) -> io::Result<String> {
        bounded(within, async {
            self.writer.send(command).await?;
            self.owed += 1;
            loop {
                let reply = self.replies.recv().await;
                let reply = reply.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))??;
                self.owed -= 1;
                if self.owed == 0 {
                    return Ok(reply);
                }
            }
        })
        .await
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Sorts what arrives into listed commands and replies, until the connection ends.
async fn read(
    mut reader: Reader,
    own: Option<Origin>,
    lines: Option<Arc<Mutex<Vec<MonitorLine>>>>,
    tell: mpsc::UnboundedSender<io::Result<String>>,
) {
    loop {
        let line = match reader.line().await {
            Ok(line) => line,
            Err(error) => {
                let _ = tell.send(Err(error));
                return;
            }
        };
        // A listed command begins with a time, and no reply that is asked for here does.
        if line.first() == Some(&b'+') && line.get(1).is_some_and(u8::is_ascii_digit) {
            match MonitorLine::parse(&line[1..]) {
                Some(line) if Some(&line.origin) == own.as_ref() || line.args == [OWN_PING.as_bytes()] => {}
                Some(line) => {
                    if let Some(lines) = &lines {
                        lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                    }
                }
                // A command that can't be read still ran, and a witness must not lose it.
                None => {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    let _ = tell
                        .send(Err(io::Error::other(format!("MONITOR listed what can't be read: {text}"))));
                    return;
                }
            }
        } else if tell.send(Ok(String::from_utf8_lossy(&line).into_owned())).is_err() {
            return;
        }
    }
}
