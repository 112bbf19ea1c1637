//! What is known of faults in a run of this algorithm.

use crate::certificate::certify;
use framework::error::Result;
use framework::fault::{Certificate, Change, FaultTolerance, Scene, Verdict, Window};

/// Options that the checks need.
pub(crate) struct Protection {
    pub(crate) damping: f64,
    pub(crate) tolerance: f64,
}

impl FaultTolerance for Protection {
    fn change(&self) -> Change {
        Change::Moved
    }

    fn check(&self, _: &Window<'_>) -> Verdict {
        Verdict::Sound
    }

    fn postcheck(&self, scene: &mut Scene<'_>) -> Result<Option<Certificate>> {
        certify(scene, self.damping, self.tolerance).map(Some)
    }
}
