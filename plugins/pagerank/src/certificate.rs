//! The certificate: one independent application of the operator G moves the ranks x by no more than a finished run may leave.
//!
//! ```text
//! (Gx)(v) = (1 - d) / n + d * (sum over u -> v of x(u) / outdegree(u) + (rank of sinks) / n)
//! ```
//!
//! Rules: ||x - Gx||_1 <= d * tolerance + rho, and |sum of x - 1| <= rho / (1 - d), with
//! rho = 2^-52 * (largest in-degree + 4096 + n / 4096): the rounding of a row's sum, relative to ranks that sum to 1, with room
//! for a global sum in blocks of 4,096 (ours is finer, `framework::base::sum`).
//!
//! *Complete.* G contracts by d in L1 (columns of the walk sum to 1), so with the fixed point x*: ||x - x*|| <= ||x - Gx|| +
//! ||Gx - Gx*|| <= ||x - Gx|| + d ||x - x*||, hence ||x - x*|| <= (||x - Gx|| + rho) / (1 - d): an answer that passes lies within
//! (d * tolerance + 2 rho) / (1 - d) of the truth, which is the bound that makes two answers equal. The bound is reported. NaN
//! and infinity fail the comparisons. *Sound.* The last round moved the ranks by at most the tolerance, so the next moves them by
//! at most d times that, up to rounding.
//! Cost: one pass over the vertices for x / outdegree, one over the arcs in. Both compute in an order of their own and share no
//! code with the supersteps.

use crate::fields::RANK;
use framework::base::error::Result;
use framework::base::id::LocalId;
use framework::base::sum::Sum;
use framework::base::verdict::Verdict;
use framework::certify::{Audit, Row};
use framework::fault_tolerance::{Certificate, CertificateInput};

/// What each thread adds up.
#[derive(Default)]
struct Moved {
    /// |x - Gx|.
    change: Sum,
    /// x.
    sum: Sum,
    /// The longest row.
    degree: u64,
    /// The vertex that would move most, and by how much.
    worst: Option<(f64, LocalId)>,
}

/// Judges the ranks of this rank's vertices.
pub(crate) fn certify(input: &mut CertificateInput<'_>, damping: f64, tolerance: f64) -> Result<Certificate> {
    let mut audit = Audit::of(input);
    let part = audit.part;
    let n = part.graph_vertices().max(1) as f64;
    let outgoing = part.outgoing();
    let (brought, sinks) = audit.derive(RANK, |v, rank, sinks: &mut Sum| match outgoing.degree(v) {
        0 => {
            sinks.add(rank);
            0.0 // nobody reads a sink's
        }
        degree => rank / degree as f64,
    })?;
    let sinks = sinks.into_iter().fold(Sum::default(), |mut sum, own| {
        sum.merge(own);
        sum
    });
    let sinks = audit.collectives.sum(sinks)?.value();
    let base = (1.0 - damping + damping * sinks) / n;
    let next = |row: Row<'_>| base + damping * row.fold_in_strands(0.0, |sum, u| sum + brought.get(u), |a, b| a + b);
    let scan = audit.scan(RANK, |v, found, row, moved: &mut Moved| {
        let by = (found - next(row)).abs();
        moved.change.add(by);
        moved.sum.add(found);
        moved.degree = moved.degree.max(row.len() as u64);
        if moved.worst.is_none_or(|(most, _)| by > most) || by.is_nan() {
            moved.worst = Some((by, v));
        }
        true
    });
    let mut moved = Moved::default();
    for own in scan.threads {
        moved.change.merge(own.change);
        moved.sum.merge(own.sum);
        moved.degree = moved.degree.max(own.degree);
        moved.worst = [moved.worst, own.worst].into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0));
    }
    let change = audit.collectives.sum(moved.change)?.value();
    let sum = audit.collectives.sum(moved.sum)?.value();
    let degree =
        audit.collectives.gather(&[moved.degree])?.into_iter().flatten().fold(0, u64::max).min(part.graph_arcs());
    if part.graph_vertices() == 0 {
        return Ok(audit.close(Verdict::Sound));
    }
    let rho = f64::EPSILON * (degree as f64 + 4096.0 + n / 4096.0);
    let bound = (change + rho) / (1.0 - damping);
    let worst = moved.worst.map(|(_, v)| audit.id(v));
    // `<=` is false for NaN, which must not pass.
    let rule = "another round moves the ranks by at most d * tolerance + rho";
    let verdict = Verdict::require(change <= damping * tolerance + rho, rule, worst, || {
        format!("it moves them by {change:e}, so all that is proved is that they are within {bound:e} of the truth")
    });
    let verdict =
        verdict.and(Verdict::require((sum - 1.0).abs() <= rho / (1.0 - damping), "the ranks sum to 1", None, || {
            format!("they sum to 1 + {:e}", sum - 1.0)
        }));
    Ok(Certificate { bound: Some(bound), ..audit.close(verdict) })
}
