//! What a run keeps for the certificate: the edge of each hook, and on several ranks where and when each tree's label came from.
//!
//! A hook joins two trees of this rank by one edge, so the edges kept, with the arc from each vertex to a smaller first
//! neighbour, are a spanning forest ([`crate::forest`]). A tree whose label falls in a boundary round keeps the vertex at which
//! the smaller label arrived, and the round.

use crate::program::{LABEL, ROOT};
use framework::field::{Bind, Changing, Field, Share};
use framework::id::LocalId;
use framework::op::{Access, VertexOp};
use framework::partition::Part;

/// The ends of the edge by which a root was hooked, by local number; equal (0) where it was not.
pub(crate) const NEAR: Field<u32> = Field::<u32>::new("near", Share::Private, 0);
/// The other end.
pub(crate) const FAR: Field<u32> = Field::<u32>::new("far", Share::Private, 0);
/// At a root: the smallest label that its tree has heard of.
pub(crate) const SEEN: Field<u32> = Field::<u32>::new("seen", Share::Private, 0);
/// At a root: the vertex, by local number, at which that label came, if it came from a peer.
pub(crate) const ENTRY: Field<u32> = Field::<u32>::new("entry", Share::Private, 0);
/// At a root: the superstep after which it came; 0 if it is the label of a vertex of the tree.
pub(crate) const ROUND: Field<u32> = Field::<u32>::new("round", Share::Private, 0);

/// A root notes the label that its tree starts with.
pub(crate) struct Settle;
/// A vertex hands its label to its root, which notes what is news.
pub(crate) struct Hear {
    pub(crate) round: u32,
}

impl VertexOp for Settle {
    type View<'a> = [Changing<'a, u32>; 3];
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        [LABEL, ROOT, SEEN].map(|field| bind.changing(field))
    }
    fn vertex<A: Access>(&self, [label, root, seen]: Self::View<'_>, _: &Part, v: LocalId) -> bool {
        let is_root = root.get(v) == v.number();
        if is_root {
            seen.set(v, label.get(v));
        }
        is_root
    }
}

impl VertexOp for Hear {
    type View<'a> = [Changing<'a, u32>; 5];
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        [LABEL, ROOT, SEEN, ENTRY, ROUND].map(|field| bind.changing(field))
    }
    /// Exchange may have lowered the root's own label already, so news is what is below the label seen.
    fn vertex<A: Access>(&self, [label, root, seen, entry, round]: Self::View<'_>, part: &Part, v: LocalId) -> bool {
        let (Some(root), new) = (part.vertex(root.get(v)), label.get(v)) else { return false };
        if seen.lower::<A>(root, new) {
            entry.set(root, v.number());
            round.set(root, self.round);
        }
        label.lower::<A>(root, new)
    }
}
