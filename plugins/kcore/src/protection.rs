//! What is known of faults in a run of this algorithm.

use crate::certificate::certify;
use framework::error::Result;
use framework::fault::{Certificate, Change, FaultTolerance, Scene, Verdict, Window};

/// Options that the checks need.
pub(crate) struct Protection {
    /// The threshold; none for all cores.
    pub(crate) k: Option<u32>,
}

impl FaultTolerance for Protection {
    fn change(&self) -> Change {
        Change::Uniform(1.0)
    }

    fn check(&self, _: &Window<'_>) -> Verdict {
        Verdict::Sound
    }

    fn postcheck(&self, scene: &mut Scene<'_>) -> Result<Option<Certificate>> {
        certify(scene, self.k)
    }
}
