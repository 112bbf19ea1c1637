//! Laws of partitions, on random graphs and one to five ranks that really talk to each other.

use super::{Part, bounds};
use crate::base::id::{GlobalId, Rank};
use crate::graph::{Graph, View};
use crate::host::{IdlePolicy, Pool};
use crate::transport::{Transport, local};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Cuts a graph, every rank on a thread of its own.
fn parts(graph: &Graph, ranks: usize) -> Vec<Part> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = local(ranks, IdlePolicy::Park)
            .into_iter()
            .map(|mut end| {
                scope.spawn(move || {
                    let threads = 1 + end.rank().index() % 2;
                    Part::cut(graph, &mut end, &Pool::new(threads, IdlePolicy::Park)).expect("all ranks are there")
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// Graphs with isolated vertices, self-loops and repeated arcs, in every view, and a number of ranks.
fn cases() -> impl Strategy<Value = (Graph, usize)> {
    let views = prop_oneof![
        Just(View::AsGiven { incoming: true }),
        Just(View::AsGiven { incoming: false }),
        Just(View::Symmetric),
        Just(View::Simple),
    ];
    (0usize..300).prop_flat_map(move |n| {
        let id = 0..n.max(1) as i64;
        let arcs = prop::collection::vec((id.clone(), id), 0..if n == 0 { 1 } else { 700 });
        (arcs, any::<bool>(), views.clone(), 1usize..=5).prop_map(move |(arcs, directed, view, ranks)| {
            let graph = Graph::from_pairs_within("random", 0, n, &arcs, directed, view).expect("IDs are in range");
            (graph, ranks)
        })
    })
}

fn global(part: &Part, rows: &super::LocalRows, v: crate::base::id::LocalId) -> Vec<u32> {
    rows.of(v).iter().map(|&u| part.global(u).0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn owned_sets_cover_the_graph_and_do_not_overlap((graph, ranks) in cases()) {
        let parts = parts(&graph, ranks);
        let owned: Vec<u32> =
            parts.iter().flat_map(|part| part.owned_vertices().map(|v| part.global(v).0)).collect();
        prop_assert!(owned.iter().copied().eq(0..graph.vertices() as u32), "{:?}", owned);
        for (rank, part) in parts.iter().enumerate() {
            prop_assert_eq!(part.rank(), Rank(rank as u32));
            prop_assert_eq!(part.graph_vertices(), graph.vertices());
            prop_assert_eq!(part.graph_arcs(), graph.outgoing().arcs() as u64);
            for v in 0..graph.vertices() as u32 {
                let owns = part.local(GlobalId(v));
                prop_assert!(owns.is_none_or(|local| part.global(local) == GlobalId(v) && !part.is_ghost(local)));
                let owners = parts.iter().filter(|part| part.local(GlobalId(v)).is_some()).count();
                prop_assert_eq!(owners, 1, "vertex {} has one owner", v);
            }
        }
    }

    #[test]
    fn rows_of_all_parts_give_the_rows_of_the_graph_in_global_order((graph, ranks) in cases()) {
        for part in parts(&graph, ranks) {
            for v in part.owned_vertices() {
                let name = part.global(v).0;
                prop_assert_eq!(global(&part, part.outgoing(), v), graph.outgoing().row(name));
                prop_assert_eq!(part.outgoing().degree(v), graph.outgoing().degree(name));
                match graph.incoming() {
                    Some(incoming) => prop_assert_eq!(global(&part, part.incoming(), v), incoming.row(name)),
                    None => prop_assert!(!part.has_incoming()),
                }
            }
            for ghost in part.local_vertices().filter(|&v| part.is_ghost(v)) {
                prop_assert_eq!(part.outgoing().degree(ghost), 0);
            }
        }
    }

    #[test]
    fn ghosts_are_the_far_ends_of_arcs_that_peers_own_in_global_order((graph, ranks) in cases()) {
        for part in parts(&graph, ranks) {
            let mut ends = BTreeSet::new();
            for v in part.owned_vertices() {
                let name = part.global(v).0;
                ends.extend(graph.outgoing().row(name));
                ends.extend(graph.incoming().map_or(&[][..], |incoming| incoming.row(name)));
            }
            let wanted: Vec<u32> = ends.into_iter().filter(|&v| part.local(GlobalId(v)).is_none()).collect();
            let ghosts = part.local_vertices().filter(|&v| part.is_ghost(v));
            prop_assert_eq!(ghosts.map(|v| part.global(v).0).collect::<Vec<_>>(), wanted);
            prop_assert_eq!(part.local_vertices().count(), part.owned() + part.ghosts());
            prop_assert!(part.vertex(part.locals() as u32).is_none());
            prop_assert!(part.local_vertices().all(|v| part.vertex(v.number()) == Some(v)));
        }
    }

    #[test]
    fn routes_match_pairwise((graph, ranks) in cases()) {
        let parts = parts(&graph, ranks);
        for (p, from) in parts.iter().enumerate() {
            prop_assert_eq!(from.routes().ranks(), ranks);
            let mut boundary = BTreeSet::new();
            for (q, to) in parts.iter().enumerate() {
                // What p sends to q are q's ghosts that p owns, in q's order.
                let sent: Vec<GlobalId> = from.routes().copied_to(q).iter().map(|&v| from.global(v)).collect();
                let places = to.routes().ghosts_of(p);
                let received: Vec<GlobalId> = places.clone().map(|place| to.ghosts[place as usize]).collect();
                prop_assert_eq!(&sent, &received, "from {} to {}", p, q);
                prop_assert!(p != q || sent.is_empty());
                for place in places.clone() {
                    prop_assert_eq!(to.routes().owner_of(place), (Rank(p as u32), place - places.start));
                }
                boundary.extend(from.routes().copied_to(q).iter().copied());
            }
            prop_assert!(from.routes().boundary().iter().eq(&boundary));
            for v in from.owned_vertices() {
                let copies = from.routes().copies_of(v);
                prop_assert_eq!(copies.is_empty(), !boundary.contains(&v));
                for &(peer, place) in copies {
                    prop_assert_eq!(from.routes().copied_to(peer.index())[place as usize], v);
                }
                let listed = (0..ranks).filter(|&q| from.routes().copied_to(q).contains(&v)).count();
                prop_assert_eq!(copies.len(), listed);
            }
        }
    }

    #[test]
    fn parts_are_balanced_up_to_one_vertex((graph, ranks) in cases()) {
        let incoming = graph.incoming().filter(|_| !graph.is_symmetric());
        let cost = |v: u32| graph.outgoing().degree(v) + incoming.map_or(0, |csr| csr.degree(v)) + 2;
        let of = |from: u32, to: u32| (from..to).map(cost).sum::<u64>();
        let n = graph.vertices() as u32;
        let most = (0..n).map(cost).max().unwrap_or(0);
        let bounds = bounds(&graph, ranks);
        prop_assert_eq!((bounds[0], bounds[ranks], bounds.len()), (0, n, ranks + 1));
        for pair in bounds.windows(2) {
            prop_assert!(pair[0] <= pair[1]);
            prop_assert!(of(pair[0], pair[1]) <= of(0, n) / ranks as u64 + most + 1, "{:?}", bounds);
        }
    }

    #[test]
    fn chunks_cover_the_owned_vertices_and_never_share_a_word((graph, ranks) in cases()) {
        for part in parts(&graph, ranks) {
            for chunks in [part.chunks(), part.incoming_chunks()] {
                prop_assert_eq!((chunks[0], chunks[chunks.len() - 1]), (0, part.owned() as u32));
                prop_assert!(chunks.windows(2).all(|pair| pair[0] < pair[1] || part.owned() == 0), "{:?}", chunks);
                prop_assert!(chunks[..chunks.len() - 1].iter().all(|bound| bound % 64 == 0), "{:?}", chunks);
            }
        }
    }
}

/// A transport on which a peer asks for a vertex that is not mine.
struct Liar {
    asks: u32,
}

impl Transport for Liar {
    fn rank(&self) -> Rank {
        Rank(0)
    }
    fn ranks(&self) -> usize {
        2
    }
    fn exchange(&mut self, _: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> crate::base::error::Result<()> {
        incoming[1].extend_from_slice(&self.asks.to_le_bytes());
        Ok(())
    }
    fn all_gather(&mut self, _: &[u8], _: &mut [Vec<u8>]) -> crate::base::error::Result<()> {
        Ok(())
    }
    fn abandon(&mut self, _: &str) {}
}

#[test]
fn a_peer_that_asks_for_a_vertex_of_others_is_an_error_that_names_it() {
    let graph = Graph::from_pairs("path", &[(0, 1), (1, 2), (2, 3)], false, View::Symmetric).expect("a small graph");
    for asks in [2, 3, 4, u32::MAX] {
        let error = Part::cut(&graph, &mut Liar { asks }, &Pool::new(1, IdlePolicy::Park)).expect_err("not mine");
        assert!(
            error.to_string().contains(&format!("rank 1 stopped before the run was over: it asked for vertex {asks},"))
        );
    }
}
