//! From arcs to sorted rows without repetitions, in parallel, the same for any thread count.
//!
//! Every piece of the input deals its arcs out to buckets of 4,096 vertices by a counting sort of its own; then every bucket
//! counts, scatters and sorts its rows and drops repetitions, inside the cache; then the buckets are copied side by side. No
//! atomics: a piece or a bucket belongs to one thread at a time. Arcs carry one bit that says whether they were listed or
//! are the reverse of a listed one, so the facts about a directed input come out right in a symmetric view too.
//!
//! Cost: O(arcs + vertices) plus the sorting of rows; 8 bytes an entry while dealing, 4 a target after.

use super::arcs::{Arcs, Piece};
use super::numbering::Numbering;
use super::{Csr, Facts, Graph, Ids, Incoming, View};
use crate::error::{Error, Result};
use crate::memory::{Array, Buf};
use rayon::prelude::*;
use std::ops::Range;

/// Vertices of a bucket, as a power of two: its counters and most rows stay in a core's own cache (measured on Zen 4).
const BUCKET_BITS: u32 = 12;
/// With more buckets than this the dealing out would miss the TLB on every arc; buckets grow instead.
const BUCKETS_MAX_BITS: u32 = 12;
/// Pairs of a piece cut from one long list (chosen: large enough to spread the cost of its counters).
const PIECE: usize = 1 << 18;

/// What one listed pair stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// An arc.
    Directed,
    /// An edge; it may be listed once or from both ends.
    Undirected,
    /// Half an edge; the other half must be listed too.
    BothWays,
}

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

/// A piece and the rule that numbers its IDs.
struct Numbered<'a> {
    piece: Piece,
    numbering: &'a Numbering,
}

impl Feed for Numbered<'_> {
    fn each(&self, mut take: impl FnMut(u32, u32)) {
        match (&self.piece, self.numbering) {
            (Piece::Narrow(pairs), Numbering::Same) => pairs.iter().for_each(|&(u, v)| take(u, v)),
            (Piece::Narrow(pairs), rule) => {
                pairs.iter().for_each(|&(u, v)| take(rule.number(u.into()), rule.number(v.into())));
            }
            (Piece::Wide(pairs), rule) => pairs.iter().for_each(|&(u, v)| take(rule.number(u), rule.number(v))),
        }
    }
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
    fn add(self, other: Counts) -> Counts {
        Counts {
            entries: self.entries + other.entries,
            listed: self.listed + other.listed,
            self_loops: self.self_loops + other.self_loops,
            reverse_only: self.reverse_only.or(other.reverse_only),
        }
    }
}

/// Sorted rows of `vertices` vertices from all pairs of `feeds`, each target once; without self-loops if `simple`.
/// Every vertex that a feed names must be smaller than `vertices`.
pub(super) fn rows<F: Feed>(vertices: usize, feeds: Vec<F>, deal: Deal, simple: bool) -> (Csr, Counts) {
    if vertices <= 1 << 31 {
        rows_by::<u32, F>(vertices, feeds, deal, simple)
    } else {
        rows_by::<u64, F>(vertices, feeds, deal, simple)
    }
}

fn rows_by<K: Key, F: Feed>(vertices: usize, feeds: Vec<F>, deal: Deal, simple: bool) -> (Csr, Counts) {
    let bits = BUCKET_BITS.max((usize::BITS - vertices.leading_zeros()).saturating_sub(BUCKETS_MAX_BITS));
    let buckets = vertices.div_ceil(1 << bits);
    let dealt: Vec<Dealt> = feeds.into_par_iter().map(|feed| deal_out(&feed, buckets, bits, deal)).collect();
    let made: Vec<Bucket> = (0..buckets)
        .into_par_iter()
        .map_init(Vec::new, |scratch: &mut Vec<K>, bucket| {
            let first = bucket << bits;
            fill(&dealt, bucket, first as u32, (vertices - first).min(1 << bits), simple, scratch)
        })
        .collect();
    drop(dealt);
    side_by_side(vertices, made)
}

/// Sorts the entries of one piece by bucket.
fn deal_out<F: Feed>(feed: &F, buckets: usize, bits: u32, deal: Deal) -> Dealt {
    let mut bounds = vec![0usize; buckets + 1];
    let counts = &mut bounds[1..];
    match deal {
        Deal::Out => feed.each(|u, _| counts[(u >> bits) as usize] += 1),
        Deal::In => feed.each(|_, v| counts[(v >> bits) as usize] += 1),
        Deal::Both => feed.each(|u, v| {
            counts[(u >> bits) as usize] += 1;
            counts[(v >> bits) as usize] += usize::from(u != v);
        }),
    }
    for bucket in 0..buckets {
        bounds[bucket + 1] += bounds[bucket];
    }
    let mut entries = Buf::<u64>::zeroed(bounds[buckets]);
    let mut next = bounds.clone();
    let low = (1u32 << bits) - 1;
    let mut put = |u: u32, v: u32, reverse: bool| {
        let place = &mut next[(u >> bits) as usize];
        entries[*place] = u64::from(u & low) << 33 | <u64 as Key>::new(v, reverse);
        *place += 1;
    };
    match deal {
        Deal::Out => feed.each(|u, v| put(u, v, false)),
        Deal::In => feed.each(|u, v| put(v, u, false)),
        Deal::Both => feed.each(|u, v| {
            put(u, v, false);
            if u != v {
                put(v, u, true);
            }
        }),
    }
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
fn side_by_side(vertices: usize, made: Vec<Bucket>) -> (Csr, Counts) {
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
    // Offsets are sums of degrees and targets are vertices of the feeds, so `Csr::new` would find nothing.
    let csr = Csr { offsets: Array::from(offsets), targets: Array::from(targets) };
    debug_assert!(Csr::new(csr.offsets.clone(), csr.targets.clone()).is_ok());
    (csr, counts)
}

impl Graph {
    /// A graph from arcs in any order. If not `directed`, each pair is an edge, listed once or more, from either end.
    ///
    /// # Errors
    /// When there are more vertices than a graph can have.
    pub fn from_arcs(name: impl Into<String>, arcs: Arcs, directed: bool, view: View) -> Result<Graph> {
        Graph::from_listing(name, arcs, if directed { Kind::Directed } else { Kind::Undirected }, view)
    }

    /// A graph from pairs of original IDs; its vertices are the IDs that occur.
    ///
    /// # Errors
    /// When there are more vertices than a graph can have.
    pub fn from_pairs(name: impl Into<String>, pairs: &[(i64, i64)], directed: bool, view: View) -> Result<Graph> {
        Graph::from_arcs(name, Arcs::listed(pairs.chunks(PIECE).map(<[_]>::to_vec).collect()), directed, view)
    }

    /// A graph from pairs of original IDs among `first` to `first + vertices - 1`, all of which are vertices.
    ///
    /// # Errors
    /// When a pair names another ID, or there are more vertices than a graph can have.
    pub fn from_pairs_within(
        name: impl Into<String>,
        first: i64,
        vertices: usize,
        pairs: &[(i64, i64)],
        directed: bool,
        view: View,
    ) -> Result<Graph> {
        let ids = Ids::Range { first, len: vertices };
        let dense = |id: i64| {
            ids.find(id).map(|v| v.0).ok_or_else(|| {
                Error::usage(format!("ID {id} is no vertex; the graph has {vertices} of them from {first} on"))
            })
        };
        let pieces = pairs
            .chunks(PIECE)
            .map(|piece| piece.iter().map(|&(u, v)| Ok((dense(u)?, dense(v)?))).collect::<Result<Vec<_>>>())
            .collect::<Result<Vec<_>>>()?;
        Graph::from_arcs(name, Arcs::dense(ids, pieces)?, directed, view)
    }

    /// As [`Graph::from_arcs`], for all kinds of pairs.
    pub(super) fn from_listing(name: impl Into<String>, arcs: Arcs, kind: Kind, view: View) -> Result<Graph> {
        let listed = arcs.len();
        let (ids, numbering, pieces) = arcs.numbered()?;
        let feeds = pieces.into_iter().map(|piece| Numbered { piece, numbering: &numbering }).collect();
        let as_given = matches!(view, View::AsGiven { .. });
        let deal = if kind == Kind::Directed && as_given { Deal::Out } else { Deal::Both };
        let (outgoing, counts) = rows(ids.len(), feeds, deal, view == View::Simple);
        drop(numbering);
        let mut facts = Facts {
            directed: kind == Kind::Directed,
            arcs: counts.entries,
            self_loops: counts.self_loops,
            listed,
            duplicate_arcs: 0,
        };
        let distinct = match kind {
            Kind::Directed => {
                facts.arcs = counts.listed;
                counts.listed
            }
            Kind::Undirected => (counts.entries - counts.self_loops) / 2 + counts.self_loops,
            Kind::BothWays => {
                if let Some((u, v)) = counts.reverse_only {
                    let [u, v] = [u, v].map(|v| ids.original(crate::id::GlobalId(v)));
                    return Err(Error::usage(format!(
                        "vertex {v} lists {u} but vertex {u} does not list {v}; an undirected graph of this format lists each edge from both ends, so add the missing entry or take the graph as directed"
                    )));
                }
                counts.entries
            }
        };
        facts.duplicate_arcs = listed - distinct;
        let incoming = match (deal, view) {
            (Deal::Out, View::AsGiven { incoming: true }) => Incoming::Rows(transposed(&outgoing)),
            (Deal::Out, _) => Incoming::Absent,
            _ => Incoming::Same,
        };
        Graph::from_parts(name, ids, outgoing, incoming, facts)
    }
}

/// The same arcs, turned round.
pub(super) fn transposed(csr: &Csr) -> Csr {
    rows(csr.vertices(), Rows::of(csr), Deal::In, false).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const VIEWS: [View; 4] =
        [View::AsGiven { incoming: false }, View::AsGiven { incoming: true }, View::Symmetric, View::Simple];

    fn pairs_of(csr: &Csr, ids: &Ids) -> Vec<(i64, i64)> {
        let original = |v: u32| ids.original(crate::id::GlobalId(v));
        (0..csr.vertices() as u32).flat_map(|u| csr.row(u).iter().map(move |&v| (original(u), original(v)))).collect()
    }

    /// Compares every view with sets built the plain way.
    fn check(pairs: &[(i64, i64)], directed: bool) {
        let vertices: BTreeSet<i64> = pairs.iter().flat_map(|&(u, v)| [u, v]).collect();
        let listed: BTreeSet<(i64, i64)> = pairs.iter().copied().collect();
        let both: BTreeSet<(i64, i64)> = pairs.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
        let edges: BTreeSet<(i64, i64)> = pairs.iter().map(|&(u, v)| (u.min(v), u.max(v))).collect();
        let facts = Facts {
            directed,
            arcs: if directed { listed.len() } else { both.len() } as u64,
            duplicate_arcs: (pairs.len() - if directed { listed.len() } else { edges.len() }) as u64,
            self_loops: listed.iter().filter(|(u, v)| u == v).count() as u64,
            listed: pairs.len() as u64,
        };
        for view in VIEWS {
            let graph = Graph::from_pairs("test", pairs, directed, view).expect("few vertices");
            assert_eq!(graph.ids().iter().collect::<Vec<_>>(), vertices.iter().copied().collect::<Vec<_>>());
            assert_eq!(graph.facts(), &facts, "{view:?}");
            let expected: Vec<_> = match view {
                View::AsGiven { .. } if directed => listed.iter().copied().collect(),
                View::Simple => both.iter().copied().filter(|(u, v)| u != v).collect(),
                _ => both.iter().copied().collect(),
            };
            assert_eq!(pairs_of(graph.outgoing(), graph.ids()), expected, "{view:?}");
            match (graph.incoming(), view) {
                (None, View::AsGiven { incoming: false }) if directed => {}
                (Some(csr), _) => {
                    let mut turned: Vec<_> = expected.iter().map(|&(u, v)| (v, u)).collect();
                    turned.sort_unstable();
                    assert_eq!(pairs_of(csr, graph.ids()), turned, "{view:?}");
                }
                (None, _) => panic!("no incoming rows in {view:?}"),
            }
            for other in VIEWS {
                let Ok(turned) = graph.with_view(other) else { continue };
                let fresh = Graph::from_pairs("test", pairs, directed, other).expect("few vertices");
                assert_eq!(turned.facts(), fresh.facts());
                assert_eq!(turned.outgoing().targets()[..], fresh.outgoing().targets()[..], "{view:?} to {other:?}");
                assert_eq!(turned.outgoing().offsets()[..], fresh.outgoing().offsets()[..], "{view:?} to {other:?}");
            }
        }
    }

    #[test]
    fn small_lists_give_the_rows_facts_and_views_of_the_plain_way() {
        let far = [i64::MIN, -5, 0, 1 << 32, i64::MAX];
        let lists: [&[(i64, i64)]; 7] = [
            &[],
            &[(7, 7)],
            &[(0, 1), (1, 0), (0, 1), (1, 2)],
            &[(9001, 9003), (9002, 9002), (9003, 9001)],
            &[(far[0], far[4]), (far[1], far[2]), (far[3], far[0]), (far[3], far[3])],
            &[(0, 1), (1, 2), (2, 0), (0, 0), (0, 0)],
            &[(4_294_967_295, 4_294_967_294), (4_294_967_295, 0)],
        ];
        for list in lists {
            check(list, true);
            check(list, false);
        }
    }

    #[test]
    fn rows_that_span_many_buckets_and_pieces_are_the_same_for_any_thread_count() {
        let mut state = 1u64;
        let pairs: Vec<(i64, i64)> = (0..600_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 40) as i64 % 50_000 * 3, (state >> 20) as i64 % 70_000 * 3 - 9_000)
            })
            .collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let view = View::AsGiven { incoming: true };
            pool.install(|| Graph::from_pairs("test", &pairs, true, view)).expect("few vertices")
        };
        let (one, three) = (on(1), on(3));
        assert_eq!(one.outgoing().targets()[..], three.outgoing().targets()[..]);
        assert_eq!(one.outgoing().offsets()[..], three.outgoing().offsets()[..]);
        assert_eq!(pairs_of(one.outgoing(), one.ids()), {
            let set: BTreeSet<_> = pairs.iter().copied().collect();
            set.into_iter().collect::<Vec<_>>()
        });
    }

    #[test]
    fn vertices_without_arcs_are_kept_and_ids_outside_the_range_refused() {
        let graph = Graph::from_pairs_within("test", 1, 4, &[(2, 1)], false, View::Symmetric).expect("a graph");
        assert_eq!((graph.vertices(), graph.outgoing().arcs()), (4, 2));
        let error = Graph::from_pairs_within("test", 1, 4, &[(2, 5)], false, View::Symmetric).expect_err("5 > 4");
        assert_eq!(error.to_string(), "ID 5 is no vertex; the graph has 4 of them from 1 on");
    }

    #[test]
    fn half_edges_without_their_other_half_are_refused_with_both_ends() {
        let arcs = || Arcs::listed(vec![vec![(1, 2), (2, 1), (2, 3)]]);
        let error = Graph::from_listing("test", arcs(), Kind::BothWays, View::Symmetric).expect_err("3 2 is missing");
        assert!(error.to_string().starts_with("vertex 2 lists 3 but vertex 3 does not list 2"), "{error}");
    }

    proptest! {
        #[test]
        fn any_list_gives_the_rows_of_the_plain_way(
            pairs in prop::collection::vec((-20i64..20, -20i64..20), 0..80),
            stride in prop::sample::select(vec![1i64, 1_000, 1 << 40]),
            directed: bool,
        ) {
            let pairs: Vec<_> = pairs.into_iter().map(|(u, v)| (u * stride, v * stride)).collect();
            check(&pairs, directed);
        }
    }
}
