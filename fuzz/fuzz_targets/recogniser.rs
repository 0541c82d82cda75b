//! Whatever the bytes are and in whatever pieces they come: no panic, no standing still, the same frames; and where another
//! reader sees a reply end, so does ours.

#![no_main]

use libfuzzer_sys::fuzz_target;
use redis_outage_audit::proxy::resp::{Event, Frame, Recogniser, Side};
use redis_protocol::resp3::decode::complete::decode;

/// The other reader recurses into each level of a list, and has no bound.
const DEPTH: usize = 64;

fuzz_target!(|input: &[u8]| {
    let Some((&seed, stream)) = input.split_first() else { return };
    for side in [Side::Requests, Side::Replies] {
        let whole = read(side, &[stream]);
        let size = usize::from(seed % 16) + 1;
        let pieces: Vec<&[u8]> = stream.chunks(size).collect();
        assert_eq!(whole, read(side, &pieces), "in pieces of {size}");
        if side == Side::Replies {
            agrees(stream, &whole);
        }
    }
});

/// Where frames end, the bytes of words, and whether it ended in an error.
fn read(side: Side, pieces: &[&[u8]]) -> (Vec<(usize, Frame)>, Vec<u8>, bool) {
    let mut recogniser = Recogniser::new(side);
    let (mut frames, mut text, mut before) = (Vec::new(), Vec::new(), 0);
    for piece in pieces {
        let mut at = 0;
        while at < piece.len() {
            let Ok((used, event)) = recogniser.next(&piece[at..]) else { return (frames, text, true) };
            assert!(used > 0);
            match event {
                Event::Within => assert_eq!(at + used, piece.len()),
                Event::Bytes(range) => text.extend_from_slice(&piece[at..][range]),
                Event::Word => text.push(b'|'),
                Event::Frame(frame) => frames.push((before + at + used, frame)),
            }
            at += used;
        }
        before += piece.len();
    }
    (frames, text, false)
}

fn agrees(stream: &[u8], (frames, _, refused): &(Vec<(usize, Frame)>, Vec<u8>, bool)) {
    let opening = |byte: &&u8| matches!(byte, b'*' | b'%' | b'~' | b'>' | b'|');
    // It takes what is streamed, which no server sends and ours refuses, and attributes apart from what they stand before.
    let streamed = |byte: &u8| matches!(byte, b'?' | b'|' | b';' | b'.');
    if stream.iter().filter(opening).count() > DEPTH || stream.iter().any(streamed) {
        return;
    }
    let mut at = 0;
    for (end, _) in frames {
        match decode(&stream[at..]) {
            Ok(Some((_, used))) => assert_eq!(at + used, *end, "after {at}"),
            // It looks into what ours passes over: numbers, lengths of verbatim strings, text that is no text.
            Ok(None) | Err(_) => return,
        }
        at = *end;
    }
    if !refused && let Ok(Some((frame, _))) = decode(&stream[at..]) {
        panic!("after {at} there is {frame:?}, which was not seen");
    }
}
