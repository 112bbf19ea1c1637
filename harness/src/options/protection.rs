//! The options of protection: as typed, and what they mean for a run. An option that would have no effect is refused, but for the
//! weights of the score: scripts pass those to every method.

use super::method::Method;
use clap::{Args, ValueEnum, ValueHint, value_parser};
use framework::base::error::{Error, Result};
use framework::fault_tolerance::Redundancy;
use framework::protect::{ATTEMPTS, BUDGET, Interval, Protection, Recovery, Weights};
use std::path::PathBuf;

/// Protection, as typed.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProtectionArgs {
    /// Watch the run for errors that would silently change its answer, and recover from them [default: off]
    #[arg(long, value_enum, value_name = "SWITCH", help_heading = "Protection")]
    pub(crate) fault_tolerance: Option<Switch>,
    /// Prove the answer at the end, by rules that only the right answer obeys [default: as --fault-tolerance]
    #[arg(long, value_enum, value_name = "SWITCH", help_heading = "Protection")]
    pub(crate) certify: Option<Switch>,
    /// Weight of structure in the score of a vertex, in [0, 1]
    #[arg(short, value_name = "A", default_value_t = 0.5, allow_negative_numbers = true, value_parser = unit, help_heading = "Protection")]
    pub(crate) a: f64,
    /// Weight of change in the score of a vertex, in [0, 1]
    #[arg(short, value_name = "B", default_value_t = 0.5, allow_negative_numbers = true, value_parser = unit, help_heading = "Protection")]
    pub(crate) b: f64,
    /// A vertex whose score is at least this is critical, in [0, 1]
    #[arg(short, value_name = "T", default_value_t = 0.3, allow_negative_numbers = true, value_parser = unit, help_heading = "Protection")]
    pub(crate) t: f64,
    /// Share of a superstep's arcs that repeated updates may read; 1: all that fits [default: 0.02]
    ///
    /// Where a frontier is consumed, at most as many updates are repeated as vertices are inactive; where all vertices are active
    /// (pagerank), this alone is the limit. It has no effect, nor have -a, -b and -t, on an algorithm whose updates cannot be repeated
    /// (cc): the summary names them then.
    #[arg(long, value_name = "F", allow_negative_numbers = true, value_parser = unit, help_heading = "Protection")]
    pub(crate) redundancy_budget: Option<f64>,
    /// What happens after an error was found [default: rollback]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Protection")]
    pub(crate) recovery: Option<RecoveryChoice>,
    /// How many times an older state may be restored before the run gives up [default: 3]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "Protection")]
    pub(crate) recovery_attempts: Option<u32>,
    /// Take a snapshot every so many supersteps; 0 keeps only the start [default: as often as their measured cost allows]
    #[arg(long, value_name = "N", help_heading = "Protection")]
    pub(crate) snapshot_interval: Option<u32>,
    /// Write checkpoints to this folder, from which `harness resume` continues the run after a crash
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Protection")]
    pub(crate) checkpoint_dir: Option<PathBuf>,
    /// Write a checkpoint every so many supersteps [default: 10]
    #[arg(long, value_name = "N", requires = "checkpoint_dir", value_parser = value_parser!(u32).range(1..), help_heading = "Protection")]
    pub(crate) checkpoint_interval: Option<u32>,
}

/// The options that can have no effect where updates are repeated like that, as the summary names them.
pub(crate) fn without_effect(redundancy: Redundancy) -> &'static [&'static str] {
    match redundancy {
        Redundancy::None => &["-a", "-b", "-t", "--redundancy-budget"],
        Redundancy::OverIncoming | Redundancy::OverOutgoing | Redundancy::OfGathers => &[],
    }
}

/// Supersteps between checkpoints where none are given.
pub(crate) const CHECKPOINT_INTERVAL: u32 = 10;

/// On or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Switch {
    /// Switched on
    On,
    /// Switched off
    Off,
}

/// What follows a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum RecoveryChoice {
    /// An older state is restored, and the run goes on from there
    Rollback,
    /// The error is only recorded; the answer passes if its certificate holds
    Off,
}

fn unit(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "give a number from 0 to 1".into())
}

impl ProtectionArgs {
    /// What was meant. The method has a say too.
    ///
    /// # Errors
    /// When options contradict each other or would have no effect.
    pub(crate) fn resolve(&self, method: Option<Method>) -> Result<Protection> {
        if self.a + self.b == 0.0 {
            return Err(Error::usage("-a and -b are both 0, so no vertex has a score; make one of them larger"));
        }
        let switch = self.fault_tolerance.map(|switch| switch == Switch::On);
        let is_on = match (method, switch) {
            (Some(method), Some(is_on)) if method.is_protected() != is_on => {
                return Err(Error::usage(format!(
                    "--method {} and --fault-tolerance {} contradict each other; leave one out",
                    method.name(),
                    if is_on { "on" } else { "off" }
                )));
            }
            (Some(method), _) => method.is_protected(),
            (None, switch) => switch.unwrap_or(false),
        };
        let certify = self.certify.map_or(is_on, |switch| switch == Switch::On);
        let idle = |option: &str, why: &str| Error::usage(format!("{option} has no effect {why}; leave it out"));
        if !is_on {
            let given = [
                ("--redundancy-budget", self.redundancy_budget.is_some()),
                ("--recovery", self.recovery.is_some()),
                ("--recovery-attempts", self.recovery_attempts.is_some()),
                ("--snapshot-interval", self.snapshot_interval.is_some()),
                ("--checkpoint-dir", self.checkpoint_dir.is_some()),
            ];
            if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
                return Err(idle(option, "without --fault-tolerance on"));
            }
        }
        let recovery = match self.recovery {
            _ if !is_on => Recovery::Off,
            Some(RecoveryChoice::Off) => Recovery::Off,
            Some(RecoveryChoice::Rollback) | None => Recovery::Rollback,
        };
        if is_on && recovery == Recovery::Off && self.recovery_attempts.is_some() {
            return Err(idle("--recovery-attempts", "with --recovery off"));
        }
        Ok(Protection {
            is_on,
            weights: Weights { a: self.a, b: self.b, t: self.t },
            budget: self.redundancy_budget.unwrap_or(BUDGET),
            certify,
            recovery,
            attempts: if recovery == Recovery::Off { 0 } else { self.recovery_attempts.unwrap_or(ATTEMPTS) },
            snapshots: self.snapshot_interval.map_or(Interval::Measured, Interval::Every),
            checkpoints: None,
        })
    }
}
