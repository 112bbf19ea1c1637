//! Leaf rules: what happens at one edge or one vertex. Operators ([`Step`](crate::step::Step)) run them over many, in parallel.
//!
//! Each rule binds its fields once per operator call and is compiled twice, for one thread and for many. A value read from a
//! field may be corrupt: a rule must not index or loop by one that it has not checked ([`Part::vertex`]).
//! On a device the same rule is spelled once more, in the plugin's file in kernels/; it is found by `KERNEL`, gets the fields in the
//! order of `bind` and the numbers of `scalars`.

pub use crate::host::access::Access;

use crate::base::id::LocalId;
use crate::field::Bind;
use crate::partition::Part;

/// The most numbers a rule takes on a device.
pub(crate) const SCALARS: usize = 4;

/// A rule's numbers, for its kernels: in the order in which the kernel's rule asks for them.
#[derive(Clone, Copy, Default, Debug)]
pub struct Scalars {
    words: [u64; SCALARS],
    len: usize,
}

impl Scalars {
    /// Adds a whole number.
    ///
    /// # Panics
    /// If there are four already: a mistake in the plugin.
    #[must_use]
    pub fn number(mut self, number: u32) -> Scalars {
        self.words[self.len] = number.into();
        self.len += 1;
        self
    }

    /// Adds a real number.
    ///
    /// # Panics
    /// As [`Scalars::number`].
    #[must_use]
    pub fn real(mut self, number: f64) -> Scalars {
        self.words[self.len] = number.to_bits();
        self.len += 1;
        self
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words[..self.len]
    }
}

/// A rule for the arcs out of the frontier. It knows where an arc leads, not where it comes from, and changes fields there only: a
/// large frontier's arcs are binned by destination first, so that each destination is handled by one thread.
pub trait EdgeOp: Sync {
    /// The fields it uses.
    type View<'a>: Copy + Sync;
    /// Binds those fields, once per operator call.
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a>;
    /// What the names of its kernels begin with; a rule without any runs on the host only.
    const KERNEL: &'static str = "";
    /// The same, by what the rule does now: one that keeps evidence may have kernels of its own, so that others need not ask.
    fn kernel(&self) -> &'static str {
        Self::KERNEL
    }
    /// Its numbers, for the kernels.
    fn scalars(&self) -> Scalars {
        Scalars::default()
    }
    /// Once for each vertex of the frontier, before its arcs.
    #[inline(always)]
    fn leave(&self, _view: Self::View<'_>, _src: LocalId) {}
    /// An arc to an owned vertex; true when `dst` joins the next frontier. It must say so once per `dst`.
    fn edge<A: Access>(&self, view: Self::View<'_>, dst: LocalId) -> bool;
    /// An arc to a ghost; true when the ghost's offer must go to its owner. Once per `dst` and superstep.
    #[inline(always)]
    fn offer<A: Access>(&self, view: Self::View<'_>, dst: LocalId) -> bool {
        self.edge::<A>(view, dst)
    }
}

/// A rule under which a vertex joins the frontier at most once in a run: the operator keeps the set of those that have joined,
/// and calls `visit` exactly once for each vertex that does, from one thread.
pub trait VisitOp: Sync {
    /// The fields it uses.
    type View<'a>: Copy + Sync;
    /// Binds those fields, once per operator call.
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a>;
    /// What the names of its kernels begin with; a rule without any runs on the host only.
    const KERNEL: &'static str = "";
    /// Its numbers, for the kernels.
    fn scalars(&self) -> Scalars {
        Scalars::default()
    }
    /// `dst` joins.
    fn visit(&self, view: Self::View<'_>, dst: LocalId);
}

/// A rule for one vertex, with its arcs within reach.
pub trait VertexOp: Sync {
    /// The fields it uses.
    type View<'a>: Copy + Sync;
    /// Binds those fields, once per operator call.
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a>;
    /// What the names of its kernels begin with; a rule without any runs on the host only.
    const KERNEL: &'static str = "";
    /// The same, by what the rule does now: one that keeps evidence may have kernels of its own, so that others need not ask.
    fn kernel(&self) -> &'static str {
        Self::KERNEL
    }
    /// Its numbers, for the kernels.
    fn scalars(&self) -> Scalars {
        Scalars::default()
    }
    /// The rule. What true means is said by the operator that runs it.
    fn vertex<A: Access>(&self, view: Self::View<'_>, part: &Part, v: LocalId) -> bool;
    /// Whether `accepts` is asked first.
    const FILTERS: bool = false;
    /// Whether `vertex` has anything to do at `v`. Asked for whole words of vertices before any of them is treated, and best
    /// written without branches: where few vertices, or unpredictable ones, are wanted, that saves a misprediction each.
    #[inline(always)]
    fn accepts(&self, _view: Self::View<'_>, _part: &Part, _v: LocalId) -> bool {
        true
    }
    /// How far `prefetch` runs ahead of `vertex`; 0 for never.
    const AHEAD: u32 = 0;
    /// Prefetches what `vertex` will read.
    #[inline(always)]
    fn prefetch(&self, _view: Self::View<'_>, _part: &Part, _v: LocalId) {}
}

/// A rule that sums over the arcs into each vertex, in fixed order, then settles the vertex. What it settles on may follow from the sum,
/// its numbers and frozen fields alone: in a protected run some vertices are summed and settled a second time, and compared.
pub trait GatherOp: Sync {
    /// The fields it uses.
    type View<'a>: Copy + Sync;
    /// Binds those fields, once per operator call.
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a>;
    /// What the names of its kernels begin with; a rule without any runs on the host only.
    const KERNEL: &'static str = "";
    /// Its numbers, for the kernels.
    fn scalars(&self) -> Scalars {
        Scalars::default()
    }
    /// What an arc from `src` brings.
    fn gather(&self, view: Self::View<'_>, src: LocalId) -> f64;
    /// Prefetches what `gather` will read.
    #[inline(always)]
    fn prefetch(&self, _view: Self::View<'_>, _src: LocalId) {}
    /// Takes the sum over all arcs into `v`; `degree` counts the arcs out of it.
    fn settle(&self, view: Self::View<'_>, v: LocalId, degree: u64, sum: f64) -> GatherResult;
}

/// What a vertex settled on. The operator adds these up over all vertices.
#[derive(Clone, Copy, Default, Debug)]
pub struct GatherResult {
    /// The value.
    pub value: f64,
    /// How far it lies from the one before, at least 0: their sum is [`Tally::residual`](crate::base::tally::Tally).
    pub moved: f64,
    /// What is handed to the next superstep, if anything: their sum is [`Tally::carry`](crate::base::tally::Tally).
    pub carry: Option<f64>,
}

/// A rule that names a key for every vertex, by which some are selected.
pub trait SelectOp: Sync {
    /// The fields it uses.
    type View<'a>: Copy + Sync;
    /// Binds those fields, once per operator call.
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a>;
    /// What the names of its kernels begin with; a rule without any runs on the host only.
    const KERNEL: &'static str = "";
    /// Its numbers, for the kernels.
    fn scalars(&self) -> Scalars {
        Scalars::default()
    }
    /// The key of `v`.
    fn key(&self, view: Self::View<'_>, v: LocalId) -> u32;
}
