//! What `graph info` says of a graph: facts of the input, degrees, and what the arrays take. One pass over the rows.

use super::{Graph, Incoming};
use rayon::prelude::*;
use serde::Serialize;

/// Facts about a graph, for people and for `graph info --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Info {
    /// What people call the graph.
    pub name: String,
    /// Vertices.
    pub vertices: u64,
    /// Distinct arcs as given; both directions of an undirected edge count, a self-loop once.
    pub arcs: u64,
    /// Whether the input is directed.
    pub directed: bool,
    /// Distinct self-loops.
    pub self_loops: u64,
    /// Listed arcs or edges beyond the first of each kind.
    pub duplicate_arcs: u64,
    /// Entries the input listed.
    pub listed: u64,
    /// The smallest original ID; `null` without vertices.
    pub id_min: Option<i64>,
    /// The largest original ID; `null` without vertices.
    pub id_max: Option<i64>,
    /// Whether the IDs are one range without gaps.
    pub ids_contiguous: bool,
    /// Whether the vertices are numbered in another order than ascending ID.
    pub reordered: bool,
    /// Smallest out-degree, in the view held.
    pub degree_min: u64,
    /// Largest out-degree.
    pub degree_max: u64,
    /// Mean out-degree: arcs held / vertices.
    pub degree_mean: f64,
    /// Vertices without an arc to another vertex, either way; `null` if incoming arcs are not held.
    pub isolated: Option<u64>,
    /// Bytes of each array held.
    pub bytes: BytesHeld,
    /// What the reader found odd.
    pub warnings: Vec<String>,
}

/// Bytes of a graph's arrays, mapped or in memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BytesHeld {
    /// Row beginnings, 8 a vertex.
    pub offsets: u64,
    /// Targets, 4 an arc.
    pub targets: u64,
    /// The same of the transpose, if held apart.
    pub incoming_offsets: u64,
    /// The same of the transpose, if held apart.
    pub incoming_targets: u64,
    /// Original IDs: 0 if they are one range, 8 a vertex if listed, 12 if reordered.
    pub ids: u64,
    /// Whether the targets lie in a mapped file.
    pub mapped: bool,
}

/// Gathers the facts; one pass over the rows.
pub fn info(graph: &Graph) -> Info {
    let rows = graph.outgoing();
    let vertices = graph.vertices() as u32;
    let degrees = || (0..vertices).into_par_iter().map(|v| rows.degree(v));
    let others = |row: &[u32], v: u32| row.iter().any(|&u| u != v);
    let isolated = graph.incoming().map(|incoming| {
        (0..vertices).into_par_iter().filter(|&v| !others(rows.row(v), v) && !others(incoming.row(v), v)).count() as u64
    });
    let facts = graph.facts();
    let ids = graph.ids();
    let id_min = (vertices > 0).then(|| ids.nth(0));
    let id_max = ids.len().checked_sub(1).map(|last| ids.nth(last));
    let (incoming_offsets, incoming_targets) = match &graph.incoming {
        Incoming::Rows(csr) => (8 * csr.offsets().len() as u64, 4 * csr.arcs() as u64),
        Incoming::Same | Incoming::Absent => (0, 0),
    };
    Info {
        name: graph.name().to_string(),
        vertices: u64::from(vertices),
        arcs: facts.arcs,
        directed: facts.directed,
        self_loops: facts.self_loops,
        duplicate_arcs: facts.duplicate_arcs,
        listed: facts.listed,
        id_min,
        id_max,
        ids_contiguous: id_min.zip(id_max).is_none_or(|(min, max)| max.abs_diff(min) < u64::from(vertices)),
        reordered: ids.ascending_order().is_some(),
        degree_min: degrees().min().unwrap_or(0),
        degree_max: degrees().max().unwrap_or(0),
        degree_mean: if vertices == 0 { 0.0 } else { rows.arcs() as f64 / f64::from(vertices) },
        isolated,
        bytes: BytesHeld {
            offsets: 8 * rows.offsets().len() as u64,
            targets: 4 * rows.arcs() as u64,
            incoming_offsets,
            incoming_targets,
            ids: ids.bytes() as u64,
            mapped: rows.targets().is_mapped(),
        },
        warnings: graph.warnings().to_vec(),
    }
}
