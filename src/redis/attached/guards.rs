//! What keeps the audit from harming somebody: it is looked at before the first connection of a probe, and again before
//! each state.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use super::super::identity::{Identity, field, info};
use super::super::wire::{STEP_WITHIN, Wire, WireReply};
use super::super::{ServerError, Version};
use super::Allow;
use crate::endpoint::{Endpoint, Place};
use crate::observe::ServerInfo;
use crate::words::Whose;

/// What was seen of a server.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) identity: Identity,
    pub(super) server: ServerInfo,
    pub(super) version: Version,
    /// What must be the same after it was started again: its program, its configuration file, its port.
    pub(super) same: Vec<String>,
    /// How many clients are connected, this look's own one left out.
    pub(super) others: usize,
    /// Whether the server names our connections as they name themselves; else nobody can tell whose a command was.
    pub(super) sees_us: bool,
    mode: String,
    role: String,
    replicas: usize,
    sentinel: bool,
    /// Which databases hold keys that are not the audit's.
    foreign: BTreeSet<String>,
    /// Whether it writes an append-only file.
    appends: bool,
}

/// Looks at a server on a connection of its own.
pub(super) async fn look(endpoint: &Endpoint, within: Duration) -> io::Result<Seen> {
    let mut wire = Wire::connect(endpoint, within).await?;
    let info = info(&mut wire, within).await?;
    let said = |name: &str| field(&info, name).unwrap_or_default().trim().to_owned();
    let valkey = field(&info, "valkey_version");
    let name = if valkey.is_some() { "valkey-server" } else { "redis-server" };
    let said_version = valkey.map_or_else(|| said("redis_version"), |version| version.trim().to_owned());
    let version = Version::read(&said_version)
        .ok_or_else(|| io::Error::other(format!("INFO names the version {said_version:?}")))?;

    let own_id = match wire.ask(&["CLIENT", "ID"], within).await? {
        WireReply::Int(id) => id.to_string(),
        other => return Err(refused("CLIENT ID", &other)),
    };
    let clients = match wire.ask(&["CLIENT", "LIST"], within).await? {
        WireReply::Bulk(Some(text)) => String::from_utf8_lossy(&text).into_owned(),
        other => return Err(refused("CLIENT LIST", &other)),
    };
    let clients: Vec<Listed> = clients.lines().map(Listed::read).collect();
    let (own, others): (Vec<&Listed>, Vec<&Listed>) = clients.iter().partition(|one| one.id == own_id);
    let local = wire.local().map(|local| local.to_string());
    let sees_us = local.is_some() && own.first().map(|own| own.addr) == local.as_deref();

    let mut foreign: BTreeSet<String> = info
        .lines()
        .filter_map(|line| line.strip_prefix("db")?.split_once(':'))
        .filter(|(number, rest)| number.parse::<u32>().is_ok() && rest.starts_with("keys="))
        .map(|(number, _)| number.to_owned())
        .collect();
    if foreign.contains("0") && !holds_others(&mut wire, within).await? {
        foreign.remove("0");
    }
    let mode = field(&info, "redis_mode").or_else(|| field(&info, "server_mode")).unwrap_or_default();
    Ok(Seen {
        identity: Identity::read(&info)?,
        server: ServerInfo { name: name.to_owned(), version: said_version, whose: Whose::Attached },
        version,
        same: ["executable", "config_file", "tcp_port"].map(said).to_vec(),
        others: others.len(),
        sees_us,
        mode: mode.trim().to_owned(),
        role: said("role"),
        replicas: said("connected_slaves").parse().unwrap_or(0),
        sentinel: others.iter().any(|one| one.name.starts_with("sentinel-")),
        foreign,
        appends: said("aof_enabled") == "1",
    })
}

/// Whether database 0 holds a key without the mark of an audit. Stops at the first.
async fn holds_others(wire: &mut Wire, within: Duration) -> io::Result<bool> {
    let mut cursor = "0".to_owned();
    loop {
        let reply = wire.ask(&["SCAN", &cursor, "COUNT", "1000"], within).await?;
        let WireReply::List(parts) = &reply else { return Err(refused("SCAN", &reply)) };
        let [next, WireReply::List(keys)] = parts.as_slice() else { return Err(refused("SCAN", &reply)) };
        if keys.iter().any(|key| !is_ours(&key.text())) {
            return Ok(true);
        }
        cursor = next.text();
        if cursor == "0" {
            return Ok(false);
        }
    }
}

/// Whether a key carries the mark of an audit: `audit-`, the run's eight hexadecimal digits, and a dash.
fn is_ours(key: &str) -> bool {
    key.match_indices("audit-").any(|(at, mark)| {
        let rest = &key.as_bytes()[at + mark.len()..];
        rest.len() > 8 && rest[..8].iter().all(u8::is_ascii_hexdigit) && rest[8] == b'-'
    })
}

fn refused(command: &str, reply: &WireReply) -> io::Error {
    match reply {
        WireReply::Error(error) => io::Error::other(format!("{command} was answered by {error}")),
        other => io::Error::other(format!("{command} was answered by {other:?}")),
    }
}

/// A client, as CLIENT LIST has it.
struct Listed<'a> {
    id: &'a str,
    addr: &'a str,
    name: &'a str,
}

impl Listed<'_> {
    fn read(line: &str) -> Listed<'_> {
        let word = |name: &str| {
            let mut words = line.split(' ').filter_map(|word| word.split_once('='));
            words.find(|(key, _)| *key == name).map(|(_, value)| value).unwrap_or_default()
        };
        Listed { id: word("id"), addr: word("addr"), name: word("name") }
    }
}

/// Why nobody may connect there, with the flag that allows it. A connection would send the password first of all.
pub(super) fn refuses_place(endpoint: &Endpoint, allow: &Allow) -> Option<String> {
    let Place::Tcp { host, addr } = endpoint.place() else { return None };
    let ip = addr.ip().to_string();
    let allowed = allow.hosts.iter().any(|allowed| *allowed == *host || *allowed == ip);
    (!allowed && !addr.ip().to_canonical().is_loopback()).then(|| {
        format!(
            "{ip} is no loopback address, so others may depend on this server; --allow-host {host} allows it"
        )
    })
}

impl Seen {
    /// Why the server may not be audited, each with the flag that allows it, where one does.
    pub(super) fn refusals(&self, allow: &Allow) -> Vec<String> {
        let mut refusals = Vec::new();
        if !matches!(self.mode.as_str(), "standalone" | "") {
            refusals.push(format!(
                "it runs as a {}, and only a server that stands alone is audited; no flag allows it",
                self.mode
            ));
        }
        if self.role != "master" {
            refusals.push("it is a replica, and would not be one afterwards; name its master, or another server: no flag allows it".to_owned());
        }
        if self.replicas > 0 {
            refusals.push(format!(
                "it has {}, which may be promoted while it does not answer; audit a server without any: no flag allows it",
                counted(self.replicas, "replica")
            ));
        }
        if self.sentinel {
            refusals.push("a Sentinel watches it, and fails over while it does not answer; audit a server that none watches: no flag allows it".to_owned());
        }
        if self.others > 0 && !allow.other_clients {
            refusals.push(format!(
                "{} connected, and would share what the server is put through; --allow-other-clients allows it",
                match self.others {
                    1 => "1 other client is".to_owned(),
                    many => format!("{many} other clients are"),
                }
            ));
        }
        if !self.foreign.is_empty() && !allow.keys {
            let numbers: Vec<&str> = self.foreign.iter().map(String::as_str).collect();
            refusals.push(format!(
                "database {} holds keys that are not the audit's; --allow-keys allows it, and none of them is touched",
                numbers.join(" and ")
            ));
        }
        refusals
    }

    /// Whether somebody's keys could go with the process.
    pub(super) fn could_lose_keys(&self) -> bool {
        !self.foreign.is_empty() && !self.appends
    }

    /// Whether a monitor connection may list what runs, and names our connections as they name themselves.
    pub(super) fn lists_what_ran(&self) -> bool {
        self.others == 0 && self.sees_us
    }

    /// Why it is no longer the server that was looked at.
    pub(super) fn differs(&self, before: &Identity) -> Option<String> {
        (self.identity.run_id != before.run_id).then(|| other_life(before, &self.identity))
    }
}

/// How another life of a server, or another server, is told.
pub(super) fn other_life(before: &Identity, now: &Identity) -> String {
    format!(
        "another server answers, or this one was restarted meanwhile (run_id {} instead of {}); nothing more is changed there",
        now.run_id, before.run_id
    )
}

/// Looks until nobody refuses, for connections that are being closed are still listed for a moment.
pub(super) async fn settle(
    endpoint: &Endpoint,
    allow: &Allow,
    before: &Identity,
    patience: Duration,
) -> Result<Seen, ServerError> {
    let started = std::time::Instant::now();
    loop {
        let seen = look(endpoint, STEP_WITHIN).await;
        let seen = seen.map_err(|why| ServerError::Unreachable { at: endpoint.clone(), why })?;
        let mut refusals = seen.refusals(allow);
        refusals.extend(seen.differs(before));
        if refusals.is_empty() {
            return Ok(seen);
        }
        if started.elapsed() >= patience {
            return Err(ServerError::Changed { at: endpoint.clone(), why: refusals.join("; ") });
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen {
            identity: Identity { pid: 1, run_id: "a".to_owned(), max_clients: 10_000 },
            server: ServerInfo {
                name: "redis-server".to_owned(),
                version: "7.0.15".to_owned(),
                whose: Whose::Attached,
            },
            version: Version(7, 0, 15),
            same: Vec::new(),
            others: 0,
            sees_us: true,
            mode: "standalone".to_owned(),
            role: "master".to_owned(),
            replicas: 0,
            sentinel: false,
            foreign: BTreeSet::new(),
            appends: false,
        }
    }

    fn at(addr: &str) -> Endpoint {
        Endpoint::plain(addr.parse().unwrap())
    }

    #[test]
    fn a_lonely_empty_master_on_this_machine_is_allowed() {
        for addr in ["127.0.0.1:1", "127.3.2.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(refuses_place(&at(addr), &Allow::nothing()), None, "{addr}");
        }
        assert_eq!(seen().refusals(&Allow::nothing()), Vec::<String>::new());
        let socket = Endpoint::new(Place::Unix("/run/redis.sock".into()), None, None);
        assert_eq!(refuses_place(&socket, &Allow::nothing()), None);
    }

    #[test]
    fn each_guard_refuses_alone_and_is_lifted_by_its_own_flag_or_by_none() {
        let alone = |seen: Seen, says: &str, lifted: Option<Allow>| {
            let refusals = seen.refusals(&Allow::nothing());
            assert_eq!(refusals.len(), 1, "{refusals:?}");
            assert!(refusals[0].contains(says), "{refusals:?}");
            if let Some(lifted) = lifted {
                assert_eq!(seen.refusals(&lifted), Vec::<String>::new());
            }
        };
        let others = || Allow { other_clients: true, ..Allow::nothing() };
        alone(Seen { others: 2, ..seen() }, "--allow-other-clients", Some(others()));
        let foreign: BTreeSet<String> = ["0", "3"].map(str::to_owned).into();
        alone(Seen { foreign, ..seen() }, "database 0 and 3", Some(Allow { keys: true, ..Allow::nothing() }));
        alone(Seen { replicas: 1, ..seen() }, "1 replica, which", None);
        alone(Seen { role: "slave".to_owned(), ..seen() }, "it is a replica", None);
        alone(Seen { mode: "cluster".to_owned(), ..seen() }, "cluster", None);
        alone(Seen { sentinel: true, ..seen() }, "Sentinel", None);
    }

    #[test]
    fn a_host_is_allowed_by_its_name_or_its_address_and_no_other_is() {
        let place = Place::Tcp { host: "redis.test".to_owned(), addr: "10.0.0.5:6379".parse().unwrap() };
        let endpoint = Endpoint::new(place, None, None);
        let refused = |host: &str| {
            refuses_place(&endpoint, &Allow { hosts: vec![host.to_owned()], ..Allow::nothing() })
        };
        assert!(refused("other.test").unwrap().contains("--allow-host redis.test"));
        assert_eq!((refused("redis.test"), refused("10.0.0.5")), (None, None));
        let named = Place::Tcp { host: "localhost".to_owned(), addr: "10.0.0.5:6379".parse().unwrap() };
        let refused = refuses_place(&Endpoint::new(named, None, None), &Allow::nothing());
        assert!(refused.is_some(), "what counts is the address, not the name");
    }

    #[test]
    fn a_key_of_an_audit_is_known_by_its_mark() {
        assert!(is_ours("cart:audit-0badcafe-17") && is_ours("{audit-00000000-0}:x"));
        for key in ["user:1", "audit-log", "audit-0badcafe", "audit-0badcafX-1", "audit-é0badcafe-"] {
            assert!(!is_ours(key), "{key}");
        }
    }

    #[test]
    fn a_client_is_read_from_its_line_whatever_else_stands_there() {
        let one =
            Listed::read("id=6 addr=127.0.0.1:49522 laddr=127.0.0.1:7999 fd=13 name=sentinel-ab-cmd age=0");
        assert_eq!((one.id, one.addr, one.name), ("6", "127.0.0.1:49522", "sentinel-ab-cmd"));
        assert_eq!(Listed::read("").id, "");
    }
}
