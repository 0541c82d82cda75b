//! The recogniser beside another reader, and beside itself, in whatever pieces the bytes come.

use proptest::collection::vec;
use proptest::prelude::*;
use redis_protocol::resp3::decode::complete::decode;

use super::*;
use crate::cases::cases;

/// What ended, and where in the stream, when it comes in these pieces; whether it ended in an error.
fn read(side: Side, pieces: &[&[u8]]) -> (Vec<(usize, Frame)>, Vec<u8>, bool) {
    let mut recogniser = Recogniser::new(side);
    let (mut frames, mut text, mut before) = (Vec::new(), Vec::new(), 0);
    for piece in pieces {
        let mut at = 0;
        while at < piece.len() {
            let Ok((used, event)) = recogniser.next(&piece[at..]) else { return (frames, text, true) };
            assert!(used > 0, "each step reads something");
            match event {
                Event::Within => assert_eq!(at + used, piece.len()),
                Event::Bytes(range) => text.extend_from_slice(&piece[at..][range]),
                Event::Word => text.push(b'|'),
                Event::Frame(frame) => {
                    text.push(b'\n');
                    frames.push((before + at + used, frame));
                }
            }
            at += used;
        }
        before += piece.len();
    }
    (frames, text, false)
}

/// The stream in pieces whose lengths are taken from these, in turns.
fn cut<'a>(mut stream: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if stream.is_empty() {
            break;
        }
        let (piece, rest) = stream.split_at((*length).clamp(1, stream.len()));
        pieces.push(piece);
        stream = rest;
    }
    pieces
}

/// Where the other reader sees frames end.
fn ends(stream: &[u8]) -> Vec<usize> {
    let (mut ends, mut at) = (Vec::new(), 0);
    while let Ok(Some((_, used))) = decode(&stream[at..]) {
        at += used;
        ends.push(at);
    }
    ends
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'$'), Just(b'*'), any::<u8>()], 0..12)
}

fn string(kind: char, text: &[u8]) -> Vec<u8> {
    [format!("{kind}{}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()
}

/// A reply of any type, which may hold others.
fn reply() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        "[+-][ -~]{0,12}\r\n".prop_map(String::into_bytes),
        any::<i64>().prop_map(|number| format!(":{number}\r\n").into_bytes()),
        any::<u64>().prop_map(|number| format!("({number}\r\n").into_bytes()),
        prop_oneof![Just("_\r\n"), Just("#t\r\n"), Just("#f\r\n"), Just(",-1.5\r\n"), Just(",inf\r\n")]
            .prop_map(|reply| reply.as_bytes().to_vec()),
        "[ -~]{0,12}".prop_map(|text| string('!', text.as_bytes())),
        text().prop_map(|text| string('$', &text)),
        "[ -~]{0,12}".prop_map(|text| string('=', format!("txt:{text}").as_bytes())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(|items| [
                format!("*{}\r\n", items.len()).into_bytes(),
                items.concat()
            ]
            .concat()),
            // Members of a set and fields of a map differ, or the other reader takes them for fewer.
            vec(inner.clone(), 0..4).prop_map(|items| {
                let fields =
                    items.iter().enumerate().map(|(n, item)| [format!(":{n}\r\n").as_bytes(), item].concat());
                [format!("%{}\r\n", items.len()).into_bytes(), fields.collect::<Vec<_>>().concat()].concat()
            }),
            (0..5usize).prop_map(|count| {
                let members = (0..count).map(|n| format!(":{n}\r\n")).collect::<String>();
                format!("~{count}\r\n{members}").into_bytes()
            }),
        ]
    })
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    vec(text(), 1..6).prop_map(|words| {
        let words_sent: Vec<_> = words.iter().map(|word| string('$', word)).collect();
        [format!("*{}\r\n", words.len()).into_bytes(), words_sent.concat()].concat()
    })
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn replies_end_where_another_reader_sees_them_end_in_whatever_pieces_they_come(
        replies in vec(reply(), 1..6), lengths in vec(1..20usize, 1..8), short in 0..8usize,
    ) {
        let stream = replies.concat();
        let stream = &stream[..stream.len() - short.min(stream.len())];
        let (frames, _, broken) = read(Side::Replies, &cut(stream, &lengths));
        prop_assert!(!broken);
        prop_assert_eq!(frames.into_iter().map(|(end, _)| end).collect::<Vec<_>>(), ends(stream));
    }

    #[test]
    fn requests_end_where_another_reader_sees_them_end_in_whatever_pieces_they_come(
        requests in vec(request(), 1..6), lengths in vec(1..20usize, 1..8), short in 0..8usize,
    ) {
        let stream = requests.concat();
        let stream = &stream[..stream.len() - short.min(stream.len())];
        let (frames, words, broken) = read(Side::Requests, &cut(stream, &lengths));
        prop_assert!(!broken);
        prop_assert!(frames.iter().all(|(_, frame)| *frame == Frame::Request));
        prop_assert_eq!(frames.into_iter().map(|(end, _)| end).collect::<Vec<_>>(), ends(stream));
        prop_assert_eq!(words, read(Side::Requests, &[stream]).1);
    }

    #[test]
    fn any_bytes_are_read_alike_in_whatever_pieces_they_come(
        stream in vec(prop_oneof![
            any::<u8>(), Just(b'\r'), Just(b'\n'), (0..14usize).prop_map(|n| b"*$%|>~=!+-:_#,"[n]), b'0'..b'5',
        ], 0..200),
        lengths in vec(1..20usize, 1..8),
    ) {
        for side in [Side::Requests, Side::Replies] {
            prop_assert_eq!(read(side, &cut(&stream, &lengths)), read(side, &[&stream]));
        }
    }
}

#[test]
fn the_words_of_a_request_are_told() {
    let (frames, words, broken) =
        read(Side::Requests, &[b"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", b"PING x\r\n*0\r\n*-1\r\n\r\n"]);
    assert!(!broken);
    let kinds: Vec<Frame> = frames.iter().map(|(_, frame)| *frame).collect();
    assert_eq!(kinds, [Frame::Request, Frame::Line, Frame::Nothing, Frame::Nothing, Frame::Line]);
    assert_eq!(String::from_utf8(words).unwrap(), "GET|\nPING x\r\n\n\n\r\n");
}

#[test]
fn an_attribute_belongs_to_the_reply_behind_it_and_a_push_is_no_reply() {
    let stream = b"|1\r\n+ttl\r\n:3600\r\n*2\r\n|1\r\n+k\r\n+v\r\n:1\r\n_\r\n>2\r\n+message\r\n$1\r\na\r\n$-1\r\n*-1\r\n";
    let kinds: Vec<Frame> = read(Side::Replies, &[stream]).0.iter().map(|(_, frame)| *frame).collect();
    assert_eq!(kinds, [Frame::Reply, Frame::Push, Frame::Reply, Frame::Reply]);
}

#[test]
fn what_no_server_would_take_is_an_error_and_not_a_wait() {
    for bytes in [
        "*1\r\n+PING\r\n",
        "*2000000\r\n",
        "*x\r\n",
        "*1\r\n$-1\r\n",
        "*1\r\n$600000000\r\n",
        "*1\n",
        "*1\r\n$1\r\nab\r\n",
    ] {
        assert!(read(Side::Requests, &[bytes.as_bytes()]).2, "{bytes:?}");
    }
    assert!(read(Side::Requests, &[&[b'a'; LONGEST_LINE + 1]]).2);
    for bytes in [
        "HTTP/1.1 400\r\n",
        "$?\r\n",
        "$\r\n",
        "*1\r\nx",
        "%9223372036854775807\r\n",
        "$99999999999999999999\r\n",
    ] {
        assert!(read(Side::Replies, &[bytes.as_bytes()]).2, "{bytes:?}");
    }
}

#[test]
fn depth_costs_nothing() {
    let stream = [b"*1\r\n".repeat(1_000_000), b":1\r\n".to_vec()].concat();
    let (frames, _, broken) = read(Side::Replies, &[&stream]);
    assert_eq!((frames, broken), (vec![(stream.len(), Frame::Reply)], false));
}
