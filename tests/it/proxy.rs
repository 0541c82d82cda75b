//! The fault proxy in front of a real server: each fault harms as it says, and ends without a trace.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use redis_outage_audit::policy::Persistence;
use redis_outage_audit::proxy::{Counts, Fault, Glob, Proxy, What};
use redis_outage_audit::redis::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{Listens, ask, server};

/// How long nothing comes before it is called silence.
const SILENCE: Duration = Duration::from_millis(150);

/// How long anything may take that has to happen.
const BOUND: Duration = Duration::from_secs(10);

const NONE: Counts =
    Counts { delayed: 0, held: 0, bytes_held: 0, replies_lost: 0, replies_cut: 0, refused: 0 };

async fn behind_a_proxy() -> (Server, Proxy) {
    let server = server(Persistence::None).await;
    let proxy = Proxy::start(server.addr(), 1).unwrap();
    (server, proxy)
}

/// A caller that tells a connection that ended from one that was reset.
struct Caller(TcpStream);

impl Caller {
    async fn connect(addr: SocketAddr) -> Caller {
        Caller(timeout(BOUND, TcpStream::connect(addr)).await.expect("no connection").unwrap())
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// All that comes until this has come, the connection ends, or nothing more comes.
    async fn hear(&mut self, until: &str, within: Duration) -> String {
        let mut heard = Vec::new();
        let end = timeout(within, async {
            while !heard.ends_with(until.as_bytes()) || until.is_empty() {
                match self.0.read_buf(&mut heard).await {
                    Ok(0) => return " (ended)",
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => return " (reset)",
                    Err(error) => panic!("{error}"),
                }
            }
            ""
        })
        .await;
        String::from_utf8(heard).unwrap() + end.unwrap_or(" (silent)")
    }

    async fn ask(&mut self, command: &str, until: &str) -> String {
        self.send(&format!("{command}\r\n")).await;
        self.hear(until, BOUND).await
    }

    /// What comes until the connection ends, which has to happen.
    async fn ask_in_vain(&mut self, command: &str) -> String {
        self.send(&format!("{command}\r\n")).await;
        self.hear("", BOUND).await
    }
}

/// Asks until the answer is this, which has to happen.
async fn becomes(addr: SocketAddr, command: &str, wanted: &str) {
    let began = Instant::now();
    loop {
        let answer = ask(addr, command).await;
        if answer == wanted {
            return;
        }
        assert!(began.elapsed() < BOUND, "{command} answers {answer:?} and never {wanted:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn all_faults() -> [Fault; 8] {
    let slow = What::Slow { latency: Duration::from_millis(20), jitter: Duration::from_millis(5) };
    let locks = || Glob::new("lock:*");
    [
        Fault::new(slow),
        Fault::new(slow).on(locks()),
        Fault::new(What::ReplyLost),
        Fault::new(What::CutMidReply { after: 4 }),
        Fault::new(What::BlackHole),
        Fault::new(What::BlackHole).on(locks()),
        Fault::flapping(2),
        Fault::new(What::ReplyLost).on(locks()).failing(1),
    ]
}

#[tokio::test]
async fn without_a_fault_all_passes_as_it_is() {
    let (server, proxy) = behind_a_proxy().await;
    let mut caller = Caller::connect(proxy.addr()).await;
    let value = "v\r\n$".repeat(300_000);
    caller
        .send(&format!("*3\r\n$3\r\nSET\r\n$1\r\na\r\n${}\r\n{value}\r\nGET a\r\nPING\r\n", value.len()))
        .await;
    let all = format!("+OK\r\n${}\r\n{value}\r\n+PONG\r\n", value.len());
    assert!(caller.hear("+PONG\r\n", BOUND).await == all);
    caller.send("HELLO 3\r\n").await;
    assert!(caller.hear("", SILENCE).await.starts_with('%'), "RESP3 goes through too");
    assert_eq!((proxy.counts(), proxy.harmed_ports()), (NONE, vec![]));

    // The end of either side is told to the other.
    assert!(caller.ask("QUIT", "").await.ends_with("(ended)"));
    drop(caller);
    becomes_alone(&server).await;
}

/// The server's own count of connections comes down to the one that asks.
async fn becomes_alone(server: &Server) {
    let began = Instant::now();
    while !ask(server.addr(), "INFO clients").await.contains("connected_clients:1\r\n") {
        assert!(began.elapsed() < BOUND, "a connection to the server is left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_server_s_name_for_a_connection_leads_to_its_client_also_when_it_is_closed() {
    let (server, proxy) = behind_a_proxy().await;
    let mut named = Vec::new();
    for _ in 0..3 {
        let mut caller = Caller::connect(proxy.addr()).await;
        let info = caller.ask("CLIENT INFO", "\n\r\n").await;
        let addr = info.split(' ').find_map(|field| field.strip_prefix("addr=")).unwrap();
        named.push((addr.parse::<SocketAddr>().unwrap().port(), caller.port()));
    }
    becomes_alone(&server).await;
    for (upstream, client) in named {
        assert_eq!(proxy.client_port(upstream), Some(client));
    }
    assert_eq!(proxy.client_port(1), None);
}

#[tokio::test]
async fn slow_makes_each_round_trip_as_much_longer_as_it_says() {
    let (_server, proxy) = behind_a_proxy().await;
    let mut caller = Caller::connect(proxy.addr()).await;
    let (latency, jitter) = (Duration::from_millis(80), Duration::from_millis(20));
    proxy.set(Fault::new(What::Slow { latency, jitter })).await.unwrap();
    for _ in 0..3 {
        let sent = Instant::now();
        assert_eq!(caller.ask("PING", "\n").await, "+PONG\r\n");
        assert!(sent.elapsed() >= latency - jitter, "{:?}", sent.elapsed());
    }
    // What goes in one piece is late once and not once for each.
    let sent = Instant::now();
    caller.send(&"PING\r\n".repeat(100)).await;
    assert_eq!(caller.hear(&"+PONG\r\n".repeat(100), BOUND).await.len(), 700);
    assert!(sent.elapsed() < 10 * latency, "{:?}", sent.elapsed());
    let counts = proxy.counts();
    assert!(counts.delayed >= 4 && counts.bytes_held >= 6 * 103, "{counts:?}");
    assert_eq!(proxy.harmed_ports(), [caller.port()]);

    let long = Duration::from_secs(3600);
    proxy.set(Fault::new(What::Slow { latency: long, jitter: long })).await.unwrap();
    caller.send("PING\r\n").await;
    while proxy.counts().delayed == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    proxy.clear().await.unwrap();
    assert_eq!(caller.hear("\n", BOUND).await, "+PONG\r\n", "what was on its way goes on");
}

#[tokio::test]
async fn a_lost_reply_is_that_of_a_command_that_ran() {
    let (server, proxy) = behind_a_proxy().await;
    let mut callers = [Caller::connect(proxy.addr()).await, Caller::connect(proxy.addr()).await];
    proxy.set(Fault::new(What::ReplyLost)).await.unwrap();
    // A connection can be set up, or no caller could ever try again.
    assert_eq!(callers[0].ask("CLIENT GETNAME", "\n").await, "$-1\r\n");
    for (ran, caller) in (1..).zip(&mut callers) {
        assert_eq!(caller.ask_in_vain("INCR n").await, " (reset)");
        assert_eq!(ask(server.addr(), "GET n").await, format!("$1\r\n{ran}\r\n"));
    }
    assert_eq!(proxy.counts(), Counts { replies_lost: 2, ..NONE });
    let mut ports = callers.map(|caller| caller.port());
    ports.sort_unstable();
    assert_eq!(proxy.harmed_ports(), ports);
    proxy.clear().await.unwrap();
    assert_eq!(Caller::connect(proxy.addr()).await.ask("INCR n", "\n").await, ":3\r\n");
}

#[tokio::test]
async fn a_second_attempt_after_a_lost_reply_finds_what_the_first_did() {
    let (server, proxy) = behind_a_proxy().await;
    let (addr, proxied) = (server.addr(), proxy.addr());
    for (command, second, left) in [
        ("INCR k", ":2\r\n", "$1\r\n2\r\n"),
        ("SET k mine NX", "$-1\r\n", "$4\r\nmine\r\n"),
        ("GETDEL k", "$-1\r\n", "$-1\r\n"),
    ] {
        // Other tests keep the machine busy: the fastest of a few says what it takes.
        let mut costs = Vec::new();
        for _ in 0..3 {
            ask(addr, if command.starts_with("GETDEL") { "SET k token" } else { "DEL k" }).await;
            proxy.set(Fault::new(What::ReplyLost).failing(1)).await.unwrap();
            let began = Instant::now();
            assert_eq!(Caller::connect(proxied).await.ask_in_vain(command).await, " (reset)");
            assert_eq!(Caller::connect(proxied).await.ask(command, "\n").await, second, "{command}");
            costs.push(began.elapsed());
            assert_eq!(proxy.counts().replies_lost, 1);
            assert_eq!(ask(addr, "GET k").await, left, "{command}");
        }
        assert!(costs.iter().min() < Some(&Duration::from_millis(100)), "{command}: {costs:?}");
    }
}

#[tokio::test]
async fn a_reply_is_cut_after_so_many_bytes_and_never_whole() {
    let (server, proxy) = behind_a_proxy().await;
    ask(server.addr(), "SET a hello").await;
    for (after, got) in
        [(0, " (reset)"), (4, "$5\r\n (reset)"), (6, "$5\r\nhe (reset)"), (99, "$5\r\nhello\r (reset)")]
    {
        let mut caller = Caller::connect(proxy.addr()).await;
        proxy.set(Fault::new(What::CutMidReply { after })).await.unwrap();
        assert_eq!(caller.ask_in_vain("GET a").await, got);
        assert_eq!(proxy.counts(), Counts { replies_cut: 1, ..NONE });
    }
    let mut caller = Caller::connect(proxy.addr()).await;
    assert_eq!(caller.ask_in_vain("SET a ran").await, "+OK\r (reset)");
    proxy.clear().await.unwrap();
    assert_eq!(Caller::connect(proxy.addr()).await.ask("GET a", "ran\r\n").await, "$3\r\nran\r\n");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn in_a_black_hole_connections_are_silent_and_new_ones_hang_until_it_ends() {
    let (server, proxy) = behind_a_proxy().await;
    let (addr, before) = (proxy.addr(), server.addr());
    let mut kept = Caller::connect(addr).await;
    let (mut closed, mut reset) = (Caller::connect(addr).await, Caller::connect(addr).await);
    for caller in [&mut kept, &mut closed, &mut reset] {
        caller.ask("PING", "\n").await;
    }
    proxy.set(Fault::new(What::BlackHole)).await.unwrap();
    for (caller, key) in [(&mut kept, "kept"), (&mut closed, "closed"), (&mut reset, "reset")] {
        caller.send(&format!("SET {key} 1\r\n")).await;
    }
    assert_eq!(kept.hear("", SILENCE).await, " (silent)");
    let hanging = tokio::spawn(async move { Caller::connect(addr).await.ask("PING", "\n").await });
    for _ in 0..5 {
        assert!(timeout(SILENCE / 5, TcpStream::connect(addr)).await.is_err(), "a new connection hangs");
    }
    assert!(!hanging.is_finished());
    assert_eq!(ask(before, "DBSIZE").await, ":0\r\n", "nothing reaches the server");
    let held = "SET kept 1\r\nSET closed 1\r\nSET reset 1\r\n".len() as u64;
    assert_eq!(proxy.counts(), Counts { held: 3, bytes_held: held, ..NONE });
    let mut ports = [&kept, &closed, &reset].map(Caller::port);
    ports.sort_unstable();
    assert_eq!(proxy.harmed_ports(), ports);
    drop(closed);
    reset.0.set_zero_linger().unwrap();
    drop(reset);
    tokio::time::sleep(SILENCE / 5).await;

    proxy.clear().await.unwrap();
    assert_eq!(kept.hear("\n", BOUND).await, "+OK\r\n");
    // The caller's system asks again after a second.
    assert_eq!(hanging.await.unwrap(), "+PONG\r\n");
    becomes(before, "EXISTS kept closed", ":2\r\n").await;
    assert_eq!(ask(before, "EXISTS reset").await, ":0\r\n");
    assert_eq!(Caller::connect(addr).await.ask("PING", "\n").await, "+PONG\r\n");
    drop(kept);
    becomes_alone(&server).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_black_hole_that_follows_another_fault_or_itself_lets_nobody_in() {
    let (_server, proxy) = behind_a_proxy().await;
    for fault in [Fault::new(What::BlackHole), Fault::new(What::ReplyLost), Fault::new(What::BlackHole)] {
        let silent = fault.what == What::BlackHole;
        proxy.set(fault.clone()).await.unwrap();
        proxy.set(fault).await.unwrap();
        let connected = timeout(SILENCE, TcpStream::connect(proxy.addr())).await;
        assert_eq!(connected.is_err(), silent, "{connected:?}");
    }
}

#[tokio::test]
async fn flapping_refuses_each_key_so_often_and_then_serves_it_however_many_there_are() {
    let (server, proxy) = behind_a_proxy().await;
    proxy.set(Fault::flapping(2)).await.unwrap();
    let addr = proxy.addr();
    let attempt = move |key: usize| async move {
        let mut caller = Caller::connect(addr).await;
        caller.send(&format!("INCR k{key}\r\n")).await;
        caller.hear("\n", BOUND).await
    };
    let callers: Vec<_> = (0..20)
        .map(|key| {
            tokio::spawn(async move {
                [attempt(key).await, attempt(key).await, attempt(key).await, attempt(key).await]
            })
        })
        .collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), [" (reset)", " (reset)", ":1\r\n", " (reset)"]);
    }
    assert_eq!(proxy.counts(), Counts { refused: 60, bytes_held: proxy.counts().bytes_held, ..NONE });
    assert_eq!(ask(server.addr(), "DBSIZE").await, ":20\r\n");
    proxy.clear().await.unwrap();
    assert_eq!(Caller::connect(addr).await.ask("INCR k0", "\n").await, ":2\r\n");
}

#[tokio::test]
async fn a_fault_with_a_scope_leaves_all_other_keys_alone() {
    let (server, proxy) = behind_a_proxy().await;
    let locks = || Glob::new("lock:*");
    ask(server.addr(), "MSET cache:1 c lock:1 l").await;
    for (what, last) in [
        (What::ReplyLost, "+PONG\r\n (reset)"),
        (What::CutMidReply { after: 2 }, "+PONG\r\n$1 (reset)"),
        (What::Flapping, "+PONG\r\n (reset)"),
        (What::BlackHole, "+PONG\r\n (silent)"),
    ] {
        proxy.set(Fault::new(what).on(locks())).await.unwrap();
        let mut caller = Caller::connect(proxy.addr()).await;
        let mut other = Caller::connect(proxy.addr()).await;
        caller.send("GET cache:1\r\nPING\r\nGET lo").await;
        assert_eq!(caller.hear("PONG\r\n", BOUND).await, "$1\r\nc\r\n+PONG\r\n", "{what:?}");
        caller.send("ck:1\r\nGET cache:1\r\n").await;
        let within = if what == What::BlackHole { SILENCE } else { BOUND };
        assert_eq!("+PONG\r\n".to_owned() + &caller.hear("", within).await, last, "{what:?}");
        assert_eq!(other.ask("EXISTS cache:1", "\n").await, ":1\r\n", "{what:?}");
        assert_eq!(proxy.harmed_ports(), [caller.port()], "{what:?}");
        proxy.clear().await.unwrap();
        if what == What::BlackHole {
            assert_eq!(
                caller.hear("c\r\n", BOUND).await,
                "$1\r\nl\r\n$1\r\nc\r\n",
                "what was held goes on in order"
            );
        }
    }
}

#[tokio::test]
async fn a_fault_ends_without_a_trace_and_ending_it_twice_does_no_harm() {
    let server = server(Persistence::None).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let proxy = Proxy::start(server.addr(), 1).unwrap();
    for fault in all_faults() {
        let mut callers = Vec::new();
        for _ in 0..5 {
            callers.push(Caller::connect(proxy.addr()).await);
        }
        for caller in &mut callers {
            caller.ask("PING", "\n").await;
        }
        proxy.set(fault.clone()).await.unwrap();
        for caller in &mut callers {
            caller.send("SET cache:1 a\r\nSET lock:1 b\r\n").await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        proxy.clear().await.unwrap();
        proxy.clear().await.unwrap();
        let mut caller = Caller::connect(proxy.addr()).await;
        assert_eq!(caller.ask("SET lock:1 c", "\n").await, "+OK\r\n", "{fault:?}");
        drop((callers, caller));
        becomes_alone(&server).await;
        settles(before + 1, tasks).await;
    }
    proxy.set(Fault::new(What::BlackHole).on(Glob::new("*"))).await.unwrap();
    let mut caller = Caller::connect(proxy.addr()).await;
    caller.send("GET a\r\n").await;
    let addr = proxy.addr();
    drop(proxy);
    assert_ne!(caller.hear("", BOUND).await, " (silent)", "a proxy that is dropped closes all");
    becomes_alone(&server).await;
    settles(before, tasks).await;
    assert_eq!(TcpStream::connect(addr).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

async fn settles(wanted: usize, tasks: impl Fn() -> usize) {
    let began = Instant::now();
    while tasks() != wanted {
        assert!(began.elapsed() < BOUND, "{} tasks, not {wanted}", tasks());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_server_that_is_gone_resets_whoever_comes_and_ends_whoever_is_there() {
    let (mut server, proxy) = behind_a_proxy().await;
    let mut caller = Caller::connect(proxy.addr()).await;
    caller.ask("PING", "\n").await;
    server.kill().await.unwrap();
    assert_ne!(caller.hear("", BOUND).await, " (silent)");
    assert_eq!(Caller::connect(proxy.addr()).await.hear("", BOUND).await, " (reset)");
    server.start_again().await.unwrap();
    assert_eq!(Caller::connect(proxy.addr()).await.ask("PING", "\n").await, "+PONG\r\n");
}

#[tokio::test]
async fn subscribers_and_monitors_go_through() {
    let (server, proxy) = behind_a_proxy().await;
    proxy.set(Fault::new(What::ReplyLost).on(Glob::new("*"))).await.unwrap();
    let (mut subscriber, mut monitor) =
        (Caller::connect(proxy.addr()).await, Caller::connect(proxy.addr()).await);
    subscriber.ask("SUBSCRIBE a", ":1\r\n").await;
    monitor.ask("MONITOR", "+OK\r\n").await;
    ask(server.addr(), "PUBLISH a hello").await;
    assert!(subscriber.hear("hello\r\n", BOUND).await.contains("message"));
    assert!(monitor.hear("\"hello\"\r\n", BOUND).await.contains("PUBLISH"));
}
