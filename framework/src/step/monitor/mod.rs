//! What operators do beside their work in a protected run: marks and repeated updates where a frontier is consumed, checksums
//! where vertices are visited, mass and moves where gathers settle.
//!
//! On the cpu device an inactive vertex costs no thread, so an idle lane is only a licence: at most as many updates are repeated
//! as vertices are inactive, and at most as many arcs read as the budget's share of the round's. What is left of the
//! budget is carried to the next superstep, so that small frontiers are covered too. Replicas read the state at the boundary
//! before the superstep, before its update changes anything, so a clean one never differs.

mod score;
mod gather;

pub(crate) use gather::{GatherAccumulator, MonitoredTotals, Totals};
pub use score::Weights;
pub(crate) use score::{CriticalThresholds, Score};

use crate::base::checksum::mix;
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::base::probe::{OpenRange, RangeHooks, Stage};
use crate::base::sum::Sum;
use crate::device::{GatherMarks, GuardTerms, Replicas, Summary, word};
use crate::fault_tolerance::{Change, FaultTolerance, Redundancy};
use crate::field::State;
use crate::field::{Bind, Column, Fields, Value};
use crate::host::CachePadded;
use crate::host::access::{at, vertices_of};
use crate::partition::{LocalRows, Part};
use crate::step::Step;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Replicas with at most this many arcs are done by one thread: they only read, so a few microseconds' worth is enough to share.
const ALONE_ARCS: u64 = 2_048;
/// Frontiers of at most this many vertices are drawn from by one thread.
const ALONE_VERTICES: u64 = 8_192;
/// Vertices that a thread repeats at once.
const PIECE: usize = 64;
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

/// The set-once field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetOnceField {
    pub(crate) slot: usize,
    pub(crate) initial: u64,
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
    /// When vertices were marked.
    pub(crate) marking: Option<(Instant, Instant)>,
}

impl OperatorMonitor {
    pub(crate) fn new(
        rules: Arc<dyn FaultTolerance>,
        score: Score,
        budget: f64,
        fields: &Fields,
        part: &Part,
    ) -> OperatorMonitor {
        let once = rules.set_once().map(|field| field.spec()).and_then(|spec| {
            let slot = fields.specs().iter().position(|own| own.name == spec.name)?;
            Some(SetOnceField { slot, initial: spec.initial_bits() })
        });
        let floor = rules.floor(part.graph_vertices()).unwrap_or(f64::NEG_INFINITY);
        let (counts, chosen) = (MonitorCounts::default(), Vec::new());
        let least_changes = if rules.change() == Change::Moved { score.least_changes() } else { Vec::new() };
        OperatorMonitor {
            rules,
            score,
            budget,
            allowance: 0.0,
            once,
            sum: 0,
            floor,
            largest: 0.0,
            counts,
            chosen,
            least_changes,
            ranges: None,
        }
    }

    pub(crate) fn set_once(&self) -> Option<SetOnceField> {
        self.once
    }

    /// An operator is about to consume a frontier and to read about `reads` arcs for it.
    pub(crate) fn before_consume(&mut self, step: &Step<'_>, vertices: u64, reads: u64) {
        let over = self.rules.redundancy();
        let Change::Uniform(change) = self.rules.change() else { return };
        if over == Redundancy::None {
            return;
        }
        let begin = Instant::now();
        let range = OpenRange::begin(self.ranges, Stage::ScoreAndMark);
        let part = step.part;
        let rows = if over == Redundancy::OverIncoming { part.incoming() } else { part.outgoing() };
        let least = self.score.least_degree(change);
        let busy = step.consumed().min(part.owned() as u64) + self.counts.assigned;
        let capacity = (part.owned() as u64).saturating_sub(busy);
        self.allowance += self.budget * reads as f64;
        if self.budget >= 1.0 {
            self.allowance = f64::INFINITY;
        }
        let critical = if least == 0 {
            vertices
        } else {
            let mut count = 0;
            step.frontier.for_each_owned(part, |v| count += u64::from(self.score.reaches(part, v, least)));
            count
        };
        self.counts.critical += critical;
        self.chosen.clear();
        if critical > 0 {
            self.choose(step, rows, vertices, least, capacity);
        }
        drop(range);
        self.counts.marking = Some((self.counts.marking.map_or(begin, |(first, _)| first), Instant::now()));
        if !self.chosen.is_empty() {
            self.repeat(step, rows);
        }
    }

    /// Chooses critical vertices until capacity or budget is used up: the same ones whatever the order of queues, so that runs on the
    /// same threads and ranks agree. Bits are in order; queues are not, so of those a share is drawn by number and sorted.
    fn choose(&mut self, step: &Step<'_>, rows: &LocalRows, vertices: u64, least: u64, capacity: u64) {
        if self.allowance < 1.0 || capacity == 0 {
            return;
        }
        let (score, part, index) = (self.score, step.part, u64::from(step.index));
        let (chosen, mut passed) = (&mut self.chosen, 0);
        let mut left = RemainingBudget { vertices: capacity, arcs: &mut self.allowance };
        if let Some(words) = step.frontier.words(part) {
            let skip = (mix(0, index) % words.len().max(1) as u64) as usize;
            let places = (skip..words.len()).chain(0..skip);
            let _ = places.flat_map(|word| vertices_of(word, words[word].load(Relaxed))).all(|v| {
                if score.reaches(part, v, least) {
                    let is_taken = left.takes(rows.degree(v));
                    passed = if is_taken { 0 } else { passed + 1 };
                    chosen.extend(is_taken.then_some(v));
                }
                left.has_any() && passed < PASSED_MAX
            });
            return;
        }
        let by_arcs = *left.arcs / step.frontier.arcs.max(1) as f64;
        let share = by_arcs.min(capacity as f64 / vertices as f64).min(1.0);
        let below = (share * 2f64.powi(32)) as u64;
        let is_drawn = |v: &LocalId| draw(index, *v) < below && score.reaches(part, *v, least);
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

    fn repeat(&mut self, step: &Step<'_>, rows: &LocalRows) {
        let (part, index, state) = (step.part, step.index, State::of(&step.fields));
        let (rules, chosen) = (&*self.rules, &self.chosen);
        let (count, first) = (AtomicU64::new(0), AtomicU32::new(u32::MAX));
        let differs = |v: LocalId| {
            count.fetch_add(1, Relaxed);
            first.fetch_min(v.number(), Relaxed);
        };
        let arcs: u64 = chosen.iter().map(|&v| rows.degree(v)).sum();
        if arcs <= ALONE_ARCS || step.pool.threads() == 1 {
            rules.repeat(part, state, index, chosen, &mut { differs });
        } else {
            let pieces: Vec<&[LocalId]> = chosen.chunks(PIECE).collect();
            step.pool.chunks(pieces.len(), |_, piece| {
                rules.repeat(part, state, index, pieces[piece], &mut |v| differs(v));
            });
        }
        self.counts.assigned += chosen.len() as u64;
        self.counts.differing += count.into_inner();
        self.counts.first_differing = self.counts.first_differing.or(part.vertex(first.into_inner()));
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
        let replicas = match self.rules.change() {
            Change::Uniform(change) if over != Redundancy::None => Some(Replicas {
                over_incoming: over == Redundancy::OverIncoming,
                least_degree: self.score.least_degree(change),
                both: self.score.counts_both(),
                budget: self.budget,
            }),
            _ => None,
        };
        GuardTerms { once: self.once.map(|once| (once.slot, once.initial)), replicas, is_timed }
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
        let always = if self.rules.change() == Change::Moved { self.score.always() } else { 0 };
        self.sum = self.sum.wrapping_add(words[word::VISITED]);
        let counts = &mut self.counts;
        counts.critical = words[word::CRITICAL].wrapping_add(always);
        (counts.assigned, counts.below) = (words[word::ASSIGNED], words[word::BELOW]);
        (counts.differing, counts.first_differing) = (words[word::DIFFERING], first(word::FIRST_DIFFERING));
        (counts.set_twice, counts.first_twice) = (words[word::SET_TWICE], first(word::FIRST_TWICE));
        counts.largest = f64::from_bits(words[word::LARGEST]);
        counts.mass = Sum::from_bits([words[word::MASS], words[word::MASS + 1]]).value();
    }

    /// What a gather's vertices must move by to be critical; those that are critical however little they move are counted here.
    pub(crate) fn thresholds(&mut self) -> CriticalThresholds<'_> {
        if self.rules.change() == Change::Moved {
            self.counts.critical += self.score.always();
        }
        CriticalThresholds { score: self.score, by_degree: &self.least_changes, whole: self.whole() }
    }

    /// The move that counts as a change of 1; infinite where moves do not count.
    fn whole(&self) -> f64 {
        let counts = self.rules.change() == Change::Moved && self.largest > 0.0;
        if counts { self.largest } else { f64::INFINITY }
    }

    /// Takes in what a thread's book of a gather says.
    pub(crate) fn settle(&mut self, accumulator: &MonitoredTotals) {
        self.counts.mass += accumulator.mass;
        self.counts.below += u64::from(accumulator.low < self.floor);
        self.counts.critical += accumulator.raised;
        self.counts.largest = self.counts.largest.max(accumulator.largest);
    }
}

impl SetOnceField {
    fn term_unless_initial(self, v: LocalId, bits: u64) -> u64 {
        if bits == self.initial { 0 } else { term(v, bits) }
    }

    /// The values of the field's column.
    fn values(self, column: &Column) -> &[AtomicU32] {
        u32::atoms(column).expect("a set-once field holds u32")
    }

    /// The checksum over owned vertices that are not at their initial value.
    pub(crate) fn recount(self, fields: &Fields, part: &Part) -> u64 {
        let values = &self.values(fields.column(self.slot))[..part.owned()];
        let terms = (0u32..).zip(values).map(|(v, value)| (LocalId::new(v), u64::from(value.load(Relaxed))));
        terms.fold(0u64, |sum, (v, bits)| sum.wrapping_add(self.term_unless_initial(v, bits)))
    }
}

/// The term of a set-once value: an odd weight, linear in the place, times a one-to-one hash of the value. So one wrong value always
/// shows, several cancel only where their places and values match crosswise, and equal values of many vertices cost an addition each.
#[inline(always)]
fn term(v: LocalId, bits: u64) -> u64 {
    weight(v).wrapping_mul(hashed(bits))
}

#[inline(always)]
fn weight(v: LocalId) -> u64 {
    2 * u64::from(v.number()) + 1
}

#[inline(always)]
fn hashed(bits: u64) -> u64 {
    mix(0, bits)
}

/// Whether visits are watched: chosen once a call, compiled apart.
pub(crate) trait ObserverKind {
    type Over<'a>: VisitObserver;
    fn over<'a>(bind: &Bind<'a>, part: &Part, monitor: Option<&OperatorMonitor>) -> Self::Over<'a>;
}

/// Looks at vertices that were just visited.
pub(crate) trait VisitObserver: Copy + Sync {
    const OBSERVES: bool;
    fn look(self, visited: impl Iterator<Item = LocalId>, visits: &mut VisitChecksum);
}

/// What one thread saw: the checksum of the values set.
#[derive(Clone, Copy, Default)]
pub(crate) struct VisitChecksum {
    sum: u64,
    /// Weights of the latest vertices, which all have this value.
    weights: u64,
    value: u32,
}

impl VisitChecksum {
    #[inline(always)]
    fn add(&mut self, v: LocalId, value: u32) {
        if value != self.value {
            *self = VisitChecksum { sum: self.sum(), weights: 0, value };
        }
        self.weights = self.weights.wrapping_add(weight(v));
    }

    fn sum(&self) -> u64 {
        self.sum.wrapping_add(self.weights.wrapping_mul(hashed(self.value.into())))
    }
}

/// What all saw.
#[derive(Default)]
pub(crate) struct SharedVisitChecksum {
    sum: AtomicU64,
}

impl SharedVisitChecksum {
    #[inline(always)]
    pub(crate) fn add<S: VisitObserver>(&self, own: &VisitChecksum) {
        if S::OBSERVES {
            self.sum.fetch_add(own.sum(), Relaxed);
        }
    }
}

/// Nobody looks.
#[derive(Clone, Copy)]
pub(crate) struct NoObserver;

impl ObserverKind for NoObserver {
    type Over<'a> = NoObserver;
    #[inline(always)]
    fn over<'a>(_: &Bind<'a>, _: &Part, _: Option<&OperatorMonitor>) -> NoObserver {
        NoObserver
    }
}

impl VisitObserver for NoObserver {
    const OBSERVES: bool = false;
    #[inline(always)]
    fn look(self, _: impl Iterator<Item = LocalId>, _: &mut VisitChecksum) {}
}

/// The set-once field is looked at after a visit.
pub(crate) struct WithChecksum;

#[derive(Clone, Copy)]
pub(crate) struct ChecksumObserver<'a> {
    values: &'a [AtomicU32],
    ghost_base: u32,
}

impl ObserverKind for WithChecksum {
    type Over<'a> = ChecksumObserver<'a>;
    fn over<'a>(bind: &Bind<'a>, part: &Part, monitor: Option<&OperatorMonitor>) -> ChecksumObserver<'a> {
        let values =
            monitor.and_then(OperatorMonitor::set_once).map_or(&[][..], |once| once.values(bind.column(once.slot)));
        // Without values there is nothing to look at, as at a ghost.
        ChecksumObserver { values, ghost_base: if values.is_empty() { 0 } else { part.ghost_base() } }
    }
}

impl VisitObserver for ChecksumObserver<'_> {
    const OBSERVES: bool = true;
    /// Only after: a load before would wait for memory that the visit merely writes, and what it overwrites does no harm.
    #[inline(always)]
    fn look(self, visited: impl Iterator<Item = LocalId>, visits: &mut VisitChecksum) {
        let mut own = *visits;
        for v in visited.filter(|v| v.number() < self.ghost_base) {
            own.add(v, at(self.values, v).load(Relaxed));
        }
        *visits = own;
    }
}

impl Step<'_> {
    /// Makes the watch see the operators of this run.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn visits_add_up_to_their_terms_and_one_wrong_value_shows(
            values in prop::collection::vec(0u32..4, 1..200),
            place in any::<prop::sample::Index>(),
            flip in 1u32..,
        ) {
            let mut visits = VisitChecksum::default();
            (0..).map(LocalId::new).zip(&values).for_each(|(v, &value)| visits.add(v, value));
            let sum = |values: &[u32]| {
                let terms = (0..).map(LocalId::new).zip(values).map(|(v, &value)| term(v, value.into()));
                terms.fold(0u64, u64::wrapping_add)
            };
            prop_assert_eq!(visits.sum(), sum(&values));
            let mut struck = values.clone();
            struck[place.index(values.len())] ^= flip;
            prop_assert_ne!(visits.sum(), sum(&struck));
        }
    }
}
