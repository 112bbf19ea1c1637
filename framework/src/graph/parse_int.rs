//! Numbers and blanks in a text, eight bytes at a time.
//!
//! Source: the word-wise digit test and sum follow Lemire, "Number Parsing at a Gigabyte per Second", SPE 2021.

/// Characters of a wrong line or number that a message shows.
pub(super) const SHOWN: usize = 60;

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
/// 18 digits are exact; longer ones come from [`integer`] only.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: Option<(i64, usize)>) {
        let found = match integer(text.as_bytes(), 0) {
            Number::Value(value, end) => Some((value, end)),
            Number::TooLarge(_) | Number::Absent => None,
        };
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn integers_of_every_length_and_their_neighbours() {
        for length in 1..=25usize {
            let text = "1234567890123456789012345"[..length].to_string();
            for (before, after) in [("", ""), ("-", " 7"), ("", "\n12345678"), ("-", "/"), ("", ":"), ("", "\u{ff}")] {
                let value = format!("{before}{text}").parse().ok();
                check(&format!("{before}{text}{after}"), value.map(|value| (value, before.len() + length)));
            }
        }
        for text in ["", "-", "x", "+1", " 1", "--1"] {
            check(text, None);
        }
        check("-9223372036854775808", Some((i64::MIN, 20)));
        check("9223372036854775808", None);
        check("00000000000000000000000012", Some((12, 26)));
    }

    proptest! {
        #[test]
        fn any_integer_at_any_place_is_read_back(value: i64, before in 0usize..20, after in "[^0-9]?") {
            let text = format!("{}{value}{after}", " ".repeat(before));
            let Number::Value(found, end) = integer(text.as_bytes(), before) else { panic!("an integer: {text}") };
            prop_assert_eq!((found, end), (value, text.len() - after.len()));
        }

        #[test]
        fn a_line_ends_after_its_newline(bytes in prop::collection::vec(prop::sample::select(vec![b'\n', 0x0b, 0x8a, b'a']), 0..40), at in 0usize..40) {
            let at = at.min(bytes.len());
            let plain = bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |place| at + place + 1);
            prop_assert_eq!(line_end(&bytes, at), plain);
        }
    }
}
