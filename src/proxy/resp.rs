//! Recognises where requests and replies begin and end, in whatever pieces their bytes come.
//!
//! It keeps none of the bytes, allocates nothing and does not recurse: how many elements are still to come is all that it
//! has to know of a nested list, so depth costs nothing. It checks no more than what it needs to find the next frame.

use std::ops::Range;

/// The longest line of a request that is sent as plain words; a server refuses longer ones.
pub const LONGEST_LINE: usize = 64 * 1024;

/// The most words of a request, and the longest of them, in bytes; a server refuses more.
const MOST_WORDS: i64 = 1024 * 1024;
const LONGEST_WORD: i64 = 512 * 1024 * 1024;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A client: lists of strings, or a line of plain words.
    Requests,
    /// A server: every type of RESP2 and RESP3 but the streamed ones, which no server sends.
    Replies,
}

/// What ended with the bytes just read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Nothing did: all that was given belongs to a frame that goes on.
    Within,
    /// These of the bytes given belong to a word of a request.
    Bytes(Range<usize>),
    /// A word of a request; its last word ends with the request itself.
    Word,
    /// A frame.
    Frame(Frame),
}

/// What kind of frame ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// A request, given as a list of words.
    Request,
    /// A line of plain words, which is a request unless it is blank.
    Line,
    /// A list of no words, which a server does not answer.
    Nothing,
    /// A reply, with the attribute before it, if it has one.
    Reply,
    /// What a server sends without being asked (RESP3).
    Push,
}

/// The bytes are not RESP, or more than a server would take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotResp;

/// Where in a stream of frames the next byte stands.
#[derive(Debug, Clone)]
pub struct Recogniser {
    side: Side,
    at: At,
    /// Elements of the frame that have not ended; none between frames.
    left: u64,
    /// Words that the request has.
    words: u64,
    push: bool,
}

#[derive(Debug, Clone, Copy)]
enum At {
    /// Before an element's first byte.
    Element,
    /// In a line that says how long or how many.
    Number { kind: u8, value: i64, digits: u8, negative: bool },
    /// Before the line feed that ends such a line.
    NumberEnd { kind: u8, value: i64 },
    /// In a line whose text does not matter.
    Text { returned: bool },
    /// In a line of plain words, so many bytes of which were read.
    Line { length: usize },
    /// In a string.
    String { left: u64 },
    /// Before the two bytes that end a string.
    StringEnd { returned: bool },
}

impl Recogniser {
    /// At the beginning of a connection.
    pub fn new(side: Side) -> Recogniser {
        Recogniser { side, at: At::Element, left: 0, words: 0, push: false }
    }

    /// How many words the request has that is being read; 0 for a line of plain words.
    pub fn words(&self) -> u64 {
        self.words
    }

    /// Whether the frame that is being read is one that the server sends without being asked.
    pub fn in_push(&self) -> bool {
        self.left > 0 && self.push
    }

    /// Reads on, up to what ends next; how many bytes that took, and what ended.
    ///
    /// # Errors
    /// Where the bytes are not RESP. The recogniser is of no use from then on.
    pub fn next(&mut self, bytes: &[u8]) -> Result<(usize, Event), NotResp> {
        let mut used = 0;
        while let Some(&byte) = bytes.get(used) {
            let rest = &bytes[used..];
            match self.at {
                At::Element => {
                    self.begin(byte)?;
                    // The first byte of a plain line belongs to its first word.
                    used += usize::from(!matches!(self.at, At::Line { .. }));
                }
                At::Number { kind, value, digits, negative } => {
                    used += 1;
                    self.at = match byte {
                        b'\r' if digits > 0 => {
                            At::NumberEnd { kind, value: if negative { -value } else { value } }
                        }
                        b'-' if digits == 0 && !negative => {
                            At::Number { kind, value, digits, negative: true }
                        }
                        b'0'..=b'9' if digits < 18 => At::Number {
                            kind,
                            value: value * 10 + i64::from(byte - b'0'),
                            digits: digits + 1,
                            negative,
                        },
                        _ => return Err(NotResp),
                    };
                }
                At::NumberEnd { kind, value } => {
                    used += 1;
                    if byte != b'\n' {
                        return Err(NotResp);
                    }
                    if let Some(ended) = self.counted(kind, value)? {
                        return Ok((used, ended));
                    }
                }
                At::Text { mut returned } => {
                    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                        self.at = At::Text { returned: rest.last() == Some(&b'\r') };
                        return Ok((bytes.len(), Event::Within));
                    };
                    returned = if end > 0 { rest[end - 1] == b'\r' } else { returned };
                    used += end + 1;
                    self.at = At::Text { returned: false };
                    if returned && let Some(ended) = self.element_ended() {
                        return Ok((used, ended));
                    }
                }
                At::Line { length } => {
                    let end = rest.iter().position(|byte| *byte == b'\n');
                    if end == Some(0) {
                        (self.at, self.left) = (At::Element, 0);
                        return Ok((used + 1, Event::Frame(Frame::Line)));
                    }
                    let taken = end.unwrap_or(rest.len());
                    self.at = At::Line { length: length + taken };
                    if length + taken > LONGEST_LINE {
                        return Err(NotResp);
                    }
                    return Ok((used + taken, Event::Bytes(used..used + taken)));
                }
                At::String { left: 0 } => self.at = At::StringEnd { returned: false },
                At::String { left } => {
                    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    self.at = At::String { left: left - taken as u64 };
                    let from = used;
                    used += taken;
                    if self.side == Side::Requests {
                        return Ok((used, Event::Bytes(from..used)));
                    }
                }
                At::StringEnd { returned } => {
                    used += 1;
                    match (returned, byte) {
                        (false, b'\r') => self.at = At::StringEnd { returned: true },
                        (true, b'\n') => {
                            if let Some(ended) = self.element_ended() {
                                return Ok((used, ended));
                            }
                        }
                        _ => return Err(NotResp),
                    }
                }
            }
        }
        Ok((used, Event::Within))
    }

    fn begin(&mut self, kind: u8) -> Result<(), NotResp> {
        let fresh = self.left == 0;
        if fresh {
            (self.left, self.words, self.push) = (1, 0, kind == b'>');
        }
        self.at = match (self.side, kind) {
            (Side::Requests, b'*') if fresh => number(kind),
            (Side::Requests, b'$') if !fresh => number(kind),
            (Side::Requests, _) if fresh => At::Line { length: 0 },
            (Side::Replies, b'+' | b'-' | b':' | b',' | b'#' | b'(' | b'_') => At::Text { returned: false },
            (Side::Replies, b'$' | b'!' | b'=' | b'*' | b'~' | b'>' | b'%' | b'|') => number(kind),
            _ => return Err(NotResp),
        };
        Ok(())
    }

    /// A line ended that said how long or how many.
    fn counted(&mut self, kind: u8, value: i64) -> Result<Option<Event>, NotResp> {
        self.at = At::Element;
        let counted = u64::try_from(value);
        if self.side == Side::Requests {
            let most = if kind == b'*' { MOST_WORDS } else { LONGEST_WORD };
            match counted {
                Ok(count) if value <= most && kind == b'*' && count > 0 => {
                    (self.left, self.words) = (count, count)
                }
                Ok(length) if value <= most && kind == b'$' => self.at = At::String { left: length },
                _ if value <= 0 && kind == b'*' => {
                    self.left = 0;
                    return Ok(Some(Event::Frame(Frame::Nothing)));
                }
                _ => return Err(NotResp),
            }
            return Ok(None);
        }
        // Below zero there is nothing, which is an element too.
        let Ok(count) = counted else { return Ok(self.element_ended()) };
        let more = match kind {
            b'$' | b'!' | b'=' => {
                self.at = At::String { left: count };
                return Ok(None);
            }
            b'%' | b'|' => count.checked_mul(2),
            _ => Some(count),
        };
        self.left = more.and_then(|more| self.left.checked_add(more)).ok_or(NotResp)?;
        // What an attribute stands before is still to come.
        Ok(if kind == b'|' { None } else { self.element_ended() })
    }

    /// What ended with an element, where a caller has to know.
    fn element_ended(&mut self) -> Option<Event> {
        self.at = At::Element;
        self.left -= 1;
        match self.side {
            Side::Requests if self.left > 0 => Some(Event::Word),
            Side::Requests => Some(Event::Frame(Frame::Request)),
            Side::Replies if self.left > 0 => None,
            Side::Replies if self.push => Some(Event::Frame(Frame::Push)),
            Side::Replies => Some(Event::Frame(Frame::Reply)),
        }
    }
}

fn number(kind: u8) -> At {
    At::Number { kind, value: 0, digits: 0, negative: false }
}

#[cfg(test)]
mod tests {
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
            (
                prop_oneof![Just('$'), Just('!')],
                text().prop_filter("an error is text", |text| text.is_ascii())
            )
                .prop_map(|(kind, text)| string(kind, &text)),
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
                    let fields = items
                        .iter()
                        .enumerate()
                        .map(|(n, item)| [format!(":{n}\r\n").as_bytes(), item].concat());
                    [format!("%{}\r\n", items.len()).into_bytes(), fields.collect::<Vec<_>>().concat()]
                        .concat()
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
}
