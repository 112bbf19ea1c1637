//! Graphs from arcs: which rows a view needs, and what the listing turned out to be. The rows themselves are made in [`rows`].
//!
//! [`rows`]: super::rows

use super::arcs::Arcs;
use super::bucket::Counts;
use super::rows::{ArcSelection, PIECE, PairSink, PairSource, rows, transposed};
use super::{Facts, Graph, Ids, Incoming, View};
use crate::base::error::{Error, Result};
use crate::base::id::GlobalId;
use rayon::prelude::*;

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

/// Pairs of vertex numbers.
pub(super) struct VertexPairs(pub(super) Vec<(u32, u32)>);

impl PairSource for VertexPairs {
    fn each(&self, mut taker: impl PairSink) {
        self.0.iter().for_each(|&(u, v)| taker.pair(u, v));
    }
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
        check_memory(ids.len())?;
        let feeds = pieces.into_par_iter().map(|piece| VertexPairs(numbering.renumber(piece))).collect();
        let as_given = matches!(view, View::AsGiven { .. });
        let deal = if kind == Kind::Directed && as_given { ArcSelection::Out } else { ArcSelection::Both };
        drop(numbering);
        let (outgoing, counts) = rows(ids.len(), feeds, deal, view == View::Simple);
        let facts = facts(kind, listed, counts, &ids)?;
        let incoming = match (deal, view) {
            (ArcSelection::Out, View::AsGiven { incoming: true }) => Incoming::Rows(transposed(&outgoing)),
            (ArcSelection::Out, _) => Incoming::Absent,
            _ => Incoming::Same,
        };
        Graph::from_parts(name, ids, outgoing, incoming, facts)
    }
}

/// Refuses a number of vertices whose offsets alone exceed the memory at hand: a header can claim any number.
fn check_memory(vertices: usize) -> Result<()> {
    let needed = 8 * vertices as u64;
    if needed < 1 << 30 {
        return Ok(());
    }
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    match available {
        Some(kib) if kib << 10 < needed => Err(Error::Environment(format!(
            "{vertices} vertices need {} MiB for their offsets alone, and {} MiB of memory are available; check the counts in the header or use a larger machine",
            needed >> 20,
            kib >> 10
        ))),
        _ => Ok(()),
    }
}

/// What a listing of `listed` pairs turned out to be.
pub(super) fn facts(kind: Kind, listed: u64, counts: Counts, ids: &Ids) -> Result<Facts> {
    let edges = (counts.entries - counts.self_loops) / 2 + counts.self_loops;
    let (arcs, distinct) = match kind {
        Kind::Directed => (counts.listed, counts.listed),
        Kind::Undirected => (counts.entries, edges),
        Kind::BothWays => (counts.entries, counts.entries),
    };
    if kind == Kind::BothWays
        && let Some((u, v)) = counts.reverse_only
    {
        let [u, v] = [u, v].map(|v| ids.original(GlobalId(v)));
        return Err(Error::usage(format!(
            "vertex {v} lists {u} but vertex {u} does not list {v}; an undirected graph of this format lists each edge from both ends, so add the missing entry or take the graph as directed"
        )));
    }
    Ok(Facts {
        directed: kind == Kind::Directed,
        arcs,
        duplicate_arcs: listed - distinct,
        self_loops: counts.self_loops,
        listed,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Csr;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const VIEWS: [View; 4] =
        [View::AsGiven { incoming: false }, View::AsGiven { incoming: true }, View::Symmetric, View::Simple];

    fn pairs_of(csr: &Csr, ids: &Ids) -> Vec<(i64, i64)> {
        let original = |v: u32| ids.original(GlobalId(v));
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
