//! From an input to a graph: open, unpack, tell the format, read, number, build.

use super::build::Kind;
use super::format::Format;
use super::gcsr::{self, Checksums};
use super::progress::{LoadObserver, LoadStage, Progress};
use super::read::dialect::Dialect;
use super::read::{ParsedEdges, adjacency, binary, edge_list, gr, metis, mtx};
use super::source::{Bytes, Input, Opened, open};
use super::text::{Blocks, Text, content_start};
use super::{Graph, Incoming, View};
use crate::base::error::{Error, Result};
use clap::ValueEnum;

/// Bytes of a packed text that are read at a time (chosen: as the largest pieces of a plain one, halved).
const BLOCK: usize = 4 << 20;

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
    /// Lines of a text to leave out before anything else is looked at.
    pub skip_lines: u64,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            format: Format::Auto,
            direction: Direction::Auto,
            view: View::AsGiven { incoming: false },
            checksums: Checksums::Compare,
            skip_lines: 0,
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
    match open(input)? {
        Opened::Whole(bytes) => {
            let start = content_start(input.path(), &bytes, options.skip_lines)?;
            let format = options.format.or_guess(input, &bytes[start..], true)?;
            load_bytes(input, bytes, format, options, progress)
        }
        Opened::Stream(mut stream) => {
            let mut first = Vec::new();
            let is_whole = stream.read(&mut first, BLOCK, progress)? < BLOCK;
            let start = content_start(input.path(), &first, options.skip_lines)?;
            let format = options.format.or_guess(input, &first[start..], is_whole)?;
            let remarks = stream.remarks();
            let mut graph = if format.is_edge_list() {
                refuse_trust(input, options)?;
                let dialect = Dialect::of(&first, start);
                let blocks = Blocks::new(stream, first, BLOCK, progress);
                let listing = edge_list::read_blocks(blocks, input.path(), start, &dialect)?;
                built(input, listing, options, progress).map_err(|error| in_file(input, error))?
            } else {
                let bytes = Bytes::Owned(stream.read_whole(first, progress)?);
                load_bytes(input, bytes, format, options, progress)?
            };
            remarks.warn(input.path(), &mut graph);
            Ok(graph)
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
    if options.skip_lines > 0 && !format.is_text() {
        return Err(Error::usage(format!(
            "--skip-lines has no effect on {}, which is no text; leave it out",
            input.path().display()
        )));
    }
    if format == Format::Gcsr {
        return stored(input, &bytes, options).map_err(in_file);
    }
    refuse_trust(input, options)?;
    let start = if format.is_text() { content_start(input.path(), &bytes, options.skip_lines)? } else { 0 };
    let text = Text { path: input.path(), bytes: &bytes, start, progress };
    let listing = read(&text, format, options.format == Format::Auto).map_err(in_file)?;
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

fn built(input: &Input, listing: ParsedEdges, options: &LoadOptions, progress: Progress<'_>) -> Result<Graph> {
    progress.tell(LoadStage::Build, 0, 1);
    let kind = options.direction.apply(listing.kind);
    let mut graph = Graph::from_listing(input.graph_name(), listing.arcs, kind, options.view)?;
    listing.warnings.into_iter().for_each(|warning| graph.warn(warning));
    listing.notes.into_iter().for_each(|note| graph.note(note));
    listing.claims.check(input.path(), &mut graph);
    progress.tell(LoadStage::Build, 1, 1);
    Ok(graph)
}

fn read(text: &Text<'_>, format: Format, is_guessed: bool) -> Result<ParsedEdges> {
    match format {
        Format::Auto | Format::EdgeList | Format::El | Format::Wel => edge_list::read(text),
        Format::Mtx => mtx::read(text),
        Format::Metis => metis::read(text),
        Format::Gr if binary::is_galois(text.bytes) => binary::read_galois(text),
        Format::Gr => gr::read(text),
        Format::Adjacency => adjacency::read(text),
        Format::Galois => binary::read_galois(text),
        Format::Gbbs => binary::read_gbbs(text),
        Format::Sg => binary::read_sg(text, 4),
        Format::Wsg => binary::read_sg(text, 8),
        Format::Graph500 if is_guessed => binary::read_graph500_by_size(text),
        Format::Graph500 => binary::read_graph500(text),
        Format::Graph500Packed => binary::read_graph500_packed(text),
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
