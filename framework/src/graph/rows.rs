//! From arcs to sorted rows without repetitions, in parallel, the same for any thread count.
//!
//! Every piece of the input deals its arcs out to buckets of 4,096 vertices by a counting sort of its own; then every bucket
//! counts, scatters and sorts its rows and drops repetitions, inside the cache; then the buckets are copied side by side. No
//! atomics: a piece or a bucket belongs to one thread at a time. Arcs carry one bit that says whether they were listed or
//! are the reverse of a listed one, so the facts about a directed input come out right in a symmetric view too.
//!
//! Cost: O(arcs + vertices) plus the sorting of rows; 8 bytes an entry while dealing, 4 a target after.

use super::Csr;
use crate::memory::{Array, Buf};
use rayon::prelude::*;
use std::ops::Range;

/// Vertices of a bucket, as a power of two: its counters and most rows stay in a core's own cache (measured on Zen 4).
const BUCKET_BITS: u32 = 12;
/// With more buckets than this the dealing out would miss the TLB on every arc; buckets grow instead.
const BUCKETS_MAX_BITS: u32 = 12;
/// Pairs of a piece cut from one long list (chosen: large enough to spread the cost of its counters).
pub(super) const PIECE: usize = 1 << 18;

/// Which entries the rows get from one pair `(u, v)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deal {
    /// `v` into the row of `u`.
    Out,
    /// `u` into the row of `v`.
    In,
    /// Both; a self-loop once.
    Both,
}

/// Pairs of vertices that can be gone through several times.
pub(super) trait Feed: Send {
    /// Calls `take(u, v)` for each pair.
    fn each(&self, take: impl FnMut(u32, u32));
}

/// Entries of rows that can be gone through several times.
pub(super) trait Entries: Send {
    /// Calls `take(row, target, reverse)` for each; `reverse` if only the opposite arc was listed there.
    fn each(&self, take: impl FnMut(u32, u32, bool));
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

impl Feed for Rows<'_> {
    fn each(&self, mut take: impl FnMut(u32, u32)) {
        for u in self.vertices.clone() {
            self.csr.row(u).iter().for_each(|&v| take(u, v));
        }
    }
}

/// A target and the bit that says "only as the reverse of a listed arc", in 32 bits while they last.
trait Key: Copy + Ord + Default + Send + 'static {
    fn new(target: u32, reverse: bool) -> Self;
    fn target(self) -> u32;
    fn is_reverse(self) -> bool;
}

impl Key for u32 {
    #[inline(always)]
    fn new(target: u32, reverse: bool) -> u32 {
        target << 1 | u32::from(reverse)
    }
    #[inline(always)]
    fn target(self) -> u32 {
        self >> 1
    }
    #[inline(always)]
    fn is_reverse(self) -> bool {
        self & 1 == 1
    }
}

impl Key for u64 {
    #[inline(always)]
    fn new(target: u32, reverse: bool) -> u64 {
        u64::from(target) << 1 | u64::from(reverse)
    }
    #[inline(always)]
    fn target(self) -> u32 {
        (self >> 1) as u32
    }
    #[inline(always)]
    fn is_reverse(self) -> bool {
        self & 1 == 1
    }
}

/// Entries of one piece in the order of buckets. An entry is the place in its bucket, the target and the reverse bit.
struct Dealt {
    bounds: Vec<usize>,
    entries: Buf<u64>,
}

/// The finished rows of one bucket.
struct Bucket {
    vertices: usize,
    /// Empty if all rows are.
    degrees: Vec<u32>,
    targets: Vec<u32>,
    counts: Counts,
}

/// What was seen while rows were made.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// Distinct entries, self-loops included whether kept or not.
    pub(super) entries: u64,
    /// Distinct arcs that were listed.
    pub(super) listed: u64,
    /// Distinct self-loops.
    pub(super) self_loops: u64,
    /// The first row and target of which only the reverse was listed.
    pub(super) reverse_only: Option<(u32, u32)>,
}

impl Counts {
    pub(super) fn add(self, other: Counts) -> Counts {
        Counts {
            entries: self.entries + other.entries,
            listed: self.listed + other.listed,
            self_loops: self.self_loops + other.self_loops,
            reverse_only: self.reverse_only.or(other.reverse_only),
        }
    }
}

/// Pairs, and which entries the rows get from them.
pub(super) struct Dealing<F> {
    pub(super) feed: F,
    pub(super) deal: Deal,
}

impl<F: Feed> Entries for Dealing<F> {
    #[inline(always)]
    fn each(&self, mut take: impl FnMut(u32, u32, bool)) {
        match self.deal {
            Deal::Out => self.feed.each(|u, v| take(u, v, false)),
            Deal::In => self.feed.each(|u, v| take(v, u, false)),
            Deal::Both => self.feed.each(|u, v| {
                take(u, v, false);
                if u != v {
                    take(v, u, true);
                }
            }),
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
pub(super) struct Made {
    pub(super) offsets: Buf<u64>,
    pub(super) targets: Buf<u32>,
    pub(super) counts: Counts,
}

/// All rows of a graph of `vertices` vertices from the pairs of `feeds`, each target once; without self-loops if `simple`.
/// Every vertex that a feed names must be smaller than `vertices`.
pub(super) fn rows<F: Feed>(vertices: usize, feeds: Vec<F>, deal: Deal, simple: bool) -> (Csr, Counts) {
    let entries = feeds.into_iter().map(|feed| Dealing { feed, deal }).collect();
    let made = rows_of(Span { first: 0, rows: vertices, vertices }, entries, simple);
    // Offsets are sums of degrees and targets are vertices of the feeds, so `Csr::new` would find nothing.
    let csr = Csr { offsets: Array::from(made.offsets), targets: Array::from(made.targets) };
    debug_assert!(Csr::new(csr.offsets.clone(), csr.targets.clone()).is_ok());
    (csr, made.counts)
}

/// The rows of a span from entries whose rows are counted from the span's first.
pub(super) fn rows_of<E: Entries>(span: Span, entries: Vec<E>, simple: bool) -> Made {
    if span.vertices <= 1 << 31 {
        rows_by::<u32, E>(span, entries, simple)
    } else {
        rows_by::<u64, E>(span, entries, simple)
    }
}

fn rows_by<K: Key, E: Entries>(span: Span, entries: Vec<E>, simple: bool) -> Made {
    let bits = BUCKET_BITS.max((usize::BITS - span.rows.leading_zeros()).saturating_sub(BUCKETS_MAX_BITS));
    let buckets = span.rows.div_ceil(1 << bits);
    let dealt: Vec<Dealt> = entries.into_par_iter().map(|entries| deal_out(&entries, buckets, bits)).collect();
    let made: Vec<Bucket> = (0..buckets)
        .into_par_iter()
        .map_init(Vec::new, |scratch: &mut Vec<K>, bucket| {
            let first = bucket << bits;
            fill(&dealt, bucket, span.first + first as u32, (span.rows - first).min(1 << bits), simple, scratch)
        })
        .collect();
    drop(dealt);
    side_by_side(span.rows, made)
}

/// Sorts the entries of one piece by bucket.
fn deal_out<E: Entries>(piece: &E, buckets: usize, bits: u32) -> Dealt {
    let mut bounds = vec![0usize; buckets + 1];
    let counts = &mut bounds[1..];
    piece.each(|row, _, _| counts[(row >> bits) as usize] += 1);
    for bucket in 0..buckets {
        bounds[bucket + 1] += bounds[bucket];
    }
    let mut entries = Buf::<u64>::zeroed(bounds[buckets]);
    let mut next = bounds.clone();
    let low = (1u32 << bits) - 1;
    piece.each(|row, target, reverse| {
        let place = &mut next[(row >> bits) as usize];
        entries[*place] = u64::from(row & low) << 33 | <u64 as Key>::new(target, reverse);
        *place += 1;
    });
    Dealt { bounds, entries }
}

/// Makes the rows of one bucket: `vertices` of them from vertex `first` on.
fn fill<K: Key>(
    dealt: &[Dealt],
    bucket: usize,
    first: u32,
    vertices: usize,
    simple: bool,
    scratch: &mut Vec<K>,
) -> Bucket {
    let parts = || dealt.iter().map(|piece| &piece.entries[piece.bounds[bucket]..piece.bounds[bucket + 1]]);
    if parts().all(<[u64]>::is_empty) {
        return Bucket { vertices, degrees: Vec::new(), targets: Vec::new(), counts: Counts::default() };
    }
    let mut ends = vec![0usize; vertices + 1];
    for part in parts() {
        part.iter().for_each(|entry| ends[(entry >> 33) as usize + 1] += 1);
    }
    for v in 0..vertices {
        ends[v + 1] += ends[v];
    }
    let total = ends[vertices];
    if scratch.len() < total {
        scratch.resize(total, K::default());
    }
    // After this loop `ends[v]` is where row v ends; before it, where it begins.
    for part in parts() {
        for entry in part {
            let place = &mut ends[(entry >> 33) as usize];
            let key = entry & ((1 << 33) - 1);
            scratch[*place] = K::new(Key::target(key), Key::is_reverse(key));
            *place += 1;
        }
    }
    let mut bucket =
        Bucket { vertices, degrees: Vec::with_capacity(vertices), targets: Vec::new(), counts: Counts::default() };
    let mut kept = 0;
    let mut start = 0;
    for (v, &end) in (first..).zip(&ends[..vertices]) {
        scratch[start..end].sort_unstable();
        let before = kept;
        kept = keep_distinct(scratch, start..end, kept, v, simple, &mut bucket.counts);
        bucket.degrees.push((kept - before) as u32);
        start = end;
    }
    bucket.targets.extend(scratch[..kept].iter().map(|key| key.target()));
    bucket
}

/// Moves the distinct targets of the sorted row `v` down to `kept`; returns where they end.
#[inline(always)]
fn keep_distinct<K: Key>(
    keys: &mut [K],
    row: Range<usize>,
    mut kept: usize,
    v: u32,
    simple: bool,
    counts: &mut Counts,
) -> usize {
    let mut last = None;
    for place in row {
        let key = keys[place];
        let target = key.target();
        if last == Some(target) {
            continue;
        }
        last = Some(target);
        counts.entries += 1;
        // The listed arc sorts before its reverse, so the first of its kind tells.
        if key.is_reverse() {
            counts.reverse_only.get_or_insert((v, target));
        } else {
            counts.listed += 1;
        }
        if target == v {
            counts.self_loops += 1;
            if simple {
                continue;
            }
        }
        keys[kept] = key;
        kept += 1;
    }
    kept
}

/// Copies the buckets into one array and turns degrees into offsets.
fn side_by_side(vertices: usize, made: Vec<Bucket>) -> Made {
    let arcs: usize = made.iter().map(|bucket| bucket.targets.len()).sum();
    let counts = made.iter().fold(Counts::default(), |sum, bucket| sum.add(bucket.counts));
    let mut offsets = Buf::<u64>::zeroed(vertices + 1);
    let mut targets = Buf::<u32>::zeroed(arcs);
    let mut jobs = Vec::with_capacity(made.len());
    let (mut offsets_left, mut targets_left, mut start) = (&mut offsets[1..], &mut targets[..], 0u64);
    for bucket in made {
        let (own_offsets, rest) = offsets_left.split_at_mut(bucket.vertices);
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
    Made { offsets, targets, counts }
}

/// The same arcs, turned round.
pub(super) fn transposed(csr: &Csr) -> Csr {
    rows(csr.vertices(), Rows::of(csr), Deal::In, false).0
}
