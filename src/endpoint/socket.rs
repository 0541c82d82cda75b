//! An open connection of either sort, as one type.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

/// An open connection.
#[derive(Debug)]
pub enum Socket {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over TCP with TLS.
    Tls(Box<TlsStream<TcpStream>>),
    /// Over a unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// Its own address, by which the server's records name it; none for a unix socket.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn local(&self) -> io::Result<Option<std::net::SocketAddr>> {
        match self {
            Socket::Tcp(stream) => stream.local_addr().map(Some),
            Socket::Tls(stream) => stream.get_ref().0.local_addr().map(Some),
            Socket::Unix(_) => Ok(None),
        }
    }
}

/// Does the same with whatever stream it is.
macro_rules! each {
    ($socket:expr, $stream:ident => $do:expr) => {
        match $socket.get_mut() {
            Socket::Tcp($stream) => $do,
            Socket::Tls(boxed) => {
                let $stream = boxed.as_mut();
                $do
            }
            Socket::Unix($stream) => $do,
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Socket::Tcp(stream) => stream.is_write_vectored(),
            Socket::Tls(stream) => stream.is_write_vectored(),
            Socket::Unix(stream) => stream.is_write_vectored(),
        }
    }
}
