//! A failover that loses what was acknowledged last: a replica is cut off, writes are acknowledged without it, the master
//! is killed, and the replica is promoted at the master's address.

use std::io;
use std::time::{Duration, Instant};

use super::super::identity::identify;
use super::super::port::HeldPort;
use super::super::wire::{STEP_WITHIN, Wire, WireReply};
use super::super::{Server, ServerError, Throwaway};
use super::Verdict;
use super::configured::expect_ok;
use super::dump::DUMP;

/// How long a replica may take to have what its master has.
const SYNCED_WITHIN: Duration = Duration::from_secs(15);

/// Between two questions whether it has.
const ASK_EVERY: Duration = Duration::from_millis(5);

/// The write that is acknowledged and lost.
const LOST: &str = "audit-acknowledged";

/// A replica that has all that its master had when it was cut off.
#[derive(Debug)]
pub struct CutOff {
    replica: Throwaway,
    /// Where its master is said to be now: nobody listens there.
    _nobody: HeldPort,
}

/// Makes a replica of a server, waits until it has everything, and cuts it off: what is written from now on is lost
/// with the master.
pub(super) async fn cut_off(master: &Throwaway) -> Result<CutOff, ServerError> {
    let replica = master.another().await?;
    let doing = || ServerError::io(format!("making {} a replica of {}", replica.addr(), master.addr()));
    let mut control = Wire::connect(replica.endpoint(), STEP_WITHIN).await.map_err(doing())?;
    follow(&mut control, master.addr()).await.map_err(doing())?;
    synced(master, &mut control).await.map_err(doing())?;
    let nobody = HeldPort::any().map_err(doing())?;
    follow(&mut control, nobody.addr().map_err(doing())?).await.map_err(doing())?;
    if !master.dir().join(DUMP).exists() {
        // What it synchronised from.
        remove(&replica.dir().join(DUMP)).map_err(doing())?;
    }
    Ok(CutOff { replica, _nobody: nobody })
}

fn remove(file: &std::path::Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

async fn follow(replica: &mut Wire, master: std::net::SocketAddr) -> io::Result<()> {
    let (host, port) = (master.ip().to_string(), master.port().to_string());
    expect_ok(replica.ask(&["REPLICAOF", &host, &port], STEP_WITHIN).await?)
}

/// Waits until the replica has read as much as its master has sent.
async fn synced(master: &Throwaway, replica: &mut Wire) -> io::Result<()> {
    let mut control = Wire::connect(master.endpoint(), STEP_WITHIN).await?;
    let started = Instant::now();
    while started.elapsed() < SYNCED_WITHIN {
        let sent = replication(&mut control).await?;
        let read = replication(replica).await?;
        let offset = |text: &str, name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned))
        };
        let (sent, has) = (offset(&sent, "master_repl_offset"), offset(&read, "slave_repl_offset"));
        if read.contains("master_link_status:up") && sent.is_some() && sent == has {
            return Ok(());
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("it was not in step within {SYNCED_WITHIN:?}")))
}

async fn replication(control: &mut Wire) -> io::Result<String> {
    Ok(control.ask(&["INFO", "replication"], STEP_WITHIN).await?.text())
}

/// A replica that has become the master, at the master's address.
#[derive(Debug)]
pub(super) struct Failover {
    /// What the master was called.
    before: String,
    seen: Result<Seen, String>,
}

/// What was asked on both sides of the failover.
#[derive(Debug)]
struct Seen {
    /// Whether the master acknowledged the write.
    acknowledged: bool,
    /// What the promoted server says of the write.
    afterwards: WireReply,
    /// What the promoted server says of its role.
    role: String,
}

impl Failover {
    pub(super) async fn fire(server: &mut Server, cut_off: CutOff) -> Result<Failover, ServerError> {
        let before = server.run_id().to_owned();
        let acknowledged = write(server).await;
        server.own_mut()?.kill().await?;
        let CutOff { replica, .. } = cut_off;
        let doing = || ServerError::io(format!("promoting {}", replica.addr()));
        let mut control = Wire::connect(replica.endpoint(), STEP_WITHIN).await.map_err(doing())?;
        let promoted = control.ask(&["REPLICAOF", "NO", "ONE"], STEP_WITHIN).await.map_err(doing())?;
        expect_ok(promoted).map_err(doing())?;
        server.own_mut()?.replace_by(replica).await?;
        let seen = match acknowledged {
            Ok(acknowledged) => look(server, acknowledged).await,
            Err(error) => Err(error),
        };
        Ok(Failover {
            before,
            seen: seen.map_err(|error| format!("the failover could not be proven: {error}")),
        })
    }

    /// That it fired, and that the promoted server answers at the end.
    pub(super) async fn leave(self, server: &Server) -> Verdict {
        let answers = identify(server.endpoint(), STEP_WITHIN).await;
        verdict(&self.before, self.seen, server.run_id(), answers.map(|identity| identity.run_id))
    }
}

async fn write(master: &Server) -> io::Result<bool> {
    let mut control = Wire::connect(master.endpoint(), STEP_WITHIN).await?;
    Ok(control.ask(&["SET", LOST, "1"], STEP_WITHIN).await?.is("OK"))
}

async fn look(server: &Server, acknowledged: bool) -> io::Result<Seen> {
    let mut control = Wire::connect(server.endpoint(), STEP_WITHIN).await?;
    let afterwards = control.ask(&["GET", LOST], STEP_WITHIN).await?;
    let info = replication(&mut control).await?;
    let role = info.lines().find_map(|line| line.strip_prefix("role:")).unwrap_or_default().to_owned();
    Ok(Seen { acknowledged, afterwards, role })
}

/// What a failover that lost a write has to have shown.
fn verdict(
    before: &str,
    seen: Result<Seen, String>,
    promoted: &str,
    at_the_end: io::Result<String>,
) -> Verdict {
    let seen = seen?;
    if before == promoted {
        return Err("the server that answers is the old master".to_owned());
    }
    if !seen.acknowledged {
        return Err("the master did not acknowledge the write that was to be lost".to_owned());
    }
    if seen.afterwards != WireReply::Bulk(None) {
        return Err(format!("the write that was to be lost is there: {:?}", seen.afterwards));
    }
    if seen.role != "master" {
        return Err(format!("the promoted server's role is {:?}", seen.role));
    }
    match at_the_end {
        Ok(run_id) if run_id == promoted => Ok(
            "a write was acknowledged by the master and is absent on the promoted replica, which answered as master at the same address, and still did at the end"
                .to_owned(),
        ),
        Ok(_) => Err("another server answered at the end".to_owned()),
        Err(error) => Err(format!("the promoted server did not answer at the end: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failover_that_lost_nothing_or_promoted_nobody_is_not_believed() {
        let seen = |acknowledged, afterwards, role: &str| {
            Ok(Seen { acknowledged, afterwards, role: role.to_owned() })
        };
        let nil = || WireReply::Bulk(None);
        let end = || Ok("new".to_owned());
        assert!(verdict("old", seen(true, nil(), "master"), "new", end()).is_ok());
        let there = WireReply::Bulk(Some(b"1".to_vec()));
        assert!(verdict("old", seen(true, there, "master"), "new", end()).is_err(), "it is still there");
        assert!(verdict("old", seen(false, nil(), "master"), "new", end()).is_err(), "never acknowledged");
        assert!(verdict("old", seen(true, nil(), "slave"), "new", end()).is_err(), "never promoted");
        assert!(verdict("new", seen(true, nil(), "master"), "new", end()).is_err(), "the old one");
        assert!(verdict("old", seen(true, nil(), "master"), "new", Ok("other".to_owned())).is_err());
        assert!(verdict("old", Err("lost".to_owned()), "new", end()).is_err());
    }
}
