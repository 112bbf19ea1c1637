//! Text formats, the common part: pieces cut at line ends, numbers eight digits at a time, and errors that name the line.
//!
//! Pieces are read in parallel and each belongs to one thread; the first error in the order of the file is the one reported,
//! for any thread count. Numbers are found in 8-byte words without a branch a digit.
//! Source: the word-wise digit test and sum follow Lemire, "Number Parsing at a Gigabyte per Second", SPE 2021.

use super::arcs::Piece;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a piece at least (chosen: large against the cost of a piece's counters, small enough to balance).
const PIECE_MIN: usize = 1 << 20;
/// Bytes of a piece at most.
const PIECE_MAX: usize = 8 << 20;
/// Characters of a wrong line that a message shows.
const SHOWN: usize = 60;

/// What a load is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadStage {
    /// Unpacking; counted in packed bytes.
    Unpack,
    /// Reading the format; counted in bytes.
    Read,
    /// Building rows; 0 of 1 at its start, 1 of 1 at its end.
    Build,
}

/// Whom to tell how far a load is: stage, done, total. Called from several threads, a few times a megabyte.
pub type LoadObserver<'a> = &'a (dyn Fn(LoadStage, u64, u64) + Sync);

/// An observer that may be absent.
#[derive(Clone, Copy, Default)]
pub(super) struct Progress<'a>(pub(super) Option<LoadObserver<'a>>);

impl Progress<'_> {
    pub(super) fn tell(self, stage: LoadStage, done: u64, total: u64) {
        if let Some(observer) = self.0 {
            observer(stage, done, total);
        }
    }

    pub(super) fn unpacked(self, done: u64, total: u64) {
        self.tell(LoadStage::Unpack, done, total);
    }
}

/// The bytes of a text, and how to speak of it.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) path: &'a Path,
    pub(super) bytes: &'a [u8],
    pub(super) progress: Progress<'a>,
}

/// A place and what was expected there.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) found: Option<String>,
    pub(super) expected: String,
}

impl Fault {
    /// The line at `at` is not `expected`.
    #[cold]
    pub(super) fn line(at: usize, expected: impl Into<String>) -> Fault {
        Fault { at, found: None, expected: expected.into() }
    }

    /// On the line at `at` stands `found`, not `expected`.
    #[cold]
    pub(super) fn found(at: usize, found: impl Into<String>, expected: impl Into<String>) -> Fault {
        Fault { at, found: Some(found.into()), expected: expected.into() }
    }
}

impl<'a> Text<'a> {
    /// The error for a fault, with the number of its line.
    pub(super) fn error(&self, fault: Fault) -> Error {
        let at = fault.at.min(self.bytes.len());
        let before = self.bytes[..at].par_iter().filter(|&&byte| byte == b'\n').count();
        let start = self.bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let found = fault.found.unwrap_or_else(|| self.shown(start));
        Error::Line { path: self.path.to_path_buf(), line: before as u64 + 1, found, expected: fault.expected }
    }

    /// An error about the text as a whole.
    pub(super) fn problem(&self, problem: impl Into<String>) -> Error {
        Error::Format { path: self.path.to_path_buf(), problem: problem.into() }
    }

    /// The line that begins at `start`, fit for a message.
    fn shown(&self, start: usize) -> String {
        let line = &self.bytes[start..line_end(self.bytes, start)];
        if start == self.bytes.len() {
            return "the end of the file".into();
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return "an empty line".into();
        }
        let cut = &line[..line.len().min(4 * SHOWN)];
        let text: String = String::from_utf8_lossy(cut).chars().take(SHOWN).flat_map(char::escape_debug).collect();
        format!("`{text}{}`", if line.len() > text.len().max(SHOWN) { "..." } else { "" })
    }

    /// Ranges of whole lines that cover the text from `start` on.
    pub(super) fn pieces(&self, start: usize) -> Vec<Range<usize>> {
        let len = self.bytes.len();
        let goal = ((len - start) / (8 * rayon::current_num_threads())).clamp(PIECE_MIN, PIECE_MAX);
        let mut pieces = Vec::new();
        let mut from = start;
        while from < len {
            let end = if len - from <= goal { len } else { line_end(self.bytes, from + goal - 1) };
            pieces.push(from..end);
            from = end;
        }
        pieces
    }

    /// Reads every piece from `start` on, in parallel; the first fault in the text's order wins.
    pub(super) fn each_piece<T: Send>(
        &self,
        start: usize,
        read: impl Fn(Range<usize>) -> Result<T, Fault> + Sync,
    ) -> Result<Vec<T>> {
        let done = AtomicU64::new(start as u64); // only for the observer's eyes
        let parts: Vec<Result<T, Fault>> = self
            .pieces(start)
            .into_par_iter()
            .map(|piece| {
                let bytes = piece.len() as u64;
                let part = read(piece);
                let done = done.fetch_add(bytes, Relaxed) + bytes;
                self.progress.tell(LoadStage::Read, done, self.bytes.len() as u64);
                part
            })
            .collect();
        parts.into_iter().collect::<Result<Vec<T>, Fault>>().map_err(|fault| self.error(fault))
    }
}

/// Where the next line begins: after the newline at or after `at`, or the end.
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    let mut words = bytes[at..].chunks_exact(8);
    let mut from = at;
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        let differing = word ^ (0x0101_0101_0101_0101 * b'\n' as u64);
        let zero = differing.wrapping_sub(0x0101_0101_0101_0101) & !differing & 0x8080_8080_8080_8080;
        if zero != 0 {
            return from + (zero.trailing_zeros() / 8) as usize + 1;
        }
        from += 8;
    }
    words.remainder().iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |place| from + place + 1)
}

/// The byte at `at`; past the end a newline, as if the last line had one.
#[inline(always)]
pub(super) fn byte(bytes: &[u8], at: usize) -> u8 {
    match bytes.get(at) {
        Some(&byte) => byte,
        None => b'\n',
    }
}

/// After the blanks and tabs at `at`.
#[inline(always)]
pub(super) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(byte(bytes, at), b' ' | b'\t') {
        at += 1;
    }
    at
}

/// Whether the line has nothing more than blanks from `at` on; if so, where the next line begins.
#[inline(always)]
pub(super) fn rest_is_blank(bytes: &[u8], at: usize) -> Option<usize> {
    let at = skip_blanks(bytes, at);
    match byte(bytes, at) {
        b'\n' => Some((at + 1).min(bytes.len())),
        b'\r' if byte(bytes, at + 1) == b'\n' => Some((at + 2).min(bytes.len())),
        _ => None,
    }
}

/// The eight bytes from `at` on; past the end zeroes, which are no digits.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at.wrapping_add(8)) {
        Some(eight) => u64::from_le_bytes(eight.try_into().expect("eight bytes")),
        None => last_word(bytes, at),
    }
}

#[cold]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0u8; 8];
    let rest = bytes.get(at..).unwrap_or_default();
    let len = rest.len().min(8);
    eight[..len].copy_from_slice(&rest[..len]);
    u64::from_le_bytes(eight)
}

const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The digits at `at` as a number, and the place after them; the place is `at` when no digit stands there. Numbers of up to
/// 18 digits are exact; longer ones come from [`long_number`] only.
#[inline(always)]
pub(super) fn digits(bytes: &[u8], at: usize) -> (u64, usize) {
    let (mut value, mut from) = (0u64, at);
    loop {
        let digits = word(bytes, from) ^ 0x3030_3030_3030_3030;
        let other = (digits.wrapping_add(0x0606_0606_0606_0606) | digits) & 0xf0f0_f0f0_f0f0_f0f0;
        let len = (other.trailing_zeros() / 8) as usize;
        if len == 0 {
            return (value, from);
        }
        // The digits go to the high end, leading zeroes before them; then pairs, fours and eights are summed.
        let sum = digits << (64 - 8 * len);
        let sum = sum.wrapping_mul(10).wrapping_add(sum >> 8);
        let low = (sum & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
        let high = ((sum >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
        value = value.wrapping_mul(POWERS[len]).wrapping_add(low.wrapping_add(high) >> 32);
        from += len;
        if len < 8 {
            return (value, from);
        }
    }
}

/// What stands at a place where an integer is expected.
pub(super) enum Number {
    /// An integer and the place after it.
    Value(i64, usize),
    /// An integer outside `i64`, as text.
    TooLarge(String),
    /// No integer.
    Absent,
}

/// The integer at `at`, with a minus sign or not; the careful way.
pub(super) fn integer(bytes: &[u8], at: usize) -> Number {
    let negative = byte(bytes, at) == b'-';
    let start = at + usize::from(negative);
    let (value, end) = digits(bytes, start);
    if end == start {
        return Number::Absent;
    }
    if end - start <= 18 {
        let value = value as i64;
        return Number::Value(if negative { -value } else { value }, end);
    }
    let text = String::from_utf8_lossy(&bytes[at..end]).into_owned();
    match text.parse() {
        Ok(value) => Number::Value(value, end),
        Err(_) => Number::TooLarge(if text.len() > SHOWN { format!("{}...", &text[..SHOWN]) } else { text }),
    }
}

/// Arcs between any IDs, in 32 bits each as long as they fit.
#[derive(Default)]
pub(super) struct Pairs {
    narrow: Vec<(u32, u32)>,
    wide: Vec<(i64, i64)>,
}

impl Pairs {
    pub(super) fn with_capacity(capacity: usize) -> Pairs {
        Pairs { narrow: Vec::with_capacity(capacity), wide: Vec::new() }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, u: i64, v: i64) {
        if (u | v) as u64 >> 32 == 0 && self.wide.is_empty() {
            self.narrow.push((u as u32, v as u32));
        } else {
            self.push_wide(u, v);
        }
    }

    #[cold]
    fn push_wide(&mut self, u: i64, v: i64) {
        if self.wide.is_empty() {
            let narrow = std::mem::take(&mut self.narrow);
            self.wide = narrow.into_iter().map(|(u, v)| (u.into(), v.into())).collect();
        }
        self.wide.push((u, v));
    }

    pub(super) fn finish(mut self) -> Piece {
        if self.wide.is_empty() {
            self.narrow.shrink_to_fit();
            Piece::Narrow(self.narrow)
        } else {
            self.wide.shrink_to_fit();
            Piece::Wide(self.wide)
        }
    }
}
