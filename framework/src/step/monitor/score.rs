//! Which active vertices are critical: `a * structure(v) + b * change(v) >= t`.
//!
//! `structure(v) = ln(1 + deg) / ln(1 + max deg)`, over the whole graph, so marks do not depend on the number of ranks. The score
//! rises with the degree, so for a given change a threshold on the degree says the same: no logarithm is taken per vertex.

use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::device::GatherMarks;
use crate::partition::Part;
use crate::transport::{Transport, agree_on_max};

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
    /// Owned vertices that are critical whatever their change.
    always: u64,
    /// From this degree on they are.
    always_from: u64,
}

impl Score {
    /// Agrees with the peers on the largest degree. `both`: degrees count arcs in and out.
    pub(crate) fn new(weights: Weights, both: bool, part: &Part, transport: &mut dyn Transport) -> Result<Score> {
        let mut score = Score { weights, both: both && part.has_incoming(), degree_max: 0, always: 0, always_from: 0 };
        let mine = part.owned_vertices().map(|v| score.degree(part, v)).max().unwrap_or(0);
        score.degree_max = agree_on_max(transport, mine)?;
        score.always_from = score.least_degree(0.0);
        let is_always = |v: &LocalId| score.degree(part, *v) >= score.always_from;
        score.always = part.owned_vertices().filter(is_always).count() as u64;
        Ok(score)
    }

    #[inline(always)]
    fn degree(&self, part: &Part, v: LocalId) -> u64 {
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

    /// The least degree with which a vertex of that change is critical; above every degree if none is.
    pub(crate) fn least_degree(&self, change: f64) -> u64 {
        let (mut low, mut high) = (0, self.degree_max.saturating_add(1));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.score(middle, change) >= self.weights.t { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Whether `v`, of at least that degree, is critical.
    #[inline(always)]
    pub(crate) fn reaches(&self, part: &Part, v: LocalId, least_degree: u64) -> bool {
        least_degree == 0 || self.degree(part, v) >= least_degree
    }

    /// Owned vertices that are critical without any change.
    pub(crate) fn always(&self) -> u64 {
        self.always
    }

    /// The least change that makes a vertex of that degree critical; infinite if it is so anyway or never.
    fn least_change(&self, degree: u64) -> f64 {
        if degree >= self.always_from {
            return f64::INFINITY;
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
        let (always_from, both) = (self.always_from, self.both);
        // No smaller move makes anything critical; a little less, so that rounding hides nothing.
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

/// How far vertices must move to be critical, where they are not so without.
pub(crate) struct CriticalThresholds<'m> {
    pub(crate) score: Score,
    pub(crate) by_degree: &'m [f64],
    /// The move that counts as a change of 1; infinite where moves do not count.
    pub(crate) whole: f64,
}

impl CriticalThresholds<'_> {
    /// Whether `v`, which has so many arcs out and moved by that much, is critical and would not be if it had not moved.
    #[inline(always)]
    pub(crate) fn is_raised(&self, part: &Part, v: LocalId, out: u64, moved: f64) -> bool {
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
        let mut score = Score { weights: Weights { a, b, t }, both: false, degree_max, always: 0, always_from: 0 };
        score.always_from = score.least_degree(0.0);
        score
    }

    proptest! {
        #[test]
        fn the_least_degree_says_what_the_formula_says(
            (a, b, t) in (0.0f64..=1.0, 0.0f64..=1.0, 0.0f64..=1.0),
            degree_max in 0u64..2000,
            change in 0.0f64..=1.0,
        ) {
            let score = score(a, b, t, degree_max);
            let least = score.least_degree(change);
            for degree in 0..=degree_max {
                let most = (1.0 + degree_max as f64).ln();
                let structure = if degree_max > 0 { (1.0 + degree as f64).ln() / most } else { 0.0 };
                let exact = a * structure + b * change - t;
                prop_assert!(exact.abs() < 1e-12 || (degree >= least) == (exact > 0.0), "degree {degree}, least {least}");
                let is_raised = degree < score.always_from && exact > 0.0;
                prop_assert!(exact.abs() < 1e-12 || (change >= score.least_change(degree)) == is_raised, "degree {degree}");
            }
        }
    }

    #[test]
    fn at_the_defaults_a_changed_vertex_is_critical_and_a_still_one_by_its_degree() {
        let score = score(0.5, 0.5, 0.3, 99);
        assert_eq!((score.least_degree(1.0), score.least_degree(0.6)), (0, 0));
        assert_eq!(score.least_degree(0.0), 15); // ln 16 / ln 100 = 0.602
    }
}
