//! A bare connection that says exactly what it is told and nothing else: no retry, and no handshake but the login that
//! a server may ask for.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};

use crate::endpoint::{Endpoint, Socket};

/// How long a step on a connection of the audit's own may take where nothing else is said.
pub(super) const STEP_WITHIN: Duration = Duration::from_secs(5);

/// How deep lists may nest; the replies that are read here are flat.
const MAX_DEPTH: usize = 4;

/// What a server replied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WireReply {
    /// `+OK`, without the sign.
    Simple(String),
    /// `-ERR ...`, without the sign.
    Error(String),
    /// `:1`.
    Int(i64),
    /// A string, or nil.
    Bulk(Option<Vec<u8>>),
    /// A list.
    List(Vec<WireReply>),
}

impl WireReply {
    /// Whether it is this status.
    pub(super) fn is(&self, status: &str) -> bool {
        matches!(self, WireReply::Simple(text) if text == status)
    }

    /// The text of a string or status; empty otherwise.
    pub(super) fn text(&self) -> String {
        match self {
            WireReply::Simple(text) => text.clone(),
            WireReply::Bulk(Some(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        }
    }
}

/// The half that is read, with what has arrived and was not read yet.
#[derive(Debug)]
pub(super) struct Reader {
    half: ReadHalf<Socket>,
    buffer: Vec<u8>,
}

/// The half that is written.
#[derive(Debug)]
pub(super) struct Writer {
    half: WriteHalf<Socket>,
}

/// A connection, both halves.
#[derive(Debug)]
pub(super) struct Wire {
    reader: Reader,
    writer: Writer,
    local: Option<SocketAddr>,
}

impl Wire {
    /// Connects, and logs in where the server asks for it.
    pub(super) async fn connect(endpoint: &Endpoint, within: Duration) -> io::Result<Wire> {
        let socket = bounded(within, endpoint.connect()).await?;
        let local = socket.local()?;
        let (read, write) = tokio::io::split(socket);
        let reader = Reader { half: read, buffer: Vec::new() };
        let mut wire = Wire { reader, writer: Writer { half: write }, local };
        if let Some(login) = endpoint.login() {
            let user = login.user().unwrap_or("default");
            let reply = wire.ask(&["AUTH", user, login.password()], within).await?;
            if !reply.is("OK") {
                return Err(io::Error::other(format!("the login was answered by {reply:?}")));
            }
        }
        Ok(wire)
    }

    /// The address that the server knows this connection by; none for a unix socket.
    pub(super) fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    /// Both halves, to be used by different tasks.
    pub(super) fn split(self) -> (Reader, Writer) {
        (self.reader, self.writer)
    }

    /// Sends a command without waiting for its reply.
    pub(super) async fn send(&mut self, command: &[&str]) -> io::Result<()> {
        self.writer.send(command).await
    }

    /// The next reply, however long it takes. Dropping the future loses nothing that has arrived.
    pub(super) async fn reply(&mut self) -> io::Result<WireReply> {
        self.reader.reply().await
    }

    /// Sends a command and waits for its reply.
    pub(super) async fn ask(&mut self, command: &[&str], within: Duration) -> io::Result<WireReply> {
        bounded(within, async {
            self.send(command).await?;
            self.reply().await
        })
        .await
    }
}

impl Writer {
    pub(super) async fn send(&mut self, command: &[&str]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", command.len());
        for word in command {
            bytes.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.half.write_all(bytes.as_bytes()).await?;
        self.half.flush().await
    }
}

impl Reader {
    /// The next reply. Dropping the future loses nothing that has arrived.
    pub(super) async fn reply(&mut self) -> io::Result<WireReply> {
        loop {
            if let Some((reply, used)) = parse(&self.buffer, 0)? {
                self.buffer.drain(..used);
                return Ok(reply);
            }
            self.fill().await?;
        }
    }

    /// The next line, without its end. Dropping the future loses nothing that has arrived.
    pub(super) async fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut searched = 0;
        loop {
            if let Some(at) = find_crlf(&self.buffer, searched) {
                let line = self.buffer[..at].to_vec();
                self.buffer.drain(..at + 2);
                return Ok(line);
            }
            searched = self.buffer.len().saturating_sub(1);
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        match self.half.read_buf(&mut self.buffer).await? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
            _ => Ok(()),
        }
    }
}

/// A bound on a step, as an I/O error.
pub(super) async fn bounded<T>(within: Duration, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match tokio::time::timeout(within, step).await {
        Ok(done) => done,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, format!("nothing came within {within:?}"))),
    }
}

fn find_crlf(bytes: &[u8], from: usize) -> Option<usize> {
    bytes.get(from..)?.windows(2).position(|pair| pair == b"\r\n").map(|at| from + at)
}

/// Reads one reply off the front, and how many bytes it took; none where it is not whole yet.
fn parse(bytes: &[u8], depth: usize) -> io::Result<Option<(WireReply, usize)>> {
    let broken =
        |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("not a Redis reply: {what}"));
    let Some(end) = find_crlf(bytes, 0) else { return Ok(None) };
    let Some((&sign, line)) = bytes[..end].split_first() else { return Err(broken("an empty line")) };
    let text = String::from_utf8_lossy(line).into_owned();
    let after = end + 2;
    let number = || text.parse::<i64>().map_err(|_| broken(&text));
    match sign {
        b'+' => Ok(Some((WireReply::Simple(text), after))),
        b'-' => Ok(Some((WireReply::Error(text), after))),
        b':' => Ok(Some((WireReply::Int(number()?), after))),
        b'$' => {
            let Ok(len) = usize::try_from(number()?) else { return Ok(Some((WireReply::Bulk(None), after))) };
            let whole = after.saturating_add(len).saturating_add(2);
            if bytes.len() < whole {
                return Ok(None);
            }
            Ok(Some((WireReply::Bulk(Some(bytes[after..after + len].to_vec())), whole)))
        }
        b'*' if depth < MAX_DEPTH => {
            let mut used = after;
            let mut list = Vec::new();
            for _ in 0..number()? {
                let Some((item, more)) = parse(&bytes[used..], depth + 1)? else { return Ok(None) };
                list.push(item);
                used += more;
            }
            Ok(Some((WireReply::List(list), used)))
        }
        _ => Err(broken(&String::from_utf8_lossy(&bytes[..end.min(40)]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_once_it_is_whole_and_leaves_what_follows() {
        let bytes = b"*2\r\n$10\r\nmaxclients\r\n$5\r\n10000\r\n+OK\r\n";
        let whole = bytes.len() - 5;
        for cut in 0..whole {
            assert_eq!(parse(&bytes[..cut], 0).unwrap(), None, "cut at {cut}");
        }
        let (reply, used) = parse(bytes, 0).unwrap().unwrap();
        assert_eq!(used, whole);
        let WireReply::List(list) = reply else { panic!("no list") };
        assert_eq!(list.iter().map(WireReply::text).collect::<Vec<_>>(), ["maxclients", "10000"]);
    }

    #[test]
    fn each_kind_of_reply_is_told_apart() {
        let read = |bytes: &[u8]| parse(bytes, 0).unwrap().unwrap().0;
        assert!(read(b"+PONG\r\n").is("PONG"));
        assert_eq!(read(b"-LOADING busy\r\n"), WireReply::Error("LOADING busy".into()));
        assert_eq!(read(b":-3\r\n"), WireReply::Int(-3));
        assert_eq!(read(b"$-1\r\n"), WireReply::Bulk(None));
        assert_eq!(read(b"$2\r\n\r\n\r\n"), WireReply::Bulk(Some(b"\r\n".to_vec())));
    }

    #[test]
    fn what_is_no_redis_reply_is_an_error_and_not_a_wait() {
        assert!(parse(b"HTTP/1.1 400 Bad Request\r\n", 0).is_err());
        assert!(parse(b"$x\r\n", 0).is_err());
        assert!(parse(&b"*1\r\n".repeat(100_000), 0).is_err(), "deep nesting ends in an error");
    }
}
