//! JSON as a stream: a file of any size is read in windows, checked by the whole grammar, and told to a visitor token by token.
//!
//! Memory is one window (and its index), whatever the size of the file; only a single token longer than a window makes it grow.
//! What RFC 8259 forbids but can be read without doubt is read and counted ([`Repairs`]); anything else is an error with its byte
//! offset. [`masks`] finds the tokens, [`walk`] follows the grammar over them.

// From the lowest floor up.
mod repairs;
mod text;
mod visitor;
mod masks;
mod walk;

pub use repairs::{Count, Repairs};
pub(crate) use text::Text;
pub(crate) use visitor::Visitor;

use masks::{BLOCK, Index};
use std::io::{self, Read};
use walk::{State, Stop, Walker};

/// How much is read at once. Window and index together stay in a core's own cache.
const WINDOW: usize = 128 << 10;
/// The byte order mark of UTF-8, which a document may begin with: it says nothing.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";
/// A token longer than this is taken for damage.
const MAX_TOKEN_BYTES: usize = 256 << 20;

/// Where a document is damaged, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Damage {
    pub(crate) offset: u64,
    pub(crate) what: String,
}

/// Why reading ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    Read(io::Error),
    Damaged(Damage),
}

/// Tells `visitor` the document that `source` holds. With `recover`, damaged elements of the visitor's list are left out and a
/// missing end is taken for an end; both are counted.
///
/// # Errors
/// When `source` cannot be read, or holds no JSON document.
pub(crate) fn read(source: impl Read, recover: bool, visitor: &mut impl Visitor) -> Result<Repairs, Failure> {
    read_by(WINDOW, source, recover, visitor)
}

fn read_by(
    window: usize,
    mut source: impl Read,
    recover: bool,
    visitor: &mut impl Visitor,
) -> Result<Repairs, Failure> {
    let mut repairs = Repairs::default();
    let mut walker = Walker::default();
    let mut index = Index::default();
    let mut window = vec![0; window];
    // `window[..kept]` is left from the window before; the window's first byte is number `offset` of the document.
    let (mut kept, mut offset, mut seeks) = (0, 0_u64, false);
    loop {
        let (filled, cut) = fill(&mut source, &mut window, kept).map_or_else(
            |(filled, error)| if recover { Ok((filled, true)) } else { Err(Failure::Read(error)) },
            |filled| Ok((filled, false)),
        )?;
        if offset == 0 && kept == 0 && window.starts_with(MARK) {
            window[..MARK.len()].fill(b' ');
        }
        let is_last = filled < window.len();
        let padded = (filled + 1).next_multiple_of(BLOCK);
        window.resize(window.len().max(padded), b' ');
        window[filled..padded].fill(b' ');
        let mut used = 0;
        while used < filled {
            if seeks {
                match element_start(&window[used..filled]) {
                    Some(at) => {
                        seeks = false;
                        used += at;
                    }
                    None => {
                        // An element may begin in what is seen and show its first key only beyond it.
                        used = filled.saturating_sub(if is_last { 0 } else { filled / 4 }).max(used + 1).min(filled);
                        break;
                    }
                }
            }
            // A last block of blanks ends what the text leaves open.
            let end = (filled - used + 1).next_multiple_of(BLOCK);
            window.resize(window.len().max(used + end), b' ');
            window[filled..used + end].fill(b' ');
            index.fill(&window[used..used + end]);
            let part = walk::WindowText { text: &window[used..used + end], offset: offset + used as u64, is_last };
            match walker.walk(&part, &index, visitor, &mut repairs) {
                Stop::At(at) => {
                    used = (used + at).min(filled);
                    break;
                }
                Stop::Damaged { at, what } => {
                    let offset = offset + (used + at) as u64;
                    let Some(depth) = visitor.list_depth().filter(|_| recover) else {
                        return Err(Failure::Damaged(Damage { offset, what }));
                    };
                    repairs.lost_events.add(offset);
                    visitor.abandon();
                    walker.resume_in(depth);
                    seeks = true;
                    used = (used + at + 1).min(filled);
                }
            }
        }
        if is_last {
            let end = offset + filled as u64;
            return finish(&walker, recover, cut || seeks, end, visitor, repairs);
        }
        window.truncate(filled);
        if used == 0 {
            if window.len() >= MAX_TOKEN_BYTES {
                let what = format!("a token is longer than {} MiB", MAX_TOKEN_BYTES >> 20);
                return Err(Failure::Damaged(Damage { offset, what }));
            }
            window.resize(filled * 2, 0);
        } else {
            window.copy_within(used..filled, 0);
        }
        kept = filled - used;
        offset += used as u64;
    }
}

fn finish(
    walker: &Walker,
    recover: bool,
    is_cut: bool,
    end: u64,
    visitor: &mut impl Visitor,
    mut repairs: Repairs,
) -> Result<Repairs, Failure> {
    if walker.state == State::Done && !is_cut {
        return Ok(repairs);
    }
    if recover && visitor.is_usable() {
        if visitor.list_depth().is_some() {
            visitor.abandon();
        }
        repairs.cut_off.add(end);
        return Ok(repairs);
    }
    let what = match (walker.state, walker.depth()) {
        (State::Start, _) => "the text holds no whole value".to_owned(),
        (_, depth) => format!("the text ends inside {depth} open objects or arrays; it was cut off"),
    };
    Err(Failure::Damaged(Damage { offset: end, what }))
}

/// Reads until the window is full or the source ends; how much of the window is filled then, also on an error.
fn fill(source: &mut impl Read, window: &mut [u8], mut filled: usize) -> Result<usize, (usize, io::Error)> {
    while filled < window.len() {
        match source.read(&mut window[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((filled, error)),
        }
    }
    Ok(filled)
}

/// Where the next event begins: a brace after a comma, and the first key is one that events have.
fn element_start(text: &[u8]) -> Option<usize> {
    const KEYS: [&[u8]; 8] = [b"ph\"", b"name\"", b"cat\"", b"pid\"", b"tid\"", b"ts\"", b"dur\"", b"args\""];
    let is_blank = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\r' | b'\n');
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|byte| *byte == b'{').map(|at| from + at) {
        let before = text[..at].iter().rev().find(|byte| !is_blank(byte));
        let blanks = text[at + 1..].iter().take_while(is_blank).count();
        let after = text[at + 1 + blanks..].strip_prefix(b"\"");
        if before == Some(&b',') && after.is_some_and(|rest| KEYS.iter().any(|key| rest.starts_with(key))) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests;
