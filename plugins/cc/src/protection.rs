//! How components are guarded: labels are hooked in place, so no update can be repeated and nothing is marked; labels only fall.

use crate::certificate::certify;
use crate::fields::LABEL;
use framework::base::error::Result;
use framework::base::verdict::Verdict;
use framework::fault_tolerance::{Certificate, CertificateInput, CheckInput, FaultTolerance};

/// From this superstep on labels are global numbers; before, local ones.
const NAMED: u32 = 4;

/// The rules of connected components.
pub(crate) struct Protection;

impl FaultTolerance for Protection {
    fn check(&self, input: &CheckInput<'_>) -> Verdict {
        let (part, label) = (input.part, input.now.values(LABEL));
        // Numbers of another kind cannot be compared.
        let before = input.before.filter(|(_, index)| (*index < NAMED) == (input.index < NAMED));
        let before = before.map(|(state, _)| state.values(LABEL));
        for v in part.owned_vertices() {
            let now = label.get(v);
            let own = if input.index < NAMED { v.number() } else { part.global(v).0 };
            let was = before.map_or(own, |before| before.get(v));
            if now > own || now > was {
                let id = Some(input.ids.original(part.global(v)));
                let rule = if now > own { "a cc label is at most its vertex" } else { "a cc label never rises" };
                return Verdict::require(false, rule, id, || format!("{now} is above {}", own.min(was)));
            }
        }
        Verdict::Sound
    }

    fn certifies(&self) -> bool {
        true
    }

    fn postcheck(&self, input: &mut CertificateInput<'_>) -> Result<Option<Certificate>> {
        certify(input)
    }
}
