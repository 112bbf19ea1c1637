//! Text formats, the common part: pieces cut at line ends, numbers eight digits at a time, and errors that name the line.
//!
//! Pieces are read in parallel and each belongs to one thread; the first error in the order of the file is the one reported,
//! for any thread count. A packed text is read block by block while the next block is unpacked.

use super::parse_int::{SHOWN, line_end};
use super::progress::{LoadStage, Progress};
use super::source::Stream;
use crate::base::error::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Bytes of a piece at least (chosen: large against the cost of a piece's counters, small enough to balance).
const PIECE_MIN: usize = 1 << 20;
/// Bytes of a piece at most.
const PIECE_MAX: usize = 8 << 20;
/// The bytes of a text, and how to speak of it.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) path: &'a Path,
    pub(super) bytes: &'a [u8],
    /// Where its content begins: after a byte order mark and lines that are to be skipped.
    pub(super) start: usize,
    pub(super) progress: Progress<'a>,
}

/// Where the content of a text begins: after a byte order mark and the lines that are to be skipped.
///
/// # Errors
/// When there are fewer lines.
pub(super) fn content_start(path: &Path, bytes: &[u8], skip_lines: u64) -> Result<usize> {
    let mut at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    for skipped in 0..skip_lines {
        if at == bytes.len() {
            return Err(Error::usage(format!(
                "--skip-lines {skip_lines}: {} has {skipped} lines, or so many in its first {} bytes",
                path.display(),
                bytes.len()
            )));
        }
        at = line_end(bytes, at);
    }
    Ok(at)
}

/// A text in blocks of whole lines, unpacked while earlier blocks are read.
pub(super) struct Blocks<'a> {
    stream: Stream,
    /// Bytes already unpacked; of the line that the next block begins with.
    carry: Vec<u8>,
    goal: usize,
    progress: Progress<'a>,
}

impl<'a> Blocks<'a> {
    /// Blocks of about `goal` bytes; `carry` are the first bytes, if some were looked at before.
    pub(super) fn new(stream: Stream, carry: Vec<u8>, goal: usize, progress: Progress<'a>) -> Blocks<'a> {
        Blocks { stream, carry, goal, progress }
    }

    /// The next block; empty at the end.
    pub(super) fn next_block(&mut self) -> Result<Vec<u8>> {
        let mut block = std::mem::take(&mut self.carry);
        loop {
            let known = block.len();
            let count = self.stream.read(&mut block, self.goal, self.progress)?;
            if count == 0 {
                return Ok(block);
            }
            if let Some(newline) = block[known..].iter().rposition(|&byte| byte == b'\n') {
                self.carry = block.split_off(known + newline + 1);
                return Ok(block);
            }
        }
    }

    /// Reads every block, the first of which has number 0, in parallel while the next ones are unpacked; the first fault in the text's order wins.
    pub(super) fn each_block<T: Send>(
        mut self,
        path: &Path,
        read: impl Fn(usize, &[u8]) -> Result<T, Fault> + Sync,
    ) -> Result<Vec<T>> {
        let parts = Mutex::new(Vec::new());
        let (pending, pending_max) = (AtomicUsize::new(0), 2 * rayon::current_num_threads());
        rayon::scope(|scope| {
            for place in 0usize.. {
                let block = self.next_block()?;
                if block.is_empty() {
                    break;
                }
                // Bounded: past this many blocks the unpacking thread reads one itself. Relaxed: a count, nothing more.
                while pending.load(Relaxed) >= pending_max && rayon::yield_now().is_some() {}
                pending.fetch_add(1, Relaxed);
                let (parts, pending, read) = (&parts, &pending, &read);
                scope.spawn(move |_| {
                    let text = Text { path, bytes: &block, start: 0, progress: Progress::default() };
                    let part = read(place, &block).map_err(|fault| text.error(fault));
                    let lines = block.iter().filter(|&&byte| byte == b'\n').count() as u64;
                    parts.lock().unwrap_or_else(PoisonError::into_inner).push((place, lines, part));
                    pending.fetch_sub(1, Relaxed);
                });
            }
            Ok(())
        })?;
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_unstable_by_key(|&(place, ..)| place);
        let mut before = 0;
        parts
            .into_iter()
            .map(|(_, lines, part)| {
                let part = part.map_err(|error| after_lines(error, before));
                before += lines;
                part
            })
            .collect()
    }
}

/// The error of a block that begins after `before` lines of the text.
pub(super) fn after_lines(error: Error, before: u64) -> Error {
    match error {
        Error::Line { path, line, found, expected } => Error::Line { path, line: before + line, found, expected },
        other => other,
    }
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
