//! Sets a server beside itself behind a fault proxy without a fault.
//!
//! `through_the_proxy ADDRESS CALLS MEGABYTES` makes so many PINGs each way, in turns, then reads so many megabytes through
//! the proxy in large values, and writes as many. It prints the medians in microseconds, direct and through the proxy, then
//! megabytes a second read and written, direct, and the same through the proxy. `scripts/bench proxy` runs it.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use redis_outage_audit::proxy::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const VALUE: usize = 4 * 1024 * 1024;
const IN_FLIGHT: usize = 4;

/// A current-thread runtime, as the audit itself has, with the proxy in it.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [addr, calls, megabytes] = arguments.as_slice() else {
        bail!("usage: through_the_proxy ADDRESS CALLS MEGABYTES");
    };
    let calls: usize = calls.parse().context("the number of calls")?;
    ensure!(calls > 0, "the number of calls has to be above zero");
    let values = megabytes.parse::<usize>().context("the megabytes")? * 1_000_000 / VALUE + 1;
    let addr = addr.parse().context("the address")?;
    let proxy = Proxy::start(addr, 0)?;
    let mut ways = [connect(addr).await?, connect(proxy.addr()).await?];
    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..calls {
        for (way, costs) in ways.iter_mut().zip(&mut costs) {
            costs.push(ping(way).await?);
        }
    }
    let [direct, proxied] = costs.map(|mut costs| {
        costs.sort_unstable();
        costs[costs.len() / 2].as_secs_f64() * 1e6
    });
    print!("{direct:.1},{proxied:.1}");
    for way in &mut ways {
        let written = write(way, values).await?;
        print!(",{:.0},{written:.0}", read(way, values).await?);
    }
    println!();
    Ok(())
}

async fn connect(addr: std::net::SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(addr).await.with_context(|| addr.to_string())?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn ping(way: &mut TcpStream) -> anyhow::Result<Duration> {
    let mut reply = [0; 7];
    let sent = Instant::now();
    way.write_all(b"*1\r\n$4\r\nPING\r\n").await?;
    way.read_exact(&mut reply).await?;
    ensure!(&reply == b"+PONG\r\n", "PING was answered by {}", reply.escape_ascii());
    Ok(sent.elapsed())
}

/// Megabytes a second of requests.
async fn write(way: &mut TcpStream, values: usize) -> anyhow::Result<f64> {
    let head = format!("*3\r\n$3\r\nSET\r\n$5\r\nbench\r\n${VALUE}\r\n");
    let request = [head.as_bytes(), &vec![b'x'; VALUE], b"\r\n"].concat();
    let began = Instant::now();
    let (mut replies, mut requests) = way.split();
    let mut answers = vec![0; 5 * values];
    let send = async {
        for _ in 0..values {
            requests.write_all(&request).await?;
        }
        Ok(())
    };
    tokio::try_join!(send, replies.read_exact(&mut answers))?;
    ensure!(answers.chunks(5).all(|answer| answer == b"+OK\r\n"), "SET was answered otherwise");
    Ok(rate(values, began))
}

/// Megabytes a second of replies.
async fn read(way: &mut TcpStream, values: usize) -> anyhow::Result<f64> {
    let reply = format!("${VALUE}\r\n").len() + VALUE + 2;
    let mut room = vec![0; reply];
    let began = Instant::now();
    for turn in 0..values + IN_FLIGHT {
        if turn < values {
            way.write_all(b"*2\r\n$3\r\nGET\r\n$5\r\nbench\r\n").await?;
        }
        if turn >= IN_FLIGHT {
            way.read_exact(&mut room).await?;
            ensure!(room.ends_with(b"x\r\n"), "GET was answered otherwise");
        }
    }
    Ok(rate(values, began))
}

fn rate(values: usize, began: Instant) -> f64 {
    (values * VALUE) as f64 / 1e6 / began.elapsed().as_secs_f64()
}
