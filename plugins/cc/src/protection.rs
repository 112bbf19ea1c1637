//! How components are guarded: labels are hooked in place, so no update can be repeated and nothing is marked; labels only fall.

use crate::certificate::certify;
use crate::fields::LABEL;
use framework::base::error::Result;
use framework::base::verdict::Verdict;
use framework::fault_tolerance::{Certificate, FaultTolerance, Scene, Window};

/// From this superstep on labels are global numbers; before, local ones.
const NAMED: u32 = 4;

/// The rules of connected components.
pub(crate) struct Protection;

impl FaultTolerance for Protection {
    fn check(&self, window: &Window<'_>) -> Verdict {
        let (part, label) = (window.part, window.now.values(LABEL));
        // Numbers of another kind cannot be compared.
        let before = window.before.filter(|(_, index)| (*index < NAMED) == (window.index < NAMED));
        let before = before.map(|(state, _)| state.values(LABEL));
        for v in part.owned_vertices() {
            let now = label.get(v);
            let own = if window.index < NAMED { v.number() } else { part.global(v).0 };
            let was = before.map_or(own, |before| before.get(v));
            if now > own || now > was {
                let id = Some(window.ids.original(part.global(v)));
                let rule = if now > own { "a cc label is at most its vertex" } else { "a cc label never rises" };
                return Verdict::require(false, rule, id, || format!("{now} is above {}", own.min(was)));
            }
        }
        Verdict::Sound
    }

    fn certifies(&self) -> bool {
        true
    }

    fn postcheck(&self, scene: &mut Scene<'_>) -> Result<Option<Certificate>> {
        certify(scene)
    }
}
