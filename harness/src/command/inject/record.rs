//! One row a strike: `strikes.csv`.

use framework::base::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What became of a strike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The answer is right and nothing was found.
    Masked,
    /// Something was found and the answer is right.
    DetectedRecovered,
    /// Something was found and the run ended with a non-zero exit code.
    DetectedUnrecovered,
    /// The answer is wrong and the exit code 0.
    Silent,
}

impl Outcome {
    /// All of them.
    pub(crate) const ALL: [Outcome; 4] =
        [Outcome::Masked, Outcome::DetectedRecovered, Outcome::DetectedUnrecovered, Outcome::Silent];

    /// For people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Outcome::Masked => "masked",
            Outcome::DetectedRecovered => "detected and recovered",
            Outcome::DetectedUnrecovered => "detected, not recovered",
            Outcome::Silent => "SILENT",
        }
    }
}

/// A strike and its end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// From 0.
    pub(crate) strike: u32,
    /// Repeats it: `--repeat`.
    pub(crate) seed: u64,
    /// The algorithm.
    pub(crate) algorithm: String,
    /// The graph's name.
    pub(crate) graph: String,
    /// Ranks of the run.
    pub(crate) ranks: usize,
    /// What it did.
    pub(crate) model: String,
    /// What it hit.
    pub(crate) target: String,
    /// On which rank.
    pub(crate) rank: u32,
    /// The original ID of the first vertex hit, if it is one's.
    pub(crate) vertex: Option<i64>,
    /// The field, or what it is called; empty of a run that hung or panicked.
    pub(crate) field: String,
    /// The superstep.
    pub(crate) iteration: u32,
    /// The first bit flipped, if just some were.
    pub(crate) bit: Option<u32>,
    /// What became of it.
    pub(crate) outcome: Outcome,
    /// The tier that found it first: 1 or 2; 0 for none.
    pub(crate) tier: u8,
    /// The superstep of the first finding.
    pub(crate) verdict_iteration: Option<u32>,
    /// Supersteps between the two.
    pub(crate) delay_rounds: Option<u32>,
    /// Supersteps done again.
    pub(crate) iterations_redone: u64,
    /// Of the run.
    pub(crate) exit_code: u8,
    /// Whether it panicked or hung; not in the file.
    #[serde(skip)]
    pub(crate) broke: Option<Broke>,
}

/// How a run can break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Broke {
    /// It panicked.
    Panicked,
    /// It did not end in time.
    Hung,
}

impl Row {
    /// For people, in a line.
    pub(crate) fn sentence(&self) -> String {
        let broke = match self.broke {
            Some(Broke::Panicked) => "; it PANICKED",
            Some(Broke::Hung) => "; it HUNG",
            None => "",
        };
        let found = match (self.tier, self.verdict_iteration) {
            (0, _) => String::new(),
            (tier, None) => format!(" by tier {tier}"),
            (tier, Some(at)) => format!(" by tier {tier} in superstep {at}, {} redone", self.iterations_redone),
        };
        let place = match (self.vertex, self.field.as_str()) {
            (_, "") => "never put in".into(),
            (None, field) => field.to_owned(),
            (Some(vertex), field) => format!("{field} of vertex {vertex}"),
        };
        let bit = self.bit.map(|bit| format!(", bit {bit}")).unwrap_or_default();
        format!(
            "strike   {} (seed {}): {} on {} of rank {} ({place}{bit}) in superstep {}: {}{found}{broke}",
            self.strike,
            self.seed,
            self.model,
            self.target,
            self.rank,
            self.iteration,
            self.outcome.words()
        )
    }
}

/// The rows as CSV.
///
/// # Errors
/// When they cannot be written.
pub(crate) fn table(rows: &[Row]) -> Result<Vec<u8>> {
    let failed = |error: String| Error::Environment(format!("strikes.csv could not be made: {error}"));
    let mut out = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| out.serialize(row)).map_err(|error| failed(error.to_string()))?;
    out.into_inner().map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A strike that nobody noticed and that did no harm.
    pub(crate) fn row(target: &str, model: &str) -> Row {
        Row {
            strike: 0,
            seed: 1,
            algorithm: "bfs".into(),
            graph: "ring".into(),
            ranks: 1,
            model: model.into(),
            target: target.into(),
            rank: 0,
            vertex: None,
            field: "level".into(),
            iteration: 0,
            bit: None,
            outcome: Outcome::Masked,
            tier: 0,
            verdict_iteration: None,
            delay_rounds: None,
            iterations_redone: 0,
            exit_code: 0,
            broke: None,
        }
    }
}
