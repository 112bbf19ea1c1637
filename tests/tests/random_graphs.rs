//! Laws on random graphs, for every plugin with every set of options: what may change in the input without changing the answer,
//! and how the answer must follow what does change it. A failing graph is shrunk to a small one.

use framework::answer::{Answer, Values};
use framework::base::checksum::split_mix;
use framework::base::probe::Off;
use framework::graph::{Graph, Order};
use framework::trial::{Costs, Trial};
use graphalg_tests::{Case, cases};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

type Arcs = Vec<(i64, i64)>;

/// Far from the others, below them: a vertex that laws add.
const NEW: i64 = -1_000_000;

/// Where a run can happen: ranks, threads.
fn places() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![Just((1, 1)), Just((1, 2)), Just((1, 3)), Just((2, 1)), Just((2, 2)), Just((3, 1)), Just((5, 1))]
}

/// Sparse, dense and skewed graphs of up to 90 vertices, self-loops and repeated arcs included.
fn arcs() -> impl Strategy<Value = Arcs> {
    (1i64..90, 0usize..300, any::<bool>()).prop_flat_map(|(n, most, skewed)| {
        let id = (0..n).prop_map(move |v| if skewed { v * v / n } else { v });
        prop::collection::vec((id.clone(), id), 0..=most)
    })
}

/// Graphs with enough arcs for what small ones never reach: frontiers that all threads push, wide ones held as bits, pulls, and
/// several chunks a rank. Few, many or skewed arcs a vertex, drawn from a seed.
fn large_arcs() -> impl Strategy<Value = Arcs> {
    (64u64..5000, 4_000u64..40_000, 0u32..3, any::<u32>()).prop_map(|(n, arcs, skew, seed)| {
        let end = |draw: u64| (0..skew).fold(split_mix(u64::from(seed) << 32 | draw) % n, |v, _| v * v / n) as i64;
        (0..arcs).map(|arc| (end(2 * arc), end(2 * arc + 1))).collect()
    })
}

fn graph(case: &Case, arcs: &[(i64, i64)], directed: bool) -> Graph {
    let view = case.make().expect("the law's own options").view();
    Graph::from_pairs("random", arcs, directed, view).expect("a small graph")
}

/// The case with its source, if it has one, named by original ID, so that it means the same in another graph. `None` where there
/// is no vertex to start from.
fn pinned(case: &Case, graph: &Graph, rename: impl Fn(i64) -> i64) -> Option<Case> {
    let mut algorithm = case.make().expect("the law's own options");
    algorithm.prepare(graph).ok()?;
    match algorithm.parameters().get("source") {
        None => Some(case.clone()),
        Some(source) => Some(Case::new(case.name(), &["--source".into(), rename(source.as_i64()?).to_string()])),
    }
}

fn run(case: &Case, graph: &Graph, (ranks, threads): (usize, usize)) -> Trial<Off> {
    let trial = case.run(graph, ranks, threads).unwrap_or_else(|e| panic!("{case} at {ranks}x{threads}: {e}"));
    assert!(trial.end.converged, "{case} at {ranks}x{threads}");
    trial
}

/// The value of each vertex by original ID, as a number of its own type.
#[derive(Clone, Copy, PartialEq, Debug)]
enum One {
    Count(u32),
    Vertex(i64),
    Flag(u8),
    Real(f64),
}

fn by_id(graph: &Graph, answer: &Answer) -> BTreeMap<i64, One> {
    let all: Vec<One> = match &answer.values {
        Values::Count(values) => values.iter().map(|&v| One::Count(v)).collect(),
        Values::Vertex(values) => values.iter().map(|&v| One::Vertex(v)).collect(),
        Values::Flag(values) => values.iter().map(|&v| One::Flag(v)).collect(),
        Values::Real(values) => values.iter().map(|&v| One::Real(v)).collect(),
    };
    assert_eq!(all.len(), graph.vertices());
    graph.ids().iter().zip(all).collect()
}

/// Whether two answers are the same; real ones up to what stopping early may leave (2 * 1e-10 * d / (1 - d)) and rounding.
fn same(found: &BTreeMap<i64, One>, right: &BTreeMap<i64, One>) -> Result<(), String> {
    let mut distance = 0.0;
    for (id, right) in right {
        match (found.get(id), right) {
            (Some(One::Real(a)), One::Real(b)) => distance += (a - b).abs(),
            (found, right) if found == Some(right) => {}
            (found, right) => return Err(format!("vertex {id} has {found:?}, {right:?} is right")),
        }
    }
    // False for NaN, which must not pass.
    if distance <= 1.2e-9 { Ok(()) } else { Err(format!("{distance:e} in L1")) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_place_gives_the_sound_answer_with_one_hash(arcs in arcs(), directed in any::<bool>(), place in places()) {
        for case in cases() {
            let graph = graph(&case, &arcs, directed);
            let mut algorithm = case.make().expect("options");
            if algorithm.prepare(&graph).is_err() {
                prop_assert_eq!(graph.vertices(), 0);
                continue;
            }
            let alone = run(&case, &graph, (1, 1));
            let there = run(&case, &graph, place);
            let verdict = algorithm.verify(&graph, &there.answer);
            prop_assert!(verdict.is_sound(), "{} at {:?}: {:?}", case, place, verdict);
            prop_assert_eq!(there.answer.hash(), alone.answer.hash(), "{} at {:?}", case, place);
            prop_assert_eq!(there.answer.check_sums(&graph), alone.answer.check_sums(&graph));
        }
    }

    #[test]
    fn threads_and_repetition_change_neither_hash_nor_rounds(arcs in arcs(), directed in any::<bool>(), ranks in 1usize..=3) {
        for case in cases() {
            let graph = graph(&case, &arcs, directed);
            let Some(case) = pinned(&case, &graph, |id| id) else { continue };
            let first = run(&case, &graph, (ranks, 1));
            for threads in [1, 2, 3] {
                let again = run(&case, &graph, (ranks, threads));
                prop_assert_eq!(again.answer.hash(), first.answer.hash(), "{} on {} threads", case, threads);
                prop_assert_eq!(again.end, first.end, "{} on {} threads", case, threads);
            }
        }
    }

    #[test]
    fn a_search_offers_and_copies_each_ghost_at_most_once(arcs in arcs(), directed in any::<bool>(), ranks in 2usize..=5) {
        let case = Case::new("bfs", &[""; 0]);
        let costs: Vec<_> = run(&case, &graph(&case, &arcs, directed), (ranks, 1)).ranks.iter().map(|rank| rank.costs).collect();
        let sum = |of: fn(&Costs) -> u64| costs.iter().map(of).sum::<u64>();
        // Each time a level of 4 bytes and at most as much for the place, and a byte a message.
        let most = 2 * 8 * sum(|rank| rank.ghosts) + sum(|rank| rank.exchange_messages);
        prop_assert!(sum(|rank| rank.exchange_bytes) <= most, "{:?}", costs);
    }

    #[test]
    fn order_and_repetition_of_arcs_do_not_show(arcs in arcs(), directed in any::<bool>(), place in places(), seed in any::<u64>()) {
        let mut shuffled = arcs.clone();
        shuffled.extend(arcs.iter().filter(|&&(u, v)| split_mix(seed ^ (u * 1000 + v) as u64).is_multiple_of(3)));
        shuffled.sort_by_key(|&(u, v)| split_mix(seed.rotate_left(7) ^ (u * 1000 + v) as u64));
        for case in cases() {
            let (plain, shuffled) = (graph(&case, &arcs, directed), graph(&case, &shuffled, directed));
            let Some(case) = pinned(&case, &plain, |id| id) else { continue };
            prop_assert_eq!(run(&case, &shuffled, place).answer.hash(), run(&case, &plain, place).answer.hash(), "{}", case);
        }
    }

    #[test]
    fn an_undirected_graph_is_a_directed_one_with_both_arcs(arcs in arcs(), place in places()) {
        let both: Arcs = arcs.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
        for case in cases() {
            let (undirected, directed) = (graph(&case, &arcs, false), graph(&case, &both, true));
            let Some(case) = pinned(&case, &undirected, |id| id) else { continue };
            let (one, other) = (run(&case, &undirected, place), run(&case, &directed, place));
            prop_assert_eq!(one.answer.hash(), other.answer.hash(), "{}", case);
            prop_assert_eq!(one.end.iterations, other.end.iterations, "{}", case);
        }
    }

    #[test]
    fn answers_follow_a_renaming_of_the_vertices(
        arcs in arcs(),
        directed in any::<bool>(),
        place in places(),
        seed in any::<u64>(),
    ) {
        // Different for different IDs: the low bits are the ID.
        let rename = |id: i64| ((split_mix(seed ^ id as u64) << 10) as i64 | id) >> (seed % 9);
        let renamed: Arcs = arcs.iter().map(|&(u, v)| (rename(u), rename(v))).collect();
        let names: BTreeSet<i64> = arcs.iter().flat_map(|&(u, v)| [u, v]).collect();
        prop_assume!(names.iter().map(|&id| rename(id)).collect::<BTreeSet<_>>().len() == names.len());
        for case in cases() {
            let (plain, other) = (graph(&case, &arcs, directed), graph(&case, &renamed, directed));
            let (Some(here), Some(there)) = (pinned(&case, &plain, |id| id), pinned(&case, &plain, rename)) else { continue };
            let right = by_id(&plain, &run(&here, &plain, place).answer);
            // The name of a class is the smallest new name in it.
            let mut classes: BTreeMap<i64, i64> = BTreeMap::new();
            for (&id, one) in &right {
                if let One::Vertex(class) = one {
                    let least = classes.entry(*class).or_insert(i64::MAX);
                    *least = rename(id).min(*least);
                }
            }
            let right = right.into_iter().map(|(id, one)| {
                let one = if let One::Vertex(class) = one { One::Vertex(classes[&class]) } else { one };
                (rename(id), one)
            });
            let found = by_id(&other, &run(&there, &other, place).answer);
            prop_assert_eq!(same(&found, &right.collect()), Ok(()), "{}", case);
        }
    }

    #[test]
    fn another_numbering_of_the_vertices_does_not_show(
        arcs in arcs(),
        directed in any::<bool>(),
        (ranks, threads) in (1usize..=3, 1usize..=2),
        order in prop::sample::select(vec![Order::Degree, Order::Hub, Order::Rcm]),
        seed in any::<u64>(),
    ) {
        for case in cases() {
            let plain = graph(&case, &arcs, directed);
            let other = plain.reordered(order).expect("an order");
            let [mut here, mut there] = [(); 2].map(|()| case.make().expect("options"));
            if here.prepare(&plain).is_err() {
                prop_assert!(there.prepare(&other).is_err());
                continue;
            }
            prop_assert!(there.prepare(&other).is_ok());
            prop_assert_eq!(here.parameters(), there.parameters(), "{} finds the same source", case);
            let right = run(&case, &plain, (ranks, threads));
            let mut found = run(&case, &other, (ranks, threads));
            prop_assert_eq!(same(&by_id(&other, &found.answer), &by_id(&plain, &right.answer)), Ok(()), "{}", case);
            let verdict = there.verify(&other, &found.answer);
            prop_assert!(verdict.is_sound(), "{}: {:?}", case, verdict);
            if let (Some(found), Some(right)) = (found.answer.check_sums(&other), right.answer.check_sums(&plain)) {
                prop_assert!(found.iter().zip(&right).all(|(a, b)| (a - b).abs() <= 1.2e-9), "{:?} {:?}", found, right);
            } else {
                prop_assert_eq!(found.answer.hash(), right.answer.hash(), "{}", case);
                let records = [here.result(&plain, &right.answer, &right.end.last), there.result(&other, &found.answer, &found.end.last)];
                prop_assert_eq!(&records[0], &records[1], "{}", case);
            }
            let Some(place) = seed.checked_rem(plain.vertices() as u64) else { continue };
            let place = place as usize;
            match &mut found.answer.values {
                Values::Count(values) => values[place] ^= 1,
                Values::Vertex(values) => values[place] ^= 1,
                Values::Flag(values) => values[place] ^= 1,
                Values::Real(values) => values[place] += 1e-6,
            }
            prop_assert!(!there.verify(&other, &found.answer).is_sound(), "{}: place {} was changed", case, place);
        }
    }

    #[test]
    fn a_lonely_vertex_with_a_loop_changes_nothing_else(arcs in arcs(), directed in any::<bool>(), place in places()) {
        let more: Arcs = arcs.iter().copied().chain([(NEW, NEW)]).collect();
        for case in cases() {
            let (plain, more) = (graph(&case, &arcs, directed), graph(&case, &more, directed));
            let Some(case) = pinned(&case, &plain, |id| id) else { continue };
            let found = by_id(&more, &run(&case, &more, place).answer);
            match found[&NEW] {
                One::Count(value) => prop_assert_eq!(value, if case.name() == "bfs" { u32::MAX } else { 0 }, "{}", case),
                One::Vertex(class) => prop_assert_eq!(class, NEW, "{}", case),
                One::Flag(inside) => prop_assert_eq!(inside, 0, "{}", case),
                One::Real(_) => continue, // a new vertex takes a share of every restart
            }
            let right = by_id(&plain, &run(&case, &plain, place).answer);
            prop_assert_eq!(same(&found, &right), Ok(()), "{}", case);
            prop_assert_eq!(found.len(), right.len() + 1);
        }
    }

    #[test]
    fn two_copies_of_a_graph_have_two_copies_of_the_answer(arcs in arcs(), directed in any::<bool>(), place in places()) {
        const AWAY: i64 = 10_000;
        let twice: Arcs = arcs.iter().flat_map(|&(u, v)| [(u, v), (u + AWAY, v + AWAY)]).collect();
        for case in cases() {
            let (plain, twice) = (graph(&case, &arcs, directed), graph(&case, &twice, directed));
            let Some(case) = pinned(&case, &plain, |id| id) else { continue };
            let one = by_id(&plain, &run(&case, &plain, place).answer);
            let right = one.iter().flat_map(|(&id, &one)| {
                let copy = match one {
                    One::Count(_) if case.name() == "bfs" => One::Count(u32::MAX), // its source is in the other copy
                    One::Vertex(class) => One::Vertex(class + AWAY),
                    One::Real(rank) => One::Real(rank / 2.0),
                    other => other,
                };
                let first = if let One::Real(rank) = one { One::Real(rank / 2.0) } else { one };
                [(id, first), (id + AWAY, copy)]
            });
            let found = by_id(&twice, &run(&case, &twice, place).answer);
            prop_assert_eq!(same(&found, &right.collect()), Ok(()), "{}", case);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn large_frontiers_give_the_sound_answer_on_threads_and_ranks(arcs in large_arcs(), directed in any::<bool>(), ranks in 2usize..=5) {
        for case in cases() {
            let graph = graph(&case, &arcs, directed);
            let mut algorithm = case.make().expect("options");
            prop_assert!(algorithm.prepare(&graph).is_ok());
            let alone = run(&case, &graph, (1, 1));
            let verdict = algorithm.verify(&graph, &alone.answer);
            prop_assert!(verdict.is_sound(), "{}: {:?}", case, verdict);
            for place in [(1, 2), (1, 3), (ranks, 1), (2, 2)] {
                let there = run(&case, &graph, place);
                prop_assert_eq!(there.answer.hash(), alone.answer.hash(), "{} at {:?}", case, place);
                if place.0 == 1 {
                    prop_assert_eq!(there.end, alone.end, "{} at {:?}", case, place);
                }
            }
        }
    }
}
