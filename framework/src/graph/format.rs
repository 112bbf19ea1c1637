//! Formats of graph files, and which of them an input is in: by content where that is certain, else by the file's ending. A format
//! that is recognised but not read is refused by its name, with a command that converts it.

use super::gcsr::MAGIC;
use super::parse_int::{Number, integer, line_end, rest_is_blank, skip_blanks};
use super::read::binary;
use super::read::dialect::next_line;
use super::source::{Input, unpacked_name};
use crate::base::error::{Error, Result};
use clap::ValueEnum;

/// A file format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Format {
    /// By the file's ending and first bytes; an edge list if neither tells
    #[default]
    Auto,
    /// Two vertex IDs a line, as SNAP, KONECT and spreadsheets have them
    EdgeList,
    /// Matrix Market, coordinate
    Mtx,
    /// METIS: line i lists the neighbours of vertex i
    Metis,
    /// DIMACS (`p sp`, `p edge`, `p col`)
    Gr,
    /// GAP edge list
    El,
    /// GAP weighted edge list; weights are ignored
    Wel,
    /// GAP serialized graph
    Sg,
    /// GAP serialized weighted graph; weights are ignored
    Wsg,
    /// Ligra and GBBS text: `AdjacencyGraph` or `WeightedAdjacencyGraph`
    #[value(alias = "adj")]
    Adjacency,
    /// PASGAL and GBBS binary
    Gbbs,
    /// Galois binary, versions 1 and 2
    Galois,
    /// Graph500 edges, two numbers of 64 bits each
    Graph500,
    /// Graph500 edges, two packed numbers of 48 bits each
    #[value(name = "graph500-packed")]
    Graph500Packed,
    /// graphalg's own, memory-mapped
    #[value(alias = "csr")]
    Gcsr,
}

impl Format {
    /// Whether it is two IDs a line.
    pub(super) fn is_edge_list(self) -> bool {
        matches!(self, Format::Auto | Format::EdgeList | Format::El | Format::Wel)
    }

    /// Whether it is a text.
    pub(super) fn is_text(self) -> bool {
        self.is_edge_list() || matches!(self, Format::Mtx | Format::Metis | Format::Gr | Format::Adjacency)
    }

    /// This, or for [`Format::Auto`] what the input is in. `bytes` are the first ones of its content, or all.
    ///
    /// # Errors
    /// For a format that is known but not read.
    pub(super) fn or_guess(self, input: &Input, bytes: &[u8], is_whole: bool) -> Result<Format> {
        if self != Format::Auto {
            return Ok(self);
        }
        let name = input.path().file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let ending = unpacked_name(&name).rsplit_once('.').map(|(_, ending)| ending);
        if let Some(format) = by_content(bytes, ending) {
            return Ok(format);
        }
        if let Some((what, command)) = foreign(bytes, ending) {
            let path = input.path().display().to_string();
            return Err(Error::Format {
                path: input.path().to_path_buf(),
                problem: format!(
                    "{what}, which is not read; convert it, for example by `{}`",
                    command.replace("IN", &path)
                ),
            });
        }
        Ok(match ending {
            Some("mtx" | "mm") => Format::Mtx,
            Some("graph" | "metis") => Format::Metis,
            Some("gr") => Format::Gr,
            Some("el") => Format::El,
            Some("wel") => Format::Wel,
            Some("sg") => Format::Sg,
            Some("wsg") => Format::Wsg,
            Some("adj") => Format::Adjacency,
            Some("bin") => Format::Gbbs,
            Some("graph500" | "g500") => Format::Graph500,
            Some("gcsr" | "csr") => Format::Gcsr,
            _ if is_whole && is_metis(bytes) => Format::Metis,
            _ => Format::EdgeList,
        })
    }
}

/// The format where the first bytes leave no doubt.
fn by_content(bytes: &[u8], ending: Option<&str>) -> Option<Format> {
    if bytes.starts_with(&MAGIC) {
        return Some(Format::Gcsr);
    }
    // A few edges of other binary formats could look like it.
    let is_named = matches!(ending, Some("sg" | "wsg" | "bin" | "graph500" | "g500"));
    if !is_named && binary::is_galois(bytes) {
        return Some(Format::Galois);
    }
    let text = bytes.trim_ascii_start();
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if begins(b"%%MatrixMarket") || begins(b"%MatrixMarket") {
        return Some(Format::Mtx);
    }
    if text.starts_with(b"AdjacencyGraph") || text.starts_with(b"WeightedAdjacencyGraph") {
        return Some(Format::Adjacency);
    }
    is_dimacs(bytes).then_some(Format::Gr)
}

/// Whether the first line that is no `c` comment declares a DIMACS problem; as an edge list every line would be an error.
fn is_dimacs(bytes: &[u8]) -> bool {
    let mut lines = bytes[..bytes.len().min(1 << 16)].split(|&byte| byte == b'\n');
    lines
        .find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"c ") && line.trim_ascii_end() != b"c")
        .is_some_and(|line| line.starts_with(b"p ") || line.starts_with(b"p\t"))
}

/// A format that is recognised and not read, and a command that converts it.
fn foreign(bytes: &[u8], ending: Option<&str>) -> Option<(&'static str, String)> {
    let networkx = |reader: &str| {
        format!(
            "python3 -c \"import networkx as nx; nx.write_edgelist(nx.convert_node_labels_to_integers(nx.{reader}), 'graph.txt', data=False)\""
        )
    };
    let text = bytes.trim_ascii_start();
    let head = &text[..text.len().min(4096)];
    let begins = |word: &str| head.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
    let holds = |word: &[u8]| head.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    let after = |word: &str| begins(word).then(|| head[word.len()..].trim_ascii_start().first().copied()).flatten();
    let is_binary = bytes[..bytes.len().min(256)].iter().any(|&byte| byte < b' ' && !byte.is_ascii_whitespace());
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Some(("a text in UTF-16", "iconv -f UTF-16 -t UTF-8 'IN' > graph.txt".into()));
    }
    if begins("<") && holds(b"<gexf") {
        return Some(("GEXF", networkx("read_gexf('IN')")));
    }
    if begins("<?xml") || begins("<graphml") {
        return Some(("GraphML or other XML", networkx("read_graphml('IN')")));
    }
    if after("graph") == Some(b'[') || begins("Creator ") && holds(b"graph") {
        return Some(("GML", networkx("read_gml('IN')")));
    }
    if begins("*Vertices") || begins("*Network") || begins("*Arcs") || begins("*Edges") {
        return Some(("Pajek", networkx("read_pajek('IN')")));
    }
    if begins("{") || begins("[") {
        return Some((
            "JSON, as of node-link graphs",
            networkx("node_link_graph(__import__('json').load(open('IN')))"),
        ));
    }
    if bytes.starts_with(b"PAR1") {
        return Some(("parquet", "duckdb -c \"copy (from 'IN') to 'graph.csv'\"".into()));
    }
    if bytes.starts_with(b"PK\x03\x04") {
        let command = "python3 -c \"import scipy; scipy.io.mmwrite('graph.mtx', scipy.sparse.load_npz('IN'))\"";
        return Some(("npz or another zip archive", command.into()));
    }
    if begins("#BVGraph properties") || matches!(ending, Some("graph")) && is_binary {
        let command = "java it.unimi.dsi.webgraph.ArcListASCIIGraph BASENAME graph.txt";
        return Some(("a WebGraph (LAW) file", command.into()));
    }
    None
}

/// Lines after which a text of two columns throughout is taken for an edge list, so that few of its lines are looked at twice.
const PEEKED: u64 = 64;

/// Whether a text, all of it, is METIS and nothing else: the first line counts the lines that follow and half the numbers on them, and
/// as an edge list it would have another number of columns.
fn is_metis(bytes: &[u8]) -> bool {
    let Some(first) = next_line(bytes, 0) else { return false };
    if bytes[..first].split(|&byte| byte == b'\n').any(|line| matches!(line.trim_ascii_start(), [b'#' | b'/', ..])) {
        return false;
    }
    let line = String::from_utf8_lossy(&bytes[first..line_end(bytes, first)]);
    let mut words = line.split_ascii_whitespace().map(str::parse::<u64>);
    let (Some(Ok(vertices)), Some(Ok(edges)), None) = (words.next(), words.next(), words.next()) else { return false };
    if vertices == edges {
        return false; // two columns a line would give the same counts
    }
    let (mut at, mut lines, mut numbers) = (line_end(bytes, first), 0, 0u64);
    let mut is_pairs = true;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            at = line_end(bytes, at);
            continue;
        }
        let before = numbers;
        at = loop {
            if let Some(next) = rest_is_blank(bytes, at) {
                break next;
            }
            match integer(bytes, skip_blanks(bytes, at)) {
                Number::Value(_, end) => at = end,
                Number::TooLarge(_) | Number::Absent => return false,
            }
            numbers += 1;
        };
        lines += 1;
        is_pairs &= numbers == before + 2;
        if lines > vertices || numbers.div_ceil(2) > edges || is_pairs && lines == PEEKED {
            return false;
        }
    }
    lines == vertices && Some(numbers) == edges.checked_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &'static str, bytes: &'static [u8], expected: Result<Format, &str>) {
        let input = Input::Embedded { name: "g", bytes, file_name: name };
        match (Format::Auto.or_guess(&input, bytes, true), expected) {
            (Ok(found), Ok(format)) => assert_eq!(found, format, "{name}: {:?}", String::from_utf8_lossy(bytes)),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{name}: {error}"),
            (found, _) => panic!("{name}: {found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn content_tells_before_the_name_does() {
        check("g.txt", b"%%matrixmarket matrix coordinate pattern general\n", Ok(Format::Mtx));
        check("-", b"\n%MatrixMarket matrix coordinate pattern general\n", Ok(Format::Mtx));
        check("g.mtx", b"p col 3 2\n", Ok(Format::Gr));
        check("g", b"c x\nc\np max 3 2\n", Ok(Format::Gr));
        check("g.txt", b"WeightedAdjacencyGraph\n1\n", Ok(Format::Adjacency));
        check("g.graph.gz", b"3 2\n", Ok(Format::Metis));
        check("g.csv", b"1,2\n", Ok(Format::EdgeList));
        check("g.txt", b"", Ok(Format::EdgeList));
    }

    #[test]
    fn metis_is_told_by_its_counts_where_no_edge_list_has_them() {
        check("-", b"4 3\n2\n1 3 4\n2\n2\n", Ok(Format::Metis));
        check("-", b"% c\n3 1\n\n3\n% c\n2\n", Ok(Format::Metis));
        check("-", b"3 3\n2 3\n1 3\n1 2\n", Ok(Format::EdgeList));
        check("-", b"5 4\n0 1\n1 2\n2 3\n3 4\n", Ok(Format::EdgeList));
        check("-", b"# x\n4 3\n2\n1 3 4\n2\n2\n", Ok(Format::EdgeList));
    }

    #[test]
    fn formats_that_are_not_read_are_named_with_a_command() {
        for (name, bytes, words) in [
            ("g.graphml", &b"<?xml version=\"1.0\"?>\n<graphml/>"[..], "read_graphml('g.graphml')"),
            ("g.xml", b"\n<gexf xmlns=\"\"/>", "GEXF"),
            ("g.txt", b"graph\n[\n node [ id 1 ] ]", "GML"),
            ("g.gml", b"Creator \"x\"\ngraph [ ]", "read_gml"),
            ("g.net", b"*Vertices 3\n", "read_pajek"),
            ("g.json", b"{\"nodes\": []}", "node_link_graph"),
            ("g.parquet", b"PAR1\x15\x04", "duckdb"),
            ("g.npz", b"PK\x03\x04rest", "load_npz"),
            ("g.graph", b"\x07\x80\xff\x00\x01", "WebGraph"),
            ("g.properties", b"#BVGraph properties\n", "ArcListASCIIGraph"),
            ("g.txt", b"\xff\xfe1\0 \0", "iconv"),
        ] {
            check(name, bytes, Err(words));
        }
    }
}
