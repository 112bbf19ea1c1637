//! What a run keeps for every vertex; the fields of the evidence stand in [`crate::evidence`].

use framework::field::{Field, Merge, Share};

/// While a part is contracted: the parent, by local number. Then: the smallest global number known.
pub const LABEL: Field<u32> = Field::<u32>::new("label", Share::Both(Merge::Min), 0);

/// The root of the tree, by local number; used on several ranks only.
pub(crate) const ROOT: Field<u32> = Field::<u32>::new("root", Share::Private, 0);
