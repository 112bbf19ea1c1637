//! The reader against serde_json: the same values from the same documents, and the same documents refused.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, Value};

/// Builds what it is told.
#[derive(Default)]
struct Builder {
    open: Vec<(Value, String)>,
    key: String,
    whole: Option<Value>,
}

impl Builder {
    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            None => self.whole = Some(value),
            Some((Value::Array(list), _)) => list.push(value),
            Some((Value::Object(map), _)) => _ = map.insert(self.key.clone(), value),
            Some(_) => unreachable!("only containers are open"),
        }
    }
}

impl Visitor for Builder {
    fn open(&mut self, is_object: bool) {
        let empty = if is_object { Value::Object(Map::new()) } else { Value::Array(Vec::new()) };
        self.open.push((empty, self.key.clone()));
    }

    fn close(&mut self) {
        let (value, key) = self.open.pop().expect("one is open");
        self.key = key;
        self.put(value);
    }

    fn key(&mut self, key: Text<'_>) {
        self.key = key.text().into_owned();
    }

    fn string(&mut self, value: Text<'_>) {
        self.put(Value::String(value.text().into_owned()));
    }

    fn scalar(&mut self, raw: &[u8]) {
        // A number that no double holds: only documents that are wrong elsewhere, too, come here with one.
        self.put(serde_json::from_slice(raw).unwrap_or_default());
    }

    fn list_depth(&self) -> Option<usize> {
        (!self.open.is_empty()).then_some(1)
    }

    fn abandon(&mut self) {
        self.open.truncate(1);
    }

    fn is_usable(&self) -> bool {
        !self.open.is_empty()
    }
}

/// Gives a few bytes at a time.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(out.len());
        let (now, later) = self.0.split_at(count);
        out[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

fn ours(text: &[u8], window: usize, drip: usize) -> Result<(Value, Repairs), Damage> {
    let mut builder = Builder::default();
    match read_by(window, Drip(text, drip), false, &mut builder) {
        Ok(repairs) => Ok((builder.whole.expect("a value"), repairs)),
        Err(Failure::Damaged(damage)) => Err(damage),
        Err(Failure::Read(error)) => panic!("{error}"),
    }
}

fn is_strict(repairs: &Repairs) -> bool {
    *repairs == Repairs::default()
}

fn check(text: &[u8], window: usize, drip: usize) {
    let theirs = serde_json::from_slice::<Value>(text);
    match (ours(text, window, drip), theirs) {
        (Ok((value, repairs)), Ok(theirs)) => {
            assert_eq!(value, theirs, "{}", String::from_utf8_lossy(text));
            assert!(is_strict(&repairs), "{repairs:?} in {}", String::from_utf8_lossy(text));
        }
        (Ok((_, repairs)), Err(error)) => {
            assert!(!is_strict(&repairs), "taken without a word, though {error}: {}", String::from_utf8_lossy(text));
        }
        (Err(damage), Ok(_)) => panic!("refused, {damage:?}: {}", String::from_utf8_lossy(text)),
        (Err(damage), Err(_)) => assert!(damage.offset <= text.len() as u64, "{damage:?}"),
    }
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof!["[ -~]{0,12}", "\\PC{0,8}", Just("\"\\\u{1}\u{7f}\u{e9}\u{1f600}\n".to_owned())];
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e12..1e12_f64).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    scalar.prop_recursive(6, 60, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            proptest::collection::vec((text.clone(), inner), 0..8)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// The text of a value with blanks between tokens, and some characters escaped although they need not be.
fn rendered(value: &Value, blanks: &mut impl Iterator<Item = u8>, out: &mut Vec<u8>) {
    let blank = |blanks: &mut dyn Iterator<Item = u8>, out: &mut Vec<u8>| {
        let pick = blanks.next().unwrap_or(0);
        out.extend_from_slice(
            [&b""[..], b" ", b"\n", b"\t \r\n", b"", b"", b"                  ", b""][pick as usize % 8],
        );
    };
    let string = |text: &str, blanks: &mut dyn Iterator<Item = u8>, out: &mut Vec<u8>| {
        if blanks.next().unwrap_or(0).is_multiple_of(2) {
            out.extend_from_slice(Value::from(text).to_string().as_bytes());
            return;
        }
        out.push(b'"');
        for unit in text.encode_utf16() {
            out.extend_from_slice(format!("\\u{unit:04X}").as_bytes());
        }
        out.push(b'"');
    };
    blank(blanks, out);
    match value {
        Value::Array(list) => {
            out.push(b'[');
            for (place, element) in list.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                rendered(element, blanks, out);
            }
            blank(blanks, out);
            out.push(b']');
        }
        Value::Object(map) => {
            out.push(b'{');
            for (place, (key, element)) in map.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                blank(blanks, out);
                string(key, blanks, out);
                blank(blanks, out);
                out.push(b':');
                rendered(element, blanks, out);
            }
            blank(blanks, out);
            out.push(b'}');
        }
        Value::String(text) => string(text, blanks, out),
        other => out.extend_from_slice(other.to_string().as_bytes()),
    }
    blank(blanks, out);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn documents_say_what_serde_says(
        value in value(),
        blanks in proptest::collection::vec(any::<u8>(), 1..200),
        window in 64_usize..600,
        drip in 1_usize..300,
    ) {
        let mut text = Vec::new();
        rendered(&value, &mut blanks.iter().copied().cycle(), &mut text);
        check(&text, window, drip);
        check(&text, WINDOW, text.len());
    }

    #[test]
    fn damage_is_seen_where_serde_sees_it(
        value in value(),
        blanks in proptest::collection::vec(any::<u8>(), 1..200),
        window in 64_usize..600,
        edits in proptest::collection::vec((any::<u16>(), 0_usize..4, any::<u8>()), 1..4),
    ) {
        let mut text = Vec::new();
        rendered(&value, &mut blanks.iter().copied().cycle(), &mut text);
        for (at, kind, byte) in edits {
            if text.is_empty() {
                break;
            }
            let at = at as usize % text.len();
            match kind {
                0 => _ = text.remove(at),
                1 => text.insert(at, byte),
                2 => text[at] = br#"{}[]",:\eE.-+0 "#[byte as usize % 15],
                _ => text.truncate(at),
            }
        }
        // A number that no double holds is refused there; here it is only text.
        let too_large = |error: &serde_json::Error| error.to_string().starts_with("number out of range");
        if !serde_json::from_slice::<Value>(&text).is_err_and(|error| too_large(&error)) {
            check(&text, window, 64);
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_document(bytes in proptest::collection::vec(any::<u8>(), 0..300), recovers in any::<bool>()) {
        let _ = read_by(128, &bytes[..], recovers, &mut Builder::default());
    }
}

#[test]
fn the_grammar_is_kept_at_its_corners() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "\"",
        "\"a",
        "nul",
        "tru",
        "truee",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "0x1",
        "{a:1}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "[] []",
        "{,}",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\t\"",
        "[\u{c}1]",
        "\u{1a}",
        "NaN",
        "[Infinity]",
        "[N/A]",
        "[1]\u{0}",
    ] {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        check(text.as_bytes(), WINDOW, 64);
    }
    for text in [
        "0",
        "-0",
        "1e5",
        "-1.5E-3",
        "null",
        "\"\"",
        "[]",
        "{}",
        " [ ] ",
        "{\"\":{}}",
        "[[[]]]",
        "\"\\u00e9\\ud83d\\ude00\\/\"",
    ] {
        assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
        check(text.as_bytes(), WINDOW, 64);
    }
}

#[test]
fn depth_has_an_end_and_a_long_token_has_none_that_matters() {
    let deep = [vec![b'['; 1001], vec![b']'; 1001]].concat();
    let damage = ours(&deep, WINDOW, 4096).expect_err("too deep");
    assert_eq!(damage.offset, 1000);
    let long = format!("[\"{}\", 7]", "x".repeat(3 * WINDOW));
    check(long.as_bytes(), WINDOW, 1 << 20);
}
