//! What operators do beside their work in a protected run: marks and repeated updates where a frontier is consumed or a gather has
//! settled, checksums where vertices are visited, mass and moves where gathers settle.
//!
//! On the cpu device an inactive vertex costs no thread, so an idle lane is only a licence: at most as many updates of a frontier are
//! repeated as vertices are inactive, and at most as many arcs read as the budget's share of the round's; of a gather, all of whose
//! vertices are active, the budget alone is the limit. What is left of it is carried to the next superstep, so that small frontiers
//! are covered too. Replicas read the state at the boundary before the superstep, which a frontier's update has not changed yet and a
//! gather leaves as it is, so a clean one never differs.

mod score;
mod gather;
mod visits;

pub(crate) use gather::{GatherAccumulator, MonitoredTotals, Moves, Totals};
pub use score::Weights;
pub(crate) use score::{CriticalThresholds, Score};
use visits::term;
pub(crate) use visits::{
    NoObserver, ObserverKind, SetOnceField, SharedVisitChecksum, VisitChecksum, VisitObserver, WithChecksum,
};

use crate::base::checksum::mix;
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::base::probe::{OpenRange, RangeHooks, Stage};
use crate::base::sum::Sum;
use crate::device::{CriticalDegrees, GatherMarks, GuardTerms, Replicas, Summary, word};
use crate::fault_tolerance::{Change, FaultTolerance, Redundancy};
use crate::field::{Fields, State};
use crate::host::access::{Bitmap, vertices_of};
use crate::host::{CachePadded, Pool};
use crate::partition::{LocalRows, Part};
use crate::step::Step;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Replicas with at most this many arcs are done by one thread: they only read, so a few microseconds' worth is enough to share.
const ALONE_ARCS: u64 = 2_048;
/// Frontiers of at most this many vertices are drawn from by one thread.
const ALONE_VERTICES: u64 = 8_192;
/// Vertices that a thread repeats at once.
const PIECE: usize = 64;
/// Words of a frontier that a thread looks at at once.
const WORDS: usize = 256;
/// Critical vertices passed over in a row because they cost more than is left of the budget.
const PASSED_MAX: u32 = 64;

/// Watches the operators of one rank.
pub(crate) struct OperatorMonitor {
    pub(crate) rules: Arc<dyn FaultTolerance>,
    score: Score,
    budget: f64,
    /// Arcs that replicas may still read.
    allowance: f64,
    once: Option<SetOnceField>,
    /// Checksum of the set-once field over owned vertices.
    pub(crate) sum: u64,
    floor: f64,
    /// The most that the superstep before moved any vertex of any rank.
    pub(crate) largest: f64,
    /// Of the superstep under way.
    pub(crate) counts: MonitorCounts,
    chosen: Vec<LocalId>,
    /// Where moves make vertices critical.
    least_changes: Vec<f64>,
    /// Who is told of scoring as it happens.
    pub(crate) ranges: Option<&'static RangeHooks>,
    /// The owned vertices that are critical, where that is the same in all frontiers.
    marks: Option<Bitmap>,
    /// Those that the last gather marked.
    gathered: Option<Bitmap>,
}

/// Which vertices of a frontier are critical.
#[derive(Clone, Copy)]
struct Critical<'a> {
    score: &'a Score,
    degrees: CriticalDegrees,
    /// The same as bits, if they are kept.
    marks: Option<&'a Bitmap>,
    part: &'a Part,
}

impl Critical<'_> {
    #[inline(always)]
    fn has(&self, v: LocalId) -> bool {
        self.marks.map_or_else(|| self.degrees.has(self.score.degree(self.part, v)), |marks| marks.has(v))
    }

    /// How many of the frontier's `vertices` are.
    fn count(&self, step: &Step<'_>, vertices: u64) -> u64 {
        if self.degrees.has_all() || self.degrees.has_none() {
            return if self.degrees.has_all() { vertices } else { 0 };
        }
        let count = AtomicU64::new(0);
        // Relaxed: read after the region.
        let add = |some: u64| _ = count.fetch_add(some, Relaxed);
        let of_list = |list: &[LocalId]| list.iter().map(|&v| u64::from(self.has(v))).sum::<u64>();
        let of_words = |first: usize, words: &[AtomicU64]| match self.marks {
            Some(marks) => {
                let both = words.iter().zip(&marks.words()[first..]);
                both.map(|(word, marks)| u64::from((word.load(Relaxed) & marks.load(Relaxed)).count_ones()))
                    .sum::<u64>()
            }
            None => {
                let vertices =
                    words.iter().zip(first..).flat_map(|(word, place)| vertices_of(place, word.load(Relaxed)));
                vertices.map(|v| u64::from(self.has(v))).sum()
            }
        };
        let is_alone = vertices <= ALONE_VERTICES || step.pool.threads() == 1;
        match (step.frontier.words(self.part), is_alone) {
            (Some(words), true) => add(of_words(0, words)),
            (Some(words), false) => {
                let pieces: Vec<&[AtomicU64]> = words.chunks(WORDS).collect();
                step.pool.chunks(pieces.len(), |_, piece| add(of_words(piece * WORDS, pieces[piece])));
            }
            (None, true) => step.frontier.queues.iter().for_each(|queue| add(of_list(&queue.0))),
            (None, false) => {
                let queues = step.frontier.queues.iter();
                let pieces: Vec<&[LocalId]> =
                    queues.flat_map(|queue| queue.0.chunks(ALONE_VERTICES as usize)).collect();
                step.pool.chunks(pieces.len(), |_, piece| add(of_list(pieces[piece])));
            }
        }
        count.into_inner()
    }
}

/// What may still be repeated.
struct RemainingBudget<'a> {
    vertices: u64,
    arcs: &'a mut f64,
}

impl RemainingBudget<'_> {
    fn takes(&mut self, degree: u64) -> bool {
        let cost = degree.max(1) as f64;
        let fits = self.vertices > 0 && cost <= *self.arcs;
        if fits {
            self.vertices -= 1;
            *self.arcs -= cost;
        }
        fits
    }
    fn has_any(&self) -> bool {
        self.vertices > 0 && *self.arcs >= 1.0
    }

    /// Takes what fits of the wanted vertices whose bits are set, from a place on that changes with the superstep.
    fn take_in_turn(
        &mut self,
        words: &[AtomicU64],
        index: u64,
        is_wanted: impl Fn(LocalId) -> bool,
        rows: &LocalRows,
        chosen: &mut Vec<LocalId>,
    ) {
        if !self.has_any() {
            return;
        }
        let skip = (mix(0, index) % words.len().max(1) as u64) as usize;
        let places = (skip..words.len()).chain(0..skip);
        let mut passed = 0;
        let _ = places.flat_map(|word| vertices_of(word, words[word].load(Relaxed))).all(|v| {
            if is_wanted(v) {
                let is_taken = self.takes(rows.degree(v));
                passed = if is_taken { 0 } else { passed + 1 };
                chosen.extend(is_taken.then_some(v));
            }
            self.has_any() && passed < PASSED_MAX
        });
    }
}

/// A number below 2^32 for a vertex and a superstep.
#[inline(always)]
fn draw(index: u64, v: LocalId) -> u64 {
    (u64::from(v.number()) << 20 ^ index).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// Few are drawn, so the branch is foreseen.
#[inline(always)]
fn append_drawn<'q>(
    queues: impl IntoIterator<Item = &'q [LocalId]>,
    drawn: &mut Vec<LocalId>,
    is_drawn: impl Fn(&LocalId) -> bool,
) {
    queues.into_iter().for_each(|queue| drawn.extend(queue.iter().filter(|v| is_drawn(v))));
}

/// What was seen in one superstep.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct MonitorCounts {
    pub(crate) critical: u64,
    pub(crate) assigned: u64,
    pub(crate) differing: u64,
    pub(crate) first_differing: Option<LocalId>,
    pub(crate) set_twice: u64,
    pub(crate) first_twice: Option<LocalId>,
    pub(crate) mass: f64,
    /// The least value settled on, where there is a floor.
    pub(crate) below: u64,
    pub(crate) largest: f64,
    /// How long scoring, marking and choosing took.
    pub(crate) marking: Duration,
}

impl OperatorMonitor {
    pub(crate) fn new(
        rules: Arc<dyn FaultTolerance>,
        score: Score,
        budget: f64,
        fields: &Fields,
        part: &Part,
        pool: &Pool,
    ) -> OperatorMonitor {
        let once = rules.set_once().map(|field| field.spec()).and_then(|spec| {
            let slot = fields.specs().iter().position(|own| own.name == spec.name)?;
            Some(SetOnceField { slot, initial: spec.initial_bits() })
        });
        let floor = rules.floor(part.graph_vertices()).unwrap_or(f64::NEG_INFINITY);
        let (counts, chosen) = (MonitorCounts::default(), Vec::new());
        // The same for every frontier, so that a bit says it.
        let is_fixed = rules.change(&[]) == Change::Onward;
        let marks = is_fixed.then(|| score.marks(part, pool, score.critical_degrees(Change::Onward)));
        let allowance = 0.0;
        let (largest, least_changes, gathered) = (0.0, Vec::new(), None);
        OperatorMonitor {
            rules,
            score,
            budget,
            allowance,
            once,
            sum: 0,
            floor,
            largest,
            counts,
            chosen,
            least_changes,
            marks,
            gathered,
            ranges: None,
        }
    }

    /// The degrees at which vertices of a frontier that a rule with these numbers consumes are critical.
    pub(crate) fn critical_degrees(&self, numbers: &[u64]) -> CriticalDegrees {
        match self.rules.redundancy() {
            Redundancy::OverIncoming | Redundancy::OverOutgoing => {
                self.score.critical_degrees(self.rules.change(numbers))
            }
            Redundancy::None | Redundancy::OfGathers => CriticalDegrees::default(),
        }
    }

    /// A superstep may read so many arcs: what replicas may read grows.
    fn allow(&mut self, reads: u64) {
        self.allowance = if self.budget >= 1.0 { f64::INFINITY } else { self.allowance + self.budget * reads as f64 };
    }

    pub(crate) fn set_once(&self) -> Option<SetOnceField> {
        self.once
    }

    /// An operator is about to consume a frontier, by a rule with these numbers, and to read about `reads` arcs for it.
    pub(crate) fn before_consume(&mut self, step: &Step<'_>, vertices: u64, reads: u64, numbers: &[u64]) {
        let part = step.part;
        let rows = match self.rules.redundancy() {
            Redundancy::OverIncoming => part.incoming(),
            Redundancy::OverOutgoing => part.outgoing(),
            Redundancy::None | Redundancy::OfGathers => return,
        };
        let begin = Instant::now();
        let range = OpenRange::begin(self.ranges, Stage::ScoreAndMark);
        let busy = step.consumed().min(part.owned() as u64) + self.counts.assigned;
        let capacity = (part.owned() as u64).saturating_sub(busy);
        self.allow(reads);
        self.chosen.clear();
        let (score, marks) = (self.score, self.marks.take());
        let critical = Critical { score: &score, degrees: self.critical_degrees(numbers), marks: marks.as_ref(), part };
        let count = critical.count(step, vertices);
        self.counts.critical += count;
        if count > 0 {
            self.choose(step, rows, vertices, critical, capacity);
        }
        self.marks = marks;
        drop(range);
        self.counts.marking += begin.elapsed();
        let (rules, state, index) = (Arc::clone(&self.rules), State::of(&step.fields), step.index);
        self.repeat_each(step.pool, rows, |chosen, differs| rules.repeat(part, state, index, chosen, differs));
    }

    /// A gather has settled and marked its vertices: some of those are chosen. All are active, so the budget alone is the limit.
    pub(crate) fn choose_gathered(&mut self, part: &Part, index: u32) {
        self.chosen.clear();
        if self.rules.redundancy() != Redundancy::OfGathers {
            return;
        }
        let begin = Instant::now();
        let _range = OpenRange::begin(self.ranges, Stage::ScoreAndMark);
        self.allow(part.incoming().arcs());
        let Some(marks) = &self.gathered else { return };
        let mut left = RemainingBudget { vertices: u64::MAX, arcs: &mut self.allowance };
        left.take_in_turn(marks.words(), u64::from(index), |_| true, part.incoming(), &mut self.chosen);
        self.counts.marking += begin.elapsed();
    }

    /// Chooses critical vertices until capacity or budget is used up: the same ones whatever the order of queues, so that runs on the
    /// same threads and ranks agree. Bits are in order; queues are not, so of those a share is drawn by number and sorted.
    fn choose(&mut self, step: &Step<'_>, rows: &LocalRows, vertices: u64, critical: Critical<'_>, capacity: u64) {
        if self.allowance < 1.0 || capacity == 0 {
            return;
        }
        let (part, index) = (step.part, u64::from(step.index));
        let chosen = &mut self.chosen;
        let mut left = RemainingBudget { vertices: capacity, arcs: &mut self.allowance };
        if let Some(words) = step.frontier.words(part) {
            return left.take_in_turn(words, index, |v| critical.has(v), rows, chosen);
        }
        let by_arcs = *left.arcs / step.frontier.arcs.max(1) as f64;
        let share = by_arcs.min(capacity as f64 / vertices as f64).min(1.0);
        let below = (share * 2f64.powi(32)) as u64;
        let is_drawn = |v: &LocalId| draw(index, *v) < below && critical.has(*v);
        let queues = step.frontier.queues.iter().map(|queue| &queue.0[..]);
        if vertices <= ALONE_VERTICES || step.pool.threads() == 1 {
            append_drawn(queues, chosen, is_drawn);
        } else {
            let pieces: Vec<&[LocalId]> = queues.flat_map(|queue| queue.chunks(ALONE_VERTICES as usize)).collect();
            let mut drawn: Vec<CachePadded<Vec<LocalId>>> =
                (0..step.pool.threads()).map(|_| CachePadded(Vec::new())).collect();
            step.pool.chunks_with(&mut drawn, pieces.len(), |drawn, piece| {
                append_drawn([pieces[piece]], drawn, is_drawn);
            });
            drawn.iter().for_each(|drawn| chosen.extend_from_slice(&drawn.0));
        }
        chosen.sort_unstable();
        chosen.retain(|&v| left.takes(rows.degree(v)));
    }

    /// Repeats the updates of what was chosen, which read these rows; `repeat` hands over those that differ.
    pub(crate) fn repeat_each(
        &mut self,
        pool: &Pool,
        rows: &LocalRows,
        repeat: impl Fn(&[LocalId], &mut dyn FnMut(LocalId)) + Sync,
    ) {
        let chosen = &self.chosen;
        if chosen.is_empty() {
            return;
        }
        let (count, first) = (AtomicU64::new(0), AtomicU32::new(u32::MAX));
        let differs = |v: LocalId| {
            count.fetch_add(1, Relaxed);
            first.fetch_min(v.number(), Relaxed);
        };
        let arcs: u64 = chosen.iter().map(|&v| rows.degree(v)).sum();
        if arcs <= ALONE_ARCS || pool.threads() == 1 {
            repeat(chosen, &mut { differs });
        } else {
            let pieces: Vec<&[LocalId]> = chosen.chunks(PIECE).collect();
            pool.chunks(pieces.len(), |_, piece| repeat(pieces[piece], &mut |v| differs(v)));
        }
        self.counts.assigned += chosen.len() as u64;
        let differing = count.into_inner();
        if differing > 0 {
            self.counts.differing += differing;
            self.counts.first_differing = self.counts.first_differing.or(Some(LocalId::new(first.into_inner())));
        }
    }

    /// What a visit wrote down.
    pub(crate) fn visited(&mut self, visits: &SharedVisitChecksum) {
        self.sum = self.sum.wrapping_add(visits.sum.load(Relaxed));
    }

    /// An owned vertex takes `value` outside a visit: from an offer, or in `init`.
    pub(crate) fn record_write(&mut self, slot: usize, v: LocalId, before: u64, now: u64) {
        let Some(once) = self.once.filter(|once| once.slot == slot) else { return };
        self.sum = self.sum.wrapping_add(term(v, now)).wrapping_sub(once.term_unless_initial(v, before));
        if before != once.initial {
            self.counts.set_twice += 1;
            self.counts.first_twice = self.counts.first_twice.or(Some(v));
        }
    }

    /// How the operators on a device are guarded.
    pub(crate) fn terms(&self, is_timed: bool) -> GuardTerms {
        let over = self.rules.redundancy();
        let is_over_rows = matches!(over, Redundancy::OverIncoming | Redundancy::OverOutgoing);
        let over_incoming = over == Redundancy::OverIncoming;
        GuardTerms {
            once: self.once.map(|once| (once.slot, once.initial)),
            replicas: is_over_rows.then(|| Replicas { over_incoming, both: self.score.counts_both() }),
            repeats_gathers: over == Redundancy::OfGathers,
            budget: self.budget,
            is_timed,
        }
    }

    /// How a gather on a device counts marks.
    pub(crate) fn marks_on_device(&self) -> GatherMarks {
        self.score.on_device(self.floor, self.whole())
    }

    /// What a device adds up in a superstep.
    pub(crate) fn apply_summary(&mut self, summary: &Summary, part: &Part) {
        let words = &summary.words;
        let first = |place: usize| {
            let number = u32::try_from(!words[place]).ok();
            if words[place] == 0 { None } else { number.and_then(|number| part.vertex(number)) }
        };
        self.sum = self.sum.wrapping_add(words[word::VISITED]);
        let counts = &mut self.counts;
        counts.critical = words[word::CRITICAL];
        (counts.assigned, counts.below) = (words[word::ASSIGNED], words[word::BELOW]);
        (counts.differing, counts.first_differing) = (words[word::DIFFERING], first(word::FIRST_DIFFERING));
        (counts.set_twice, counts.first_twice) = (words[word::SET_TWICE], first(word::FIRST_TWICE));
        counts.largest = f64::from_bits(words[word::LARGEST]);
        counts.mass = Sum::from_bits([words[word::MASS], words[word::MASS + 1]]).value();
    }

    /// What a gather's vertices must move by to be critical.
    pub(crate) fn thresholds(&mut self, part: &Part) -> CriticalThresholds<'_> {
        let (score, whole) = (self.score, self.whole());
        if self.least_changes.is_empty() {
            self.least_changes = score.least_changes();
        }
        let marks = self.gathered.get_or_insert_with(|| Bitmap::new(part.owned()));
        CriticalThresholds { score, by_degree: &self.least_changes, whole, marks }
    }

    /// The move that counts as a change of 1: infinite where nothing moved before, so that none does, and no number where moves are not
    /// scored at all.
    fn whole(&self) -> f64 {
        match self.rules.change(&[]) {
            Change::Moved if self.largest > 0.0 => self.largest,
            Change::Moved => f64::INFINITY,
            Change::None | Change::Onward | Change::Near(_) => f64::NAN,
        }
    }

    /// Takes in what the threads' books of a gather say. Scoring took the share of the gather that it took of the threads' time.
    pub(crate) fn settle<'b>(&mut self, books: impl ExactSizeIterator<Item = &'b MonitoredTotals>) {
        let threads = books.len() as u32;
        let mut scoring = Duration::ZERO;
        for accumulator in books {
            self.counts.mass += accumulator.mass();
            self.counts.below += u64::from(accumulator.low < self.floor);
            self.counts.critical += accumulator.critical;
            self.counts.largest = self.counts.largest.max(accumulator.largest);
            scoring += accumulator.scoring();
        }
        self.counts.marking += scoring / threads.max(1);
    }
}

impl Step<'_> {
    /// Makes the monitor see the operators of this run.
    ///
    /// # Errors
    /// When the device has no memory for it.
    pub(crate) fn install(&mut self, monitor: OperatorMonitor, is_timed: bool) -> Result<()> {
        if let Some(device) = &mut self.device {
            device.guard(monitor.terms(is_timed))?;
        }
        self.monitor = Some(Box::new(monitor));
        Ok(())
    }
}
