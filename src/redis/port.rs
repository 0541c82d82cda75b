//! A port of the loopback interface, held by a bound socket that does not listen.
//!
//! While it is held, a connect is refused at once, no other program is given the port, and no connect can meet
//! itself there. SO_REUSEADDR lets it be held although closed connections still linger on it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

/// How long a port that was ours may take to be free again.
const HOLD_WITHIN: Duration = Duration::from_secs(2);

/// A held port; dropping it lets go.
#[derive(Debug)]
pub(super) struct HeldPort {
    socket: TcpSocket,
}

impl HeldPort {
    /// Holds a free port.
    pub(super) fn any() -> io::Result<HeldPort> {
        HeldPort::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Holds this port, as soon as the process that listened on it has let go.
    pub(super) async fn again(addr: SocketAddr) -> io::Result<HeldPort> {
        let started = Instant::now();
        loop {
            match HeldPort::bind(addr) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && started.elapsed() < HOLD_WITHIN => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                done => return done,
            }
        }
    }

    /// Where it is.
    pub(super) fn addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn bind(addr: SocketAddr) -> io::Result<HeldPort> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(addr)?;
        Ok(HeldPort { socket })
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn a_held_port_refuses_and_is_given_to_nobody_else() {
        let held = HeldPort::any().unwrap();
        let addr = held.addr().unwrap();
        for _ in 0..50 {
            let refused = TcpStream::connect(addr).await.unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        }
        let other = TcpSocket::new_v4().unwrap();
        assert_eq!(other.bind(addr).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[tokio::test]
    async fn no_free_port_that_is_asked_for_is_one_that_is_held() {
        let held: Vec<_> = (0..200).map(|_| HeldPort::any().unwrap()).collect();
        let mut ports: Vec<_> = held.iter().map(|held| held.addr().unwrap().port()).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), held.len(), "each is held once");
    }

    #[tokio::test]
    async fn a_port_that_was_let_go_can_be_taken() {
        let held = HeldPort::any().unwrap();
        let addr = held.addr().unwrap();
        drop(held);
        let other = TcpSocket::new_v4().unwrap();
        other.bind(addr).unwrap();
    }
}
