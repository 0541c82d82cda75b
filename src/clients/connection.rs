//! One connection: a redis-rs multiplexed connection over a socket that we open ourselves, so that we know its
//! local port and which part of the connect took how long.

use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, ErrorKind, ProtocolVersion, RedisConnectionInfo, RedisError, Value};
use tokio::task::AbortHandle;

use super::door::{Door, TurnedAway};
use crate::endpoint::Endpoint;
use crate::kinds::{Command, RespValue};
use crate::policy::Handshake;
use crate::words::{Phase, Reply};

/// An open connection. Dropping it closes the socket, and a paused server then drops what it had not run yet.
pub(super) struct Connection {
    redis: MultiplexedConnection,
    driver: AbortHandle,
    /// The local port, by which the server's own records name this connection; none on a unix socket.
    pub(super) port: Option<u16>,
    /// Whether the server said at once that it has too many clients, which redis-rs does not tell.
    turned_away: TurnedAway,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// Opens a connection and sends the handshake, within `limit` for both (none waits for ever).
    ///
    /// # Errors
    ///
    /// What the client saw instead of a connection.
    pub(super) async fn open(
        target: &Endpoint,
        handshake: Handshake,
        limit: Option<Duration>,
    ) -> Result<Connection, Reply> {
        within(limit, Phase::Connect, async {
            // The limits are ours: one for the connect as a whole, and one for each command.
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(None)
                .set_pipeline_buffer_size(PIPELINE_BUFFER);
            let Opened { redis, driver, port, turned_away } = multiplexed(target, handshake, config).await?;
            Ok(Connection { redis, driver, port, turned_away })
        })
        .await
    }

    /// Whether the other side is known to have gone.
    pub(super) fn is_closed(&self) -> bool {
        self.driver.is_finished()
    }

    /// Sends a command and waits for its answer, within `limit` (none waits for ever).
    ///
    /// A command whose limit runs out stays on its way: only dropping the connection takes it back.
    ///
    /// # Errors
    ///
    /// What the client saw instead of an answer.
    pub(super) async fn send(
        &mut self,
        command: &Command,
        limit: Option<Duration>,
    ) -> Result<RespValue, Reply> {
        within(limit, Phase::Command, async {
            match command {
                Command::Plain(words) => self.request(words.iter().map(String::as_str)).await,
                Command::Script { source, keys, args } => {
                    let hash = redis::Script::new(source).get_hash().to_owned();
                    let count = keys.len().to_string();
                    let rest = || keys.iter().chain(args).map(String::as_str);
                    let evalsha = self.request(["EVALSHA", &hash, &count].into_iter().chain(rest())).await;
                    match evalsha {
                        // The server has restarted since the script was loaded: send the source, as clients do.
                        Err(Reply::Rejected { code, .. }) if code == "NOSCRIPT" => {
                            self.request(["EVAL", source, &count].into_iter().chain(rest())).await
                        }
                        answer => answer,
                    }
                }
            }
        })
        .await
    }

    async fn request<'a>(&mut self, words: impl Iterator<Item = &'a str>) -> Result<RespValue, Reply> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        match self.redis.req_packed_command(&command).await {
            Ok(value) => resp_value(value),
            Err(error) => Err(error),
        }
        // What the server says at the door can also be taken for the answer of the first command.
        .map_err(|error| self.turned_away.explains(reply_of(&error)))
    }
}

/// Room for the requests that may wait in one connection: a probe sends one at a time, and redis-rs' default of 50
/// costs memory for each of thousands of connections.
const PIPELINE_BUFFER: usize = 4;

/// A connection of redis-rs' over a socket of ours.
pub(crate) struct Opened {
    pub(crate) redis: MultiplexedConnection,
    /// The task that drives it.
    pub(super) driver: AbortHandle,
    pub(super) port: Option<u16>,
    pub(super) turned_away: TurnedAway,
}

/// Opens a connection of redis-rs' over a socket of ours, and logs in.
pub(crate) async fn multiplexed(
    target: &Endpoint,
    handshake: Handshake,
    config: AsyncConnectionConfig,
) -> Result<Opened, Reply> {
    let socket = target.connect().await.map_err(|error| unreachable(&error))?;
    let port = socket.local().map_err(|error| unreachable(&error))?.map(|local| local.port());
    let turned_away = TurnedAway::default();
    let socket = Door { socket, first: Vec::new(), turned_away: turned_away.clone() };
    let mut info = RedisConnectionInfo::default();
    info = match handshake {
        Handshake::None => info.set_protocol(ProtocolVersion::RESP2).set_skip_set_lib_name(),
        Handshake::Setinfo => info.set_protocol(ProtocolVersion::RESP2),
        Handshake::Hello => info.set_protocol(ProtocolVersion::RESP3),
    };
    if let Some(login) = target.login() {
        info = info.set_password(login.password());
        if let Some(user) = login.user() {
            info = info.set_username(user);
        }
    }
    let (redis, driver) = MultiplexedConnection::new_with_config(&info, socket, config)
        .await
        .map_err(|error| turned_away.explains(reply_of(&error)))?;
    Ok(Opened { redis, driver: tokio::spawn(driver).abort_handle(), port, turned_away })
}

async fn within<T>(
    limit: Option<Duration>,
    phase: Phase,
    work: impl Future<Output = Result<T, Reply>>,
) -> Result<T, Reply> {
    match limit {
        None => work.await,
        Some(limit) => tokio::time::timeout(limit, work).await.unwrap_or(Err(Reply::TimedOut(phase))),
    }
}

fn unreachable(error: &std::io::Error) -> Reply {
    if error.kind() == std::io::ErrorKind::ConnectionRefused { Reply::Refused } else { Reply::Reset }
}

/// What a redis-rs error means to a caller.
pub(crate) fn reply_of(error: &RedisError) -> Reply {
    if let Some(code) = error.code() {
        let message = error.to_string();
        let code = if code == "ERR" { code_inside(&message).unwrap_or(code) } else { code };
        return Reply::Rejected { code: code.to_owned(), message };
    }
    if error.is_connection_refusal() {
        return Reply::Refused;
    }
    if error.is_io_error() || error.is_connection_dropped() {
        return Reply::Reset;
    }
    // WRONGPASS comes without a code; anything else that is not a server's error is a reply we can't read.
    let code = if error.kind() == ErrorKind::AuthenticationFailed { "WRONGPASS" } else { "PROTOCOL" };
    Reply::Rejected { code: code.to_owned(), message: error.to_string() }
}

/// The code of the error that a script met, which Redis 6.2 tells inside of its own: `... @user_script: 1: -OOM command not
/// allowed ...`.
fn code_inside(message: &str) -> Option<&str> {
    let (_, inside) = message.split_once("@user_script")?.1.split_once(": -")?;
    let code = inside.split(' ').next()?;
    (code.len() > 2 && code.bytes().all(|byte| byte.is_ascii_uppercase())).then_some(code)
}

fn resp_value(value: Value) -> Result<RespValue, RedisError> {
    Ok(match value.extract_error()? {
        Value::Nil => RespValue::Nil,
        Value::Int(number) => RespValue::Int(number),
        Value::Boolean(flag) => RespValue::Int(flag.into()),
        Value::Okay => RespValue::Text("OK".to_owned()),
        Value::SimpleString(text) => RespValue::Text(text),
        Value::BulkString(bytes) => RespValue::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Value::Double(number) => RespValue::Text(number.to_string()),
        Value::VerbatimString { text, .. } => RespValue::Text(text),
        Value::Array(list) | Value::Set(list) => list_of(list)?,
        Value::Map(pairs) => list_of(pairs.into_iter().flat_map(|(key, value)| [key, value]))?,
        other => RespValue::Text(format!("{other:?}")),
    })
}

fn list_of(values: impl IntoIterator<Item = Value>) -> Result<RespValue, RedisError> {
    values.into_iter().map(resp_value).collect::<Result<_, _>>().map(RespValue::List)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_that_a_script_met_is_found_inside_of_its_own() {
        let met = "ERR Error running script (call to f_da88): @user_script:1: @user_script: 1: -OOM command not allowed";
        assert_eq!(code_inside(met), Some("OOM"));
        assert_eq!(code_inside("ERR max number of clients reached: -1"), None);
        assert_eq!(code_inside("ERR Error running script: @user_script:1: Script attempted: -nothing"), None);
    }
}
