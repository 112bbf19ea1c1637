//! How a search is guarded. `change(v) = 1 - 1 / max(1, deg)`: one neighbour at least reached the vertex, so that is the most of its
//! neighbours that it can be the first to reach: what a wrong level could spread to. It differs between the vertices of a frontier by
//! their degree. The level of one is found again from the levels of the vertices with arcs into it, which are final at the boundary.

use crate::certificate::certify;
use crate::fields::{LEVEL, UNREACHED};
use framework::base::error::Result;
use framework::base::id::{GlobalId, LocalId};
use framework::base::verdict::Verdict;
use framework::fault_tolerance::{
    Certificate, CertificateInput, Change, CheckInput, FaultTolerance, Redundancy, SuperstepTotals,
};
use framework::field::Field;
use framework::field::State;
use framework::partition::Part;

/// The rules of breadth-first search.
pub(crate) struct Protection {
    pub(crate) source: Option<GlobalId>,
}

impl FaultTolerance for Protection {
    fn change(&self, _: &[u64]) -> Change {
        Change::Onward
    }

    fn redundancy(&self) -> Redundancy {
        Redundancy::OverIncoming
    }

    /// Of the vertices with arcs into one of the frontier, some have the level before it and none a smaller one. A clean run
    /// cannot fail this: levels up to `index` are final, ghosts hold copies of them since the last exchange, and one with a smaller
    /// level would have reached the vertex earlier.
    fn repeat(&self, part: &Part, now: State<'_>, index: u32, vertices: &[LocalId], differs: &mut dyn FnMut(LocalId)) {
        // The source is no update.
        let Some(parent) = index.checked_sub(1) else { return };
        let level = now.values(LEVEL);
        for &v in vertices {
            let nearest = part.incoming().of(v).iter().fold(UNREACHED, |least, &u| least.min(level.get(u)));
            if nearest != parent || level.get(v) != index {
                differs(v);
            }
        }
    }

    fn set_once(&self) -> Option<Field<u32>> {
        Some(LEVEL)
    }

    /// What joins a frontier is what the next superstep consumes, and nobody joins twice.
    fn trend(&self, before: Option<&SuperstepTotals>, now: &SuperstepTotals) -> Verdict {
        let expected = before.map_or(now.consumed.min(1), |before| before.active);
        let verdict = Verdict::require(now.consumed == expected, "bfs consumes the frontier it made", None, || {
            format!("{} vertices consumed, {expected} had joined", now.consumed)
        });
        if !verdict.is_sound() {
            return verdict;
        }
        Verdict::require(now.consumed_so_far <= now.vertices, "a vertex joins one frontier of bfs", None, || {
            format!("{} joined, there are {}", now.consumed_so_far, now.vertices)
        })
    }

    fn check(&self, input: &CheckInput<'_>) -> Verdict {
        let level = input.now.values(LEVEL);
        let before = input.before.map(|(state, _)| state.values(LEVEL));
        for v in input.part.owned_vertices() {
            let now = level.get(v);
            let was = before.map_or(UNREACHED, |before| before.get(v));
            let is_kept = was == UNREACHED || was == now;
            if !is_kept || now != UNREACHED && now > input.index {
                let id = Some(input.ids.original(input.part.global(v)));
                let rule = if is_kept { "no bfs level lies ahead of the superstep" } else { "a bfs level stays" };
                return Verdict::require(false, rule, id, || format!("{} was {}", now as i32, was as i32));
            }
        }
        Verdict::Sound
    }

    fn certifies(&self) -> bool {
        true
    }

    fn postcheck(&self, input: &mut CertificateInput<'_>) -> Result<Option<Certificate>> {
        certify(input, self.source).map(Some)
    }
}
