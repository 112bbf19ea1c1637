//! Times: microseconds as decimal text outside, integer nanoseconds inside, and never a double between the two.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;
use std::fmt;

/// Times with a larger magnitude are not read, so that no difference of two overflows: 146 years either way.
pub(crate) const MAX_NS: i64 = (1 << 62) - 1;

/// Nanoseconds, shown and read as microseconds: three decimals as text, at most three as a JSON number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Microseconds(pub i64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        f.pad(&format!("{sign}{}.{:03}", ns / 1000, ns % 1000))
    }
}

impl Microseconds {
    /// Without zeros at the end: `7`, `7.5`, `0.001`.
    pub fn shortest(self) -> String {
        let text = self.to_string();
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

impl Serialize for Microseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.shortest()).map_err(ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Microseconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Microseconds, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let ns = nanoseconds(raw.get().as_bytes());
        ns.map(Microseconds).ok_or_else(|| de::Error::custom(format!("{} is no time", raw.get())))
    }
}

/// Nanoseconds of a decimal text in microseconds, also with an exponent. Digits beyond the nanosecond are rounded, halves to the even
/// one. None for what is no number or is out of range.
pub fn nanoseconds(text: &[u8]) -> Option<i64> {
    exact(text, MICROSECONDS)?.rounded()
}

/// The integer nearest to a decimal text.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    exact(text, 0)?.rounded()
}

/// The scale of text in microseconds.
pub(crate) const MICROSECONDS: i32 = 3;
/// What the rest of a time counts in: 10^-18 ns.
const UNIT: u64 = 10_u64.pow(18);

/// Nanoseconds with 18 decimals: `whole + rest / UNIT`. So an end that is the sum of two texts is rounded once, from the exact sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exact {
    whole: i64,
    rest: u64,
}

impl Exact {
    /// The nearest integer, of two equally near the even one. None if it is out of range.
    #[inline]
    pub(crate) fn rounded(self) -> Option<i64> {
        let is_up = self.rest > UNIT / 2 || self.rest == UNIT / 2 && self.whole & 1 == 1;
        let whole = self.whole + i64::from(is_up);
        (-MAX_NS..=MAX_NS).contains(&whole).then_some(whole)
    }

    /// The number if it is an integer.
    pub(crate) fn whole(self) -> Option<i64> {
        (self.rest == 0).then_some(self.whole)
    }

    /// The sum.
    #[inline]
    pub(crate) fn plus(self, other: Exact) -> Exact {
        let rest = self.rest + other.rest;
        Exact { whole: self.whole + other.whole + i64::from(rest >= UNIT), rest: rest % UNIT }
    }

    fn signed(self, is_negative: bool) -> Option<Exact> {
        match (self.whole <= MAX_NS, is_negative) {
            (false, _) => None,
            (true, false) => Some(self),
            (true, true) if self.rest == 0 => Some(Exact { whole: -self.whole, rest: 0 }),
            (true, true) => Some(Exact { whole: -self.whole - 1, rest: UNIT - self.rest }),
        }
    }
}

/// A decimal text times ten to the power `scale`. Decimals beyond the 18th only break ties.
pub(crate) fn exact(text: &[u8], scale: i32) -> Option<Exact> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut whole: i64 = 0;
    let mut at = 0;
    while let Some(digit) = digits.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        whole = whole.checked_mul(10)?.checked_add(digit.into())?;
        at += 1;
    }
    if at == 0 {
        return None;
    }
    if at == digits.len() {
        whole = whole.checked_mul(10_i64.checked_pow(u32::try_from(scale).ok()?)?)?;
        return Exact { whole, rest: 0 }.signed(is_negative);
    }
    fraction(digits, scale)?.signed(is_negative)
}

fn fraction(text: &[u8], scale: i32) -> Option<Exact> {
    let mantissa_end = text.iter().position(|byte| byte | 0x20 == b'e').unwrap_or(text.len());
    let exponent: i32 = match text.get(mantissa_end + 1..) {
        None => 0,
        Some(exponent) => std::str::from_utf8(exponent).ok()?.parse().ok()?,
    };
    let mantissa = &text[..mantissa_end];
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    if point + 1 == mantissa.len() || mantissa.iter().filter(|byte| **byte == b'.').count() > 1 {
        return None;
    }
    // Digits before this place are whole.
    let last = i64::try_from(point).ok()? + i64::from(exponent) + i64::from(scale);
    let (mut whole, mut rest, mut goes_on) = (0_i64, 0_u64, false);
    let mut place = 0;
    for byte in mantissa.iter().filter(|byte| **byte != b'.') {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        match place - last {
            ..0 => whole = whole.checked_mul(10)?.checked_add(digit.into())?,
            decimal @ 0..18 => rest += u64::from(digit) * 10_u64.pow(17 - decimal as u32),
            _ => goes_on |= digit != 0,
        }
        place += 1;
    }
    while place < last && whole != 0 {
        whole = whole.checked_mul(10)?;
        place += 1;
    }
    Some(Exact { whole, rest: (rest + u64::from(goes_on)).min(UNIT - 1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimal_text_is_read_to_the_nanosecond() {
        let check = |text: &str, expected: Option<i64>| assert_eq!(nanoseconds(text.as_bytes()), expected, "{text}");
        check("0", Some(0));
        check("1712168438123456.789", Some(1_712_168_438_123_456_789));
        check("-0.5", Some(-500));
        check("100.7", Some(100_700));
        check("6.430064236341721", Some(6430));
        check("0.0005", Some(0));
        check("0.0015", Some(2));
        check("0.00050000000000000000000001", Some(1));
        check("-0.0015", Some(-2));
        check("-0.0006", Some(-1));
        check("0.00049", Some(0));
        check("0.0000000005", Some(0));
        check("1.5e3", Some(1_500_000));
        check("15E-1", Some(1500));
        check("1e-9", Some(0));
        check("1e2", Some(100_000));
        check("0e99999", Some(0));
        check("1e99", None);
        check("99999999999999999999", None);
        check("9223372036854775807", None);
        for text in ["", "-", ".5", "1.", "1.x", "x", "1e", "1 ", "--1", "1.2.3", "NaN", "0x10"] {
            check(text, None);
        }
    }

    #[test]
    fn a_json_number_has_only_the_decimals_it_needs() {
        let check = |ns, expected: &str| {
            assert_eq!(serde_json::to_string(&Microseconds(ns)).expect("a number"), expected);
            assert_eq!(serde_json::from_str::<Microseconds>(expected).expect("a time"), Microseconds(ns));
        };
        check(1_732_965_000, "1732965");
        check(480_029_179, "480029.179");
        check(-1_500, "-1.5");
        check(0, "0");
        check(1_712_168_438_123_456_789, "1712168438123456.789");
    }

    #[test]
    fn an_end_is_rounded_once_from_the_exact_sum() {
        let end = |start: &str, duration: &str| {
            exact(start.as_bytes(), MICROSECONDS)?.plus(exact(duration.as_bytes(), MICROSECONDS)?).rounded()
        };
        assert_eq!(end("0.0004", "0.0004"), Some(1));
        assert_eq!(end("1.264", "1.2695"), Some(2534));
        assert_eq!(end("1.265", "1.2695"), Some(2534));
        assert_eq!(end("-1.0005", "1.0005"), Some(0));
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(ns in -MAX_NS..MAX_NS) {
            prop_assert_eq!(nanoseconds(Microseconds(ns).to_string().as_bytes()), Some(ns));
            prop_assert_eq!(nanoseconds(Microseconds(ns).shortest().as_bytes()), Some(ns));
        }

        #[test]
        fn an_exponent_only_moves_the_point(ns in 0_i64..1_000_000_000, by in 0_i32..9) {
            let text = format!("{ns}e{}", by - 3);
            prop_assert_eq!(nanoseconds(text.as_bytes()), 10_i64.checked_pow(by as u32).and_then(|f| f.checked_mul(ns)));
        }
    }
}
