//! Sums of floats that do not depend on their order: equal for any number of threads, chunks and ranks.
//!
//! Each term is split against two fixed grids, and the parts on one grid add up without rounding. Exact splitting holds while
//! every term is at most 8 and the total at most 16 in magnitude; terms are rounded at 2^-69, so a sum of n terms is off by at
//! most n * 2^-69 plus its own last bit. Larger terms (a corrupt value, say) still give a number, or infinity or NaN, but then
//! the order can show.
//!
//! Source: Demmel, Nguyen, "Fast Reproducible Floating-Point Summation", ARITH 2013.

/// A running sum.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sum {
    high: f64,
    low: f64,
}

/// Adding and taking this away rounds a number to a multiple of 2^-48.
const HIGH_GRID: f64 = 24.0;
/// The same for multiples of 2^-68: 1.5 * 2^-16. 2^32 low parts of at most 2^-49 stay below 2^-16.
const LOW_GRID: f64 = 1.5 / 65_536.0;

impl Sum {
    /// Adds one term.
    #[inline(always)]
    pub fn add(&mut self, term: f64) {
        let high = (term + HIGH_GRID) - HIGH_GRID;
        let low = ((term - high) + LOW_GRID) - LOW_GRID;
        self.high += high;
        self.low += low;
    }

    /// Adds all terms of another sum.
    #[inline(always)]
    pub fn merge(&mut self, other: Sum) {
        self.high += other.high;
        self.low += other.low;
    }

    /// The sum, rounded once.
    pub fn value(self) -> f64 {
        self.high + self.low
    }

    pub(crate) fn to_bits(self) -> [u64; 2] {
        [self.high.to_bits(), self.low.to_bits()]
    }

    pub(crate) fn from_bits(bits: [u64; 2]) -> Sum {
        Sum { high: f64::from_bits(bits[0]), low: f64::from_bits(bits[1]) }
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Sum {
        let mut sum = Sum::default();
        terms.into_iter().for_each(|term| sum.add(term));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_order_and_any_grouping_give_the_same_bits(
            terms in prop::collection::vec(0.0f64..0.01, 1..300),
            cut in 0usize..300,
            seed in any::<u64>(),
        ) {
            let whole: Sum = terms.iter().copied().collect();
            let mut shuffled = terms.clone();
            for i in (1..shuffled.len()).rev() {
                shuffled.swap(i, (seed.rotate_left(i as u32) % (i as u64 + 1)) as usize);
            }
            let cut = cut.min(shuffled.len());
            let mut halves: Sum = shuffled[..cut].iter().copied().collect();
            halves.merge(shuffled[cut..].iter().copied().collect());
            prop_assert_eq!(whole.to_bits(), halves.to_bits());
            let plain: f64 = terms.iter().sum();
            prop_assert!((whole.value() - plain).abs() < 1e-13);
        }
    }

    proptest! {
        #[test]
        fn a_sum_is_off_by_no_more_than_it_says(terms in prop::collection::vec(-(1i64 << 52)..(1i64 << 52), 1..500)) {
            // Terms are multiples of 2^-60 below 2^-8: whole numbers give the exact sum.
            let unit = (-60f64).exp2();
            let sum: Sum = terms.iter().map(|&term| term as f64 * unit).collect();
            let exact: i128 = terms.iter().map(|&term| i128::from(term)).sum();
            let bound = terms.len() as f64 * (-69f64).exp2() + (exact as f64 * unit).abs() * f64::EPSILON;
            prop_assert!((sum.value() - exact as f64 * unit).abs() <= bound);
        }

        #[test]
        fn merging_is_commutative_and_associative_and_survives_the_wire(
            parts in prop::collection::vec(prop::collection::vec(-0.01f64..0.01, 0..50), 3),
        ) {
            let [a, b, c] = [0, 1, 2].map(|part| parts[part].iter().copied().collect::<Sum>());
            let merged = |mut left: Sum, right: Sum| {
                left.merge(right);
                left
            };
            let bits = |sum: Sum| sum.value().to_bits();
            prop_assert_eq!(bits(merged(a, b)), bits(merged(b, a)));
            prop_assert_eq!(bits(merged(merged(a, b), c)), bits(merged(a, merged(b, c))));
            prop_assert_eq!(Sum::from_bits(a.to_bits()), a);
        }
    }

    #[test]
    fn a_million_equal_terms_sum_to_one() {
        let sum: Sum = std::iter::repeat_n(1e-6, 1_000_000).collect();
        assert!((sum.value() - 1.0).abs() < 1e-15, "{}", sum.value());
    }

    #[test]
    fn a_corrupt_term_shows() {
        assert!([1.0, f64::NAN].into_iter().collect::<Sum>().value().is_nan());
        assert!(![1.0, f64::INFINITY].into_iter().collect::<Sum>().value().is_finite());
    }
}
