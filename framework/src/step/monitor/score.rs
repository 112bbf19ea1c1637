//! Which active vertices are critical: `a * structure(v) + b * change(v) >= t`.
//!
//! `structure(v) = ln(1 + deg) / ln(1 + max deg)`, over the whole graph, so marks do not depend on the number of ranks. Where change
//! follows from the degree too, so does the mark, and a stretch or two of degrees say the same as the formula: they are found once for
//! each change, by bisection, and no logarithm is taken per vertex. Where it follows from a move, a table by degree says how large one
//! must be.

use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::device::{CriticalDegrees, GatherMarks};
use crate::fault_tolerance::Change;
use crate::host::Pool;
use crate::host::access::Bitmap;
use crate::partition::Part;
use crate::transport::{Transport, agree_on_max};
use std::sync::atomic::Ordering::Relaxed;

/// Weights of the score and the threshold of marks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weights {
    /// Weight of structure, in [0, 1].
    pub a: f64,
    /// Weight of change, in [0, 1].
    pub b: f64,
    /// Score from which a vertex is critical, in [0, 1].
    pub t: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { a: 0.5, b: 0.5, t: 0.3 }
    }
}

/// The score of one part's vertices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    weights: Weights,
    /// Whether arcs in and out are counted apart: in a graph with directions.
    both: bool,
    degree_max: u64,
    /// From this degree on vertices are critical whatever their change.
    always_from: u64,
}

impl Score {
    /// Agrees with the peers on the largest degree. `both`: degrees count arcs in and out.
    pub(crate) fn new(weights: Weights, both: bool, part: &Part, transport: &mut dyn Transport) -> Result<Score> {
        let mut score = Score { weights, both: both && part.has_incoming(), degree_max: 0, always_from: 0 };
        let mine = part.owned_vertices().map(|v| score.degree(part, v)).max().unwrap_or(0);
        score.degree_max = agree_on_max(transport, mine)?;
        score.always_from = first(0..score.end(), |degree| score.is_critical(degree, 0.0));
        Ok(score)
    }

    #[inline(always)]
    pub(crate) fn degree(&self, part: &Part, v: LocalId) -> u64 {
        self.whole_degree(part, v, part.outgoing().degree(v))
    }

    /// The degree of `v`, which has so many arcs out.
    #[inline(always)]
    fn whole_degree(&self, part: &Part, v: LocalId, out: u64) -> u64 {
        out + if self.both { part.incoming().degree(v) } else { 0 }
    }

    fn score(&self, degree: u64, change: f64) -> f64 {
        let most = (self.degree_max as f64).ln_1p();
        let structure = if most > 0.0 { (degree as f64).ln_1p() / most } else { 0.0 };
        self.weights.a * structure + self.weights.b * change
    }

    fn is_critical(&self, degree: u64, change: f64) -> bool {
        self.score(degree, change) >= self.weights.t
    }

    /// Above every degree.
    fn end(&self) -> u64 {
        self.degree_max.saturating_add(1)
    }

    /// The degrees at which vertices are critical, given what their change follows from. The score rises up to the change's peak;
    /// beyond it a change that falls like one over the degree makes it fall, then rise with the logarithm.
    pub(crate) fn critical_degrees(&self, change: Change) -> CriticalDegrees {
        let end = self.end();
        let score = |degree| self.score(degree, change.of_degree(degree));
        let is_critical = |degree| score(degree) >= self.weights.t;
        let peak = change.peak().min(self.degree_max);
        let low = first(0..peak + 1, is_critical);
        let bottom = first(peak..self.degree_max, |degree| score(degree + 1) >= score(degree));
        let gap = if low <= peak { first(peak..bottom, |degree| !is_critical(degree)) } else { low };
        let high = match first(bottom..end, is_critical) {
            none if none == end => u64::MAX,
            high => high,
        };
        if low < gap { CriticalDegrees { low, gap, high } } else { CriticalDegrees { low: 0, gap: 0, high } }
    }

    /// Those of the owned vertices that have such a degree.
    pub(crate) fn marks(&self, part: &Part, pool: &Pool, degrees: CriticalDegrees) -> Bitmap {
        let bits = Bitmap::new(part.owned());
        let chunks = part.chunks();
        pool.chunks(chunks.len() - 1, |_, chunk| {
            for first in (chunks[chunk]..chunks[chunk + 1]).step_by(64) {
                let vertices = first..chunks[chunk + 1].min(first + 64);
                let bit = |v: u32| u64::from(degrees.has(self.degree(part, LocalId::new(v)))) << (v - first);
                bits.words()[first as usize / 64].store(vertices.map(bit).sum(), Relaxed);
            }
        });
        bits
    }

    /// The least change that makes a vertex of that degree critical: below 0 if it is so anyway, infinite if never.
    fn least_change(&self, degree: u64) -> f64 {
        if degree >= self.always_from {
            return -1.0;
        }
        let missing = self.weights.t - self.score(degree, 0.0);
        if missing <= self.weights.b { missing / self.weights.b } else { f64::INFINITY }
    }

    /// Whether degrees count arcs in and out.
    pub(crate) fn counts_both(&self) -> bool {
        self.both
    }

    /// For the kernels of a device; `whole` as in [`CriticalThresholds`].
    pub(crate) fn on_device(&self, floor: f64, whole: f64) -> GatherMarks {
        let Weights { a, b, t } = self.weights;
        let log_most = (self.degree_max as f64).ln_1p();
        let always_from = if whole.is_nan() { u64::MAX } else { self.always_from };
        let both = self.both;
        // No smaller move makes anything critical that is not so anyway; a little less, so that rounding hides nothing.
        let least = self.always_from.checked_sub(1).map_or(f64::INFINITY, |degree| self.least_change(degree));
        let cutoff = if whole.is_finite() { least * whole * (1.0 - 1e-12) } else { f64::INFINITY };
        GatherMarks { floor, cutoff, whole, a, b, t, log_most, always_from, both }
    }

    /// Those changes by degree, for `CriticalThresholds`.
    pub(crate) fn least_changes(&self) -> Vec<f64> {
        (0..=self.degree_max.min(BY_DEGREE)).map(|degree| self.least_change(degree)).collect()
    }
}

/// Degrees up to this are looked up.
const BY_DEGREE: u64 = 4096;

/// The first of a range of degrees from which on `holds` does; the end if it does not.
fn first(range: std::ops::Range<u64>, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// How far vertices must move to be critical, and where it is marked that they are.
pub(crate) struct CriticalThresholds<'m> {
    pub(crate) score: Score,
    pub(crate) by_degree: &'m [f64],
    /// The move that counts as a change of 1: infinite where none does, no number where nothing is critical.
    pub(crate) whole: f64,
    pub(crate) marks: &'m Bitmap,
}

impl CriticalThresholds<'_> {
    /// Whether `v`, which has so many arcs out and moved by that much, is critical.
    #[inline(always)]
    pub(crate) fn is_critical(&self, part: &Part, v: LocalId, out: u64, moved: f64) -> bool {
        let degree = self.score.whole_degree(part, v, out);
        let least = self.by_degree.get(degree as usize).copied().unwrap_or_else(|| self.beyond(degree));
        moved >= least * self.whole
    }

    #[cold]
    fn beyond(&self, degree: u64) -> f64 {
        self.score.least_change(degree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn score(a: f64, b: f64, t: f64, degree_max: u64) -> Score {
        let mut score = Score { weights: Weights { a, b, t }, both: false, degree_max, always_from: 0 };
        score.always_from = first(0..score.end(), |degree| score.is_critical(degree, 0.0));
        score
    }

    fn structure(degree: u64, degree_max: u64) -> f64 {
        if degree_max > 0 { (1.0 + degree as f64).ln() / (1.0 + degree_max as f64).ln() } else { 0.0 }
    }

    proptest! {
        #[test]
        fn the_critical_degrees_say_what_the_formula_says(
            (a, b, t) in (0.0f64..=1.0, 0.0f64..=1.0, 0.0f64..=1.0),
            degree_max in 0u64..2000,
            k in prop_oneof![0u64..40, 0u64..3000],
            is_near in any::<bool>(),
        ) {
            let score = score(a, b, t, degree_max);
            let critical = score.critical_degrees(if is_near { Change::Near(k) } else { Change::Onward });
            let mut count = 0;
            for degree in 0..=degree_max {
                let (d, k) = (degree as f64, k as f64);
                let change = if is_near { d.min(k) / d.max(k).max(1.0) } else { 1.0 - 1.0 / d.max(1.0) };
                let exact = a * structure(degree, degree_max) + b * change - t;
                prop_assert!(exact.abs() < 1e-12 || critical.has(degree) == (exact > 0.0), "degree {degree}, {critical:?}");
                count += u64::from(critical.has(degree));
            }
            prop_assert!(!critical.has_all() || count == degree_max + 1, "{critical:?}");
            prop_assert!(!critical.has_none() || count == 0, "{critical:?}");
        }

        #[test]
        fn the_least_change_says_what_the_formula_says(
            (a, b, t) in (0.0f64..=1.0, 0.0f64..=1.0, 0.0f64..=1.0),
            degree_max in 0u64..2000,
            change in 0.0f64..=1.0,
        ) {
            let score = score(a, b, t, degree_max);
            for degree in 0..=degree_max {
                let exact = a * structure(degree, degree_max) + b * change - t;
                let is_critical = change >= score.least_change(degree);
                prop_assert!(exact.abs() < 1e-12 || is_critical == (exact > 0.0), "degree {degree}");
            }
        }
    }

    #[test]
    fn at_the_defaults_every_change_tells_vertices_of_one_frontier_apart() {
        let score = score(0.5, 0.5, 0.3, 99);
        let onward = score.critical_degrees(Change::Onward);
        assert_eq!([1, 2, 3, 99].map(|degree| onward.has(degree)), [false, true, true, true]); // 0.075, 0.37, ...
        let near = score.critical_degrees(Change::Near(2));
        assert_eq!([0, 2, 4, 10, 99].map(|degree| near.has(degree)), [false, true, true, true, true]);
        let far = score.critical_degrees(Change::Near(50));
        assert_eq!([1, 10, 30, 50, 99].map(|degree| far.has(degree)), [false, true, true, true, true]);
        assert_eq!(score.always_from, 15); // ln 16 / ln 100 = 0.602
    }

    #[test]
    fn degrees_between_the_near_and_the_large_are_not_critical() {
        let near = score(0.5, 0.5, 0.3, 100_000).critical_degrees(Change::Near(15));
        assert_eq!([1, 8, 15, 40, 200, 5_000].map(|degree| near.has(degree)), [false, true, true, true, false, true]);
    }
}
