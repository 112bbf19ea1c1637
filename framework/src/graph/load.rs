//! From an input to a graph: open, unpack, tell the format, read, number, build.

use super::build::Kind;
use super::gcsr::{self, Checksums};
use super::read::{Listing, binary, edge_list, gr, metis, mtx};
use super::source::{Bytes, Input, Opened, open, unpacked_name};
use super::text::{Blocks, LoadObserver, LoadStage, Progress, Text};
use super::{Graph, Incoming, View};
use crate::base::error::{Error, Result};
use clap::ValueEnum;

/// Bytes of a packed text that are read at a time (chosen: as the largest pieces of a plain one, halved).
const BLOCK: usize = 4 << 20;

/// A file format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Format {
    /// By the file's ending and first bytes; an edge list if neither tells
    #[default]
    Auto,
    /// Two vertex IDs a line, as SNAP has them
    EdgeList,
    /// Matrix Market, coordinate
    Mtx,
    /// METIS: line i lists the neighbours of vertex i
    Metis,
    /// DIMACS shortest path (`p sp`, `a u v w`)
    Gr,
    /// GAP edge list
    El,
    /// GAP weighted edge list; weights are ignored
    Wel,
    /// GAP serialized graph
    Sg,
    /// Graph500 binary edges, 12 bytes each
    Graph500,
    /// graphalg's own, memory-mapped
    #[value(alias = "csr")]
    Gcsr,
}

/// How the pairs of an input are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Direction {
    /// As the format or the file's header says
    #[default]
    Auto,
    /// Each pair is an arc
    Directed,
    /// Each pair is an edge
    Undirected,
}

/// How to load an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadOptions {
    /// The format.
    pub format: Format,
    /// How pairs are taken.
    pub direction: Direction,
    /// The view to build.
    pub view: View,
    /// Whether a `.gcsr` file is compared with its checksums; other formats have none.
    pub checksums: Checksums,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            format: Format::Auto,
            direction: Direction::Auto,
            view: View::AsGiven { incoming: false },
            checksums: Checksums::Compare,
        }
    }
}

/// Loads a graph.
///
/// # Errors
/// When the input cannot be read, is no graph of its format, or is too large. The message names file, line and expectation.
pub fn load(input: &Input, options: &LoadOptions) -> Result<Graph> {
    load_observed(input, options, None)
}

/// As [`load`], telling an observer how far it is.
///
/// # Errors
/// As [`load`].
pub fn load_observed(input: &Input, options: &LoadOptions, observer: Option<LoadObserver<'_>>) -> Result<Graph> {
    let progress = Progress(observer);
    let in_file = |error| in_file(input, error);
    match open(input)? {
        Opened::Whole(bytes) => {
            let format = options.format.or_guess(input, &bytes);
            load_bytes(input, bytes, format, options, progress)
        }
        Opened::Stream(mut stream) => {
            let mut first = Vec::new();
            stream.read(&mut first, BLOCK, progress)?;
            match options.format.or_guess(input, &first) {
                Format::EdgeList | Format::El | Format::Wel => {
                    refuse_trust(input, options)?;
                    let blocks = Blocks::new(stream, first, BLOCK, progress);
                    let listing = edge_list::read_blocks(blocks, input.path())?;
                    built(input, listing, options, progress).map_err(in_file)
                }
                format => {
                    let bytes = Bytes::Owned(stream.read_whole(first, progress)?);
                    load_bytes(input, bytes, format, options, progress)
                }
            }
        }
    }
}

/// Loads a graph whose bytes are all at hand.
pub(super) fn load_bytes(
    input: &Input,
    bytes: Bytes,
    format: Format,
    options: &LoadOptions,
    progress: Progress<'_>,
) -> Result<Graph> {
    let in_file = |error| in_file(input, error);
    if format == Format::Gcsr {
        return stored(input, &bytes, options).map_err(in_file);
    }
    refuse_trust(input, options)?;
    let listing = read(input, &bytes, format, progress).map_err(in_file)?;
    drop(bytes);
    built(input, listing, options, progress).map_err(in_file)
}

/// Leaving out checksums has an effect only where there are some.
pub(super) fn refuse_trust(input: &Input, options: &LoadOptions) -> Result<()> {
    match options.checksums {
        Checksums::Compare => Ok(()),
        Checksums::Trust => Err(Error::usage(format!(
            "--trust-file has no effect on {}, which is no .gcsr file and has no checksums; leave it out",
            input.path().display()
        ))),
    }
}

/// A usage error of the graph's parts is one of the file here.
pub(super) fn in_file(input: &Input, error: Error) -> Error {
    match error {
        Error::Usage(problem) => Error::Format { path: input.path().to_path_buf(), problem },
        other => other,
    }
}

impl Direction {
    /// The kind of pairs, given what the file says.
    pub(super) fn apply(self, kind: Kind) -> Kind {
        match (self, kind) {
            (Direction::Auto, kind) => kind,
            (Direction::Directed, _) => Kind::Directed,
            (Direction::Undirected, Kind::BothWays) => Kind::BothWays,
            (Direction::Undirected, _) => Kind::Undirected,
        }
    }
}

fn built(input: &Input, listing: Listing, options: &LoadOptions, progress: Progress<'_>) -> Result<Graph> {
    progress.tell(LoadStage::Build, 0, 1);
    let kind = options.direction.apply(listing.kind);
    let mut graph = Graph::from_listing(input.graph_name(), listing.arcs, kind, options.view)?;
    listing.warnings.into_iter().for_each(|warning| graph.warn(warning));
    listing.claims.check(input.path(), &mut graph);
    progress.tell(LoadStage::Build, 1, 1);
    Ok(graph)
}

fn read(input: &Input, bytes: &Bytes, format: Format, progress: Progress<'_>) -> Result<Listing> {
    let text = Text { path: input.path(), bytes, progress };
    match format {
        Format::Auto | Format::EdgeList | Format::El | Format::Wel => edge_list::read(&text),
        Format::Mtx => mtx::read(&text),
        Format::Metis => metis::read(&text),
        Format::Gr => gr::read(&text),
        Format::Sg => binary::read_sg(&text),
        Format::Graph500 => binary::read_graph500(&text),
        Format::Gcsr => Err(text.problem("a stored graph has no list of arcs to read")),
    }
}

/// A `.gcsr` graph in the view and direction asked for.
fn stored(input: &Input, bytes: &Bytes, options: &LoadOptions) -> Result<Graph> {
    let backing = match bytes {
        Bytes::Mapped(map) => gcsr::Backing::Mapped(map),
        other => gcsr::Backing::Read(other),
    };
    let graph = gcsr::open(input.path(), &backing, options.checksums)?;
    match (options.direction, graph.facts().directed) {
        (Direction::Directed, false) => Err(Error::Format {
            path: input.path().to_path_buf(),
            problem: "it stores undirected edges, which no longer tell a direction; leave out --directed, or convert the source with it".into(),
        }),
        (Direction::Undirected, true) => graph.with_view(View::Symmetric).map(Graph::into_undirected).and_then(|graph| graph.with_view(options.view)),
        _ => graph.with_view(options.view),
    }
}

impl Graph {
    /// A directed graph whose rows hold both directions, taken as an undirected one.
    fn into_undirected(mut self) -> Graph {
        let loops = self.facts.self_loops;
        self.incoming = Incoming::Same;
        self.facts.directed = false;
        self.facts.arcs = self.outgoing.arcs() as u64;
        // Every edge has two arcs, a self-loop one.
        self.facts.duplicate_arcs =
            self.facts.listed.saturating_sub((self.facts.arcs.saturating_sub(loops)) / 2 + loops);
        self
    }
}

impl Format {
    /// This, or for [`Format::Auto`] the format by content where that is certain, else by the file's ending.
    pub(super) fn or_guess(self, input: &Input, bytes: &[u8]) -> Format {
        if self != Format::Auto {
            return self;
        }
        if bytes.get(..14).is_some_and(|start| start.eq_ignore_ascii_case(b"%%MatrixMarket")) {
            return Format::Mtx;
        }
        if bytes.starts_with(&gcsr::MAGIC) {
            return Format::Gcsr;
        }
        let name = input.path().file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        match unpacked_name(&name).rsplit_once('.').map(|(_, ending)| ending) {
            Some("mtx" | "mm") => Format::Mtx,
            Some("graph" | "metis") => Format::Metis,
            Some("gr") => Format::Gr,
            Some("el") => Format::El,
            Some("wel") => Format::Wel,
            Some("sg") => Format::Sg,
            Some("graph500" | "g500") => Format::Graph500,
            Some("gcsr" | "csr") => Format::Gcsr,
            _ if is_dimacs(bytes) => Format::Gr,
            _ => Format::EdgeList,
        }
    }
}

/// Whether the first line that is no `c` comment declares a DIMACS graph; as an edge list every line would be an error.
fn is_dimacs(bytes: &[u8]) -> bool {
    let mut lines = bytes[..bytes.len().min(1 << 16)].split(|&byte| byte == b'\n');
    lines
        .find(|line| !line.is_empty() && !line.starts_with(b"c ") && *line != b"c")
        .is_some_and(|line| line.starts_with(b"p sp "))
}
