//! Order statistics and a bootstrap interval. Everything is seeded: the same measurements give the same digits.

/// Fewer repeats than this give no interval worth the name: the bootstrap of four values has their extremes as its ends.
pub(super) const REPEATS_WANTED: usize = 5;

/// Resamples of a bootstrap.
const RESAMPLES: usize = 10_000;

/// A sample in short.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Interval {
    pub(crate) count: usize,
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Ends of the 95 % percentile bootstrap interval of the median.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The middle of a sample, the mean of the two middle values of an even one; NaN of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// A sample in short; None of none.
pub(crate) fn summary(values: &[f64]) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    let mut random = SplitMix64(0x6772_6170_6861_6c67); // "graphalg"
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let resample: Vec<f64> = values.iter().map(|_| values[random.below(values.len())]).collect();
            median(&resample)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians[((RESAMPLES - 1) as f64 * share).round() as usize];
    let extreme = |of: fn(f64, f64) -> f64| values.iter().copied().reduce(of).unwrap_or(f64::NAN);
    Some(Interval {
        count: values.len(),
        median: median(values),
        min: extreme(f64::min),
        max: extreme(f64::max),
        low: at(0.025),
        high: at(0.975),
    })
}

/// Vigna's SplitMix64.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`, by the high half of the product.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_median_and_stays_within_the_sample() {
        let values = [3.0, 1.0, 2.0, 5.0, 4.0, 9.0, 7.0];
        let found = summary(&values).expect("a sample");
        assert_eq!((found.count, found.median, found.min, found.max), (7, 4.0, 1.0, 9.0));
        assert!(found.min <= found.low && found.low <= found.median);
        assert!(found.median <= found.high && found.high <= found.max);
        assert_eq!(summary(&values), Some(found), "seeded");
        assert_eq!(summary(&[2.0]).map(|one| (one.low, one.high)), Some((2.0, 2.0)));
        assert_eq!(median(&[1.0, 2.0]), 1.5);
        assert!(summary(&[]).is_none());
    }

    #[test]
    fn the_interval_covers_the_true_median_about_as_often_as_it_says() {
        let mut random = SplitMix64(7);
        let mut held = 0;
        for _ in 0..40 {
            // Uniform on 0..1000: the true median is 499.5.
            let sample: Vec<f64> = (0..15).map(|_| random.below(1000) as f64).collect();
            let interval = summary(&sample).expect("a sample");
            held += usize::from(interval.low <= 499.5 && 499.5 <= interval.high);
        }
        assert!(held >= 34, "{held} of 40");
    }
}
