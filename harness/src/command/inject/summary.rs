//! What a campaign found, counted: `INJECT_SUMMARY` and `summary.json`.

use super::campaign::Clean;
use super::record::{Broke, Outcome, Row};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All strikes, and by model, target and tier.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Summary {
    pub(crate) strikes: u64,
    pub(crate) masked: u64,
    pub(crate) detected_recovered: u64,
    pub(crate) detected_unrecovered: u64,
    pub(crate) silent: u64,
    pub(crate) panics: u64,
    pub(crate) timeouts: u64,
    /// Of the clean runs.
    pub(crate) false_alarms: u64,
    pub(crate) clean_runs: u64,
    pub(crate) by: Vec<Group>,
    /// `cpu`, `cuda` or `simulated`.
    pub(crate) device: String,
}

/// The strikes of one model on one target, found first by one tier.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) model: String,
    pub(crate) target: String,
    /// 1 or 2; 0 where nothing was found.
    pub(crate) tier: u8,
    pub(crate) n: u64,
    pub(crate) masked: u64,
    pub(crate) detected_recovered: u64,
    pub(crate) detected_unrecovered: u64,
    pub(crate) silent: u64,
    /// The share of silent ones: 95 % Wilson interval.
    pub(crate) silent_low: f64,
    /// Its upper end.
    pub(crate) silent_high: f64,
}

impl Summary {
    /// Counts rows.
    pub(crate) fn of(rows: &[Row], clean: &Clean) -> Summary {
        let mut groups: BTreeMap<(&str, &str, u8), Vec<&Row>> = BTreeMap::new();
        for row in rows {
            groups.entry((&row.model, &row.target, row.tier)).or_default().push(row);
        }
        let by =
            groups.into_iter().map(|((model, target, tier), rows)| Group::of(model, target, tier, &rows)).collect();
        let count = |outcome| rows.iter().filter(|row| row.outcome == outcome).count() as u64;
        let broke = |how| rows.iter().filter(|row| row.broke == Some(how)).count() as u64;
        Summary {
            strikes: rows.len() as u64,
            masked: count(Outcome::Masked),
            detected_recovered: count(Outcome::DetectedRecovered),
            detected_unrecovered: count(Outcome::DetectedUnrecovered),
            silent: count(Outcome::Silent),
            panics: broke(Broke::Panicked),
            timeouts: broke(Broke::Hung),
            false_alarms: clean.false_alarms.into(),
            clean_runs: clean.runs.into(),
            by,
            device: String::new(),
        }
    }

    /// Whether nothing happened that must not.
    pub(crate) fn is_sound(&self) -> bool {
        self.silent + self.panics + self.timeouts + self.false_alarms == 0
    }

    /// For people.
    pub(crate) fn sentence(&self) -> String {
        let (low, high) = wilson(self.silent, self.strikes);
        format!(
            "{}   {} strikes: {} masked, {} detected and recovered, {} detected and not recovered, {} silent (95 %: {:.3} to \
             {:.3} %); {} panics, {} timeouts; {} false alarms in {} clean runs",
            if self.is_sound() { "result" } else { "FAILED" },
            self.strikes,
            self.masked,
            self.detected_recovered,
            self.detected_unrecovered,
            self.silent,
            low * 100.0,
            high * 100.0,
            self.panics,
            self.timeouts,
            self.false_alarms,
            self.clean_runs
        )
    }
}

impl Group {
    fn of(model: &str, target: &str, tier: u8, rows: &[&Row]) -> Group {
        let count = |outcome| rows.iter().filter(|row| row.outcome == outcome).count() as u64;
        let (n, silent) = (rows.len() as u64, count(Outcome::Silent));
        let (silent_low, silent_high) = wilson(silent, n);
        Group {
            model: model.into(),
            target: target.into(),
            tier,
            n,
            masked: count(Outcome::Masked),
            detected_recovered: count(Outcome::DetectedRecovered),
            detected_unrecovered: count(Outcome::DetectedUnrecovered),
            silent,
            silent_low,
            silent_high,
        }
    }
}

/// The 95 % interval of a share of `hits` in `n`. Source: Wilson, "Probable Inference, the Law of Succession, and Statistical
/// Inference", Journal of the American Statistical Association 1927.
pub(crate) fn wilson(hits: u64, n: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if n == 0 {
        return (0.0, 1.0);
    }
    let (count, share) = (n as f64, hits as f64 / n as f64);
    let middle = share + Z * Z / (2.0 * count);
    let spread = Z * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    let whole = 1.0 + Z * Z / count;
    // At the ends the formula gives 0 and 1, but for rounding.
    let low = if hits == 0 { 0.0 } else { (middle - spread) / whole };
    let high = if hits == n { 1.0 } else { (middle + spread) / whole };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::wilson;

    #[test]
    fn intervals_are_those_of_the_formula() {
        let check = |hits, n, low: f64, high: f64| {
            let found = wilson(hits, n);
            assert!((found.0 - low).abs() < 5e-5 && (found.1 - high).abs() < 5e-5, "{hits} of {n}: {found:?}");
        };
        check(0, 10, 0.0, 0.2775);
        check(5, 10, 0.2366, 0.7634);
        check(10, 10, 0.7225, 1.0);
        check(0, 10_000, 0.0, 0.000_384);
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        assert!((1..200).all(|n| wilson(0, n).0 == 0.0 && wilson(n, n).1 == 1.0), "the ends are exact");
    }
}
