//! From any input to a file of another format.

use super::external_sort::{self, List};
use super::format::Format;
use super::load::{LoadOptions, load_bytes, load_observed, refuse_trust};
use super::progress::{LoadObserver, Progress};
use super::read::dialect::Dialect;
use super::source::{Bytes, Input, Opened, Stream, open, unpacked_name};
use super::text::{Blocks, content_start};
use super::write_text::{TextFormat, write_text};
use super::{Graph, Order, gcsr};
use crate::base::error::{Error, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Formats that can be written, for messages.
const WRITABLE: &str = ".gcsr, .txt, .el, .mtx, and the last three also with .gz";

/// What a conversion did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Converted {
    /// Vertices of the graph.
    pub vertices: u64,
    /// Arcs in the rows that were written; both directions of an undirected edge count.
    pub arcs: u64,
    /// What the reader found odd and what the output's format cannot hold, each a sentence.
    pub warnings: Vec<String>,
    /// What there is to know about the input, each a sentence.
    pub notes: Vec<String>,
}

/// How to convert.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conversion {
    /// A budget in bytes.
    pub memory: Option<u64>,
    /// A new numbering; without one a `.gcsr` keeps that of the input, and a text is always in ascending ID.
    pub reorder: Option<Order>,
}

/// Loads `input` and writes it to `output` in the format of its ending: `.gcsr`, `.txt` or `.el`, `.mtx`; the texts with `.gz` too.
/// The file appears whole or not at all. With a budget of `memory` bytes, an edge list is built on disk beside the
/// output, to the same bytes; other formats, and a new numbering, are refused when they would not fit.
///
/// # Errors
/// When the input is wrong, the output's ending unknown or without place for an order, the budget too small, or the file cannot
/// be written.
pub fn convert(input: &Input, options: &LoadOptions, output: &Path, how: Conversion) -> Result<Converted> {
    convert_observed(input, options, output, how, None)
}

/// As [`convert`], telling an observer how far the loading is.
///
/// # Errors
/// As [`convert`].
pub fn convert_observed(
    input: &Input,
    options: &LoadOptions,
    output: &Path,
    how: Conversion,
    observer: Option<LoadObserver<'_>>,
) -> Result<Converted> {
    let target = Target::of(output)?; // before the work
    if how.reorder.is_some() && target != Target::Gcsr {
        return Err(Error::usage(format!(
            "--reorder has no effect on {}: a text lists original IDs and cannot hold an order of vertices; write a .gcsr file",
            output.display()
        )));
    }
    let mut graph = match how.memory {
        None => load_observed(input, options, observer)?,
        Some(memory) => load_within(input, options, output, memory, observer)?,
    };
    if let Some(order) = how.reorder {
        let needed = order.bytes_needed(&graph);
        if how.memory.is_some_and(|memory| needed > memory) {
            return Err(Error::usage(format!(
                "--reorder numbers the graph in memory and may need {} MiB; raise --memory or leave one of the two out",
                (needed >> 20) + 1
            )));
        }
        graph = graph.reordered(order)?;
    }
    write_to(&graph, target, output)
}

/// Writes a graph as [`convert`] does, in the view it has.
///
/// # Errors
/// When the output's ending is unknown or the file cannot be written.
pub fn write_graph(graph: &Graph, output: &Path) -> Result<Converted> {
    write_to(graph, Target::of(output)?, output)
}

/// What an output's name asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Gcsr,
    Text { format: TextFormat, is_packed: bool },
}

impl Target {
    fn of(output: &Path) -> Result<Target> {
        let name = output.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let stem = unpacked_name(&name);
        let packing = &name[stem.len()..];
        let format = match stem.rsplit_once('.').map(|(_, ending)| ending) {
            Some("gcsr") if packing.is_empty() => return Ok(Target::Gcsr),
            Some("txt") => TextFormat::Snap,
            Some("el") => TextFormat::Gap,
            Some("mtx") => TextFormat::Mtx,
            _ => return Err(Error::usage(format!("{}: cannot write this format; use {WRITABLE}", output.display()))),
        };
        match packing {
            "" | ".gz" => Ok(Target::Text { format, is_packed: !packing.is_empty() }),
            _ => Err(Error::usage(format!("{}: cannot write {packing}; use {WRITABLE}", output.display()))),
        }
    }
}

fn write_to(graph: &Graph, target: Target, output: &Path) -> Result<Converted> {
    let mut warnings = graph.warnings().to_vec();
    match target {
        Target::Gcsr => graph.write_gcsr(output)?,
        Target::Text { format, is_packed } => {
            let graph = graph.ascending()?;
            gcsr::replace_file(output, |file| {
                let mut out = BufWriter::with_capacity(1 << 16, file);
                let more = if is_packed {
                    let mut packer = GzEncoder::new(&mut out, Compression::default());
                    let more = write_text(&graph, format, &mut packer)?;
                    packer.finish()?;
                    more
                } else {
                    write_text(&graph, format, &mut out)?
                };
                warnings.extend(more);
                out.flush()
            })?
        }
    }
    Ok(Converted {
        vertices: graph.vertices() as u64,
        arcs: graph.outgoing().arcs() as u64,
        warnings,
        notes: graph.notes().to_vec(),
    })
}

fn load_within(
    input: &Input,
    options: &LoadOptions,
    output: &Path,
    memory: u64,
    observer: Option<LoadObserver<'_>>,
) -> Result<Graph> {
    if memory < external_sort::MEMORY_MIN {
        return Err(Error::usage(format!(
            "--memory {memory}: too little; give at least {} MiB",
            external_sort::MEMORY_MIN >> 20
        )));
    }
    let progress = Progress(observer);
    let (mut stream, growth) = match open(input)? {
        Opened::Whole(bytes) => (Stream::plain(input.path(), bytes)?, 1),
        Opened::Stream(stream) => (stream, 8), // a packed size says little; text packs to an eighth at best, mostly
    };
    let mut first = Vec::new();
    let goal = (memory / 16).min(16 << 20) as usize;
    let is_whole = stream.read(&mut first, goal, progress)? < goal;
    let start = content_start(input.path(), &first, options.skip_lines)?;
    let format = options.format.or_guess(input, &first[start..], is_whole)?;
    let remarks = stream.remarks();
    let dialect = Dialect::of(&first, start);
    let mut graph = if format.is_edge_list() && !dialect.is_bipartite() {
        refuse_trust(input, options)?;
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let list = List { blocks: Blocks::new(stream, first, goal, progress), dialect, start };
        external_sort::build(input, list, options, memory, folder)?
    } else if format == Format::Gcsr && growth == 1 {
        return load_observed(input, options, observer); // it is mapped and needs no memory
    } else {
        let needed = 3 * growth * stream.total().max(first.len() as u64); // a graph being built takes thrice its text
        if needed > memory {
            return Err(Error::usage(format!(
                "--memory works on edge lists of one set of vertices; this input is read whole and may need {} MiB, so raise --memory \
                 or leave it out",
                (needed >> 20) + 1
            )));
        }
        load_bytes(input, Bytes::Owned(stream.read_whole(first, progress)?), format, options, progress)?
    };
    remarks.warn(input.path(), &mut graph);
    Ok(graph)
}
