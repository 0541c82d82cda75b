//! What comes out on either side, and when, in whatever pieces the bytes come.

use std::cell::RefCell;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::cases::cases;
use crate::proxy::{Counts, Glob};

const REQUESTS: &[&str] = &[
    "*2\r\n$3\r\nGET\r\n$7\r\ncache:1\r\n",
    "PING\r\n",
    "*0\r\n",
    "*5\r\n$3\r\nSET\r\n$6\r\nlock:1\r\n$3\r\nabc\r\n$2\r\nNX\r\n$0\r\n\r\n",
    "\r\n",
    "GET cache:2\r\n",
];
/// What the server says to them; the third is no reply.
const REPLIES: &[&str] = &["$2\r\nv1\r\n", "+PONG\r\n", ">2\r\n+x\r\n:1\r\n", "$6\r\nlocked\r\n", "$-1\r\n"];

fn flow() -> Flow {
    Flow::new(Arc::default(), 7, 1, 1)
}

fn written(lane: &mut Lane, now: Instant) -> String {
    let out = RefCell::new(Vec::new());
    lane.flush(now, |bytes| {
        out.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    })
    .unwrap();
    String::from_utf8(out.into_inner()).unwrap()
}

fn pieces<'a>(mut stream: &'a [u8], lengths: &'a [usize]) -> impl Iterator<Item = Vec<u8>> + 'a {
    lengths.iter().cycle().map_while(move |length| {
        let (piece, rest) = stream.split_at((*length).min(stream.len()));
        stream = rest;
        (!piece.is_empty()).then(|| piece.to_vec())
    })
}

/// All requests in pieces, and then all replies; what came out on either side, and what was done.
fn run(fault: Option<&Fault>, lengths: &[usize]) -> (String, String, bool, Counts) {
    let (mut flow, now) = (flow(), Instant::now());
    for piece in pieces(REQUESTS.concat().as_bytes(), lengths) {
        flow.client_sent(piece, fault, now);
    }
    let up = written(&mut flow.up, now);
    for piece in pieces(REPLIES.concat().as_bytes(), lengths) {
        if !flow.is_doomed() {
            flow.server_sent(piece, fault, now);
        }
    }
    (up, written(&mut flow.down, now), flow.is_doomed(), flow.book.counts())
}

fn on_locks(what: What) -> Fault {
    Fault::new(what).on(Glob::new("lock:*"))
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_fault_meets_its_request_alone_in_whatever_pieces_the_bytes_come(lengths in vec(1..40usize, 1..8)) {
        let (requests, replies) = (REQUESTS.concat(), REPLIES.concat());
        let none = Counts::default();
        prop_assert_eq!(run(None, &lengths), (requests.clone(), replies, false, none));

        let lost = Counts { replies_lost: 1, ..none };
        let all = (requests.clone(), REPLIES[..3].concat(), true, lost);
        prop_assert_eq!(run(Some(&on_locks(What::ReplyLost)), &lengths), all);

        let cut = Counts { replies_cut: 1, ..none };
        let some = (requests.clone(), REPLIES[..3].concat() + "$6\r\n", true, cut);
        prop_assert_eq!(run(Some(&on_locks(What::CutMidReply { after: 4 })), &lengths), some);
        let all_but_one = (requests, REPLIES[..3].concat() + "$6\r\nlocked\r", true, cut);
        prop_assert_eq!(run(Some(&on_locks(What::CutMidReply { after: 99 })), &lengths), all_but_one);

        let held = (REQUESTS[3].len() + REQUESTS[4].len()) as u64;
        let (up, _, doomed, counts) = run(Some(&on_locks(What::BlackHole)), &lengths);
        prop_assert_eq!((up, doomed, counts.held), (REQUESTS[..3].concat(), false, 1));
        // A blank line belongs to nothing, so it is not held, though it waits behind what is.
        prop_assert_eq!(counts.bytes_held, held - 2);

        let (up, down, doomed, counts) = run(Some(&on_locks(What::Flapping)), &lengths);
        prop_assert_eq!((up, down, doomed), (REQUESTS[..3].concat(), REPLIES[..2].concat(), true));
        prop_assert_eq!(counts.refused, 1);
    }
}

#[test]
fn what_was_held_goes_on_when_the_fault_is_lifted_and_is_answered() {
    for what in [What::BlackHole, What::Flapping] {
        let (mut flow, now) = (flow(), Instant::now());
        let fault = on_locks(what);
        flow.client_sent(b"GET cache\r\nGET lock:1\r\nGET cac".to_vec(), Some(&fault), now);
        assert_eq!(written(&mut flow.up, now), "GET cache\r\n");
        flow.lift();
        flow.client_sent(b"he\r\n".to_vec(), None, now);
        assert_eq!(written(&mut flow.up, now), "GET lock:1\r\nGET cache\r\n", "{what:?}");
        flow.server_sent(b"$-1\r\n$-1\r\n$-1\r\n".to_vec(), None, now);
        assert_eq!(written(&mut flow.down, now).len(), 15);
        assert!(!flow.is_doomed() && flow.owed.is_empty());
    }
}

#[test]
fn a_reply_that_began_to_be_lost_is_lost_whatever_comes() {
    let (mut flow, now) = (flow(), Instant::now());
    let fault = Fault::new(What::ReplyLost);
    flow.client_sent(b"GET a\r\n".to_vec(), Some(&fault), now);
    flow.server_sent(b"$5\r\nhe".to_vec(), Some(&fault), now);
    assert!(!flow.is_doomed(), "the reply is read to its end");
    flow.lift();
    assert!(flow.is_doomed());
}

#[test]
fn a_fault_that_is_set_in_the_middle_of_a_request_knows_where_the_next_one_begins() {
    let (mut flow, now) = (flow(), Instant::now());
    let fault = Fault::new(What::ReplyLost);
    flow.client_sent(b"*2\r\n$3\r\nGET\r\n$4\r\nlo".to_vec(), None, now);
    flow.client_sent(b"ck\r\nGET b\r\n".to_vec(), Some(&fault), now);
    assert_eq!(flow.owed, [Owed::Pass, Owed::Lose]);
}

#[test]
fn a_transaction_is_harmed_at_its_exec() {
    let (mut flow, now) = (flow(), Instant::now());
    let fault = on_locks(What::ReplyLost);
    flow.client_sent(b"MULTI\r\nSET lock:1 a\r\nGET b\r\nEXEC\r\nGET c\r\n".to_vec(), Some(&fault), now);
    use Owed::{Lose, Pass};
    assert_eq!(flow.owed, [Pass, Pass, Pass, Lose, Pass]);
    flow.owed.clear();
    flow.client_sent(
        b"MULTI\r\nSET lock:1 a\r\nDISCARD\r\nMULTI\r\nGET b\r\nEXEC\r\n".to_vec(),
        Some(&fault),
        now,
    );
    assert_eq!(flow.owed, [Pass; 6]);
}

#[test]
fn a_stream_that_takes_no_turns_passes_whatever_is_picked() {
    let (mut flow, now) = (flow(), Instant::now());
    let fault = Fault::new(What::ReplyLost);
    let requests = "PING\r\nSUBSCRIBE a\r\nGET b\r\n";
    let replies = "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n";
    flow.client_sent(requests.into(), Some(&fault), now);
    assert_eq!((written(&mut flow.up, now).as_str(), flow.owed[0]), (requests, Owed::Lose));
    flow.owed[0] = Owed::Pass;
    flow.server_sent([b"+PONG\r\n", replies.as_bytes()].concat(), Some(&fault), now);
    assert_eq!(written(&mut flow.down, now), ["+PONG\r\n", replies].concat());
    assert!(!flow.is_doomed());
}

#[tokio::test(start_paused = true)]
async fn delays_are_seeded_bounded_and_half_on_each_way() {
    let (latency, jitter) = (Duration::from_millis(200), Duration::from_millis(50));
    let fault = Fault::new(What::Slow { latency, jitter });
    let now = Instant::now();
    let drawn = |seed, connection| {
        let mut flow = Flow::new(Arc::default(), 7, seed, connection);
        let draw = |_| {
            flow.client_sent(b"PING\r\n".to_vec(), Some(&fault), now);
            let due = flow.up.next_due(now).unwrap();
            flow.lift();
            written(&mut flow.up, now);
            due - now
        };
        (0..50).map(draw).collect::<Vec<_>>()
    };
    let delays = drawn(1, 1);
    assert_eq!(delays, drawn(1, 1));
    assert_ne!(delays, drawn(2, 1));
    assert_ne!(delays, drawn(1, 2));
    assert!(
        delays.iter().all(|delay| (latency - jitter..=latency + jitter).contains(&(*delay * 2))),
        "{delays:?}"
    );
    let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
    assert!(*most - *least > jitter / 2, "they spread: {least:?} to {most:?}");
}

#[test]
fn a_delay_beyond_all_measure_is_a_long_one() {
    let (mut flow, now) = (flow(), Instant::now());
    let fault = Fault::new(What::Slow { latency: Duration::MAX, jitter: Duration::MAX });
    flow.client_sent(b"PING\r\n".to_vec(), Some(&fault), now);
    assert!(flow.up.next_due(now).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_slow_key_delays_what_stands_behind_it_and_nothing_before() {
    let (latency, jitter) = (Duration::from_millis(200), Duration::ZERO);
    let fault = on_locks(What::Slow { latency, jitter });
    let mut flow = flow();
    let now = Instant::now();
    flow.client_sent(b"GET a\r\nGET lock:1\r\nGET b\r\n".to_vec(), Some(&fault), now);
    assert_eq!(written(&mut flow.up, now), "GET a\r\n");
    assert_eq!(written(&mut flow.up, now + latency / 2), "GET lock:1\r\nGET b\r\n");
    flow.server_sent(b"+a\r\n+lock\r\n+b\r\n".to_vec(), Some(&fault), now);
    assert_eq!(written(&mut flow.down, now), "+a\r\n");
    assert_eq!(written(&mut flow.down, now + latency / 2), "+lock\r\n+b\r\n");
}
