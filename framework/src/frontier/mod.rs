//! The vertices active in a superstep, as queues (one for each producing thread) or as bits, and what exchange must send of them.

mod direction;

pub(crate) use direction::visit_pulls;

use crate::base::checksum::hash_of;
use crate::base::id::LocalId;
use crate::host::CachePadded;
use crate::host::access::{Bitmap, Sequential, vertices_of};
use crate::partition::Part;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How the frontier is held.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum FrontierFormat {
    /// In `queues`.
    Queue,
    /// In `bits`.
    Bitmap,
}

/// Which owned vertices changed in this superstep, for exchange.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum DirtySet {
    /// Those of the frontier.
    Frontier,
    /// Any of them.
    All,
}

/// The frontier of one rank. Sets are by local vertex.
pub(crate) struct Frontier {
    pub(crate) form: FrontierFormat,
    pub(crate) queues: Vec<CachePadded<Vec<LocalId>>>,
    /// Where the next queues are written; empty between operators.
    pub(crate) next_queues: Vec<CachePadded<Vec<LocalId>>>,
    pub(crate) bits: Bitmap,
    pub(crate) next: Bitmap,
    /// Vertices that have been in the frontier, or never can be.
    pub(crate) visited: Bitmap,
    /// Owned vertices in the frontier.
    pub(crate) count: u64,
    /// Arcs out of them.
    pub(crate) arcs: u64,
    /// Vertices of any rank that have not been in the frontier.
    pub(crate) remaining: u64,
    pub(crate) dirty: DirtySet,
    /// Ghosts that this superstep made offers at.
    pub(crate) offers: Vec<LocalId>,
    /// Owned vertices changed by peers' offers in the last exchange, each once, not yet in the frontier.
    pub(crate) activated: Vec<LocalId>,
    /// Ghosts that got a copy in the last exchange.
    pub(crate) updated_ghosts: Vec<LocalId>,
    /// Marks `activated` while it is filled; clear between exchanges.
    pub(crate) marks: Bitmap,
    /// By chunk: vertices not yet selected. Filled at the first selection.
    pub(crate) candidates: Option<Vec<Vec<LocalId>>>,
    /// By thread and block of destinations: where the arcs of a large frontier lead. Scratch of a push.
    pub(crate) destination_bins: Vec<CachePadded<Vec<Vec<LocalId>>>>,
}

/// What of a frontier outlives a superstep, copied.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct FrontierSnapshot {
    /// Owned members, unless `bits` holds them.
    pub(crate) members: Vec<LocalId>,
    /// Words of members, ghosts included; empty when the frontier was held in queues.
    pub(crate) bits: Vec<u64>,
    /// Words of vertices that have joined.
    pub(crate) visited: Vec<u64>,
    pub(crate) activated: Vec<LocalId>,
    pub(crate) updated_ghosts: Vec<LocalId>,
    pub(crate) count: u64,
    pub(crate) arcs: u64,
    pub(crate) remaining: u64,
}

impl FrontierSnapshot {
    pub(crate) fn hash(&self, seed: u64) -> u64 {
        let numbers = [self.count, self.arcs, self.remaining];
        let words = hash_of(&self.visited, hash_of(&self.bits, hash_of(&numbers, seed)));
        [&self.members, &self.activated, &self.updated_ghosts].iter().fold(words, |hash, list| hash_of(list, hash))
    }
}

impl Frontier {
    pub(crate) fn new(part: &Part, threads: usize) -> Frontier {
        let queues = || (0..threads).map(|_| CachePadded(Vec::new())).collect();
        let frontier = Frontier {
            form: FrontierFormat::Queue,
            queues: queues(),
            next_queues: queues(),
            bits: Bitmap::new(part.locals()),
            next: Bitmap::new(part.locals()),
            visited: Bitmap::new(part.locals()),
            count: 0,
            arcs: 0,
            remaining: part.graph_vertices() as u64,
            dirty: DirtySet::Frontier,
            offers: Vec::new(),
            activated: Vec::new(),
            updated_ghosts: Vec::new(),
            marks: Bitmap::new(part.locals()),
            candidates: None,
            destination_bins: Vec::new(),
        };
        // Numbers between the last owned vertex and the next word are no vertices and never join.
        if !part.owned().is_multiple_of(64) {
            let word = &frontier.visited.words()[part.owned() / 64];
            word.store(!0 << (part.owned() % 64), Relaxed);
        }
        frontier
    }

    /// An owned vertex joins.
    pub(crate) fn add(&mut self, part: &Part, v: LocalId) {
        self.visited.set::<Sequential>(v);
        match self.form {
            FrontierFormat::Queue => self.queues[0].0.push(v),
            FrontierFormat::Bitmap => {
                self.bits.set::<Sequential>(v);
            }
        }
        self.count += 1;
        self.arcs += part.outgoing().degree(v);
    }

    /// Takes in what the last exchange brought: woken vertices join, and ghosts that got copies count as joined.
    pub(crate) fn apply_exchange(&mut self, part: &Part) {
        for v in std::mem::take(&mut self.activated) {
            self.add(part, v);
        }
        for &ghost in &self.updated_ghosts {
            self.visited.set::<Sequential>(ghost);
            if self.form == FrontierFormat::Bitmap {
                self.bits.set::<Sequential>(ghost);
            }
        }
        if self.form == FrontierFormat::Bitmap {
            self.updated_ghosts.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.0.clear());
        if self.form == FrontierFormat::Bitmap {
            self.form = FrontierFormat::Queue;
        }
        (self.count, self.arcs) = (0, 0);
    }

    /// Owned and renewed ghosts become bits.
    pub(crate) fn make_bitmap(&mut self) {
        if self.form == FrontierFormat::Bitmap {
            return;
        }
        self.bits.clear_all();
        for v in self.queues.iter().flat_map(|queue| &queue.0).chain(&self.updated_ghosts) {
            self.bits.set::<Sequential>(*v);
        }
        self.updated_ghosts.clear();
        self.form = FrontierFormat::Bitmap;
    }

    /// Owned vertices go to the queues.
    pub(crate) fn make_queue(&mut self, part: &Part) {
        self.updated_ghosts.clear();
        if self.form == FrontierFormat::Queue {
            return;
        }
        self.queues.iter_mut().for_each(|queue| queue.0.clear());
        let owned_words = &self.bits.words()[..part.owned().div_ceil(64)];
        let queue = &mut self.queues[0].0;
        for (word, bits) in owned_words.iter().enumerate() {
            queue.extend(vertices_of(word, bits.load(Relaxed)));
        }
        self.form = FrontierFormat::Queue;
    }

    /// The new queues, just written, become the frontier; ghosts among them become offers.
    pub(crate) fn swap_queues(&mut self, part: &Part) {
        std::mem::swap(&mut self.queues, &mut self.next_queues);
        self.next_queues.iter_mut().for_each(|out| out.0.clear());
        if part.ghosts() > 0 {
            for queue in &mut self.queues {
                let offers = &mut self.offers;
                queue.0.retain(|&v| {
                    if part.is_ghost(v) {
                        offers.push(v);
                    }
                    !part.is_ghost(v)
                });
            }
        }
        self.form = FrontierFormat::Queue;
        self.count = self.queues.iter().map(|queue| queue.0.len() as u64).sum();
    }

    /// All owned vertices of the frontier, in no order.
    pub(crate) fn for_each_owned(&self, part: &Part, mut f: impl FnMut(LocalId)) {
        match self.form {
            FrontierFormat::Queue => self.queues.iter().flat_map(|queue| &queue.0).for_each(|&v| f(v)),
            FrontierFormat::Bitmap => {
                for (word, bits) in self.bits.words()[..part.owned().div_ceil(64)].iter().enumerate() {
                    vertices_of(word, bits.load(Relaxed)).for_each(&mut f);
                }
            }
        }
    }

    /// The words of owned vertices, if the frontier is held as bits.
    pub(crate) fn words(&self, part: &Part) -> Option<&[AtomicU64]> {
        (self.form == FrontierFormat::Bitmap).then(|| &self.bits.words()[..part.owned().div_ceil(64)])
    }

    /// A checksum of all that rests here between two supersteps and is small: members, not yet those that have joined.
    pub(crate) fn checksum(&self) -> u64 {
        let mut sum = hash_of(&[self.count, self.arcs, self.remaining], 0);
        for list in self.queues.iter().map(|queue| &queue.0).chain([&self.activated, &self.updated_ghosts]) {
            sum = hash_of(list, sum);
        }
        if self.form == FrontierFormat::Bitmap { hash_of(self.bits.words(), sum) } else { sum }
    }

    /// Drops members that are no vertices of the part, after its checksum was found to differ: what was left here may be anything.
    pub(crate) fn drop_invalid(&mut self, part: &Part) {
        let is_owned = |v: &LocalId| v.index() < part.owned();
        self.queues.iter_mut().for_each(|queue| queue.0.retain(is_owned));
        self.activated.retain(is_owned);
        self.updated_ghosts.retain(|v| part.is_ghost(*v) && v.index() < part.locals());
        let owned_words = part.owned().div_ceil(64);
        if !part.owned().is_multiple_of(64) {
            self.bits.words()[owned_words - 1].fetch_and(!(!0 << (part.owned() % 64)), Relaxed);
        }
        if !part.locals().is_multiple_of(64) && part.ghosts() > 0 {
            self.bits.words()[part.locals() / 64].fetch_and(!(!0 << (part.locals() % 64)), Relaxed);
        }
        self.count = match self.form {
            FrontierFormat::Queue => self.queues.iter().map(|queue| queue.0.len() as u64).sum(),
            FrontierFormat::Bitmap => {
                self.bits.words()[..owned_words].iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
            }
        };
    }

    /// Copies what outlives a superstep.
    pub(crate) fn save(&self, to: &mut FrontierSnapshot) {
        let words = |bits: &Bitmap, to: &mut Vec<u64>| {
            to.clear();
            to.extend(bits.words().iter().map(|word| word.load(Relaxed)));
        };
        to.members.clear();
        to.bits.clear();
        match self.form {
            FrontierFormat::Queue => self.queues.iter().for_each(|queue| to.members.extend_from_slice(&queue.0)),
            FrontierFormat::Bitmap => words(&self.bits, &mut to.bits),
        }
        words(&self.visited, &mut to.visited);
        to.activated.clone_from(&self.activated);
        to.updated_ghosts.clone_from(&self.updated_ghosts);
        (to.count, to.arcs, to.remaining) = (self.count, self.arcs, self.remaining);
    }

    /// Becomes what rested. Members that are no vertices of the part are dropped.
    pub(crate) fn restore(&mut self, part: &Part, from: &FrontierSnapshot) {
        let fill = |bits: &Bitmap, from: &[u64]| {
            for (to, from) in bits.words().iter().zip(from.iter().chain(std::iter::repeat(&0))) {
                to.store(*from, Relaxed);
            }
        };
        self.clear();
        self.next_queues.iter_mut().for_each(|out| out.0.clear());
        self.offers.clear();
        (self.candidates, self.dirty) = (None, DirtySet::Frontier);
        self.marks.clear_all();
        if from.bits.is_empty() {
            self.queues[0].0.extend_from_slice(&from.members);
            self.form = FrontierFormat::Queue;
        } else {
            fill(&self.bits, &from.bits);
            self.form = FrontierFormat::Bitmap;
        }
        fill(&self.visited, &from.visited);
        self.activated.clone_from(&from.activated);
        self.updated_ghosts.clone_from(&from.updated_ghosts);
        self.drop_invalid(part);
        (self.arcs, self.remaining) = (from.arcs, from.remaining);
    }
}
