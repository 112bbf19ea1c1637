//! Cutting a graph into parts. Each rank cuts its own part and learns from its peers which of its vertices they see.

use super::{LocalRows, Part, Routes};
use crate::base::error::{Error, Result};
use crate::base::id::{GlobalId, LocalId};
use crate::base::memory::{Array, Buf, as_vertices};
use crate::graph::{Csr, Graph};
use crate::host::{CachePadded, Pool};
use crate::transport::Transport;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Where each of `ranks` contiguous ranges begins, and the end: balanced by arcs, out and in, plus two a vertex.
pub fn bounds(graph: &Graph, ranks: usize) -> Vec<u32> {
    let n = graph.vertices();
    let cost = |v: usize| {
        let incoming = graph.incoming().filter(|_| !graph.is_symmetric()).map_or(0, |csr| csr.offsets()[v]);
        graph.outgoing().offsets()[v] + incoming + 2 * v as u64
    };
    cuts(n, ranks, cost)
}

/// Cuts `0..n` into `pieces` by a rising cost, `cost(v)` being the cost of all before `v`.
fn cuts(n: usize, pieces: usize, cost: impl Fn(usize) -> u64) -> Vec<u32> {
    let total = u128::from(cost(n));
    let mut bounds: Vec<u32> = (0..pieces)
        .map(|piece| {
            let target = (total * piece as u128 / pieces as u128) as u64;
            partition_point(n, |v| cost(v) < target) as u32
        })
        .collect();
    bounds.push(n as u32);
    bounds
}

fn partition_point(n: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low.midpoint(high);
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Chunks of a part, about 512: enough for balance and stealing, few enough that claiming one costs nothing. Their number does
/// not depend on threads.
const CHUNKS: usize = 512;
/// Below this cost a chunk is not worth claiming.
const CHUNK_COST_MIN: u64 = 8192;

fn chunks(owned: usize, offsets: &[u64]) -> Vec<u32> {
    let cost = |v: usize| offsets[v] + 2 * v as u64;
    let pieces = (cost(owned) / CHUNK_COST_MIN).clamp(1, CHUNKS as u64) as usize;
    let mut bounds: Vec<u32> =
        cuts(owned, pieces, cost).into_iter().map(|bound| bound.next_multiple_of(64).min(owned as u32)).collect();
    bounds[0] = 0;
    bounds.dedup();
    if bounds.len() == 1 {
        bounds.push(owned as u32);
    }
    bounds
}

impl Part {
    /// Cuts this rank's part.
    ///
    /// # Errors
    /// When a peer is lost, or names a vertex that is not mine.
    pub fn cut(graph: &Graph, transport: &mut dyn Transport, pool: &Pool) -> Result<Part> {
        let ranks = transport.ranks();
        let graph_arcs = graph.outgoing().arcs() as u64;
        if ranks == 1 {
            let rows = |csr: &Csr| LocalRows { offsets: csr.offsets().clone(), targets: as_vertices(csr.targets()) };
            let outgoing = rows(graph.outgoing());
            let incoming = graph.incoming().map(rows);
            let owned = graph.vertices();
            return Ok(Part {
                rank: transport.rank(),
                first: 0,
                owned: owned as u32,
                ghost_base: owned as u32,
                ghosts: Vec::new(),
                graph_vertices: owned,
                graph_arcs,
                chunks: chunks(owned, &outgoing.offsets),
                incoming_chunks: chunks(owned, &incoming.as_ref().unwrap_or(&outgoing).offsets),
                outgoing,
                incoming,
                routes: Routes::new(vec![Vec::new()], vec![0, 0]),
                arc_sums: None,
            });
        }
        let bounds = bounds(graph, ranks);
        let me = transport.rank().index();
        let range = bounds[me]..bounds[me + 1];
        let owned = range.end - range.start;
        let one_direction: Vec<&Csr> = match graph.incoming() {
            Some(incoming) if !graph.is_symmetric() => vec![graph.outgoing(), incoming],
            _ => vec![graph.outgoing()],
        };
        let places = Places::of(&one_direction, range.clone(), graph.vertices(), pool);
        let ghosts = places.list();
        let rows = |csr: &Csr| places.rows(csr, pool);
        let outgoing = rows(graph.outgoing());
        let incoming = match graph.incoming() {
            Some(_) if graph.is_symmetric() => Some(outgoing.clone()),
            Some(csr) => Some(rows(csr)),
            None => None,
        };
        let ghost_starts: Vec<u32> =
            bounds.iter().map(|&bound| ghosts.partition_point(|ghost| ghost.0 < bound) as u32).collect();
        let copied = tell_owners(transport, &ghosts, &ghost_starts, range.start, owned)?;
        Ok(Part {
            rank: transport.rank(),
            first: range.start,
            owned,
            ghost_base: places.ghost_base,
            ghosts,
            graph_vertices: graph.vertices(),
            graph_arcs,
            chunks: chunks(owned as usize, &outgoing.offsets),
            incoming_chunks: chunks(owned as usize, &incoming.as_ref().unwrap_or(&outgoing).offsets),
            outgoing,
            incoming,
            routes: Routes::new(copied, ghost_starts),
            arc_sums: None,
        })
    }
}

/// Sends each owner the list of its vertices that are ghosts here; gives back which of mine are ghosts where.
fn tell_owners(
    transport: &mut dyn Transport,
    ghosts: &[GlobalId],
    ghost_starts: &[u32],
    first: u32,
    owned: u32,
) -> Result<Vec<Vec<LocalId>>> {
    let ranks = transport.ranks();
    let (mut outgoing, mut incoming) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
    for (peer, message) in outgoing.iter_mut().enumerate() {
        for ghost in &ghosts[ghost_starts[peer] as usize..ghost_starts[peer + 1] as usize] {
            message.extend_from_slice(&ghost.0.to_le_bytes());
        }
    }
    transport.exchange(&mut outgoing, &mut incoming)?;
    let mine = |peer: usize, word: &[u8]| {
        let global = u32::from_le_bytes(word.try_into().expect("four bytes"));
        global.checked_sub(first).filter(|&local| local < owned).map(LocalId::new).ok_or_else(|| Error::PeerLost {
            rank: crate::base::id::Rank(peer as u32),
            reason: format!("it asked for vertex {global}, which this rank does not own"),
        })
    };
    incoming
        .iter()
        .enumerate()
        .map(|(peer, message)| message.chunks_exact(4).map(|word| mine(peer, word)).collect())
        .collect()
}

/// The local number of every vertex that this part sees: a bitmap of ghosts with counts, one bit a vertex of the graph.
struct Places {
    range: std::ops::Range<u32>,
    ghost_base: u32,
    seen: Vec<u64>,
    before: Vec<u32>,
}

impl Places {
    fn of(directions: &[&Csr], range: std::ops::Range<u32>, vertices: usize, pool: &Pool) -> Places {
        let seen: Vec<AtomicU64> = (0..vertices.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        for csr in directions {
            let targets = &csr.targets()[span(csr, &range)];
            pool.chunks(targets.len().div_ceil(1 << 16), |_, chunk| {
                for &target in &targets[chunk << 16..targets.len().min((chunk + 1) << 16)] {
                    if !range.contains(&target) {
                        let (word, bit) = (&seen[target as usize / 64], 1 << (target % 64));
                        // Relaxed: the end of the region publishes the bits.
                        if word.load(Relaxed) & bit == 0 {
                            word.fetch_or(bit, Relaxed);
                        }
                    }
                }
            });
        }
        let seen: Vec<u64> = seen.into_iter().map(AtomicU64::into_inner).collect();
        let mut count = 0;
        let before = seen
            .iter()
            .map(|word| {
                count += word.count_ones();
                count - word.count_ones()
            })
            .collect();
        let ghost_base = (range.end - range.start).next_multiple_of(64);
        Places { range, ghost_base, seen, before }
    }

    fn list(&self) -> Vec<GlobalId> {
        let bits =
            |(word, &seen): (usize, &u64)| crate::host::access::vertices_of(word, seen).map(|v| GlobalId(v.number()));
        self.seen.iter().enumerate().flat_map(bits).collect()
    }

    fn place(&self, target: u32) -> LocalId {
        if self.range.contains(&target) {
            return LocalId::new(target - self.range.start);
        }
        let word = target as usize / 64;
        let before = self.seen[word] & ((1 << (target % 64)) - 1);
        LocalId::new(self.ghost_base + self.before[word] + before.count_ones())
    }

    fn rows(&self, csr: &Csr, pool: &Pool) -> LocalRows {
        let owned = self.range.len();
        let span = span(csr, &self.range);
        let ghosts = self.before.last().map_or(0, |before| before + self.seen.last().map_or(0, |w| w.count_ones()));
        let mut offsets = Buf::<u64>::zeroed(self.ghost_base as usize + ghosts as usize + 1);
        let first = &csr.offsets()[self.range.start as usize..=self.range.end as usize];
        for (slot, &offset) in offsets.iter_mut().zip(first) {
            *slot = offset - span.start as u64;
        }
        offsets[owned..].fill(span.len() as u64);
        let mut targets = Buf::<LocalId>::zeroed(span.len());
        let mut none: Vec<CachePadded<()>> = (0..pool.threads()).map(|_| CachePadded(())).collect();
        let source = &csr.targets()[span];
        let mut pieces: Vec<_> = targets.chunks_mut(1 << 14).zip(source.chunks(1 << 14)).collect();
        pool.chunks_over(&mut none, &mut pieces, |(), _, (to, from)| {
            for (slot, &target) in to.iter_mut().zip(*from) {
                *slot = self.place(target);
            }
        });
        LocalRows { offsets: Array::from(offsets), targets: Array::from(targets) }
    }
}

fn span(csr: &Csr, range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    csr.offsets()[range.start as usize] as usize..csr.offsets()[range.end as usize] as usize
}
