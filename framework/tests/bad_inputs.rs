//! Inputs that are wrong: the message names file, line and expectation, nothing panics, and no shorter graph comes out.

use framework::base::error::{Class, Error};
use framework::graph::{Format, Input, LoadOptions, load};
use proptest::prelude::*;
use std::io::Write;

const TEXTS: [Format; 6] = [Format::EdgeList, Format::El, Format::Adjacency, Format::Mtx, Format::Metis, Format::Gr];
const ALL: [Format; 15] = [
    Format::Auto,
    Format::EdgeList,
    Format::Mtx,
    Format::Metis,
    Format::Gr,
    Format::El,
    Format::Wel,
    Format::Sg,
    Format::Wsg,
    Format::Adjacency,
    Format::Gbbs,
    Format::Galois,
    Format::Graph500,
    Format::Graph500Packed,
    Format::Gcsr,
];

fn loaded(format: Format, bytes: &[u8]) -> Result<(usize, u64), Error> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    let input = Input::Path(file.path().to_path_buf());
    let graph = load(&input, &LoadOptions { format, ..LoadOptions::default() })?;
    Ok((graph.vertices(), graph.facts().arcs))
}

fn message(format: Format, text: &[u8]) -> String {
    let bytes: &'static [u8] = text.to_vec().leak();
    let input = Input::Embedded { name: "input", bytes, file_name: "input" };
    match load(&input, &LoadOptions { format, ..LoadOptions::default() }) {
        Ok(graph) => format!("no error: {} vertices, {} arcs", graph.vertices(), graph.facts().arcs),
        Err(error) => {
            assert_eq!(error.class(), Class::Usage, "{error}");
            error.to_string()
        }
    }
}

/// One line a case, so that all messages of a format can be read together.
fn check(name: &str, format: Format, cases: &[&[u8]]) {
    let lines: Vec<String> = cases
        .iter()
        .map(|case| format!("{:?}\n    {}", String::from_utf8_lossy(case), message(format, case)))
        .collect();
    insta::assert_snapshot!(name, lines.join("\n"));
}

#[test]
fn edge_lists() {
    check(
        "edge_lists",
        Format::EdgeList,
        &[
            b"0 1\n1 x\n",
            b"0 1\n\n# c\n7\n",
            b"0 1\n7 ",
            b"1,2\n",
            b"1 2x\n",
            b"1 2.5\n",
            b"1.0 2\n",
            b"- 2\n",
            b"+1 2\n",
            b"1 --2\n",
            b"0 1\r1 2\r",
            b"0 1 a\rb\n",
            b"4294967296 4294967297\n18446744073709551615 4294967296\n",
            b"1 -9223372036854775809\n",
            b"1 99999999999999999999999999999999999999999999999999999999999999999999999999999999\n",
            b"\xef\xbb\xbf0 1\n",
            b"\x00\x01\x02\n",
            b"%%MatrixMarket matrix coordinate pattern general\n1 1 0\n",
            // These are sound.
            b"0 1 # comment\n-9223372036854775808 9223372036854775807 0.5 1",
            b"0000000000000000000000000000000001 2\r\n",
            b"\n\n \t\n# only comments",
        ],
    );
}

#[test]
fn matrix_market() {
    let with = |body: &str| format!("%%MatrixMarket matrix coordinate pattern general\n{body}").into_bytes();
    let real = |body: &str| format!("%%MatrixMarket matrix coordinate real symmetric\n{body}").into_bytes();
    let cases: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"3 3 1\n1 2\n".to_vec(),
        b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n".to_vec(),
        b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 0 0\n".to_vec(),
        b"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n".to_vec(),
        b"%%MatrixMarket vector coordinate real general\n".to_vec(),
        with(""),
        with("3 3\n"),
        with("3 4 1\n1 2\n"),
        with("3 3 2\n0 1\n1 2\n"),
        with("% c\n\n3 3 2\n1 2\n1 4\n"),
        with("3 3 2\n1 2\n"),
        with("3 3 1\n1 2\n2 3\n"),
        with("3 3 1\n1 2 5\n"),
        with("3 3 1\n1\n"),
        with("3 3 1\n-1 2\n"),
        with("9999999999 9999999999 0\n"),
        real("3 3 1\n2 1\n"),
        real("3 3 1\n2 1 x\n"),
        // These are sound.
        real("3 3 2\n2 1 -1.5e-3\n3 3 nan\n"),
        with("3 3 0"),
    ];
    check("matrix_market", Format::Mtx, &cases.iter().map(|case| &case[..]).collect::<Vec<_>>());
}

#[test]
fn metis() {
    check(
        "metis",
        Format::Metis,
        &[
            b"",
            b"3\n",
            b"3 x\n",
            b"3 1 2\n",
            b"3 1\n2\n1 4\n\n",
            b"3 1\n2\n0\n\n",
            b"3 2\n2\n1\n\n",
            b"3 1\n2\n1\n\n\n1\n",
            b"3 1\n2\n3\n\n",
            b"3 1\n2\n1x\n\n",
            b"2 1 1\n2 5\n1\n",
            b"2 1 11 2\n1 2 2 7\n1\n",
            // These are sound.
            b"% c\n3 1\n% c\n2\n% c\n1\n\n\n",
            b"3 1\n2\n1",
            b"2 1 111 2\n9 1 2 2 7\n9 1 2 1 7\n",
            b"2 2\n1 2\n1\n",
            b"0 0\n",
        ],
    );
}

#[test]
fn dimacs() {
    check(
        "dimacs",
        Format::Gr,
        &[
            b"c only\n",
            b"a 1 2 3\n",
            b"p tw 3 1\n1 2\n",
            b"p sp 3 1\na 1 4 1\n",
            b"p sp 3 1\na 1 2\n",
            b"p sp 3 1\na 1 2 3 4\n",
            b"p sp 3 1\np sp 3 1\na 1 2 3\n",
            b"p sp 3 2\na 1 2 3\n",
            b"p sp 3 1\n1 2 3\n",
            // Sound.
            b"c x\np sp 3 1\nc y\n\na 1 2 -3\n",
        ],
    );
}

#[test]
fn binaries() {
    let sg = |directed: u8, arcs: i64, vertices: i64, offsets: &[i64], targets: &[i32]| {
        let mut bytes = vec![directed];
        bytes.extend([arcs, vertices].iter().chain(offsets).flat_map(|number| number.to_le_bytes()));
        bytes.extend(targets.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    };
    let cases = [
        sg(0, 2, 3, &[0, 1, 2, 2], &[1, 0]),
        sg(0, 2, 3, &[0, 1, 2, 2], &[1, 2]),
        sg(0, 2, 3, &[0, 1, 2, 2], &[1, 3]),
        sg(0, 2, 3, &[0, 1, 2, 2], &[1, -1]),
        sg(0, 2, 3, &[0, 2, 1, 2], &[1, 0]),
        sg(0, 2, 3, &[0, 1, 2, 1], &[1, 0]),
        sg(1, 2, 3, &[0, 1, 2, 2], &[1, 0]),
        sg(0, 2, -3, &[0, 1, 2, 2], &[1, 0]),
        sg(7, 2, 3, &[0, 1, 2, 2], &[1, 0]),
        vec![],
    ];
    let shown: Vec<String> = cases.iter().map(|case| message(Format::Sg, case)).collect();
    insta::assert_snapshot!("gap_serialized", shown.join("\n"));
    let edge = |u: u64, v: u64| {
        let high = (u >> 32) as u32 | ((v >> 32) as u32) << 16;
        [u as u32, v as u32, high].map(u32::to_le_bytes).concat()
    };
    let cases = [edge(0, 5), [edge(0, 1), edge(1 << 33, 2)].concat(), edge(1, 2)[..11].to_vec(), vec![]];
    let shown: Vec<String> = cases.iter().map(|case| message(Format::Graph500Packed, case)).collect();
    insta::assert_snapshot!("graph500_packed", shown.join("\n"));
}

#[test]
fn the_line_of_a_late_error_is_right_in_plain_and_packed_texts() {
    let mut text: Vec<u8> = (0..400_000u32).flat_map(|i| format!("{i} {}\n", i + 1).into_bytes()).collect();
    text.extend_from_slice(b"7 eight\n");
    text.extend((0..400_000u32).flat_map(|i| format!("{i} {}\n", i + 1).into_bytes()));
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&text).expect("in memory");
    for bytes in [text, packer.finish().expect("in memory")] {
        let error = loaded(Format::EdgeList, &bytes).expect_err("a wrong line");
        assert!(matches!(&error, Error::Line { line: 400_001, found, .. } if found == "`7 eight`"), "{error}");
    }
}

#[test]
fn a_line_of_megabytes_is_read_or_refused_like_any_other() {
    let mut long = b"1 2 ".to_vec();
    long.resize(9 << 20, b'x');
    long.extend_from_slice(b"\n3 4\n");
    assert_eq!(loaded(Format::EdgeList, &long).ok(), Some((4, 2)));
    let digits = vec![b'9'; 3 << 20];
    let error = loaded(Format::EdgeList, &digits).expect_err("no ID").to_string();
    assert!(error.len() < 400, "{} characters", error.len());
}

proptest! {
    #[test]
    fn random_bytes_are_a_graph_or_an_error_in_every_format(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        format in prop::sample::select(ALL.to_vec()),
    ) {
        let _ = loaded(format, &bytes);
    }

    #[test]
    fn random_text_is_a_graph_or_an_error_in_every_format(
        text in "(%%?MatrixMarket matrix coordinate (pattern|real) (general|symmetric)\n|p (sp|col) 4 3\n|(Weighted)?AdjacencyGraph\n|% (bip|sym|asym) x\n(% 3 2 1\n)?|a,b\n)?([0-9 \t\r\nacen%#.,;\"/-]|[0-9]{1,3}[ ,;][0-9]{1,3}\n){0,60}",
        format in prop::sample::select(TEXTS.to_vec()),
    ) {
        let _ = loaded(format, text.as_bytes());
    }

    #[test]
    fn a_sound_file_cut_anywhere_is_never_a_shorter_graph_where_counts_bind(
        cut in 0usize..1000,
        which in 0usize..4,
    ) {
        let (format, text): (Format, &[u8]) = [
            (Format::Mtx, &b"%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n4 1\n3 2\n"[..]),
            (Format::Metis, b"4 3\n2 4\n1 3\n2\n1\n"),
            (Format::Gr, b"p sp 4 3\na 2 1 11\na 4 1 12\na 3 2 13\n"),
            (Format::Sg, b"\0\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0"),
        ][which];
        let whole = loaded(format, text).expect("sound");
        let cut = cut % text.len();
        if let Ok(part) = loaded(format, &text[..cut]) {
            prop_assert_eq!(part, whole, "{:?} cut at {}", format, cut); // only the last newline, or digits of a weight
        }
    }
}
