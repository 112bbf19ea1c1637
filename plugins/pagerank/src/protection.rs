//! How power iteration is guarded. `change(v) = |moved(v)| / max |moved|`, the maximum being that of the superstep before (the one
//! under way is not over when it is asked), at most 1 and 0 at first. All vertices are active, so none is idle, and the budget alone
//! says how many critical ones are done again: their rows are summed once more from the ranks of the round before, which are frozen, in
//! the same order, and what they settle on must have the same bits.
//!
//! The operator is a contraction by `d` in L1 that keeps the sum at 1, in exact arithmetic. In f64 a row of `m` terms is off by at
//! most `m * 2^-53` of its sum, a global sum in blocks of 4,096 by `(4096 + n / 4096) * 2^-53`: together below
//! `rho = 2^-52 * (max in-degree + 4096 + n / 4096)`, and errors of the sum add up to at most `rho / (1 - d)` over all rounds.

use crate::certificate::certify;
use crate::fields::{SHARE, divisor};
use framework::base::error::Result;
use framework::base::verdict::Verdict;
use framework::fault_tolerance::{
    Certificate, CertificateInput, Change, CheckInput, FaultTolerance, Redundancy, SuperstepTotals,
};

/// The rules of PageRank.
pub(crate) struct Protection {
    pub(crate) damping: f64,
    pub(crate) tolerance: f64,
}

/// What rounding may do to a sum.
fn rho(round: &SuperstepTotals) -> f64 {
    let n = round.vertices as f64;
    (round.in_degree_max as f64 + 4096.0 + n / 4096.0) * (-52f64).exp2()
}

impl FaultTolerance for Protection {
    fn change(&self, _: &[u64]) -> Change {
        Change::Moved
    }

    fn redundancy(&self) -> Redundancy {
        Redundancy::OfGathers
    }

    fn floor(&self, vertices: usize) -> Option<f64> {
        // Rounding of the quotient and of the sum takes less than 2^-51 of it.
        Some((1.0 - self.damping) / vertices.max(1) as f64 * (1.0 - (-50f64).exp2()))
    }

    fn trend(&self, before: Option<&SuperstepTotals>, now: &SuperstepTotals) -> Verdict {
        let rho = rho(now);
        let off = (now.mass - 1.0).abs();
        let verdict =
            Verdict::require(now.vertices == 0 || off <= rho / (1.0 - self.damping), "ranks sum to 1", None, || {
                format!("the sum is off by {off:.3e}")
            });
        let Some(before) = before.filter(|_| verdict.is_sound()) else { return verdict };
        let most = self.damping * before.residual + rho;
        Verdict::require(now.residual <= most, "ranks move less by the damping in each round", None, || {
            format!("moved {:.6e}, at most {most:.6e} after {:.6e}", now.residual, before.residual)
        })
    }

    /// The first round moves the ranks by at most 2, each later one by the damping times that and rounding: a run whose limit lies where
    /// even that is below the tolerance is always done. `--max-iterations` may be smaller, and the tolerance below rounding.
    fn converges(&self, last: &SuperstepTotals) -> bool {
        2.0 * self.damping.powf(f64::from(last.index)) + rho(last) / (1.0 - self.damping) <= self.tolerance
    }

    fn check(&self, input: &CheckInput<'_>) -> Verdict {
        let part = input.part;
        let share = input.now.values(SHARE);
        let least = self.floor(part.graph_vertices()).unwrap_or(0.0);
        for v in part.owned_vertices() {
            let rank = share.get(v) * divisor(part.outgoing().degree(v));
            // A rank is at most the sum, which rounding keeps below 1 + 2^-10 for any graph that fits.
            if !(rank >= least && rank <= 1.001) {
                let id = Some(input.ids.original(part.global(v)));
                return Verdict::require(false, "a rank lies between its floor and 1", id, || format!("{rank:e}"));
            }
        }
        Verdict::Sound
    }

    fn certifies(&self) -> bool {
        true
    }

    fn postcheck(&self, input: &mut CertificateInput<'_>) -> Result<Option<Certificate>> {
        certify(input, self.damping, self.tolerance).map(Some)
    }
}
