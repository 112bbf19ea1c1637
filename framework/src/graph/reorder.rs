//! Other numberings of the same graph, for the sake of caches; original IDs stay, and with them every answer.
//!
//! Only the dense numbers change: [`Ids`] remembers which vertex has which ID and which comes next in ascending ID. Cost of a new
//! numbering: 4 bytes a vertex for it and 12 for the IDs; the rows are built anew in parallel by the rows' own counting sort
//! ([`rows`](super::rows)), O(arcs + vertices) plus the sorting of rows.
//! Sources: Zhang, Kiriansky, Mendis, Amarasinghe, Zaharia, "Making Caches Work for Graph Analytics", IEEE Big Data 2017 (hub);
//! Cuthill, McKee, "Reducing the Bandwidth of Sparse Symmetric Matrices", ACM National Conference 1969; George, "Computer
//! Implementation of the Finite Element Method", Stanford 1971 (reversal); George, Liu, "An Implementation of a
//! Pseudoperipheral Node Finder", ACM TOMS 1979.

use super::rows::{ArcSelection, PairSink, PairSource, Rows, rows};
use super::{Csr, Graph, Ids, Incoming};
use crate::base::error::{Error, Result};
use crate::base::id::GlobalId;
use crate::base::memory::{Array, Buf};
use clap::ValueEnum;
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Reverse;

/// Searches for a far vertex in one component, at most (chosen; two or three do in nearly every graph).
const SEARCHES: usize = 10;

/// How vertices are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Order {
    /// By falling out-degree
    Degree,
    /// Vertices above the mean out-degree first, by falling degree; the others keep their order
    Hub,
    /// Reverse Cuthill-McKee: neighbours close to each other
    Rcm,
}

impl Order {
    /// The vertices in the new order: number `i` goes to the `i`-th of them. Ties go to the smaller present number.
    ///
    /// Cost: `Degree` and `Hub` sort vertices in parallel, O(n log n). `Rcm` runs on one thread: a few searches through each component and
    /// the sorting of rows by degree; it needs both directions of every arc, which for a directed graph are built for it.
    pub fn of(self, graph: &Graph) -> Vec<u32> {
        let csr = &graph.outgoing;
        let all = 0..csr.vertices() as u32;
        let falling = |v: &u32| (Reverse(csr.degree(*v)), *v);
        match self {
            Order::Degree => {
                let mut order: Vec<u32> = all.collect();
                order.par_sort_unstable_by_key(falling);
                order
            }
            Order::Hub => {
                // degree > arcs / n, without rounding.
                let is_hub = |v: &u32| u128::from(csr.degree(*v)) * csr.vertices() as u128 > csr.arcs() as u128;
                let (mut order, others): (Vec<u32>, Vec<u32>) = all.partition(is_hub);
                order.par_sort_unstable_by_key(falling);
                order.extend(others);
                order
            }
            Order::Rcm if graph.is_symmetric() => reverse_cuthill_mckee(csr),
            Order::Rcm => reverse_cuthill_mckee(&rows(csr.vertices(), Rows::of(csr), ArcSelection::Both, false).0),
        }
    }

    /// Bytes that [`Graph::reordered`] needs at most beside the graph.
    pub(super) fn bytes_needed(self, graph: &Graph) -> u64 {
        let (vertices, arcs) = (graph.vertices() as u64, graph.outgoing.arcs() as u64);
        let directions = match graph.incoming {
            Incoming::Rows(_) => 2,
            Incoming::Same | Incoming::Absent => 1,
        };
        // Entries while dealing, at most 8 bytes, and targets twice while copying; a result before stays.
        let building = |arcs: u64| arcs * (8 + 8) + 16 * vertices;
        let other = if directions == 2 { 4 * arcs + 8 * vertices } else { 0 };
        let both = if self == Order::Rcm && !graph.is_symmetric() { building(2 * arcs) } else { 0 };
        (building(arcs) + other).max(both) + 40 * vertices
    }
}

impl Graph {
    /// The same graph, numbered in another order. The order does not depend on the present numbering, only on the graph and its
    /// original IDs.
    ///
    /// # Errors
    /// Never for a sound graph; as [`Graph::renumbered`].
    pub fn reordered(&self, order: Order) -> Result<Graph> {
        let graph = self.ascending()?;
        graph.renumbered(&order.of(&graph))
    }

    /// The same graph, numbered in ascending original ID; itself if it is.
    ///
    /// # Errors
    /// Never for a sound graph; as [`Graph::renumbered`].
    pub fn ascending(&self) -> Result<Cow<'_, Graph>> {
        match self.ids.ascending_order() {
            None => Ok(Cow::Borrowed(self)),
            Some(order) => self.renumbered(order).map(Cow::Owned),
        }
    }

    /// The same graph with number `i` for the vertex `order[i]`.
    ///
    /// # Errors
    /// When `order` does not name each vertex once.
    pub fn renumbered(&self, order: &[u32]) -> Result<Graph> {
        let numbers = inverse(order, self.vertices()).map_err(Error::usage)?;
        let mut originals = Buf::<i64>::zeroed(order.len());
        originals.par_iter_mut().zip(order).for_each(|(id, &v)| *id = self.ids.original(GlobalId(v)));
        let mut ascending = Buf::<u32>::zeroed(order.len());
        ascending.par_iter_mut().enumerate().for_each(|(place, v)| *v = numbers[self.ids.at(place).0 as usize]);
        let ids = Ids::reordered(Array::from(originals), Array::from(ascending)).map_err(Error::usage)?;
        let incoming = match &self.incoming {
            Incoming::Rows(csr) => Incoming::Rows(renamed(csr, &numbers)),
            Incoming::Same => Incoming::Same,
            Incoming::Absent => Incoming::Absent,
        };
        Ok(Graph {
            name: self.name.clone(),
            ids,
            outgoing: renamed(&self.outgoing, &numbers),
            incoming,
            facts: self.facts.clone(),
            warnings: self.warnings.clone(),
            notes: self.notes.clone(),
        })
    }
}

/// The place of each vertex in an order that names each of `vertices` once.
fn inverse(order: &[u32], vertices: usize) -> Result<Vec<u32>, String> {
    let wrong = || format!("an order names each of the {vertices} vertices once; this one does not");
    let mut places = vec![u32::MAX; vertices];
    for (place, &v) in order.iter().enumerate() {
        match places.get_mut(v as usize) {
            Some(free) if *free == u32::MAX => *free = place as u32,
            _ => return Err(wrong()),
        }
    }
    if order.len() == vertices { Ok(places) } else { Err(wrong()) }
}

/// The rows with other numbers for all vertices.
fn renamed(csr: &Csr, numbers: &[u32]) -> Csr {
    let feeds = Rows::of(csr).into_iter().map(|rows| Renamed { rows, numbers }).collect();
    rows(csr.vertices(), feeds, ArcSelection::Out, false).0
}

/// Pairs whose ends get other numbers.
struct Renamed<'a> {
    rows: Rows<'a>,
    numbers: &'a [u32],
}

impl PairSource for Renamed<'_> {
    fn each(&self, taker: impl PairSink) {
        self.rows.each(RelabelSink { taker, numbers: self.numbers });
    }
}

struct RelabelSink<'a, T> {
    taker: T,
    numbers: &'a [u32],
}

impl<T: PairSink> PairSink for RelabelSink<'_, T> {
    #[inline(always)]
    fn pair(&mut self, u: u32, v: u32) {
        self.taker.pair(self.numbers[u as usize], self.numbers[v as usize]);
    }
}

/// Component after component, each from a far vertex on: the neighbours of each vertex by rising degree. Then all reversed.
fn reverse_cuthill_mckee(csr: &Csr) -> Vec<u32> {
    let by_degree = |some: &mut [u32]| some.sort_unstable_by_key(|&v| (csr.degree(v), v));
    let mut is_reached = vec![false; csr.vertices()];
    let (mut order, mut scratch) = (Vec::with_capacity(csr.vertices()), Vec::new());
    for first in 0..csr.vertices() as u32 {
        if !is_reached[first as usize] {
            let start = far_vertex(csr, first, &mut is_reached, &mut scratch);
            flood(csr, start, &mut is_reached, &mut order, by_degree);
        }
    }
    order.reverse();
    order
}

/// A vertex of small degree that is about as far from some other as any in the component of `start`: the last level of a
/// search becomes the root of the next until the levels grow no more.
fn far_vertex(csr: &Csr, start: u32, is_reached: &mut [bool], queue: &mut Vec<u32>) -> u32 {
    let (mut root, mut most) = (start, None);
    for _ in 0..SEARCHES {
        queue.clear();
        let levels = flood(csr, root, is_reached, queue, |_| {});
        queue.iter().for_each(|&v| is_reached[v as usize] = false);
        let far = queue[levels.last..].iter().copied().min_by_key(|&v| (csr.degree(v), v));
        match far.filter(|_| Some(levels.depth) > most) {
            Some(far) => (root, most) = (far, Some(levels.depth)),
            None => break,
        }
    }
    root
}

/// What a search found.
struct Levels {
    /// Levels beside the root's.
    depth: usize,
    /// Where in the queue the last level begins.
    last: usize,
}

/// Appends to `queue` all vertices that are reached from `root` and were not before, level by level; `arrange` orders those that
/// one vertex reaches.
fn flood(csr: &Csr, root: u32, is_reached: &mut [bool], queue: &mut Vec<u32>, arrange: impl Fn(&mut [u32])) -> Levels {
    let mut levels = Levels { depth: 0, last: queue.len() };
    is_reached[root as usize] = true;
    queue.push(root);
    let mut next = levels.last;
    loop {
        let end = queue.len();
        while next < end {
            let found = queue.len();
            for &v in csr.row(queue[next]) {
                if !is_reached[v as usize] {
                    is_reached[v as usize] = true;
                    queue.push(v);
                }
            }
            arrange(&mut queue[found..]);
            next += 1;
        }
        if queue.len() == end {
            return levels;
        }
        levels = Levels { depth: levels.depth + 1, last: end };
    }
}

#[cfg(test)]
mod tests;
