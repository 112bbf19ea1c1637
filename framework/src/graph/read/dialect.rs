//! How a list of edges is written: what parts its columns, whether a line of words stands above them, and whether KONECT's header
//! gives the columns another meaning. Decided once a file, from its first lines; the reading of lines does not look again.
//!
//! KONECT files begin `% sym|asym|bip WEIGHTS` and may go on `% EDGES LEFT RIGHT`. Source: Kunegis, "KONECT: The Koblenz Network
//! Collection", WWW 2013, and its handbook, "file format".

use super::super::build::Kind;
use super::super::parse_int::{Number, byte, integer, line_end, rest_is_blank, skip_blanks};

/// What stands between two columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in super::super) enum Separator {
    /// Blanks or tabs.
    #[default]
    Blank,
    Comma,
    Semicolon,
}

/// What KONECT's header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Konect {
    pub(in super::super) kind: Kind,
    /// The two columns are IDs of two sets.
    pub(in super::super) is_bipartite: bool,
    /// Edges, left and right vertices.
    pub(in super::super) counts: Option<[u64; 3]>,
}

/// The first pair of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct FirstPair {
    pub(in super::super) pair: [i64; 2],
    /// Counted from 1 at the file's head.
    pub(in super::super) line: u64,
}

/// How one list is written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in super::super) struct Dialect {
    pub(in super::super) separator: Separator,
    /// Where a line of column names begins, in the first block.
    pub(in super::super) names_at: Option<usize>,
    /// The names, if they are not the usual ones.
    pub(in super::super) odd_names: Option<String>,
    pub(in super::super) konect: Option<Konect>,
    /// The first pair of all, unless names of columns stand above it, and the number of its line.
    pub(in super::super) first: Option<FirstPair>,
}

/// Names of columns that need no remark.
const USUAL: [[&str; 2]; 6] = [
    ["source", "target"],
    ["src", "dst"],
    ["from", "to"],
    ["fromnodeid", "tonodeid"],
    ["follower", "followed"],
    ["node1", "node2"],
];

impl Dialect {
    /// From the first lines, at `start`.
    pub(in super::super) fn of(bytes: &[u8], start: usize) -> Dialect {
        let mut dialect = Dialect { konect: konect(bytes, start), ..Dialect::default() };
        let Some(first) = next_line(bytes, start) else { return dialect };
        if let Some((separator, pair)) = pair(bytes, first) {
            dialect.separator = separator;
            let line = bytes[..first].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
            dialect.first = Some(FirstPair { pair, line });
            return dialect;
        }
        let Some(names) = names(bytes, first) else { return dialect };
        let is_usual = USUAL.iter().any(|usual| usual.iter().zip(&names).all(|(a, b)| b.eq_ignore_ascii_case(a)));
        match next_line(bytes, line_end(bytes, first)) {
            Some(second) => match pair(bytes, second) {
                Some((separator, _)) => dialect.separator = separator,
                None => return dialect, // an error when the first line is read
            },
            None if is_usual => {}
            None => return dialect,
        }
        dialect.names_at = Some(first);
        dialect.odd_names = (!is_usual).then(|| names.join(" "));
        dialect
    }

    /// As it is for what follows the first block of a text that comes in blocks.
    pub(in super::super) fn beyond_first(&self) -> Dialect {
        Dialect { names_at: None, ..self.clone() }
    }

    /// Whether the columns are IDs of two sets.
    pub(in super::super) fn is_bipartite(&self) -> bool {
        self.konect.is_some_and(|konect| konect.is_bipartite)
    }
}

/// The first line from `at` on that is neither blank nor a comment.
pub(in super::super) fn next_line(bytes: &[u8], mut at: usize) -> Option<usize> {
    while at < bytes.len() {
        let text = skip_blanks(bytes, at);
        if rest_is_blank(bytes, at).is_none() && !is_comment(bytes, text) {
            return Some(at);
        }
        at = line_end(bytes, at);
    }
    None
}

/// Whether a comment begins at `at`.
pub(super) fn is_comment(bytes: &[u8], at: usize) -> bool {
    match byte(bytes, at) {
        b'#' | b'%' => true,
        b'/' => byte(bytes, at + 1) == b'/',
        _ => false,
    }
}

/// The two integers at the front of the line at `at`, and what stands between them.
fn pair(bytes: &[u8], at: usize) -> Option<(Separator, [i64; 2])> {
    let (u, after) = field(bytes, skip_blanks(bytes, at))?;
    let next = skip_blanks(bytes, after);
    let (separator, from) = match byte(bytes, next) {
        b',' => (Separator::Comma, skip_blanks(bytes, next + 1)),
        b';' => (Separator::Semicolon, skip_blanks(bytes, next + 1)),
        _ if next > after => (Separator::Blank, next),
        _ => return None,
    };
    Some((separator, [u, field(bytes, from)?.0]))
}

/// The integer at `at`, in quotes or not, and the place after it.
fn field(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let quote = usize::from(byte(bytes, at) == b'"');
    match integer(bytes, at + quote) {
        Number::Value(value, end) if quote == 0 || byte(bytes, end) == b'"' => Some((value, end + quote)),
        _ => None,
    }
}

/// The words of a line at `at` whose first two columns are words.
fn names(bytes: &[u8], at: usize) -> Option<Vec<String>> {
    let line = std::str::from_utf8(&bytes[at..line_end(bytes, at)]).ok()?;
    let between = if line.contains(',') {
        ','
    } else if line.contains(';') {
        ';'
    } else {
        ' '
    };
    let words: Vec<String> = if between == ' ' {
        line.split_ascii_whitespace().map(|word| word.trim_matches('"').to_owned()).collect()
    } else {
        line.split(between).map(|word| word.trim().trim_matches('"').to_owned()).collect()
    };
    let is_word =
        |word: &String| word.starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | ':' | '~'));
    (words.len() >= 2 && words[..2].iter().all(is_word)).then_some(words)
}

/// KONECT's header, if the text begins with it.
fn konect(bytes: &[u8], start: usize) -> Option<Konect> {
    let words = |at: usize| {
        let end = line_end(bytes, at).min(at + 200);
        let line = std::str::from_utf8(bytes.get(at..end)?).ok()?.strip_prefix('%')?;
        Some(line.split_ascii_whitespace().collect::<Vec<_>>())
    };
    let (kind, is_bipartite) = match words(start)?[..] {
        ["sym", _] => (Kind::Undirected, false),
        ["asym", _] => (Kind::Directed, false),
        ["bip", _] => (Kind::Undirected, true),
        _ => return None,
    };
    let counts = words(line_end(bytes, start)).and_then(|words| {
        let counts = words.iter().map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()?;
        <[u64; 3]>::try_from(counts).ok()
    });
    Some(Konect { kind, is_bipartite, counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_tell_how_a_list_is_written() {
        let of = |text: &str| Dialect::of(text.as_bytes(), 0);
        for (text, separator, first) in [
            ("1 2\n", Separator::Blank, Some([1, 2])),
            ("# a,b\n\n1\t2 x,y\n", Separator::Blank, Some([1, 2])),
            ("1 , -2\n", Separator::Comma, Some([1, -2])),
            ("\"1\";\"2\"\n", Separator::Semicolon, Some([1, 2])),
            ("1x 2\n", Separator::Blank, None),
            ("ada,grace\ngrace,alan\n", Separator::Blank, None),
            ("", Separator::Blank, None),
        ] {
            let found = of(text);
            let pair = found.first.map(|first| first.pair);
            assert_eq!((found.separator, pair, found.names_at), (separator, first, None), "{text:?}");
        }
        for (text, at, odd) in [
            ("source,target\n0,1\n", 0, None),
            ("// x\n\"From\" \"To\" \"w\"\n0 1\n", 5, None),
            ("left;right\n0;1\n", 0, Some("left right")),
            ("src,dst\n", 0, None),
        ] {
            let found = of(text);
            assert_eq!((found.names_at, found.odd_names.as_deref()), (Some(at), odd), "{text:?}");
        }
    }

    #[test]
    fn only_the_first_line_is_a_header_of_konect() {
        let of =
            |text: &str| konect(text.as_bytes(), 0).map(|konect| (konect.is_bipartite, konect.kind, konect.counts));
        assert_eq!(of("% bip unweighted\n% 4 3 2\n1 1\n"), Some((true, Kind::Undirected, Some([4, 3, 2]))));
        assert_eq!(of("% asym positive\n1 2\n"), Some((false, Kind::Directed, None)));
        assert_eq!(of("%sym weighted \r\n% 1 2 2 extra\n"), Some((false, Kind::Undirected, None)));
        for other in ["# sym unweighted\n", "% symmetric x\n", "% sym\n", "1 2\n% sym unweighted\n", "%", ""] {
            assert_eq!(of(other), None, "{other:?}");
        }
    }
}
