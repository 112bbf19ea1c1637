//! A string stands in a document between quotes and may have escapes; this module tells what it says, and counts what is wrong with it.

use super::repairs::Repairs;
use std::borrow::Cow;

/// A string between its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) raw: &'a [u8],
    /// It has escapes, or bytes that are no text.
    pub(crate) is_odd: bool,
}

impl<'a> Text<'a> {
    /// What it says; what cannot be read is replaced or kept as it is, as [`check`] counted.
    pub(crate) fn text(self) -> Cow<'a, str> {
        if self.is_odd && self.raw.contains(&b'\\') {
            Cow::Owned(unescaped(self.raw))
        } else {
            String::from_utf8_lossy(self.raw)
        }
    }

    /// The bytes of what it says.
    #[inline(always)]
    pub(crate) fn bytes(self) -> Cow<'a, [u8]> {
        if self.is_odd { self.odd_bytes() } else { Cow::Borrowed(self.raw) }
    }

    #[cold]
    fn odd_bytes(self) -> Cow<'a, [u8]> {
        match self.text() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }
    }
}

/// Counts what is wrong with a string that begins at byte `at`.
pub(super) fn check(raw: &[u8], at: u64, repairs: &mut Repairs) {
    let mut rest = raw;
    while let Err(error) = std::str::from_utf8(rest) {
        let wrong = error.valid_up_to();
        repairs.invalid_utf8.add(at + (raw.len() - rest.len() + wrong) as u64);
        rest = &rest[wrong + error.error_len().unwrap_or(rest.len() - wrong)..];
    }
    for place in raw.iter().enumerate().filter(|(_, byte)| **byte < 0x20).map(|(place, _)| place) {
        repairs.control_characters.add(at + place as u64);
    }
    let mut place = 0;
    while let Some(found) = raw[place..].iter().position(|byte| *byte == b'\\') {
        place += found;
        let (length, character) = escape(&raw[place..]);
        if character.is_none() {
            repairs.invalid_escapes.add(at + place as u64);
        }
        place += length;
    }
}

/// The escape at the beginning of `raw`: how long it is, and what it means if it is one.
fn escape(raw: &[u8]) -> (usize, Option<char>) {
    let short = |character| (2, Some(character));
    match raw.get(1) {
        Some(b'"') => short('"'),
        Some(b'\\') => short('\\'),
        Some(b'/') => short('/'),
        Some(b'b') => short('\u{8}'),
        Some(b'f') => short('\u{c}'),
        Some(b'n') => short('\n'),
        Some(b'r') => short('\r'),
        Some(b't') => short('\t'),
        Some(b'u') => match (unit(raw), raw.get(6..).and_then(unit)) {
            (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
                (12, char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)))
            }
            (Some(0xd800..0xe000), _) => (6, None),
            (Some(unit), _) => (6, char::from_u32(unit)),
            (None, _) => (1, None),
        },
        _ => (1, None),
    }
}

/// The code unit that an escape such as `\u00e9` spells in four hexadecimal digits.
fn unit(raw: &[u8]) -> Option<u32> {
    let digits = raw.get(..6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
}

fn unescaped(raw: &[u8]) -> String {
    let mut text = Vec::with_capacity(raw.len());
    let mut place = 0;
    while let Some(&byte) = raw.get(place) {
        if byte != b'\\' {
            text.push(byte);
            place += 1;
            continue;
        }
        match escape(&raw[place..]) {
            (length, Some(character)) => {
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                place += length;
            }
            (1, None) => {
                // A lone backslash, as in a path of another system, stays.
                text.push(b'\\');
                place += 1;
            }
            (length, None) => {
                text.extend_from_slice("\u{fffd}".as_bytes());
                place += length;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
