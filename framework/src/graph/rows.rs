//! From arcs to sorted rows without repetitions, in parallel, the same for any thread count.
//!
//! Every piece of the input deals its arcs out to buckets of rows by a counting sort of its own; then every bucket sorts its
//! rows and drops repetitions inside the cache ([`bucket`]); then the buckets are copied side by side. No atomics: a piece or a
//! bucket belongs to one thread at a time. Arcs carry one bit that says whether they were listed or are the reverse of a
//! listed one, so the facts about a directed input come out right in a symmetric view too.
//!
//! Cost: O(arcs + vertices) plus the sorting of rows; 4 bytes an entry while dealing (8 from 2^21 vertices on), 4 a target
//! after, twice while copying.
//!
//! [`bucket`]: super::bucket

use super::Csr;
use super::bucket::{Bucket, Counts, Layout, Packed, SortScratch};
use crate::base::memory::{Array, Buf};
use rayon::prelude::*;
use std::ops::Range;

/// Pairs of a piece cut from one long list (chosen: large enough to spread the cost of its counters).
pub(super) const PIECE: usize = 1 << 18;

/// Which entries the rows get from one pair `(u, v)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArcSelection {
    /// `v` into the row of `u`.
    Out,
    /// `u` into the row of `v`.
    In,
    /// Both; a self-loop once.
    Both,
}

/// Pairs of vertices that can be gone through several times.
pub(super) trait PairSource: Send {
    /// Hands each pair to `taker`.
    fn each(&self, taker: impl PairSink);
}

/// Takes pairs one by one. A trait and not a closure, so that the compiler can be told to inline it.
pub(super) trait PairSink {
    fn pair(&mut self, u: u32, v: u32);
}

/// Entries of rows that can be gone through several times.
pub(super) trait Entries: Send {
    /// Hands each entry to `taker`.
    fn each(&self, taker: &mut impl EntrySink);
}

/// Takes entries one by one.
pub(super) trait EntrySink {
    /// `target` into the row `row`; `reverse` if only the opposite arc was listed there.
    fn take(&mut self, row: u32, target: u32, reverse: bool);
}

/// Some rows of a graph, as pairs.
pub(super) struct Rows<'a> {
    csr: &'a Csr,
    vertices: Range<u32>,
}

impl<'a> Rows<'a> {
    /// All rows, in stretches of about equally many arcs.
    pub(super) fn of(csr: &'a Csr) -> Vec<Rows<'a>> {
        let vertices = csr.vertices();
        let mut all = Vec::new();
        let mut first = 0;
        while first < vertices {
            let goal = csr.offsets[first] + PIECE as u64;
            let end = csr.offsets.partition_point(|&offset| offset <= goal).clamp(first + 2, vertices + 1) - 1;
            all.push(Rows { csr, vertices: first as u32..end as u32 });
            first = end;
        }
        all
    }
}

impl PairSource for Rows<'_> {
    fn each(&self, mut taker: impl PairSink) {
        for u in self.vertices.clone() {
            self.csr.row(u).iter().for_each(|&v| taker.pair(u, v));
        }
    }
}

/// Pairs, and which entries the rows get from them.
pub(super) struct EntryStream<F> {
    pub(super) feed: F,
    pub(super) deal: ArcSelection,
}

impl<F: PairSource> Entries for EntryStream<F> {
    fn each(&self, taker: &mut impl EntrySink) {
        match self.deal {
            ArcSelection::Out => self.feed.each(Outward(taker)),
            ArcSelection::In => self.feed.each(Inward(taker)),
            ArcSelection::Both => self.feed.each(BothWays(taker)),
        }
    }
}

struct Outward<'a, T>(&'a mut T);

impl<T: EntrySink> PairSink for Outward<'_, T> {
    #[inline(always)]
    fn pair(&mut self, u: u32, v: u32) {
        self.0.take(u, v, false);
    }
}

struct Inward<'a, T>(&'a mut T);

impl<T: EntrySink> PairSink for Inward<'_, T> {
    #[inline(always)]
    fn pair(&mut self, u: u32, v: u32) {
        self.0.take(v, u, false);
    }
}

struct BothWays<'a, T>(&'a mut T);

impl<T: EntrySink> PairSink for BothWays<'_, T> {
    #[inline(always)]
    fn pair(&mut self, u: u32, v: u32) {
        self.0.take(u, v, false);
        if u != v {
            self.0.take(v, u, true);
        }
    }
}

/// A stretch of rows and the numbers their entries may have.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// The vertex of the first row.
    pub(super) first: u32,
    /// The number of rows.
    pub(super) rows: usize,
    /// Targets are smaller than this.
    pub(super) vertices: usize,
}

/// Rows one after the other: where each begins, and their targets.
pub(super) struct BuiltRows {
    pub(super) offsets: Buf<u64>,
    pub(super) targets: Buf<u32>,
    pub(super) counts: Counts,
}

/// All rows of a graph of `vertices` vertices from the pairs of `feeds`, each target once; without self-loops if `simple`.
/// Every vertex that a feed names must be smaller than `vertices`.
pub(super) fn rows<F: PairSource>(vertices: usize, feeds: Vec<F>, deal: ArcSelection, simple: bool) -> (Csr, Counts) {
    let entries = feeds.into_iter().map(|feed| EntryStream { feed, deal }).collect();
    let made = rows_of(Span { first: 0, rows: vertices, vertices }, entries, simple);
    // Offsets are sums of degrees and targets are vertices of the feeds, so `Csr::new` would find nothing.
    let csr = Csr { offsets: Array::from(made.offsets), targets: Array::from(made.targets) };
    debug_assert!(Csr::new(csr.offsets.clone(), csr.targets.clone()).is_ok());
    (csr, made.counts)
}

/// The rows of a span from entries whose rows are counted from the span's first.
pub(super) fn rows_of<E: Entries>(span: Span, entries: Vec<E>, simple: bool) -> BuiltRows {
    let layout = Layout::of(span.rows, span.vertices);
    if layout.fits_32_bits() {
        rows_by::<u32, E>(span, layout, entries, simple)
    } else {
        rows_by::<u64, E>(span, layout, entries, simple)
    }
}

fn rows_by<P: Packed, E: Entries>(span: Span, layout: Layout, entries: Vec<E>, simple: bool) -> BuiltRows {
    let buckets = span.rows.div_ceil(layout.bucket_rows());
    let dealt: Vec<BucketedEntries<P>> =
        entries.into_par_iter().map(|entries| deal_out(&entries, buckets, layout)).collect();
    let made: Vec<Bucket> = (0..buckets)
        .into_par_iter()
        .map_init(SortScratch::default, |desk, bucket| {
            let parts: Vec<&[P]> = dealt.iter().map(|piece| piece.bucket(bucket)).collect();
            let first = bucket * layout.bucket_rows();
            let rows = (span.rows - first).min(layout.bucket_rows());
            desk.make(&parts, layout, span.first + first as u32, rows, simple)
        })
        .collect();
    drop(dealt);
    side_by_side(span.rows, made)
}

/// Entries of one piece in the order of buckets.
struct BucketedEntries<P: Packed> {
    bounds: Vec<usize>,
    entries: Buf<P>,
}

impl<P: Packed> BucketedEntries<P> {
    fn bucket(&self, bucket: usize) -> &[P] {
        &self.entries[self.bounds[bucket]..self.bounds[bucket + 1]]
    }
}

/// Sorts the entries of one piece by bucket.
fn deal_out<P: Packed, E: Entries>(piece: &E, buckets: usize, layout: Layout) -> BucketedEntries<P> {
    let mut bounds = vec![0usize; buckets + 1];
    piece.each(&mut Count { counts: &mut bounds[1..], layout });
    for bucket in 0..buckets {
        bounds[bucket + 1] += bounds[bucket];
    }
    let mut entries = Buf::<P>::zeroed(bounds[buckets]);
    let mut next = bounds.clone();
    piece.each(&mut BucketWriter { next: &mut next, entries: &mut entries, layout });
    BucketedEntries { bounds, entries }
}

/// Counts entries by bucket.
struct Count<'a> {
    counts: &'a mut [usize],
    layout: Layout,
}

impl EntrySink for Count<'_> {
    #[inline(always)]
    fn take(&mut self, row: u32, _: u32, _: bool) {
        self.counts[self.layout.bucket(row)] += 1;
    }
}

/// Puts entries in their bucket's next place.
struct BucketWriter<'a, P> {
    next: &'a mut [usize],
    entries: &'a mut [P],
    layout: Layout,
}

impl<P: Packed> EntrySink for BucketWriter<'_, P> {
    #[inline(always)]
    fn take(&mut self, row: u32, target: u32, reverse: bool) {
        let place = &mut self.next[self.layout.bucket(row)];
        self.entries[*place] = self.layout.pack(row, target, reverse);
        *place += 1;
    }
}

/// Copies the buckets into one array and turns degrees into offsets.
fn side_by_side(vertices: usize, made: Vec<Bucket>) -> BuiltRows {
    let arcs: usize = made.iter().map(|bucket| bucket.targets.len()).sum();
    let counts = made.iter().fold(Counts::default(), |sum, bucket| sum.add(bucket.counts));
    let mut offsets = Buf::<u64>::zeroed(vertices + 1);
    let mut targets = Buf::<u32>::zeroed(arcs);
    let mut jobs = Vec::with_capacity(made.len());
    let (mut offsets_left, mut targets_left, mut start) = (&mut offsets[1..], &mut targets[..], 0u64);
    for bucket in made {
        let (own_offsets, rest) = offsets_left.split_at_mut(bucket.rows);
        offsets_left = rest;
        let (own_targets, rest) = targets_left.split_at_mut(bucket.targets.len());
        targets_left = rest;
        let next = start + bucket.targets.len() as u64;
        jobs.push((bucket, own_offsets, own_targets, start));
        start = next;
    }
    jobs.into_par_iter().for_each(|(bucket, offsets, targets, mut end)| {
        targets.copy_from_slice(&bucket.targets);
        if bucket.degrees.is_empty() && end > 0 {
            offsets.fill(end);
        }
        for (offset, degree) in offsets.iter_mut().zip(&bucket.degrees) {
            end += u64::from(*degree);
            *offset = end;
        }
    });
    BuiltRows { offsets, targets, counts }
}

/// The same arcs, turned round.
pub(super) fn transposed(csr: &Csr) -> Csr {
    rows(csr.vertices(), Rows::of(csr), ArcSelection::In, false).0
}
