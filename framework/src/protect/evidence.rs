//! What checkers found: counts by detector, on one rank and, after the batch, on all.

use crate::base::verdict::Finding;
use crate::fault_tolerance::Redundancy;

/// No superstep.
pub(crate) const NONE: u32 = u32::MAX;

/// Which kind of check found something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detector {
    /// A repeated update differs.
    Dmr,
    /// Something moved that only moves one way, or was set twice.
    Monotonicity,
    /// Books of frontiers, messages or sums do not add up.
    Trend,
}

/// How often a detector found something, and in which superstep first.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// How often.
    pub count: u64,
    /// The first superstep.
    pub first: Option<u32>,
}

impl Count {
    fn add(&mut self, count: u64, index: u32) {
        self.count += count;
        self.first = Some(self.first.map_or(index, |first| first.min(index)));
    }

    fn merge(&mut self, other: Count) {
        if let Some(first) = other.first {
            self.add(other.count, first);
        }
    }
}

/// Findings of one rank, or of all.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Evidence {
    /// Repeated updates that differ.
    pub dmr: Count,
    /// Values that moved the wrong way or were set twice.
    pub monotonicity: Count,
    /// Books that do not add up.
    pub trend: Count,
    /// Vertices marked critical.
    pub critical: u64,
    /// Of these, repeated.
    pub covered: u64,
    /// The first findings, each with its superstep.
    pub findings: Vec<(u32, Finding)>,
}

/// Findings kept; the rest is counted only.
const KEPT: usize = 8;

impl Evidence {
    pub(crate) fn add(&mut self, detector: Detector, count: u64, index: u32, finding: Finding) {
        match detector {
            Detector::Dmr => self.dmr.add(count, index),
            Detector::Monotonicity => self.monotonicity.add(count, index),
            Detector::Trend => self.trend.add(count, index),
        }
        if self.findings.len() < KEPT {
            self.findings.push((index, finding));
        }
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.dmr.count + self.monotonicity.count + self.trend.count == 0
    }

    pub(crate) fn merge(&mut self, other: Evidence) {
        self.dmr.merge(other.dmr);
        self.monotonicity.merge(other.monotonicity);
        self.trend.merge(other.trend);
        self.critical += other.critical;
        self.covered += other.covered;
        self.findings.extend(other.findings);
        self.findings.truncate(KEPT);
    }

    /// Numbers first, then findings as text; read back by `from_bytes`.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let count = |count: Count| [count.count, count.first.unwrap_or(NONE).into()];
        let numbers = [count(self.dmr), count(self.monotonicity), count(self.trend), [self.critical, self.covered]];
        let mut bytes: Vec<u8> = numbers.concat().iter().flat_map(|word| word.to_le_bytes()).collect();
        let text: Vec<_> = self.findings.iter().map(|(index, f)| (index, &f.rule, f.vertex, &f.evidence)).collect();
        bytes.extend(serde_json::to_vec(&text).unwrap_or_default());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Evidence> {
        let (numbers, text) = bytes.split_at_checked(64)?;
        let word = |place: usize| Some(u64::from_le_bytes(numbers.get(8 * place..8 * place + 8)?.try_into().ok()?));
        let count = |place: usize| {
            let first = u32::try_from(word(place + 1)?).ok()?;
            Some(Count { count: word(place)?, first: Some(first).filter(|&first| first != NONE) })
        };
        let findings: Vec<(u32, String, Option<i64>, String)> = serde_json::from_slice(text).ok()?;
        let finding = |(index, rule, vertex, evidence)| (index, Finding { rule, vertex, evidence });
        Some(Evidence {
            dmr: count(0)?,
            monotonicity: count(2)?,
            trend: count(4)?,
            critical: word(6)?,
            covered: word(7)?,
            findings: findings.into_iter().map(finding).collect(),
        })
    }
}

/// Whether the certificate holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Certified {
    /// There was none, or the run did not get so far.
    #[default]
    NotRun,
    /// Every rule holds on every rank.
    Held,
    /// A rule is broken.
    Failed,
}

/// What protection says of a trial, agreed by all ranks.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Detection {
    /// Findings of all ranks, redone supersteps included.
    pub evidence: Evidence,
    /// What the last certificate said.
    pub certificate: Certified,
    /// What the last certificate proved of an answer of real numbers: it lies within so much of the truth, in L1.
    pub bound: Option<f64>,
    /// The certificate's finding, if it failed at any time.
    pub refuted: Option<Finding>,
    /// Whether, and how, updates can be repeated.
    pub redundancy: Redundancy,
    /// Times that an older state was restored.
    pub recoveries: u32,
    /// Supersteps done again.
    pub iterations_redone: u64,
    /// Snapshots taken by one rank.
    pub snapshots: u64,
    /// Checkpoints written by one rank.
    pub checkpoints: u64,
    /// Times that the loop waited because a checker's queue was full.
    pub queue_waits: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_survives_the_wire_and_adds_up() {
        let finding = || Finding { rule: "levels stay".into(), vertex: Some(-7), evidence: "was 3".into() };
        let mut one = Evidence { critical: 9, covered: 4, ..Evidence::default() };
        one.add(Detector::Dmr, 2, 7, finding());
        let mut other = Evidence::default();
        other.add(Detector::Dmr, 1, 3, finding());
        other.add(Detector::Trend, 1, 8, finding());
        assert_eq!(Evidence::from_bytes(&one.to_bytes()), Some(one.clone()));
        one.merge(other);
        assert_eq!((one.dmr.count, one.dmr.first, one.trend.first), (3, Some(3), Some(8)));
        assert!(!one.is_clean() && Evidence::default().is_clean());
        assert_eq!(Evidence::from_bytes(&[0; 63]), None);
    }
}
