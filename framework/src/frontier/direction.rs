//! Whether a visit pushes along the frontier's arcs or pulls into the vertices that have not joined: whichever takes fewer probes.
//!
//! Source: Beamer, Asanovic, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012; the rule is our own.

use crate::base::tally::Tally;
use crate::partition::Part;

/// Pull when that takes fewer probes than this many times the arcs out of the frontier, each of which is a random write (two threads,
/// one source each, against the paper's fixed shares of arcs and vertices: cnr-2000 10.6 to 7.1 ms, road-FLA 19.0 to 16.9,
/// urand-20 14.0 to 13.4, kron-20 8.8 to 8.4; at 1 and 2 kron-20 needs 12.6).
const PUSHED: u64 = 4;

/// Whether a visit pulls, by numbers that all ranks agree on: the frontier's, and how many vertices have not been in it.
pub(crate) fn visit_pulls(part: &Part, total: &Tally, remaining: u64) -> bool {
    part.has_incoming() && total.arcs.saturating_mul(PUSHED) > pull_probes(part, total, remaining)
}

/// About how many arcs a pull looks at: a vertex that has not joined goes through its row until it meets the frontier, which has
/// its share of all arcs.
fn pull_probes(part: &Part, total: &Tally, remaining: u64) -> u64 {
    let (all, vertices) = (part.graph_arcs(), part.graph_vertices() as u64);
    let row = (all / vertices.max(1)).min(all / total.arcs.max(1)) + 1;
    remaining.saturating_mul(row)
}
