//! Text that others wrote, made safe to show and laid out: cleaned, measured, wrapped, and shown beside its place in a
//! file. Knows words only.

mod excerpt;
mod lines;
mod snippet;

pub(crate) use excerpt::{ceil, floor};
pub(crate) use lines::{clean, pad, pad_left, printable, shorten, width, wrap};
pub use snippet::{Look, Message, Tone, snippet};
