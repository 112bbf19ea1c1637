//! What a run keeps for the certificate: the edge of each hook, and on several ranks where and when each tree's label came from.
//!
//! A hook joins two trees of this rank by one edge, so the edges kept, with the arc from each vertex to a smaller first
//! neighbour, are a spanning forest ([`crate::forest`]). A tree whose label falls in a boundary round keeps the vertex at which
//! the smaller label arrived, and the round.

use crate::fields::{LABEL, ROOT};
use framework::base::id::LocalId;
use framework::field::{Bind, Changing, Field, Share};
use framework::op::{Access, Scalars, VertexOp};
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
/// A root notes the smallest label that its tree hears of. This and the next two rules run one after the other, before any label is
/// handed on, so that every label is still the one that came.
pub(crate) struct Hear;
/// A root with news notes the round.
pub(crate) struct Date {
    pub(crate) round: u32,
}
/// A root with news notes one of the vertices at which it came.
pub(crate) struct Enter;

/// In [`ENTRY`], between [`Hear`] and [`Enter`]: news came, and it is not yet noted where.
const OPEN: u32 = u32::MAX;

impl VertexOp for Settle {
    const KERNEL: &'static str = "cc_settle";
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

macro_rules! heard {
    () => {
        type View<'a> = [Changing<'a, u32>; 4];
        fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
            [LABEL, ROOT, SEEN, ENTRY].map(|field| bind.changing(field))
        }
    };
}

impl VertexOp for Hear {
    const KERNEL: &'static str = "cc_hear";
    heard!();
    /// Exchange may have lowered the root's own label already, so news is what is below the label seen.
    fn vertex<A: Access>(&self, [label, root, seen, entry]: Self::View<'_>, part: &Part, v: LocalId) -> bool {
        let Some(root) = part.vertex(root.get(v)) else { return false };
        let is_news = seen.lower::<A>(root, label.get(v));
        if is_news {
            entry.set(root, OPEN);
        }
        is_news
    }
}

impl VertexOp for Date {
    const KERNEL: &'static str = "cc_date";
    fn scalars(&self) -> Scalars {
        Scalars::default().number(self.round)
    }
    type View<'a> = [Changing<'a, u32>; 3];
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        [ROOT, ENTRY, ROUND].map(|field| bind.changing(field))
    }
    fn vertex<A: Access>(&self, [root, entry, round]: Self::View<'_>, part: &Part, v: LocalId) -> bool {
        let root = part.vertex(root.get(v)).filter(|&root| entry.get(root) == OPEN);
        root.is_some_and(|root| {
            round.set(root, self.round);
            true
        })
    }
}

impl VertexOp for Enter {
    const KERNEL: &'static str = "cc_enter";
    heard!();
    fn vertex<A: Access>(&self, [label, root, seen, entry]: Self::View<'_>, part: &Part, v: LocalId) -> bool {
        let root = part.vertex(root.get(v)).filter(|&root| seen.get(root) == label.get(v));
        root.is_some_and(|root| entry.replace::<A>(root, OPEN, v.number()))
    }
}
