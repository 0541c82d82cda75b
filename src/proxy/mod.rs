//! A proxy in front of a server that lets a network or a middlebox fail: late, silent, cut, one way only.
//!
//! It knows Redis' protocol and which words of a command are keys, so that a fault can be meant for some keys alone. It knows
//! nothing of uses, kinds or what is measured through it. What it holds it holds in order, and it swallows nothing, except
//! where the loss of a reply is the point. `docs/proxy.md` says what each fault does and what it does not.

mod book;
mod delays;
mod fault;
mod flow;
mod gate;
mod glob;
mod keys;
mod lane;
mod link;
mod request;
pub mod resp;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

pub use book::Counts;
pub use fault::{Fault, What};
pub use glob::{Glob, Scope};
pub use request::keys;

use book::Book;
use gate::Gate;

/// How long it waits before it accepts again where it can't, for lack of descriptors for instance.
const ACCEPT_AGAIN: Duration = Duration::from_millis(5);

/// A proxy on loopback. Dropping it closes everything.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    orders: mpsc::Sender<Order>,
    book: Arc<Book>,
    task: JoinHandle<()>,
}

/// A fault to be set, or none, and who waits until it is in force.
struct Order {
    fault: Option<Fault>,
    done: oneshot::Sender<io::Result<()>>,
}

impl Proxy {
    /// Listens on a free port of loopback, and connects each client to a connection of its own to the server.
    ///
    /// With the same seed, delays are the same for the same connections in the same order.
    ///
    /// # Errors
    /// Where it can't listen.
    pub fn start(upstream: SocketAddr, seed: u64) -> io::Result<Proxy> {
        let gate = Gate::open()?;
        let addr = gate.addr();
        let book = Arc::new(Book::default());
        let (orders, given) = mpsc::channel(1);
        let task = tokio::spawn(serve(gate, upstream, seed, given, Arc::clone(&book)));
        Ok(Proxy { addr, orders, book, task })
    }

    /// Where clients connect.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Puts a fault into force in place of the one before, and begins the counts anew.
    ///
    /// Once it returns, all bytes that a client sends meet the fault, on whichever connection.
    ///
    /// # Errors
    /// Where this system can't be made to do that. No fault is in force then.
    pub async fn set(&self, fault: Fault) -> io::Result<()> {
        self.order(Some(fault)).await
    }

    /// Ends the fault: what it held goes on, in order, and nobody is harmed any more. Without a fault it does nothing.
    ///
    /// # Errors
    /// Where new connections can't be let in again.
    pub async fn clear(&self) -> io::Result<()> {
        self.order(None).await
    }

    /// What was done to clients since the fault was last set. It stays to be read when the fault is cleared.
    pub fn counts(&self) -> Counts {
        self.book.counts()
    }

    /// The ports of the clients that something was done to, in the same time, in order.
    pub fn harmed_ports(&self) -> Vec<u16> {
        self.book.harmed_ports()
    }

    /// The port of the client that this local port of a connection to the server belongs to, or last belonged to.
    ///
    /// MONITOR and CLIENT LIST name connections by the latter, clients know themselves by the former.
    pub fn client_port(&self, upstream_local_port: u16) -> Option<u16> {
        self.book.client_port(upstream_local_port)
    }

    async fn order(&self, fault: Option<Fault>) -> io::Result<()> {
        let (done, told) = oneshot::channel();
        let gone = |_| io::Error::other("the proxy has ended");
        self.orders.send(Order { fault, done }).await.map_err(|_| gone(()))?;
        told.await.map_err(|_| gone(()))?
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Accepts clients and carries out orders, until it is dropped, and every connection with it.
async fn serve(
    mut gate: Gate,
    upstream: SocketAddr,
    seed: u64,
    mut orders: mpsc::Receiver<Order>,
    book: Arc<Book>,
) {
    let (force, in_force) = watch::channel(None);
    let mut links = JoinSet::new();
    let mut number = 0;
    loop {
        tokio::select! {
            biased;
            order = orders.recv() => {
                let Some(Order { fault, done }) = order else { return };
                let _ = done.send(carry_out(&mut gate, &force, &book, fault).await);
            }
            accepted = gate.accept() => match accepted {
                Ok(client) => {
                    number += 1;
                    links.spawn(link::carry(client, upstream, in_force.clone(), Arc::clone(&book), seed, number));
                }
                // The kernel keeps whoever waits.
                Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
            },
            Some(_) = links.join_next() => {}
        }
    }
}

async fn carry_out(
    gate: &mut Gate,
    force: &watch::Sender<Option<Arc<Fault>>>,
    book: &Book,
    fault: Option<Fault>,
) -> io::Result<()> {
    let silences = fault.as_ref().is_some_and(Fault::silences);
    if fault.is_some() {
        book.turn_over();
    }
    force.send_replace(fault.map(Arc::new));
    if !silences {
        return gate.open_again();
    }
    let shut = gate.shut().await;
    if shut.is_err() {
        force.send_replace(None);
    }
    shut
}
