//! What a search keeps for every vertex.

use framework::field::{Field, Merge, Share};

/// Distance from the source, in edges.
pub const LEVEL: Field<u32> = Field::<u32>::new("level", Share::Both(Merge::Min), UNREACHED);

/// The level of a vertex that no path leads to.
pub const UNREACHED: u32 = u32::MAX;
