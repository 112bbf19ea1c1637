//! What the formats with a header share: its fields, vertices counted from 1, and counts that bind.

use super::super::Graph;
use super::super::parse_int::{Number, byte, integer, line_end, rest_is_blank};
use super::super::text::{Fault, Text};
use crate::base::error::{Error, Result};

/// A header line: where it begins, where the next line begins, and its words.
pub(super) struct Header<'a> {
    pub(super) at: usize,
    pub(super) next: usize,
    pub(super) words: Vec<&'a str>,
}

impl<'a> Header<'a> {
    /// The first line from `start` on that is not blank and does not begin with `comment`.
    pub(super) fn find(text: &Text<'a>, start: usize, comment: u8, expected: &str) -> Result<Header<'a>> {
        let mut at = start;
        while at < text.bytes.len() {
            let next = line_end(text.bytes, at);
            if byte(text.bytes, at) != comment && rest_is_blank(text.bytes, at).is_none() {
                let Ok(line) = std::str::from_utf8(&text.bytes[at..next]) else {
                    return Err(text.error(Fault::line(at, expected)));
                };
                return Ok(Header { at, next, words: line.split_ascii_whitespace().collect() });
            }
            at = next;
        }
        Err(text.error(Fault::found(at, "the end of the file", expected)))
    }

    /// Word `place` as a count.
    pub(super) fn count(&self, text: &Text<'_>, place: usize, expected: &str) -> Result<u64> {
        self.words
            .get(place)
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| text.error(Fault::line(self.at, expected)))
    }

    /// Word `place` as a number of vertices.
    pub(super) fn vertices(&self, text: &Text<'_>, place: usize, expected: &str) -> Result<usize> {
        let count = self.count(text, place, expected)?;
        if count > Graph::VERTICES_MAX as u64 {
            let found = format!("{count} vertices");
            return Err(text.error(Fault::found(self.at, found, format!("at most {}", Graph::VERTICES_MAX))));
        }
        Ok(count as usize)
    }

    /// The error for a count that the body does not keep.
    pub(super) fn broken(&self, text: &Text<'_>, declared: u64, found: u64, what: &str) -> Error {
        let hint = if found < declared { "the file may be truncated" } else { "the count may be wrong" };
        text.error(Fault::found(
            self.at,
            format!("{found} {what} after this header"),
            format!("the {declared} it declares; {hint}"),
        ))
    }
}

/// The vertex at `at`, counted from 1 in the file and from 0 in the answer, and the place after it.
#[inline(always)]
pub(super) fn vertex(
    bytes: &[u8],
    start: usize,
    at: usize,
    vertices: usize,
    expected: &str,
) -> Result<(u32, usize), Fault> {
    match integer(bytes, at) {
        Number::Value(number, end) if number >= 1 && number as usize <= vertices => {
            if matches!(byte(bytes, end), b' ' | b'\t' | b'\n' | b'\r') {
                Ok(((number - 1) as u32, end))
            } else {
                Err(Fault::line(start, expected))
            }
        }
        Number::Value(number, _) => Err(out_of_range(start, &number.to_string(), vertices)),
        Number::TooLarge(number) => Err(out_of_range(start, &number, vertices)),
        Number::Absent => Err(Fault::line(start, expected)),
    }
}

#[cold]
fn out_of_range(start: usize, number: &str, vertices: usize) -> Fault {
    Fault::found(start, format!("index {number}"), format!("1 to {vertices}, as the header declares"))
}

/// Whether the word at `at` can be a number, of any kind; the place after it.
pub(super) fn value(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    let mut has_digit = false;
    while !matches!(byte(bytes, end), b' ' | b'\t' | b'\n' | b'\r') {
        has_digit |= bytes[end].is_ascii_digit();
        if !matches!(bytes[end], b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' | b'd' | b'D') {
            let word: &[u8] = bytes[at..].split(u8::is_ascii_whitespace).next().unwrap_or_default();
            let known = [&b"nan"[..], b"inf", b"infinity", b"-nan", b"-inf", b"-infinity", b"+inf"];
            return known.iter().any(|name| word.eq_ignore_ascii_case(name)).then_some(at + word.len());
        }
        end += 1;
    }
    has_digit.then_some(end)
}
