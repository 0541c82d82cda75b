//! A proxy in front of a server: where clients connect, and who they are to the server.

use std::net::SocketAddr;
use std::sync::Arc;

use super::{Server, ServerError};
use crate::endpoint::{Endpoint, Place};
use crate::proxy::{Fault, Proxy};

/// A proxy in front of a server, and the fault that it is there for. It ends with the last of its clones.
#[derive(Debug, Clone)]
pub struct Front {
    proxy: Arc<Proxy>,
    endpoint: Endpoint,
    fault: Fault,
}

impl Front {
    /// Starts a proxy that lets everything through until the fault is set. What is random in the fault begins with the seed.
    ///
    /// # Errors
    /// Where it can't listen, and where the server is not one that a proxy can stand before.
    pub fn start(server: &Server, fault: Fault, seed: u64) -> Result<Front, ServerError> {
        let behind = server.endpoint();
        let upstream = upstream(behind).map_err(|why| ServerError::NoProxy { at: behind.clone(), why })?;
        let doing = format!("starting a proxy in front of {behind}");
        let proxy = Proxy::start(upstream, seed).map_err(ServerError::io(doing))?;
        let endpoint = Endpoint::plain(proxy.addr()).with_login(behind.login().cloned());
        Ok(Front { proxy: Arc::new(proxy), endpoint, fault })
    }

    /// Where clients connect, and how they get in.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The port of the client that the server knows by this one; none where it is not connected through here.
    pub fn client_port(&self, known_by: u16) -> Option<u16> {
        self.proxy.client_port(known_by)
    }

    /// What is done to clients.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// The proxy itself.
    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }
}

/// Where a proxy connects to.
///
/// # Errors
/// Why a proxy can't stand before this server.
pub(super) fn upstream(behind: &Endpoint) -> Result<SocketAddr, &'static str> {
    match behind.place() {
        Place::Unix(_) => Err("it listens at a unix socket, and the proxy connects to an address"),
        Place::Tcp { .. } if behind.is_encrypted() => {
            Err("its connections are encrypted, and the proxy has to see which request is which")
        }
        Place::Tcp { addr, .. } => Ok(*addr),
    }
}
