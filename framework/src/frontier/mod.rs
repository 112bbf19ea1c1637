//! The vertices active in a superstep, as queues (one for each producing thread) or as bits, and what exchange must send of them.

mod direction;

pub(crate) use direction::visit_pulls;

use crate::base::checksum::hash_of;
use crate::base::id::LocalId;
use crate::host::Line;
use crate::host::access::{Alone, Bits, vertices_of};
use crate::partition::Part;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How the frontier is held.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Form {
    /// In `queues`.
    Queue,
    /// In `bits`.
    Bits,
}

/// Which owned vertices changed in this superstep, for exchange.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum News {
    /// Those of the frontier.
    Frontier,
    /// Any of them.
    All,
}

/// The frontier of one rank. Sets are by local vertex.
pub(crate) struct Frontier {
    pub(crate) form: Form,
    pub(crate) queues: Vec<Line<Vec<LocalId>>>,
    /// Where the next queues are written; empty between operators.
    pub(crate) outs: Vec<Line<Vec<LocalId>>>,
    pub(crate) bits: Bits,
    pub(crate) next: Bits,
    /// Vertices that have been in the frontier, or never can be.
    pub(crate) joined: Bits,
    /// Owned vertices in the frontier.
    pub(crate) count: u64,
    /// Arcs out of them.
    pub(crate) arcs: u64,
    /// Vertices of any rank that have not been in the frontier.
    pub(crate) remaining: u64,
    pub(crate) news: News,
    /// Ghosts that this superstep made offers at.
    pub(crate) offers: Vec<LocalId>,
    /// Owned vertices changed by peers' offers in the last exchange, each once, not yet in the frontier.
    pub(crate) woken: Vec<LocalId>,
    /// Ghosts that got a copy in the last exchange.
    pub(crate) renewed: Vec<LocalId>,
    /// Marks `woken` while it is filled; clear between exchanges.
    pub(crate) marks: Bits,
    /// By chunk: vertices not yet selected. Filled at the first selection.
    pub(crate) candidates: Option<Vec<Vec<LocalId>>>,
    /// By thread and block of destinations: where the arcs of a large frontier lead. Scratch of a push.
    pub(crate) dealt: Vec<Line<Vec<Vec<LocalId>>>>,
}

/// What of a frontier outlives a superstep, copied.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Resting {
    /// Owned members, unless `bits` holds them.
    pub(crate) members: Vec<LocalId>,
    /// Words of members, ghosts included; empty when the frontier was held in queues.
    pub(crate) bits: Vec<u64>,
    /// Words of vertices that have joined.
    pub(crate) joined: Vec<u64>,
    pub(crate) woken: Vec<LocalId>,
    pub(crate) renewed: Vec<LocalId>,
    pub(crate) count: u64,
    pub(crate) arcs: u64,
    pub(crate) remaining: u64,
}

impl Resting {
    pub(crate) fn hash(&self, seed: u64) -> u64 {
        let numbers = [self.count, self.arcs, self.remaining];
        let words = hash_of(&self.joined, hash_of(&self.bits, hash_of(&numbers, seed)));
        [&self.members, &self.woken, &self.renewed].iter().fold(words, |hash, list| hash_of(list, hash))
    }
}

impl Frontier {
    pub(crate) fn new(part: &Part, threads: usize) -> Frontier {
        let queues = || (0..threads).map(|_| Line(Vec::new())).collect();
        let frontier = Frontier {
            form: Form::Queue,
            queues: queues(),
            outs: queues(),
            bits: Bits::new(part.locals()),
            next: Bits::new(part.locals()),
            joined: Bits::new(part.locals()),
            count: 0,
            arcs: 0,
            remaining: part.graph_vertices() as u64,
            news: News::Frontier,
            offers: Vec::new(),
            woken: Vec::new(),
            renewed: Vec::new(),
            marks: Bits::new(part.locals()),
            candidates: None,
            dealt: Vec::new(),
        };
        // Numbers between the last owned vertex and the next word are no vertices and never join.
        if !part.owned().is_multiple_of(64) {
            let word = &frontier.joined.words()[part.owned() / 64];
            word.store(!0 << (part.owned() % 64), Relaxed);
        }
        frontier
    }

    /// An owned vertex joins.
    pub(crate) fn add(&mut self, part: &Part, v: LocalId) {
        self.joined.set::<Alone>(v);
        match self.form {
            Form::Queue => self.queues[0].0.push(v),
            Form::Bits => {
                self.bits.set::<Alone>(v);
            }
        }
        self.count += 1;
        self.arcs += part.outgoing().degree(v);
    }

    /// Takes in what the last exchange brought: woken vertices join, and ghosts that got copies count as joined.
    pub(crate) fn absorb(&mut self, part: &Part) {
        for v in std::mem::take(&mut self.woken) {
            self.add(part, v);
        }
        for &ghost in &self.renewed {
            self.joined.set::<Alone>(ghost);
            if self.form == Form::Bits {
                self.bits.set::<Alone>(ghost);
            }
        }
        if self.form == Form::Bits {
            self.renewed.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.0.clear());
        if self.form == Form::Bits {
            self.form = Form::Queue;
        }
        (self.count, self.arcs) = (0, 0);
    }

    /// Owned and renewed ghosts become bits.
    pub(crate) fn become_bits(&mut self) {
        if self.form == Form::Bits {
            return;
        }
        self.bits.clear_all();
        for v in self.queues.iter().flat_map(|queue| &queue.0).chain(&self.renewed) {
            self.bits.set::<Alone>(*v);
        }
        self.renewed.clear();
        self.form = Form::Bits;
    }

    /// Owned vertices go to the queues.
    pub(crate) fn become_queue(&mut self, part: &Part) {
        self.renewed.clear();
        if self.form == Form::Queue {
            return;
        }
        self.queues.iter_mut().for_each(|queue| queue.0.clear());
        let owned_words = &self.bits.words()[..part.owned().div_ceil(64)];
        let queue = &mut self.queues[0].0;
        for (word, bits) in owned_words.iter().enumerate() {
            queue.extend(vertices_of(word, bits.load(Relaxed)));
        }
        self.form = Form::Queue;
    }

    /// The new queues, just written, become the frontier; ghosts among them become offers.
    pub(crate) fn take_outs(&mut self, part: &Part) {
        std::mem::swap(&mut self.queues, &mut self.outs);
        self.outs.iter_mut().for_each(|out| out.0.clear());
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
        self.form = Form::Queue;
        self.count = self.queues.iter().map(|queue| queue.0.len() as u64).sum();
    }

    /// All owned vertices of the frontier, in no order.
    pub(crate) fn for_each_owned(&self, part: &Part, mut f: impl FnMut(LocalId)) {
        match self.form {
            Form::Queue => self.queues.iter().flat_map(|queue| &queue.0).for_each(|&v| f(v)),
            Form::Bits => {
                for (word, bits) in self.bits.words()[..part.owned().div_ceil(64)].iter().enumerate() {
                    vertices_of(word, bits.load(Relaxed)).for_each(&mut f);
                }
            }
        }
    }

    /// The words of owned vertices, if the frontier is held as bits.
    pub(crate) fn words(&self, part: &Part) -> Option<&[AtomicU64]> {
        (self.form == Form::Bits).then(|| &self.bits.words()[..part.owned().div_ceil(64)])
    }

    /// A checksum of all that rests here between two supersteps and is small: members, not yet those that have joined.
    pub(crate) fn seal(&self) -> u64 {
        let mut sum = hash_of(&[self.count, self.arcs, self.remaining], 0);
        for list in self.queues.iter().map(|queue| &queue.0).chain([&self.woken, &self.renewed]) {
            sum = hash_of(list, sum);
        }
        if self.form == Form::Bits { hash_of(self.bits.words(), sum) } else { sum }
    }

    /// Drops members that are no vertices of the part, after a seal was found broken: what rested here may be anything.
    pub(crate) fn clamp(&mut self, part: &Part) {
        let is_owned = |v: &LocalId| v.index() < part.owned();
        self.queues.iter_mut().for_each(|queue| queue.0.retain(is_owned));
        self.woken.retain(is_owned);
        self.renewed.retain(|v| part.is_ghost(*v) && v.index() < part.locals());
        let owned_words = part.owned().div_ceil(64);
        if !part.owned().is_multiple_of(64) {
            self.bits.words()[owned_words - 1].fetch_and(!(!0 << (part.owned() % 64)), Relaxed);
        }
        if !part.locals().is_multiple_of(64) && part.ghosts() > 0 {
            self.bits.words()[part.locals() / 64].fetch_and(!(!0 << (part.locals() % 64)), Relaxed);
        }
        self.count = match self.form {
            Form::Queue => self.queues.iter().map(|queue| queue.0.len() as u64).sum(),
            Form::Bits => {
                self.bits.words()[..owned_words].iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
            }
        };
    }

    /// Copies what outlives a superstep.
    pub(crate) fn rest(&self, to: &mut Resting) {
        let words = |bits: &Bits, to: &mut Vec<u64>| {
            to.clear();
            to.extend(bits.words().iter().map(|word| word.load(Relaxed)));
        };
        to.members.clear();
        to.bits.clear();
        match self.form {
            Form::Queue => self.queues.iter().for_each(|queue| to.members.extend_from_slice(&queue.0)),
            Form::Bits => words(&self.bits, &mut to.bits),
        }
        words(&self.joined, &mut to.joined);
        to.woken.clone_from(&self.woken);
        to.renewed.clone_from(&self.renewed);
        (to.count, to.arcs, to.remaining) = (self.count, self.arcs, self.remaining);
    }

    /// Becomes what rested. Members that are no vertices of the part are dropped.
    pub(crate) fn resume(&mut self, part: &Part, from: &Resting) {
        let fill = |bits: &Bits, from: &[u64]| {
            for (to, from) in bits.words().iter().zip(from.iter().chain(std::iter::repeat(&0))) {
                to.store(*from, Relaxed);
            }
        };
        self.clear();
        self.outs.iter_mut().for_each(|out| out.0.clear());
        self.offers.clear();
        (self.candidates, self.news) = (None, News::Frontier);
        self.marks.clear_all();
        if from.bits.is_empty() {
            self.queues[0].0.extend_from_slice(&from.members);
            self.form = Form::Queue;
        } else {
            fill(&self.bits, &from.bits);
            self.form = Form::Bits;
        }
        fill(&self.joined, &from.joined);
        self.woken.clone_from(&from.woken);
        self.renewed.clone_from(&from.renewed);
        self.clamp(part);
        (self.arcs, self.remaining) = (from.arcs, from.remaining);
    }
}
