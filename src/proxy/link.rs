//! Carries one connection: a client's, and the one to the server that belongs to it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncWriteExt, Interest, Ready};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::book::Book;
use super::flow::Flow;
use super::{Fault, What};

/// The room that a read begins with, and the most that it grows to while each read fills it.
const LEAST: usize = 4 * 1024;
const MOST: usize = 256 * 1024;

/// The fault in force, as connections see it.
pub(super) type Force = watch::Receiver<Option<Arc<Fault>>>;

/// Connects to the server, and carries all until both ends are done or the connection has to be reset.
pub(super) async fn carry(
    client: TcpStream,
    upstream: SocketAddr,
    force: Force,
    book: Arc<Book>,
    seed: u64,
    number: u64,
) {
    let Ok(client_port) = client.peer_addr().map(|addr| addr.port()) else { return };
    let born_under = force.borrow().clone();
    let Ok(server) = connect(upstream, client_port, &book).await else {
        reset(&client);
        return;
    };
    let _ = client.set_nodelay(true);
    let flow = Flow::new(Arc::clone(&book), client_port, seed, number);
    let (client, server) = (End::new(client), End::new(server));
    let mut link =
        Link { client, server, flow, force, born_under, fault: None, noted: false, book, client_port };
    while link.step().await {}
}

/// A connection to the server, and a note of whose it is.
async fn connect(upstream: SocketAddr, client_port: u16, book: &Book) -> io::Result<TcpStream> {
    let server = TcpStream::connect(upstream).await?;
    server.set_nodelay(true)?;
    book.belongs(server.local_addr()?.port(), client_port);
    Ok(server)
}

/// Closes a connection, once it is dropped, so that its other end sees it reset.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

struct Link {
    client: End,
    server: End,
    flow: Flow,
    force: Force,
    /// The fault that was in force when the client connected.
    born_under: Option<Arc<Fault>>,
    /// The fault that was in force when this was last looked up.
    fault: Option<Arc<Fault>>,
    /// Whether it was noted, where all is silent, that the client wants to say something.
    noted: bool,
    book: Arc<Book>,
    client_port: u16,
}

/// One end of a connection.
struct End {
    stream: TcpStream,
    /// How much room the next read gets.
    room: usize,
    says: Says,
    /// Whether it was told that no more comes.
    told: bool,
}

/// Whether an end has more to say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    More,
    /// It said that it has not.
    Nothing,
    /// It is gone.
    Gone,
}

impl Link {
    /// Moves what can be moved, then waits until more can be. Whether the connection goes on.
    async fn step(&mut self) -> bool {
        if !self.look_up() {
            return false;
        }
        let silent = self.silent();
        let now = Instant::now();
        if !silent && !self.move_on(now).await {
            return false;
        }
        let open = !silent && !self.flow.is_doomed();
        let from_client = open && self.client.says == Says::More && self.flow.up.has_room();
        let from_server = open && self.server.says == Says::More && self.flow.down.has_room();
        let client = interest(from_client || (silent && !self.noted), !silent && self.flow.down.is_due(now));
        let server = interest(from_server, !silent && self.flow.up.is_due(now));
        let due = [self.flow.up.next_due(now), self.flow.down.next_due(now)].into_iter().flatten().min();
        tokio::select! {
            biased;
            changed = self.force.changed() => return changed.is_ok(),
            () = until(due), if !silent => return true,
            is = ready(&self.client.stream, client) => if silent {
                self.note(is);
                return true;
            },
            _ = ready(&self.server.stream, server) => {}
        }
        // A fault is looked up after a read, so that all which came after it was set meets it.
        if from_client && let Some(chunk) = self.client.read() {
            if !self.look_up() {
                return false;
            }
            self.flow.client_sent(chunk, self.fault.as_deref(), Instant::now());
        }
        if from_client && self.client.says != Says::More {
            self.flow.client_ended();
        }
        if from_server && let Some(chunk) = self.server.read() {
            if !self.look_up() {
                return false;
            }
            self.flow.server_sent(chunk, self.fault.as_deref(), Instant::now());
        }
        true
    }

    fn silent(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.silences())
    }

    /// Looks up which fault is in force. Whether the connection goes on under it.
    fn look_up(&mut self) -> bool {
        let now = self.force.borrow_and_update().clone();
        let now = now.filter(|now| !now.once || !same(Some(now), self.born_under.as_ref()));
        if same(now.as_ref(), self.fault.as_ref()) {
            return true;
        }
        let before = std::mem::replace(&mut self.fault, now);
        self.noted = false;
        self.flow.lift();
        // On a network that let nothing through, what a client sent stayed on its machine, and is gone where that client
        // has reset its connection since.
        let held = before.is_some_and(|fault| fault.what == What::BlackHole);
        if held && (self.client.says == Says::Gone || !matches!(self.client.stream.take_error(), Ok(None))) {
            reset(&self.server.stream);
            return false;
        }
        true
    }

    /// Writes what is due. Whether the connection goes on.
    async fn move_on(&mut self, now: Instant) -> bool {
        let Link { client, server, flow, .. } = self;
        if flow.up.flush(now, |bytes| server.stream.try_write(bytes)).is_err() {
            // What the server said before it went is still to be read.
            client.says = Says::Nothing;
        }
        if flow.down.flush(now, |bytes| client.stream.try_write(bytes)).is_err() {
            client.says = Says::Gone;
        }
        if flow.is_doomed() && flow.down.is_empty() {
            reset(&client.stream);
            return false;
        }
        let (sent, received) = (flow.up.is_empty(), flow.down.is_empty());
        let going =
            (!sent || server.tell(client.says).await) && (!received || client.tell(server.says).await);
        going && !(sent && received && client.says == Says::Nothing && server.says == Says::Nothing)
    }

    /// Notes once, where all is silent, that the client has said something.
    fn note(&mut self, is: io::Result<Ready>) {
        let stream = &self.client.stream;
        let waiting = stream.try_io(Interest::READABLE, || match rustix::io::ioctl_fionread(stream)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            bytes => Ok(bytes),
        });
        self.noted = waiting.is_ok() || is.map_or(true, |is| is.is_read_closed());
        if let Ok(bytes) = waiting {
            self.book.harmed(self.client_port, |counts| {
                counts.held += 1;
                counts.bytes_held += bytes;
            });
        }
    }
}

impl End {
    fn new(stream: TcpStream) -> End {
        End { stream, room: LEAST, says: Says::More, told: false }
    }

    /// What has come, if anything has.
    fn read(&mut self) -> Option<Vec<u8>> {
        let mut chunk = Vec::with_capacity(self.room);
        match self.stream.try_read_buf(&mut chunk) {
            Ok(0) => self.says = Says::Nothing,
            Ok(n) => {
                self.room = match n {
                    n if n >= self.room => (self.room * 4).min(MOST),
                    n if n < self.room / 4 => (self.room / 4).max(LEAST),
                    _ => self.room,
                };
                return Some(chunk);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.says = Says::Gone,
        }
        None
    }

    /// Tells it what the other end has to say, now that it has got everything before. Whether it goes on.
    async fn tell(&mut self, other: Says) -> bool {
        match other {
            Says::More => {}
            Says::Nothing => {
                if !std::mem::replace(&mut self.told, true) {
                    let _ = self.stream.shutdown().await;
                }
            }
            Says::Gone => reset(&self.stream),
        }
        other != Says::Gone
    }
}

/// Whether two faults were set at once, or neither is there.
fn same(one: Option<&Arc<Fault>>, other: Option<&Arc<Fault>>) -> bool {
    one.map(Arc::as_ptr) == other.map(Arc::as_ptr)
}

fn interest(read: bool, write: bool) -> Option<Interest> {
    match (read, write) {
        (true, true) => Some(Interest::READABLE | Interest::WRITABLE),
        (true, false) => Some(Interest::READABLE),
        (false, true) => Some(Interest::WRITABLE),
        (false, false) => None,
    }
}

async fn ready(stream: &TcpStream, interest: Option<Interest>) -> io::Result<Ready> {
    match interest {
        Some(interest) => stream.ready(interest).await,
        None => std::future::pending().await,
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_connection_that_says_nothing_costs_little_memory() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let client = TcpStream::connect(addr).await.unwrap();
        let (_keep, force) = watch::channel(None);
        let carried = carry(client, addr, force, Arc::default(), 1, 1);
        assert!(size_of_val(&carried) <= 2048, "{} bytes", size_of_val(&carried));
    }
}
