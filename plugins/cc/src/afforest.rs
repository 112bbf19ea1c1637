//! The leaf rules of Afforest: hook trees along a few arcs of each vertex, flatten, find the giant component by sampling, and
//! look at the remaining arcs only of vertices outside it.
//!
//! A label is at most its vertex at any time, and a root is hooked only to a smaller one, so pointers always lead down.
//! Labels read from the field are checked before they are followed.

use crate::evidence::{FAR, NEAR};
use crate::fields::LABEL;
use framework::base::checksum::split_mix;
use framework::base::id::LocalId;
use framework::field::{Bind, Changing};
use framework::op::{Access, Scalars, VertexOp};
use framework::partition::Part;
use framework::step::Step;
use std::collections::HashMap;
use std::hint::select_unpredictable;

/// Vertices asked for their label by [`giant`]; as in the paper.
const SAMPLES: usize = 1024;
/// Neighbours looked at for one under another label.
const LOOK_AT: usize = 64;

/// The labels, and where the edge of each hook is kept.
pub(crate) type Hooking<'a> = (Changing<'a, u32>, Option<(Changing<'a, u32>, Changing<'a, u32>)>);

macro_rules! hooking {
    () => {
        type View<'a> = Hooking<'a>;
        #[inline(always)]
        fn bind<'a>(&self, bind: &Bind<'a>) -> Hooking<'a> {
            (bind.changing(LABEL), self.keeps.then(|| (bind.changing(NEAR), bind.changing(FAR))))
        }
    };
}

macro_rules! label {
    () => {
        type View<'a> = Changing<'a, u32>;
        #[inline(always)]
        fn bind<'a>(&self, bind: &Bind<'a>) -> Changing<'a, u32> {
            bind.changing(LABEL)
        }
    };
}

/// Every vertex is its own tree.
pub(crate) struct OwnLabel;
/// A vertex takes the present label of its first neighbour, if that is smaller than itself. A plain store, no exchange: labels stay
/// below their vertex in any order of threads, and most chains are short at once (flattening 2.2 to 0.7 ms on kron-20).
pub(crate) struct HookFirst;
/// A vertex hooks to one of its neighbours.
pub(crate) struct HookNth {
    pub(crate) place: usize,
    pub(crate) keeps: bool,
}
/// A vertex that is still its own label hooks to the first neighbour under another one: after [`HookFirst`] few are left.
pub(crate) struct HookRoots {
    pub(crate) keeps: bool,
}
/// A vertex outside the giant component hooks along its arcs up to the first that leads into it. An arc not looked at joins nothing
/// new: both its ends are in the giant component then, or its other end is outside and looks at the arc itself.
pub(crate) struct HookRest {
    pub(crate) skip: Option<u32>,
    pub(crate) keeps: bool,
}
/// A vertex takes the root of its tree as label.
pub(crate) struct Compress;

/// Joins the trees of two neighbours: the larger root is hooked to the smaller label. A root is hooked once, by one thread, so
/// the edge kept for it is the one that joined its tree to another.
#[inline(always)]
fn link<A: Access>((label, kept): Hooking<'_>, part: &Part, u: LocalId, v: LocalId) {
    let (mut p, mut q) = (label.get(u), label.get(v));
    while p != q {
        let (high, low) = (p.max(q), p.min(q));
        let (Some(high_vertex), Some(low_vertex)) = (part.vertex(high), part.vertex(low)) else { return };
        let above = label.get(high_vertex);
        if above == low {
            return;
        }
        if above == high && label.replace::<A>(high_vertex, high, low) {
            if let Some((near, far)) = kept {
                near.set(high_vertex, u.number());
                far.set(high_vertex, v.number());
            }
            return;
        }
        let Some(above) = part.vertex(above) else { return };
        p = label.get(above);
        q = label.get(low_vertex);
        // Labels only lead down, and so the walk ends; one that does not is corrupt.
        if above > high_vertex || p > above.number() || q > low {
            return;
        }
    }
}

impl VertexOp for OwnLabel {
    const KERNEL: &'static str = "cc_own_label";
    label!();
    #[inline(always)]
    fn vertex<A: Access>(&self, label: Changing<'_, u32>, _: &Part, v: LocalId) -> bool {
        label.set(v, v.number());
        true
    }
}

impl VertexOp for HookFirst {
    const KERNEL: &'static str = "cc_hook_first";
    label!();
    const AHEAD: u32 = 32;
    #[inline(always)]
    fn prefetch(&self, _: Changing<'_, u32>, part: &Part, v: LocalId) {
        part.outgoing().prefetch_row(v);
    }
    #[inline(always)]
    fn vertex<A: Access>(&self, label: Changing<'_, u32>, part: &Part, v: LocalId) -> bool {
        let first = part.outgoing().nth_or_self(v, 0);
        label.set(v, select_unpredictable(first < v, label.get(first), v.number()));
        true
    }
}

impl VertexOp for HookNth {
    const KERNEL: &'static str = "cc_hook_nth";
    fn kernel(&self) -> &'static str {
        if self.keeps { "cc_kept_hook_nth" } else { Self::KERNEL }
    }
    fn scalars(&self) -> Scalars {
        Scalars::default().number(self.place as u32)
    }
    hooking!();
    const FILTERS: bool = true;
    /// Whether the two are in different trees, as far as their labels show: about half are not, unpredictably.
    #[inline(always)]
    fn accepts(&self, (label, _): Hooking<'_>, part: &Part, v: LocalId) -> bool {
        label.get(v) != label.get(part.outgoing().nth_or_self(v, self.place))
    }
    #[inline(always)]
    fn vertex<A: Access>(&self, view: Hooking<'_>, part: &Part, v: LocalId) -> bool {
        link::<A>(view, part, v, part.outgoing().nth_or_self(v, self.place));
        true
    }
}

impl VertexOp for HookRoots {
    const KERNEL: &'static str = "cc_hook_roots";
    fn kernel(&self) -> &'static str {
        if self.keeps { "cc_kept_hook_roots" } else { Self::KERNEL }
    }
    hooking!();
    const FILTERS: bool = true;
    #[inline(always)]
    fn accepts(&self, (label, _): Hooking<'_>, part: &Part, v: LocalId) -> bool {
        (label.get(v) == v.number()) & (part.outgoing().degree(v) > 0)
    }
    #[inline(always)]
    fn vertex<A: Access>(&self, view: Hooking<'_>, part: &Part, v: LocalId) -> bool {
        let other = part.outgoing().of(v).iter().take(LOOK_AT).find(|&&u| view.0.get(u) != v.number());
        other.is_some_and(|&u| {
            link::<A>(view, part, v, u);
            true
        })
    }
}

impl VertexOp for HookRest {
    const KERNEL: &'static str = "cc_hook_rest";
    fn kernel(&self) -> &'static str {
        if self.keeps { "cc_kept_hook_rest" } else { Self::KERNEL }
    }
    fn scalars(&self) -> Scalars {
        Scalars::default().number(self.skip.is_some().into()).number(self.skip.unwrap_or_default())
    }
    hooking!();
    const FILTERS: bool = true;
    #[inline(always)]
    fn accepts(&self, (label, _): Hooking<'_>, part: &Part, v: LocalId) -> bool {
        (self.skip != Some(label.get(v))) & (part.outgoing().degree(v) > 0)
    }
    #[inline(always)]
    fn prefetch(&self, _: Hooking<'_>, part: &Part, v: LocalId) {
        part.outgoing().prefetch_row(v);
    }
    #[inline(always)]
    fn vertex<A: Access>(&self, view: Hooking<'_>, part: &Part, v: LocalId) -> bool {
        for &u in part.outgoing().of(v) {
            let before = view.0.get(u);
            link::<A>(view, part, v, u);
            if self.skip == Some(before) {
                break;
            }
        }
        true
    }
}

impl VertexOp for Compress {
    const KERNEL: &'static str = "cc_compress";
    label!();
    const AHEAD: u32 = 32;
    #[inline(always)]
    fn prefetch(&self, label: Changing<'_, u32>, part: &Part, v: LocalId) {
        if let Some(parent) = part.vertex(label.get(v)) {
            label.prefetch(parent);
        }
    }
    /// Most trees are at most two high; taking the second step and storing always costs less than guessing which are.
    #[inline(always)]
    fn vertex<A: Access>(&self, label: Changing<'_, u32>, part: &Part, v: LocalId) -> bool {
        let Some(parent) = part.vertex(label.get(v)) else { return false };
        let mut root = label.get(parent);
        // Labels only lead down; one that does not is corrupt and ends the walk.
        while let Some(vertex) = part.vertex(root) {
            let above = label.get(vertex);
            if above >= root {
                break;
            }
            root = above;
        }
        label.set(v, root);
        true
    }
}

/// The label of most sampled owned vertices, if most have one.
pub(crate) fn giant(step: &mut Step<'_>) -> Option<u32> {
    let owned = step.part.owned();
    let samples = SAMPLES.min(owned);
    let draw = |sample: usize| step.part.vertex((split_mix(sample as u64) % owned as u64) as u32);
    let vertices: Vec<LocalId> = (0..samples).filter_map(draw).collect();
    let mut seen: HashMap<u32, usize> = HashMap::new();
    for label in step.values(LABEL, &vertices) {
        *seen.entry(label).or_default() += 1;
    }
    seen.into_iter().max_by_key(|&(label, count)| (count, label)).filter(|&(_, c)| 2 * c > samples).map(|(l, _)| l)
}
