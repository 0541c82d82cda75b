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
mod tests;
