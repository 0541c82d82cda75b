//! One direction of a connection: bytes that have been read and are still to be written, in order, each when it is due.

use std::collections::VecDeque;
use std::io;

use tokio::time::Instant;

/// So many bytes may wait; then no more are read, and they stay with whoever sends them.
const ROOM: usize = 256 * 1024;

/// When bytes may go on. What stands behind others never overtakes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// At once.
    Now,
    /// Then.
    At(Instant),
    /// When the fault is lifted.
    Lifted,
}

/// Bytes on their way.
#[derive(Debug, Default)]
pub(super) struct Lane {
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

#[derive(Debug)]
struct Waiting {
    bytes: Vec<u8>,
    written: usize,
    due: Due,
}

impl Lane {
    /// Puts bytes behind those that wait.
    pub(super) fn push(&mut self, mut bytes: Vec<u8>, due: Due) {
        if bytes.is_empty() {
            return;
        }
        self.bytes += bytes.len();
        if due != Due::Now {
            // They stay for a while, which the room to read into should not.
            bytes.shrink_to_fit();
        }
        self.waiting.push_back(Waiting { bytes, written: 0, due });
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        self.bytes < ROOM
    }

    /// Whether the next bytes could be written at once.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.waiting.front().is_some_and(|next| match next.due {
            Due::Now => true,
            Due::At(due) => due <= now,
            Due::Lifted => false,
        })
    }

    /// When the next bytes will be due, where they are not yet.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        match self.waiting.front()?.due {
            Due::At(due) if due > now => Some(due),
            _ => None,
        }
    }

    /// Makes all bytes due.
    pub(super) fn lift(&mut self) {
        for waiting in &mut self.waiting {
            waiting.due = Due::Now;
        }
    }

    /// Writes what is due, as much of it as the other side takes.
    ///
    /// # Errors
    /// What writing fails with, other than that no more is taken for now. All that waits is thrown away then.
    pub(super) fn flush(
        &mut self,
        now: Instant,
        write: impl Fn(&[u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        while self.is_due(now) {
            let Some(next) = self.waiting.front_mut() else { return Ok(()) };
            match write(&next.bytes[next.written..]) {
                Ok(n) => {
                    (next.written, self.bytes) = (next.written + n, self.bytes - n);
                    if next.written == next.bytes.len() {
                        self.waiting.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    *self = Lane::default();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use super::*;

    fn flushed(lane: &mut Lane) -> Vec<u8> {
        let out = RefCell::new(Vec::new());
        lane.flush(Instant::now(), |bytes| {
            let taken = bytes.len().min(3);
            out.borrow_mut().extend_from_slice(&bytes[..taken]);
            Ok(taken)
        })
        .unwrap();
        out.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_go_when_they_are_due_and_overtake_nothing() {
        let mut lane = Lane::default();
        let due = Instant::now() + Duration::from_millis(20);
        lane.push(b"first".to_vec(), Due::Now);
        lane.push(b"late".to_vec(), Due::At(due));
        lane.push(b"last".to_vec(), Due::Now);
        assert_eq!(flushed(&mut lane), b"first");
        assert_eq!(lane.next_due(Instant::now()), Some(due));
        tokio::time::advance(Duration::from_millis(19)).await;
        assert_eq!(flushed(&mut lane), b"");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(flushed(&mut lane), b"latelast");
        assert!(lane.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_held_goes_when_the_fault_is_lifted() {
        let mut lane = Lane::default();
        lane.push(b"held".to_vec(), Due::Lifted);
        lane.push(b"behind".to_vec(), Due::Now);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!((flushed(&mut lane), lane.next_due(Instant::now())), (Vec::new(), None));
        lane.lift();
        assert_eq!(flushed(&mut lane), b"heldbehind");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lane_that_is_full_takes_more_once_some_is_written() {
        let mut lane = Lane::default();
        lane.push(vec![0; ROOM], Due::Now);
        assert!(!lane.has_room());
        let blocked = |_: &[u8]| Err(io::ErrorKind::WouldBlock.into());
        lane.flush(Instant::now(), blocked).unwrap();
        assert!(!lane.has_room());
        assert_eq!(flushed(&mut lane).len(), ROOM);
        assert!(lane.has_room());
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_fails_empties_the_lane() {
        let mut lane = Lane::default();
        lane.push(b"a".to_vec(), Due::Now);
        let broken = |_: &[u8]| Err(io::ErrorKind::BrokenPipe.into());
        assert!(lane.flush(Instant::now(), broken).is_err());
        assert!(lane.is_empty() && lane.has_room());
    }
}
