//! Visiting each vertex once, level by level: pushes along the frontier's arcs or pulls into vertices that have not joined.
//!
//! Four ways, chosen by the agreed numbers of the whole graph, so that all ranks choose alike (a rank that pushed while a peer
//! pulled would miss the arcs between them):
//! a small frontier is pushed by one thread without branches; a larger one by all threads from queue to queue; a wide one only
//! sets bits, and a pass over the words then visits the new vertices in order; and when the frontier has most of the arcs,
//! every vertex that has not joined looks back for a neighbour in it, one thread owning each word of 64.
//! Source: Beamer, Asanovic, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.

use super::Step;
use crate::base::id::LocalId;
use crate::base::tally::Tally;
use crate::frontier::{DirtySet, FrontierFormat, visit_pulls};
use crate::host::CachePadded;
use crate::host::access::{Access, Bitmap, Concurrent, Sequential, append_where, vertices_of};
use crate::op::VisitOp;
use crate::partition::{LocalRows, Part};
use crate::step::monitor::{
    NoObserver, ObserverKind, OperatorMonitor, SharedVisitChecksum, VisitChecksum, VisitObserver, WithChecksum,
};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Frontiers with at most this many arcs are pushed by one thread: the others cost more than they bring, by cache lines that
/// change hands (road-FLA, two threads: 23.3 to 20.1 ms against 4,096).
const ALONE_ARCS: u64 = 16_384;
/// Push to bits when the frontier has more arcs than 1 / WIDE of the vertices (measured on urand-20).
const WIDE: u64 = 32;
/// Frontier vertices that a thread claims at once.
pub(super) const PIECE: usize = 64;
/// How far ahead in the frontier offsets and rows are asked for (road-FLA: 28 to 23 ms; nothing on the others).
pub(super) const AHEAD: usize = 8;

impl Step<'_> {
    /// Visits every vertex that an arc from the frontier leads to and that has not joined before; those are the next frontier.
    pub fn push_or_pull<O: VisitOp>(&mut self, op: &O) -> Tally {
        if self.is_on_device() {
            return self.device_visit(op);
        }
        match self.monitor.as_deref().and_then(|monitor| monitor.set_once()) {
            None => self.visit_level::<O, NoObserver>(op),
            Some(_) => self.visit_level::<O, WithChecksum>(op),
        }
    }

    fn visit_level<O: VisitOp, W: ObserverKind>(&mut self, op: &O) -> Tally {
        self.frontier.apply_exchange(self.part);
        let (arcs, vertices) = (self.total.arcs, self.part.graph_vertices() as u64);
        self.frontier.remaining = self.frontier.remaining.saturating_sub(self.total.active);
        let pulls = visit_pulls(self.part, &self.total, self.frontier.remaining);
        // A pull reads at least one arc for each vertex that looks, and seldom many more.
        let reads = if pulls { self.frontier.arcs.min(self.part.owned() as u64) } else { self.frontier.arcs };
        self.consume(self.frontier.count, reads, op.scalars());
        let is_wide = pulls || arcs >= vertices / WIDE && arcs > ALONE_ARCS;
        if pulls {
            self.frontier.make_bitmap();
            self.visit_pull::<O, W>(op);
        } else {
            self.frontier.make_queue(self.part);
            match (is_wide, self.is_alone()) {
                (false, alone) if alone || self.frontier.arcs <= ALONE_ARCS => self.visit_push_alone::<O, W>(op),
                (false, _) => self.visit_push::<O, W>(op),
                (true, true) => self.visit_push_bits::<O, Sequential, W>(op),
                (true, false) => self.visit_push_bits::<O, Concurrent, W>(op),
            }
        }
        self.frontier.dirty = DirtySet::Frontier;
        Tally { active: self.frontier.count, arcs: self.frontier.arcs, ..Tally::default() }
    }

    /// Queue to queue, on one thread.
    fn visit_push_alone<O: VisitOp, W: ObserverKind>(&mut self, op: &O) {
        let (part, frontier) = (self.part, &mut self.frontier);
        let bind = self.fields.bind();
        let (view, observer) =
            (op.bind(&bind), W::over(&bind, part, self.monitor.as_deref().and_then(OperatorMonitor::set_once)));
        let visits = SharedVisitChecksum::default();
        let out = &mut frontier.next_queues[0].0;
        for queue in &frontier.queues {
            for (i, &u) in queue.0.iter().enumerate() {
                prefetch_row_of(part, &queue.0, i);
                append_where(part.outgoing().of(u), out, |v| frontier.visited.set::<Sequential>(v));
            }
        }
        frontier.arcs = visit_all(op, view, observer, part, out, &visits);
        frontier.swap_queues(part);
        self.visited(&visits);
    }

    /// Queue to queue, on all threads.
    fn visit_push<O: VisitOp, W: ObserverKind>(&mut self, op: &O) {
        let (part, frontier) = (self.part, &mut self.frontier);
        let bind = self.fields.bind();
        let (view, observer) =
            (op.bind(&bind), W::over(&bind, part, self.monitor.as_deref().and_then(OperatorMonitor::set_once)));
        let visits = SharedVisitChecksum::default();
        let (visited, queues) = (&frontier.visited, &frontier.queues);
        let pieces = pieces(queues);
        let (next, arcs) = (CachePadded(AtomicUsize::new(0)), AtomicU64::new(0));
        self.pool.run_with(&mut frontier.next_queues, |out, _| {
            while let Some(piece) = pieces.get(next.0.fetch_add(1, Relaxed)) {
                for (i, &u) in piece.iter().enumerate() {
                    prefetch_row_of(part, piece, i);
                    out.extend(part.outgoing().of(u).iter().filter(|&&v| visited.set::<Concurrent>(v)));
                }
            }
            arcs.fetch_add(visit_all(op, view, observer, part, out, &visits), Relaxed);
        });
        frontier.arcs = arcs.into_inner();
        frontier.swap_queues(part);
        self.visited(&visits);
    }

    /// Queue to bits: arcs only set bits; a pass over the words then visits the new vertices in order.
    fn visit_push_bits<O: VisitOp, A: Access, W: ObserverKind>(&mut self, op: &O) {
        let (part, frontier) = (self.part, &mut self.frontier);
        let bind = self.fields.bind();
        let (view, observer) =
            (op.bind(&bind), W::over(&bind, part, self.monitor.as_deref().and_then(OperatorMonitor::set_once)));
        let visits = SharedVisitChecksum::default();
        let (visited, before) = (&frontier.visited, &frontier.bits);
        copy(visited, before);
        let pieces = pieces(&frontier.queues);
        self.pool.chunks(pieces.len(), |_, piece| {
            for (i, &u) in pieces[piece].iter().enumerate() {
                prefetch_row_of(part, pieces[piece], i);
                for &v in part.outgoing().of(u) {
                    visited.set::<A>(v);
                }
            }
        });
        let (count, arcs) = (AtomicU64::new(0), AtomicU64::new(0));
        let visit_words = |from: usize, to: usize| {
            let words = visited.words()[from..to].iter().zip(&before.words()[from..to]);
            let (mut new_count, mut new_arcs, mut own) = (0, 0, VisitChecksum::default());
            for (word, (now, before)) in words.enumerate() {
                let new = now.load(Relaxed) & !before.load(Relaxed);
                before.store(new, Relaxed);
                new_count += u64::from(new.count_ones());
                for v in vertices_of(from + word, new) {
                    op.visit(view, v);
                    new_arcs += part.outgoing().degree(v);
                }
                observer.look(vertices_of(from + word, new), &mut own);
            }
            visits.add::<W::Over<'_>>(&own);
            (new_count, new_arcs)
        };
        let chunks = part.chunks();
        self.pool.chunks(chunks.len() - 1, |_, chunk| {
            let (new_count, new_arcs) =
                visit_words(chunks[chunk] as usize / 64, (chunks[chunk + 1] as usize).div_ceil(64));
            count.fetch_add(new_count, Relaxed);
            arcs.fetch_add(new_arcs, Relaxed);
        });
        let ghost_words = part.ghost_base() as usize / 64..visited.words().len();
        if part.ghosts() > 0 {
            visit_words(ghost_words.start, ghost_words.end);
            for (word, bits) in before.words()[ghost_words.clone()].iter().enumerate() {
                frontier.offers.extend(vertices_of(ghost_words.start + word, bits.swap(0, Relaxed)));
            }
        }
        (frontier.count, frontier.arcs, frontier.form) =
            (count.into_inner(), arcs.into_inner(), FrontierFormat::Bitmap);
        frontier.queues.iter_mut().for_each(|queue| queue.0.clear());
        self.visited(&visits);
    }

    /// Bits to bits: each vertex that has not joined looks for a neighbour in the frontier. No atomic updates.
    fn visit_pull<O: VisitOp, W: ObserverKind>(&mut self, op: &O) {
        let (part, frontier) = (self.part, &mut self.frontier);
        let bind = self.fields.bind();
        let (view, observer) =
            (op.bind(&bind), W::over(&bind, part, self.monitor.as_deref().and_then(OperatorMonitor::set_once)));
        let visits = SharedVisitChecksum::default();
        let (visited, bits, next) = (&frontier.visited, &frontier.bits, &frontier.next);
        let (outgoing, incoming) = (part.outgoing(), part.incoming());
        let (count, arcs) = (AtomicU64::new(0), AtomicU64::new(0));
        let chunks = part.incoming_chunks();
        self.pool.chunks(chunks.len() - 1, |_, chunk| {
            let words = chunks[chunk] as usize / 64..(chunks[chunk + 1] as usize).div_ceil(64);
            let (mut new_count, mut new_arcs, mut own) = (0, 0, VisitChecksum::default());
            let both = visited.words()[words.clone()].iter().zip(&next.words()[words.clone()]);
            for (word, (visited, next)) in words.zip(both) {
                // Bits beyond the last owned vertex are no vertices, whatever became of them.
                let open = !visited.load(Relaxed) & part.owned_in_word(word);
                // The first neighbour of each is asked for all at once, without branches and with many loads under way; it
                // settles most (kron-20 18.8 to 15.1 ms, urand-20 22.9 to 18.7, one thread). Vertices that no arc leads to
                // are closed: they never join, and later pulls need not look.
                let (mut found, closed) = probe_first_neighbor(incoming, bits, word, open);
                for v in vertices_of(word, open & !found & !closed) {
                    found |= u64::from(incoming.of(v).iter().any(|&u| bits.has(u))) << (v.index() % 64);
                }
                if open != 0 {
                    visited.store(!open | found | closed, Relaxed);
                }
                next.store(found, Relaxed);
                new_count += u64::from(found.count_ones());
                for v in vertices_of(word, found) {
                    op.visit(view, v);
                    new_arcs += outgoing.degree(v);
                }
                observer.look(vertices_of(word, found), &mut own);
            }
            count.fetch_add(new_count, Relaxed);
            arcs.fetch_add(new_arcs, Relaxed);
            visits.add::<W::Over<'_>>(&own);
        });
        if part.ghosts() > 0 {
            next.words()[part.ghost_base() as usize / 64..].iter().for_each(|word| word.store(0, Relaxed));
        }
        (frontier.count, frontier.arcs) = (count.into_inner(), arcs.into_inner());
        std::mem::swap(&mut frontier.bits, &mut frontier.next);
        self.visited(&visits);
    }
}

/// Of the open vertices of a word: those whose first neighbour is in the frontier, and those without neighbours. Compiled apart, so
/// that nothing around it takes registers here: every instruction less is a load more under way (bfs of kron-20, one thread: 12.1 to
/// 11.5 ms, protected 15.6 to 15.0).
#[inline(never)]
fn probe_first_neighbor(incoming: &LocalRows, frontier: &Bitmap, word: usize, open: u64) -> (u64, u64) {
    let (mut found, mut empty) = (0u64, 0u64);
    for v in vertices_of(word, open) {
        found |= u64::from(frontier.has(incoming.nth_or_self(v, 0))) << (v.index() % 64);
        empty |= u64::from(incoming.degree(v) == 0) << (v.index() % 64);
    }
    (found & !empty, empty)
}

/// Visits the new vertices of a queue; the arcs out of them.
fn visit_all<O: VisitOp, S: VisitObserver>(
    op: &O,
    view: O::View<'_>,
    observer: S,
    part: &Part,
    new: &[LocalId],
    visits: &SharedVisitChecksum,
) -> u64 {
    let mut own = VisitChecksum::default();
    let mut arcs = 0;
    for piece in new.chunks(PIECE) {
        for &v in piece {
            op.visit(view, v);
            arcs += part.outgoing().degree(v);
        }
        observer.look(piece.iter().copied(), &mut own);
    }
    visits.add::<S>(&own);
    arcs
}

/// Stretches of the queues, as they are claimed.
pub(super) fn pieces(queues: &[CachePadded<Vec<LocalId>>]) -> Vec<&[LocalId]> {
    queues.iter().flat_map(|queue| queue.0.chunks(PIECE)).collect()
}

/// Asks for rows and offsets further on in the frontier.
#[inline(always)]
pub(super) fn prefetch_row_of(part: &Part, list: &[LocalId], i: usize) {
    if let Some(&far) = list.get(i + 2 * AHEAD) {
        part.outgoing().prefetch_offsets(far);
    }
    if let Some(&near) = list.get(i + AHEAD) {
        part.outgoing().prefetch_row(near);
    }
}

fn copy(from: &Bitmap, to: &Bitmap) {
    for (to, from) in to.words().iter().zip(from.words()) {
        to.store(from.load(Relaxed), Relaxed);
    }
}
