//! Graphs in memory: compressed sparse rows, the original IDs beside them, and what the input said about itself.
//!
//! A graph comes from a file, from a generator or from a list of arcs ([`Graph::from_arcs`]). Vertices are
//! numbered densely in ascending original ID unless the graph was reordered ([`Graph::reordered`]), rows are sorted and free
//! of duplicates, and every target was proved to be a vertex: inner loops rely on it. Memory: 4 bytes an arc and 8 a
//! vertex for each direction held, and 8 a vertex for original IDs that are not one range, 12 if they do not ascend.

mod progress;
mod parse_int;
mod ids;
mod piece;
mod numbering;
mod arcs;
mod bucket;
mod rows;
mod build;
mod view;
mod reorder;
mod gcsr;
mod source;
mod text;
mod read;
mod format;
mod load;
mod external_sort;
mod write_text;
mod convert;
pub mod generate;
mod info;

pub use arcs::Arcs;
pub use convert::{Conversion, Converted, convert, convert_observed, write_graph};
pub use format::Format;
pub use gcsr::{Checksums, verify};
pub use generate::{Generator, Recipe};
pub use ids::Ids;
pub use info::{BytesHeld, Info, info};
pub use load::{Direction, LoadOptions, load, load_observed};
pub use progress::{LoadObserver, LoadStage};
pub use reorder::Order;
pub use source::Input;

use crate::base::error::{Error, Result};
use crate::base::memory::Array;
use rayon::prelude::*;
use serde::Serialize;
use std::ops::Range;

/// Elements that a thread checks at a time (chosen: they stay in a core's own cache).
const CHECKED: usize = 1 << 16;

/// Compressed sparse rows: the targets of vertex `v` are `targets[offsets[v]..offsets[v + 1]]`, ascending, each once.
#[derive(Clone, Debug)]
pub struct Csr {
    offsets: Array<u64>,
    targets: Array<u32>,
}

impl Csr {
    /// Accepts offsets and targets after checking that they describe a graph of `offsets.len() - 1` vertices.
    ///
    /// # Errors
    /// The sentence says which rule is broken: no offsets, first offset not 0, falling offsets, last offset not the number
    /// of targets, or a target that is no vertex.
    pub fn new(offsets: Array<u64>, targets: Array<u32>) -> Result<Csr, String> {
        let vertices = Csr::check_ends(&offsets, targets.len())?;
        let places = (0..offsets.len()).into_par_iter().step_by(CHECKED);
        let falls = places.find_map_first(|at| Csr::check_offsets(&offsets, at..at + CHECKED).err());
        let leaves = || targets.par_chunks(CHECKED).find_map_first(|part| Csr::check_targets(part, vertices).err());
        match falls.or_else(leaves) {
            None => Ok(Csr { offsets, targets }),
            Some(problem) => Err(problem),
        }
    }

    /// The first and the last offset; the number of vertices.
    fn check_ends(offsets: &[u64], arcs: usize) -> Result<usize, String> {
        let Some(vertices) = offsets.len().checked_sub(1) else {
            return Err("the offsets are empty; n + 1 are needed for n vertices".into());
        };
        if vertices > Graph::VERTICES_MAX {
            return Err(format!("{vertices} vertices; a graph has at most {}", Graph::VERTICES_MAX));
        }
        if offsets[0] != 0 || offsets[vertices] != arcs as u64 {
            return Err(format!(
                "the offsets run from {} to {}; they must run from 0 to the number of arcs, {arcs}",
                offsets[0], offsets[vertices],
            ));
        }
        Ok(vertices)
    }

    /// The offsets at `places`, which may reach past the end, and the one before them: none is smaller than its predecessor.
    fn check_offsets(offsets: &[u64], places: Range<usize>) -> Result<(), String> {
        let first = places.start.saturating_sub(1);
        let some = &offsets[first..places.end.min(offsets.len())];
        // Below 2^63 a fall sets the sign bit of the difference; all bits together are looked at once.
        let pairs = some.iter().zip(some.get(1..).unwrap_or_default());
        let bits = pairs.fold(0, |bits, (&one, &next)| bits | one | next | next.wrapping_sub(one));
        if bits >> 63 == 0 || some.is_sorted() {
            return Ok(());
        }
        let v = first + some.windows(2).take_while(|pair| pair[0] <= pair[1]).count();
        Err(format!("the offset after vertex {v} is smaller than the one before it"))
    }

    /// Some of the targets: each is one of `vertices` vertices.
    fn check_targets(targets: &[u32], vertices: usize) -> Result<(), String> {
        // Below 2^31 a target beyond the last vertex sets the sign bit of the difference.
        let last = (vertices as u32).wrapping_sub(1);
        let bits = targets.iter().fold(last, |bits, &target| bits | target | last.wrapping_sub(target));
        if bits >> 31 == 0 {
            return Ok(());
        }
        match targets.iter().copied().max().filter(|&target| target as usize >= vertices) {
            None => Ok(()),
            Some(target) => Err(format!("an arc ends at {target}, which is no vertex: there are {vertices}")),
        }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of arcs.
    pub fn arcs(&self) -> usize {
        self.targets.len()
    }

    /// Where each row begins; `vertices + 1` numbers.
    pub fn offsets(&self) -> &Array<u64> {
        &self.offsets
    }

    /// All rows, one after the other.
    pub fn targets(&self) -> &Array<u32> {
        &self.targets
    }

    /// The targets of vertex `v`, ascending.
    ///
    /// # Panics
    /// If `v` is no vertex.
    pub fn row(&self, v: u32) -> &[u32] {
        &self.targets[self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize]
    }

    /// The number of targets of vertex `v`.
    ///
    /// # Panics
    /// If `v` is no vertex.
    pub fn degree(&self, v: u32) -> u64 {
        self.offsets[v as usize + 1] - self.offsets[v as usize]
    }
}

/// Which arcs an algorithm works on. The loader builds just that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// As the input or the user says: directed or undirected.
    AsGiven {
        /// Whether the arcs into each vertex are needed too (held apart only if directed).
        incoming: bool,
    },
    /// Both directions of every arc.
    Symmetric,
    /// Both directions of every arc, and no self-loops: the simple undirected graph.
    Simple,
}

/// What the input said and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Facts {
    /// Whether the graph is directed, as the file or the user said.
    pub directed: bool,
    /// Distinct arcs of the graph as given; an undirected edge counts as two arcs, a self-loop as one.
    pub arcs: u64,
    /// Listed arcs beyond the first of each kind (for an undirected input: listings of an edge beyond its first).
    pub duplicate_arcs: u64,
    /// Distinct self-loops.
    pub self_loops: u64,
    /// Lines or entries that the input listed.
    pub listed: u64,
}

/// A whole graph, in the view one algorithm asked for.
#[derive(Clone, Debug)]
pub struct Graph {
    name: String,
    ids: Ids,
    outgoing: Csr,
    incoming: Incoming,
    facts: Facts,
    warnings: Vec<String>,
    notes: Vec<String>,
}

/// The arcs into each vertex, beside the arcs out of it.
#[derive(Clone, Debug)]
pub enum Incoming {
    /// Every arc is there in both directions: the outgoing rows serve.
    Same,
    /// The transpose of the outgoing rows.
    Rows(Csr),
    /// Directed, and not asked for.
    Absent,
}

impl Graph {
    /// The most vertices a graph can have: one number is kept for "no vertex", one as a sentinel.
    pub const VERTICES_MAX: usize = u32::MAX as usize - 1;

    /// Puts a graph together from parts that fit each other.
    ///
    /// # Errors
    /// When the parts have different numbers of vertices.
    pub fn from_parts(
        name: impl Into<String>,
        ids: Ids,
        outgoing: Csr,
        incoming: Incoming,
        facts: Facts,
    ) -> Result<Graph> {
        let vertices = outgoing.vertices();
        if ids.len() != vertices || matches!(&incoming, Incoming::Rows(csr) if csr.vertices() != vertices) {
            return Err(Error::usage(format!(
                "{} IDs and {vertices} rows do not make one graph; each vertex has one of both",
                ids.len()
            )));
        }
        Ok(Graph { name: name.into(), ids, outgoing, incoming, facts, warnings: Vec::new(), notes: Vec::new() })
    }

    /// What people call it: the data set's name, or the file's without folder and endings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The original IDs.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.outgoing.vertices()
    }

    /// Arcs out of each vertex, in the view asked for.
    pub fn outgoing(&self) -> &Csr {
        &self.outgoing
    }

    /// Arcs into each vertex: the outgoing rows when symmetric, `None` when the view did not ask for them.
    pub fn incoming(&self) -> Option<&Csr> {
        match &self.incoming {
            Incoming::Same => Some(&self.outgoing),
            Incoming::Rows(csr) => Some(csr),
            Incoming::Absent => None,
        }
    }

    /// Whether every arc is there in both directions (by construction, not by inspection).
    pub fn is_symmetric(&self) -> bool {
        matches!(self.incoming, Incoming::Same)
    }

    /// What the input said.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Bytes of rows and IDs, in memory or in a mapped file.
    pub fn bytes(&self) -> usize {
        let rows = |csr: &Csr| csr.offsets.len() * 8 + csr.targets.len() * 4;
        let incoming = if let Incoming::Rows(csr) = &self.incoming { rows(csr) } else { 0 };
        rows(&self.outgoing) + incoming + self.ids.bytes()
    }

    /// Things the reader found odd but not wrong, each a sentence.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds a sentence to [`Graph::warnings`].
    pub fn warn(&mut self, sentence: impl Into<String>) {
        self.warnings.push(sentence.into());
    }

    /// What the reader did that there is to know, though nothing is odd; each a sentence.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Adds a sentence to [`Graph::notes`].
    pub fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }
}
