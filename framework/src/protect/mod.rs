//! Protection of a run: what is watched while it goes on, how an older state comes back, and what is proved at the end.
//!
//! Tier 1 (`step::monitor`, `checker`): critical vertices are updated again and compared, values and messages carry
//! checksums, a checker judges a summary of each superstep. Tier 2 (`postcheck`): the plugin's certificate. Tier 3 (`snapshot`,
//! `checkpoint`): verified copies of the state, to which all ranks go back together. Cost of a superstep without faults:
//! O(active + messages).

mod evidence;
mod vote;
mod snapshot;
mod checkpoint;
mod resume;
mod checker;
mod restore_points;
mod guard;
mod recovery;
mod postcheck;

pub use crate::step::monitor::Weights;
pub use checkpoint::{CheckpointSet, Checkpoints, fingerprint};
pub use evidence::{Certified, Count, Detection, Detector, Evidence};
pub use guard::{GuardConfig, ProtectedGuard};
pub use postcheck::CertifyOnlyGuard;

use crate::field::FieldSpec;

/// How a run is protected.
#[derive(Clone, PartialEq, Debug)]
pub struct Protection {
    /// Whether tiers 1 and 3 are on.
    pub is_on: bool,
    /// The score of critical vertices.
    pub weights: Weights,
    /// Share of a superstep's arcs that repeated updates may read; 1: all that idle vertices allow.
    pub budget: f64,
    /// Whether the answer is certified.
    pub certify: bool,
    /// What follows a finding.
    pub recovery: Recovery,
    /// Times that an older state may be restored.
    pub attempts: u32,
    /// When snapshots are taken.
    pub snapshots: Interval,
    /// Where checkpoints go, if any are written.
    pub checkpoints: Option<Checkpoints>,
}

/// What follows a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// An older state is restored and redone.
    Rollback,
    /// It is recorded.
    Off,
}

/// When snapshots are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interval {
    /// As often as the measured cost allows: 1 % of the time.
    Measured,
    /// Every so many supersteps; 0 for never: then the start is the only older state.
    Every(u32),
}

impl Protection {
    /// None at all.
    pub fn off() -> Protection {
        Protection {
            is_on: false,
            weights: Weights::default(),
            budget: BUDGET,
            certify: false,
            recovery: Recovery::Off,
            attempts: 0,
            snapshots: Interval::Every(0),
            checkpoints: None,
        }
    }

    /// All of it, at its defaults.
    pub fn on() -> Protection {
        Protection {
            is_on: true,
            certify: true,
            recovery: Recovery::Rollback,
            attempts: ATTEMPTS,
            snapshots: Interval::Measured,
            ..Protection::off()
        }
    }
}

/// The default share of arcs for repeated updates.
pub const BUDGET: f64 = 0.02;
/// The default number of restores.
pub const ATTEMPTS: u32 = 3;

/// Bytes of the two snapshots of a run over so many vertices, ghosts apart.
pub fn snapshot_bytes(fields: &[FieldSpec], vertices: usize) -> u64 {
    let fields: usize = fields.iter().map(|field| field.kind.bytes() * vertices).sum();
    2 * (fields + vertices / 4 + vertices / 2) as u64
}
