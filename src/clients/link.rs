//! A client's hold on the server: the connection that it has, or the way in which it gets another.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::connection::Connection;
use crate::endpoint::Endpoint;
use crate::policy::{Client, Reconnect};
use crate::words::Reply;

/// How long a background reconnect waits after its first failure; it doubles up to [`SLOWEST_RECONNECT`].
const FIRST_RECONNECT: Duration = Duration::from_millis(100);
/// The longest wait between two background reconnects.
const SLOWEST_RECONNECT: Duration = Duration::from_secs(1);

/// A client's hold on the server.
pub(super) enum Link {
    /// It has never had a connection: the first attempt opens one and waits for it, however a lost one is replaced.
    Fresh,
    /// It has a connection.
    Up(Connection),
    /// It has none, and nobody is opening one.
    Down,
    /// A task is opening one beside the calls.
    Opening(Background),
    /// The task was stopped, as nobody is calling; the next call begins it anew.
    Resting,
}

/// A task that goes on opening a connection until it has one; dropping it stops the task.
pub(super) struct Background(JoinHandle<Connection>);

impl Drop for Background {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Link {
    /// A usable connection, opened now where the settings say that a call waits for one.
    ///
    /// # Errors
    ///
    /// What the client saw instead of a connection.
    pub(super) async fn connection(
        &mut self,
        target: &Endpoint,
        client: &Client,
    ) -> Result<&mut Connection, Reply> {
        if matches!(self, Link::Up(connection) if connection.is_closed()) {
            self.lose(target, client);
        }
        if matches!(self, Link::Resting) {
            self.lose(target, client);
        }
        match self {
            Link::Up(_) => {}
            Link::Fresh => match Connection::open(target, client.handshake, client.connect_timeout).await {
                Ok(connection) => *self = Link::Up(connection),
                Err(reply) => {
                    self.lose(target, client);
                    return Err(reply);
                }
            },
            Link::Down if client.reconnect == Reconnect::NextUse => {
                *self = Link::Up(Connection::open(target, client.handshake, client.connect_timeout).await?);
            }
            Link::Down | Link::Resting => return Err(Reply::NotConnected),
            Link::Opening(task) => {
                if !task.0.is_finished() {
                    return Err(Reply::NotConnected);
                }
                match (&mut task.0).await {
                    Ok(connection) => *self = Link::Up(connection),
                    // The task ends only with a connection, or with the runtime.
                    Err(_) => return Err(Reply::NotConnected),
                }
            }
        }
        match self {
            Link::Up(connection) => Ok(connection),
            Link::Fresh | Link::Down | Link::Opening(_) | Link::Resting => Err(Reply::NotConnected),
        }
    }

    /// Waits for the connection that is being opened beside the calls, where one is.
    pub(super) async fn settle(&mut self, target: &Endpoint, client: &Client) {
        if matches!(self, Link::Up(connection) if connection.is_closed()) {
            self.lose(target, client);
        }
        if let Link::Opening(task) = self
            && let Ok(connection) = (&mut task.0).await
        {
            *self = Link::Up(connection);
        }
    }

    /// Stops opening a connection that nobody waits for: thousands of clients would keep a machine busy with it.
    pub(super) fn rest(&mut self) {
        if matches!(self, Link::Opening(_)) {
            *self = Link::Resting;
        }
    }

    /// Lets the connection go, and begins to open another where that happens beside the calls.
    pub(super) fn lose(&mut self, target: &Endpoint, client: &Client) {
        *self = match client.reconnect {
            Reconnect::Never | Reconnect::NextUse => Link::Down,
            Reconnect::Background => {
                let (target, handshake, limit) = (target.clone(), client.handshake, client.connect_timeout);
                Link::Opening(Background(tokio::spawn(async move {
                    let mut wait = FIRST_RECONNECT;
                    loop {
                        if let Ok(connection) = Connection::open(&target, handshake, limit).await {
                            return connection;
                        }
                        tokio::time::sleep(wait).await;
                        wait = (wait * 2).min(SLOWEST_RECONNECT);
                    }
                })))
            }
        };
    }
}
