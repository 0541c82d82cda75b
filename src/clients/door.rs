//! What a server says to a connection that it does not want: it says so before it is asked, and closes. A client that takes
//! this for the answer of its first command, or loses it with the connection, can't tell why it was turned away.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::endpoint::Socket;
use crate::words::Reply;

/// How the error begins that a server sends where it has too many clients.
const TOO_MANY: &[u8] = b"-ERR max number of clients reached";

/// A socket whose first bytes are looked at on their way.
pub(super) struct Door {
    pub(super) socket: Socket,
    /// What came first, until there is enough of it to tell.
    pub(super) first: Vec<u8>,
    pub(super) turned_away: TurnedAway,
}

/// Whether the first thing that came was that the server has too many clients.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnedAway(Arc<AtomicBool>);

impl TurnedAway {
    /// What was really the matter where a client saw this.
    pub(super) fn explains(&self, seen: Reply) -> Reply {
        if self.0.load(Ordering::Acquire) { Reply::TooManyClients } else { seen }
    }
}

impl Door {
    fn look(&mut self, came: &[u8]) {
        let wanted = TOO_MANY.len().saturating_sub(self.first.len());
        if wanted > 0 && !came.is_empty() {
            self.first.extend_from_slice(&came[..came.len().min(wanted)]);
            if self.first == TOO_MANY {
                self.turned_away.0.store(true, Ordering::Release);
            }
        }
    }
}

impl AsyncRead for Door {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let read = Pin::new(&mut this.socket).poll_read(cx, buf);
        this.look(&buf.filled()[before..]);
        read
    }
}

impl AsyncWrite for Door {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use crate::endpoint::Endpoint;

    use super::*;

    /// What a client that saw a reset is told to have seen, where the server sent these pieces.
    async fn explained(pieces: &[&str]) -> Reply {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = Endpoint::plain(listener.local_addr().unwrap()).connect().await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let turned_away = TurnedAway::default();
        let mut door = Door { socket, first: Vec::new(), turned_away: turned_away.clone() };
        for piece in pieces {
            server.write_all(piece.as_bytes()).await.unwrap();
            let mut buffer = vec![0; piece.len()];
            door.read_exact(&mut buffer).await.unwrap();
        }
        turned_away.explains(Reply::Reset)
    }

    #[tokio::test]
    async fn only_what_comes_first_can_turn_a_client_away_and_it_may_come_in_pieces() {
        assert_eq!(explained(&["-ERR max number of clients reached\r\n"]).await, Reply::TooManyClients);
        assert_eq!(
            explained(&["-ERR max num", "ber of clients ", "reached\r\n"]).await,
            Reply::TooManyClients
        );
        assert_eq!(explained(&["+OK\r\n", "-ERR max number of clients reached\r\n"]).await, Reply::Reset);
        assert_eq!(explained(&["-ERR something else altogether happened\r\n"]).await, Reply::Reset);
    }
}
