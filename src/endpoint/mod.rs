//! Where a server is and how to get in: the address, TLS, and who logs in.
//!
//! Whoever talks to a server, the probes and the audit itself, opens its connections here. Nothing here shows a
//! password: not its text, not its debugging form, and no error.

mod login;
mod socket;
mod tls;
mod url;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{TcpStream, UnixStream};

pub use login::Login;
pub use socket::Socket;
pub use tls::{Tls, TlsError};
pub use url::{Candidates, UrlError, candidates};

/// Where a server is and how to get in. A clone costs a reference, as thousands of connections each hold one.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Arc<Inner>);

#[derive(PartialEq, Eq)]
struct Inner {
    place: Place,
    tls: Option<Tls>,
    login: Option<Login>,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At an address. A name was resolved once, so that every connection goes to the same server.
    Tcp {
        /// As it was given.
        host: String,
        /// What it was resolved to.
        addr: SocketAddr,
    },
    /// At a unix socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// A server at this place.
    pub fn new(place: Place, tls: Option<Tls>, login: Option<Login>) -> Endpoint {
        Endpoint(Arc::new(Inner { place, tls, login }))
    }

    /// A server at this address that lets everybody in, without TLS.
    pub fn plain(addr: SocketAddr) -> Endpoint {
        Endpoint::new(Place::Tcp { host: addr.ip().to_string(), addr }, None, None)
    }

    /// Where it listens.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The address; none for a unix socket.
    pub fn addr(&self) -> Option<SocketAddr> {
        match &self.0.place {
            Place::Tcp { addr, .. } => Some(*addr),
            Place::Unix(_) => None,
        }
    }

    /// Who logs in; none where nobody has to.
    pub fn login(&self) -> Option<&Login> {
        self.0.login.as_ref()
    }

    /// Whether what goes over its connections is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.0.tls.is_some()
    }

    /// Whether whoever knows where it is gets in: it needs no login, and no TLS.
    pub fn lets_everybody_in(&self) -> bool {
        self.0.tls.is_none() && self.0.login.is_none()
    }

    /// The same server for another user, or for nobody in particular.
    pub fn with_login(&self, login: Option<Login>) -> Endpoint {
        Endpoint::new(self.0.place.clone(), self.0.tls.clone(), login)
    }

    /// Opens a connection, TLS included; nothing is sent over it yet, a login neither.
    ///
    /// # Errors
    /// Where the server can't be reached, or TLS is not agreed on.
    pub async fn connect(&self) -> io::Result<Socket> {
        match (&self.0.place, &self.0.tls) {
            (Place::Tcp { addr, .. }, None) => Ok(Socket::Tcp(tcp(*addr).await?)),
            (Place::Tcp { addr, .. }, Some(tls)) => {
                Ok(Socket::Tls(Box::new(tls.connect(tcp(*addr).await?).await?)))
            }
            (Place::Unix(path), _) => Ok(Socket::Unix(unix(path).await?)),
        }
    }

    /// Knocks: opens a bare connection and closes it again.
    ///
    /// # Errors
    /// Where nobody listens.
    pub async fn knock(&self) -> io::Result<()> {
        match &self.0.place {
            Place::Tcp { addr, .. } => TcpStream::connect(addr).await.map(drop),
            Place::Unix(path) => unix(path).await.map(drop),
        }
    }
}

async fn tcp(addr: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn unix(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(path).await
}

impl From<SocketAddr> for Endpoint {
    fn from(addr: SocketAddr) -> Endpoint {
        Endpoint::plain(addr)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.place {
            Place::Tcp { host, addr } if host.parse::<std::net::IpAddr>().is_ok() => addr.fmt(f),
            Place::Tcp { host, addr } => write!(f, "{host}:{}", addr.port()),
            Place::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_shows_where_it_is_and_never_how_to_get_in() {
        let place = Place::Tcp { host: "redis.test".to_owned(), addr: ([127, 0, 0, 1], 6379).into() };
        let login = Login::new(Some("auditor".to_owned()), "s3cret".to_owned());
        let endpoint = Endpoint::new(place, None, Some(login));
        assert_eq!(endpoint.to_string(), "redis.test:6379");
        for shown in [format!("{endpoint:?}"), format!("{:?}", endpoint.login())] {
            assert!(!shown.contains("s3cret"), "{shown}");
        }
    }

    #[test]
    fn an_address_and_a_socket_are_shown_as_they_are_written() {
        let plain = |text: &str| Endpoint::plain(text.parse().unwrap()).to_string();
        assert_eq!((plain("127.0.0.1:7"), plain("[::1]:7")), ("127.0.0.1:7".into(), "[::1]:7".into()));
        let socket = Endpoint::new(Place::Unix("/run/redis.sock".into()), None, None);
        assert_eq!((socket.to_string().as_str(), socket.addr()), ("unix:/run/redis.sock", None));
    }
}
