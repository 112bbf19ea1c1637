//! From an input to a graph: open, unpack, tell the format, read, number, build.

use super::build::Kind;
use super::read::{Listing, binary, edge_list, gr, metis, mtx};
use super::source::{Bytes, Input, open, unpacked_name};
use super::text::{LoadObserver, LoadStage, Progress, Text};
use super::{Graph, View};
use crate::error::{Error, Result};
use clap::ValueEnum;

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
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions { format: Format::Auto, direction: Direction::Auto, view: View::AsGiven { incoming: false } }
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
    let bytes = open(input, progress)?;
    let format = match options.format {
        Format::Auto => guess(input, &bytes),
        format => format,
    };
    let Listing { arcs, mut kind, claims, warnings } = read(input, &bytes, format, progress)?;
    drop(bytes);
    kind = match (options.direction, kind) {
        (Direction::Auto, kind) => kind,
        (Direction::Directed, _) => Kind::Directed,
        (Direction::Undirected, Kind::BothWays) => Kind::BothWays,
        (Direction::Undirected, _) => Kind::Undirected,
    };
    progress.tell(LoadStage::Build, 0, 1);
    let in_file = |error| match error {
        Error::Usage(problem) => Error::Format { path: input.path().to_path_buf(), problem },
        other => other,
    };
    let mut graph = Graph::from_listing(input.graph_name(), arcs, kind, options.view).map_err(in_file)?;
    progress.tell(LoadStage::Build, 1, 1);
    warnings.into_iter().for_each(|warning| graph.warn(warning));
    let found = [
        (claims.vertices, graph.vertices() as u64, "Nodes", "vertices"),
        (claims.edges, graph.facts().listed, "Edges", "lines with an edge"),
    ];
    for (claim, found, label, what) in found {
        if let Some(claim) = claim.filter(|&claim| claim != found) {
            graph.warn(format!(
                "{}: a comment says {label}: {claim}, but the file has {found} {what}; the file may be incomplete",
                input.path().display()
            ));
        }
    }
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
        Format::Gcsr => Err(text.problem("this format cannot be read yet")),
    }
}

/// The format by content where that is certain, else by the ending.
fn guess(input: &Input, bytes: &[u8]) -> Format {
    if bytes.get(..14).is_some_and(|start| start.eq_ignore_ascii_case(b"%%MatrixMarket")) {
        return Format::Mtx;
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
        _ => Format::EdgeList,
    }
}
