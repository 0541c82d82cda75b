//! The listening socket, and how new connections are made to hang in connect.
//!
//! A kernel completes connections until as many wait to be accepted as the listener allows, and then drops what asks for
//! more. So the listener is told to allow next to none, connections of its own take these places, and nobody accepts.

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

/// How many connections may wait to be accepted; kernels allow at most what they are set to.
const BACKLOG: u32 = 4096;

/// How many where new ones shall hang. Zero means "the most" to some kernels.
const NO_BACKLOG: i32 = 1;

/// On loopback a connect completes at once or hangs.
const HANGS_AFTER: Duration = Duration::from_millis(20);

/// How many places are tried to be taken, beside those that clients took, before it is given up.
const PLACES: usize = 64;

/// A listener that can be shut to new connections without refusing them.
#[derive(Debug)]
pub(super) struct Gate {
    listener: TcpListener,
    addr: SocketAddr,
    shut: bool,
    /// What takes the places while it is shut.
    ours: Vec<TcpStream>,
    /// Ports of ours that are still to be accepted.
    waiting: HashSet<u16>,
}

impl Gate {
    /// Listens on a free port of loopback.
    pub(super) fn open() -> io::Result<Gate> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let listener = socket.listen(BACKLOG)?;
        let addr = listener.local_addr()?;
        Ok(Gate { listener, addr, shut: false, ours: Vec::new(), waiting: HashSet::new() })
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The next client. Never one while it is shut. Dropping the future loses no client.
    pub(super) async fn accept(&mut self) -> io::Result<TcpStream> {
        loop {
            if self.shut {
                return std::future::pending().await;
            }
            let (client, from) = self.listener.accept().await?;
            if !self.waiting.remove(&from.port()) {
                return Ok(client);
            }
        }
    }

    /// Lets new connections hang in connect from now on.
    ///
    /// # Errors
    /// Where the kernel does not let them hang; it is open then.
    pub(super) async fn shut(&mut self) -> io::Result<()> {
        if self.shut {
            return Ok(());
        }
        rustix::net::listen(&self.listener, NO_BACKLOG)?;
        self.shut = true;
        for _ in 0..PLACES {
            match timeout(HANGS_AFTER, TcpStream::connect(self.addr)).await {
                Ok(Ok(ours)) => {
                    self.waiting.insert(ours.local_addr()?.port());
                    self.ours.push(ours);
                }
                Ok(Err(error)) => {
                    self.open_again()?;
                    return Err(error);
                }
                Err(_) => return Ok(()),
            }
        }
        self.open_again()?;
        Err(io::Error::other(format!(
            "{}: connections can't be made to hang: this system completed {PLACES} that nobody accepts",
            self.addr
        )))
    }

    /// Accepts again, where it was shut. Whoever hangs in connect gets through when its system asks the next time.
    pub(super) fn open_again(&mut self) -> io::Result<()> {
        self.ours.clear();
        self.shut = false;
        rustix::net::listen(&self.listener, BACKLOG.cast_signed())?;
        Ok(())
    }
}
