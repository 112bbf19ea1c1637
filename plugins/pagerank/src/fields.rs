//! What power iteration keeps for every vertex.

use framework::field::{Field, Share};

/// Rank over out-degree, which is what an arc brings; a sink keeps its rank whole, and nobody gathers it.
pub(crate) const SHARE: Field<f64> = Field::real("share", Share::FromOwner, 0.0);
/// The next round's; in the end the rank.
pub const RANK: Field<f64> = Field::real("rank", Share::Private, 0.0);

/// Out-degree as a divisor: a sink keeps its rank whole.
pub(crate) fn divisor(degree: u64) -> f64 {
    degree.max(1) as f64
}
