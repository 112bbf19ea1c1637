//! How peeling is guarded. `change(v) = min(deg, k) / max(deg, k)`, `deg` being the degree in the graph and `k` the threshold below which the
//! vertex fell, for all cores the level at which it leaves plus 1: how near its degree is to k. All that leave together have fewer than k
//! neighbours left, but not the same degree, so that it differs between them; near k a count that is off by a little decides. The
//! neighbours it has left are counted again.

use crate::certificate::certify;
use crate::fields::DEGREE;
use framework::base::error::Result;
use framework::base::id::LocalId;
use framework::base::verdict::Verdict;
use framework::fault_tolerance::{
    Certificate, CertificateInput, Change, CheckInput, FaultTolerance, Redundancy, SuperstepTotals,
};
use framework::field::State;
use framework::partition::Part;

/// The rules of k-core.
pub(crate) struct Protection {
    /// The threshold; none for all cores.
    pub(crate) k: Option<u32>,
}

impl FaultTolerance for Protection {
    /// The first number of the rule that peels is its level.
    fn change(&self, numbers: &[u64]) -> Change {
        Change::Near(1 + numbers.first().copied().unwrap_or(0))
    }

    fn redundancy(&self) -> Redundancy {
        Redundancy::OverOutgoing
    }

    /// A vertex that leaves at level `l` has at most `l` neighbours above the level. A clean run cannot fail this: its degree fell to
    /// the level by one for each neighbour that left, or more had left than that, and a neighbour above the level has not
    /// left. Ghosts are not counted: their degree is the owner's business.
    fn repeat(&self, part: &Part, now: State<'_>, _: u32, vertices: &[LocalId], differs: &mut dyn FnMut(LocalId)) {
        let degree = now.values(DEGREE);
        for &v in vertices {
            let level = degree.get(v);
            let is_above = |u: &&LocalId| !part.is_ghost(**u) && degree.get(**u) > level;
            let above = part.outgoing().of(v).iter().filter(is_above).count() as u64;
            if above > level.into() || self.k.is_some_and(|k| level != k - 1) {
                differs(v);
            }
        }
    }

    /// A vertex leaves once.
    fn trend(&self, _: Option<&SuperstepTotals>, now: &SuperstepTotals) -> Verdict {
        Verdict::require(now.consumed_so_far <= now.vertices, "a vertex leaves once in kcore", None, || {
            format!("{} left, there are {}", now.consumed_so_far, now.vertices)
        })
    }

    fn check(&self, input: &CheckInput<'_>) -> Verdict {
        let (part, degree) = (input.part, input.now.values(DEGREE));
        let before = input.before.map(|(state, _)| state.values(DEGREE));
        let floor = self.k.map_or(0, |k| u64::from(k) - 1);
        for v in part.owned_vertices() {
            let now = degree.get(v);
            let most = part.outgoing().degree(v).max(floor);
            let is_lower = before.is_none_or(|before| now <= before.get(v));
            if u64::from(now) > most || !is_lower {
                let id = Some(input.ids.original(part.global(v)));
                let rule = if is_lower { "a kcore degree counts neighbours" } else { "a kcore degree never rises" };
                return Verdict::require(false, rule, id, || format!("{now} of at most {most}"));
            }
        }
        Verdict::Sound
    }

    fn certifies(&self) -> bool {
        true
    }

    fn postcheck(&self, input: &mut CertificateInput<'_>) -> Result<Option<Certificate>> {
        certify(input, self.k)
    }
}
