//! Patterns and keys, as the proxy reads them, against what a real server says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use redis_outage_audit::policy::Persistence;
use redis_outage_audit::proxy::{Fault, Glob, Proxy, What};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{Listens, server};

/// A blocking connection, for the sake of proptest.
struct Asking(BufReader<TcpStream>);

#[derive(Debug, PartialEq)]
enum Said {
    Text(Vec<u8>),
    List(Vec<Said>),
}

impl Said {
    fn list(&self) -> &[Said] {
        match self {
            Said::List(list) => list,
            Said::Text(text) => panic!("{} is no list", text.escape_ascii()),
        }
    }

    fn text(&self) -> String {
        match self {
            Said::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Said::List(_) => panic!("{self:?} is a list"),
        }
    }
}

impl Asking {
    fn connect(addr: SocketAddr) -> Asking {
        Asking(BufReader::new(TcpStream::connect(addr).unwrap()))
    }

    fn ask(&mut self, words: &[&[u8]]) -> Said {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend([format!("${}\r\n", word.len()).as_bytes(), word, b"\r\n"].concat());
        }
        self.0.get_mut().write_all(&request).unwrap();
        self.said()
    }

    fn said(&mut self) -> Said {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).unwrap();
        let text = line[1..line.len() - 2].to_vec();
        let count = || String::from_utf8(text.clone()).unwrap().parse::<i64>().unwrap();
        match line[0] {
            b'*' | b'~' => Said::List((0..count()).map(|_| self.said()).collect()),
            b'$' if count() >= 0 => {
                let mut bytes = vec![0; usize::try_from(count()).unwrap() + 2];
                self.0.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                Said::Text(bytes)
            }
            b'-' => panic!("{}", text.escape_ascii()),
            _ => Said::Text(text),
        }
    }
}

/// Bytes of which many mean something in a pattern.
fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![(0..12usize).prop_map(|n| br"*?[]^-\abcd*"[n]), any::<u8>()];
    proptest::collection::vec(byte, 0..most)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_matches_the_keys_that_the_server_matches() {
    let server = server(Persistence::None).await;
    let mut asking = Asking::connect(server.addr());
    tokio::task::block_in_place(|| {
        TestRunner::new(ProptestConfig::with_cases(50))
            .run(&proptest::collection::vec((bytes(6), bytes(6)), 40), |pairs| {
                let asking = &mut Asking::connect(server.addr());
                asking.ask(&[b"FLUSHALL"]);
                let (mut keys, patterns): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                // A pattern is a key that it often matches.
                keys.extend(patterns.iter().cloned());
                keys.sort_unstable();
                keys.dedup();
                for key in &keys {
                    asking.ask(&[b"SET", key, b"1"]);
                }
                for pattern in patterns {
                    let theirs = asking.ask(&[b"KEYS", &pattern]);
                    let mut theirs: Vec<_> = theirs
                        .list()
                        .iter()
                        .map(|key| match key {
                            Said::Text(text) => text.clone(),
                            Said::List(_) => panic!("a key is text"),
                        })
                        .collect();
                    theirs.sort_unstable();
                    let glob = Glob::new(pattern.clone());
                    let ours: Vec<_> = keys.iter().filter(|key| glob.matches(key)).cloned().collect();
                    prop_assert_eq!(ours, theirs, "{}", pattern.escape_ascii());
                }
                Ok(())
            })
            .unwrap();
    });
    assert_eq!(asking.ask(&[b"PING"]).text(), "PONG");
}

/// A server that answers OK to whatever comes, so that no command of any name does anything.
async fn yes_man() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while let Ok(1..) = stream.read(&mut buffer).await {
                    let _ = stream.write_all(b"+OK\r\n").await;
                }
            });
        }
    });
    addr
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_where_the_server_says_they_are() {
    const WORDS: i64 = 7;
    let server = server(Persistence::None).await;
    let listed = tokio::task::block_in_place(|| Asking::connect(server.addr()).ask(&[b"COMMAND"]));
    let (mut checked, mut differing) = (0, Vec::new());
    let proxy = Proxy::start(yes_man().await, 1).unwrap();
    for command in listed.list() {
        let command = command.list();
        let name = command[0].text().to_uppercase();
        let flags: Vec<String> = command[2].list().iter().map(Said::text).collect();
        let [first, last, step] = [3, 4, 5].map(|at| command[at].text().parse::<i64>().unwrap());
        // Where a word says where they are, where a subcommand does, and where replies are no answers, is tested elsewhere.
        let has_subcommands = command.get(9).is_some_and(|list| !list.list().is_empty()) && first == 0;
        let takes_no_turns = matches!(name.as_str(), "SSUBSCRIBE" | "SUNSUBSCRIBE");
        if flags.iter().any(|flag| flag == "movablekeys")
            || has_subcommands
            || takes_no_turns
            || name.contains('.')
            // Redis 6.2 lists what a browser would say.
            || matches!(name.as_str(), "HOST:" | "POST")
        {
            continue;
        }
        checked += 1;
        let last = if last < 0 { WORDS + last } else { last };
        for word in 1..WORDS {
            let wanted = first > 0 && (first..=last).contains(&word) && (word - first) % step == 0;
            proxy.set(Fault::new(What::Flapping).on(Glob::new(format!("word:{word}")))).await.unwrap();
            let mut caller = tokio::net::TcpStream::connect(proxy.addr()).await.unwrap();
            let words: String = (1..WORDS).map(|word| format!(" word:{word}")).collect();
            caller.write_all(format!("{name}{words}\r\n").as_bytes()).await.unwrap();
            let mut answer = [0; 16];
            let is_key = caller.read(&mut answer).await.is_err();
            if is_key != wanted {
                differing.push(format!("{name}: word {word} of keys from {first} to {last} by {step}"));
            }
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
    assert!(checked > 100, "only {checked} commands were compared");
}
