//! The serial check: power iteration by pushing, vertex after vertex, to a finer tolerance, and the distance in L1.

use framework::answer::{Answer, Values};
use framework::base::verdict::Verdict;
use framework::graph::Graph;

/// Rounding of two runs of some hundred rounds, far above what was seen (1e-15) and far below any tolerance in use.
const ROUNDING: f64 = 1e-13;

/// Compares the answer with a plain iteration: both lie within tolerance * d / (1 - d) of the truth.
pub(crate) fn verify(graph: &Graph, damping: f64, tolerance: f64, answer: &Answer) -> Verdict {
    let Values::Real(ranks) = &answer.values else {
        return Verdict::require(false, "the answer of pagerank is ranks", None, || format!("{:?}", answer.column));
    };
    let right = graph.ids().by_id(ranks_of(graph, damping, tolerance));
    if ranks.len() != right.len() {
        return Verdict::require(false, "every vertex has a rank", None, || {
            format!("{} ranks for {} vertices", ranks.len(), right.len())
        });
    }
    let distance: f64 = ranks.iter().zip(&right).map(|(a, b)| (a - b).abs()).sum();
    let bound = 2.0 * tolerance * damping / (1.0 - damping) + ROUNDING;
    // `<=` is false for NaN, which must not pass.
    Verdict::require(distance <= bound, "two answers differ by at most 2 t d / (1 - d) in L1", None, || {
        format!("they differ by {distance:e}, the bound is {bound:e}")
    })
}

fn ranks_of(graph: &Graph, damping: f64, tolerance: f64) -> Vec<f64> {
    let n = graph.vertices();
    let mut rank = vec![1.0 / n as f64; n];
    // The change shrinks by d a round: this many rounds reach any tolerance that f64 can.
    for _ in 0..100_000 {
        let mut next = vec![0.0; n];
        let mut sinks = 0.0;
        for v in 0..n as u32 {
            let row = graph.outgoing().row(v);
            if row.is_empty() {
                sinks += rank[v as usize];
            }
            for &u in row {
                next[u as usize] += rank[v as usize] / row.len() as f64;
            }
        }
        let mut change = 0.0;
        for (next, rank) in next.iter_mut().zip(&rank) {
            *next = (1.0 - damping) / n as f64 + damping * (*next + sinks / n as f64);
            change += (*next - rank).abs();
        }
        rank = next;
        if change <= tolerance {
            break;
        }
    }
    rank
}
