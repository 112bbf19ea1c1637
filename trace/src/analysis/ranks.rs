//! Ranks are compared here: for each figure the least, the largest, and the spread between them.

use super::figures::{Figures, percent};

/// One figure over the devices of all ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Which figure, as documents call it.
    pub figure: &'static str,
    /// The least, in ns, and the place of its device among those compared.
    pub min: (i64, usize),
    /// The largest; for `kernel_time` the slowest rank.
    pub max: (i64, usize),
    /// The mean over devices, rounded down.
    pub mean_ns: i64,
}

impl Comparison {
    /// `100 (max - min) / mean`; none if the mean is 0.
    pub fn spread_percent(&self) -> Option<f64> {
        percent(self.max.0 - self.min.0, self.mean_ns)
    }
}

/// Compares two devices or more; nothing for fewer.
pub fn compare(devices: &[Figures]) -> Vec<Comparison> {
    type Figure = (&'static str, fn(&Figures) -> i64);
    const FIGURES: [Figure; 6] = [
        ("kernel_time", |of| of.breakdown.kernel_ns),
        ("compute_time", |of| of.breakdown.compute_ns),
        ("non_compute_time", |of| of.breakdown.non_compute_ns),
        ("idle_time", |of| of.breakdown.idle_ns),
        ("comm_time", |of| of.overlap.comm_ns),
        ("exposed_comm_time", |of| of.overlap.exposed_ns()),
    ];
    let of = |(name, figure): Figure| {
        let values = || devices.iter().map(figure).enumerate().map(|(place, value)| (value, place));
        let sum: i128 = values().map(|(value, _)| i128::from(value)).sum();
        Some(Comparison {
            figure: name,
            min: values().min()?,
            max: values().max_by_key(|(value, place)| (*value, std::cmp::Reverse(*place)))?,
            mean_ns: i64::try_from(sum / devices.len() as i128).unwrap_or(i64::MAX),
        })
    };
    if devices.len() < 2 { Vec::new() } else { FIGURES.into_iter().filter_map(of).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Breakdown;

    #[test]
    fn the_slowest_rank_is_named_and_the_spread_is_of_the_mean() {
        let of = |kernel_ns| Figures {
            breakdown: Breakdown { kernel_ns, compute_ns: kernel_ns, ..Breakdown::default() },
            ..Figures::default()
        };
        assert!(compare(&[of(5)]).is_empty());
        let all = compare(&[of(100), of(140), of(120), of(140)]);
        assert_eq!((all[0].figure, all[0].min, all[0].max, all[0].mean_ns), ("kernel_time", (100, 0), (140, 1), 125));
        assert_eq!(all[0].spread_percent(), Some(32.0));
        assert_eq!(all[3].spread_percent(), None);
    }
}
