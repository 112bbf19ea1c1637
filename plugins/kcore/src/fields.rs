//! What peeling keeps for every vertex.

use framework::field::{Field, Merge, Share};

/// Neighbours not yet removed, at least the level peeled: in the end the core number (for one k: whether it is in the core).
pub const DEGREE: Field<u32> = Field::<u32>::new("degree", Share::Private, 0);

/// Neighbours of a ghost removed here, on their way to its owner.
pub(crate) const LOSS: Field<u32> = Field::<u32>::new("loss", Share::ToOwner(Merge::Add), 0);

/// The superstep in which a vertex was removed; kept for the certificate only.
pub const STEP: Field<u32> = Field::<u32>::new("step", Share::Private, u32::MAX);
