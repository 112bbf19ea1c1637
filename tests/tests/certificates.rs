//! Certificates hold for every right answer, and for no wrong one, whatever evidence stands beside it.

use framework::base::checksum::split_mix;
use framework::base::id::{GlobalId, LocalId};
use framework::base::verdict::Verdict;
use framework::field::{Field, Share};
use framework::graph::{Direction, Format, Generator, Graph, Input, LoadOptions, Recipe, View, load};
use framework::step::Step;
use graphalg_tests::needs::real_graphs;
use graphalg_tests::{Case, cases, graphs};
use plugin_bfs::LEVEL;
use plugin_cc::LABEL;
use plugin_kcore::{DEGREE, STEP};
use plugin_pagerank::RANK;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const PLACES: [(usize, usize); 7] = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (4, 1), (9, 1)];
type Arcs = Vec<(i64, i64)>;

fn graph(case: &Case, arcs: &[(i64, i64)], directed: bool) -> Option<Graph> {
    let mut algorithm = case.make().expect("options");
    let graph = Graph::from_pairs("g", arcs, directed, algorithm.view()).expect("a small graph");
    algorithm.prepare(&graph).is_ok().then_some(graph)
}

fn holds(case: &Case, graph: &Graph, place: (usize, usize)) -> Result<(), String> {
    match case.judge(graph, place, 1, &|_, _| {}).map_err(|error| format!("{case} at {place:?}: {error}"))?.pop() {
        Some(Verdict::Sound) => Ok(()),
        other => Err(format!("{case} at {place:?}: {other:?}")),
    }
}

#[test]
fn right_answers_of_small_graphs_hold_everywhere() {
    for (name, arcs) in graphs::small() {
        for directed in [true, false] {
            for case in cases() {
                let Some(graph) = graph(&case, &arcs, directed) else { continue };
                for place in PLACES {
                    holds(&case, &graph, place).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            }
        }
    }
}

#[test]
fn right_answers_of_generated_graphs_hold_everywhere() {
    for (generator, edge_factor) in [(Generator::Kron, 8), (Generator::Uniform, 2), (Generator::Grid, 1)] {
        for case in cases() {
            let mut algorithm = case.make().expect("options");
            let recipe = Recipe { generator, scale: 14, edge_factor, seed: 3 };
            let graph = recipe.graph(algorithm.view()).expect("a graph");
            algorithm.prepare(&graph).expect("there are vertices");
            for place in [(1, 1), (1, 2), (3, 1), (2, 2)] {
                holds(&case, &graph, place).unwrap_or_else(|error| panic!("{}: {error}", graph.name()));
            }
        }
    }
}

#[test]
fn right_answers_of_real_graphs_hold_everywhere() {
    let Some(folder) = real_graphs("certificates::right_answers_of_real_graphs_hold_everywhere") else { return };
    for name in ["polblogs", "ca-GrQc", "wiki-Vote", "cit-HepPh", "road-NY"] {
        for case in cases() {
            let mut algorithm = case.make().expect("options");
            let graph = real_graph(&folder, name, algorithm.view());
            algorithm.prepare(&graph).expect("there are vertices");
            for place in [(1, 1), (1, 2), (3, 1)] {
                holds(&case, &graph, place).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
}

/// The file of that name, whatever its format.
fn real_graph(folder: &Path, name: &str, view: View) -> Graph {
    let files = std::fs::read_dir(folder).expect("readable").map(|entry| entry.expect("an entry").path());
    let of_name = |path: &PathBuf| {
        let input = Input::Path(path.clone());
        let is_graph = !path.to_string_lossy().contains(".answers.");
        is_graph && input.graph_name() == name
    };
    let path = files.into_iter().find(of_name).unwrap_or_else(|| panic!("{name} is not in {}", folder.display()));
    let options = LoadOptions { format: Format::Auto, direction: Direction::Auto, view, ..LoadOptions::default() };
    load(&Input::Path(path), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn arcs() -> impl Strategy<Value = Arcs> {
    (1i64..60, 0usize..200, any::<bool>()).prop_flat_map(|(n, most, skewed)| {
        let id = (0..n).prop_map(move |v| if skewed { v * v / n } else { v });
        prop::collection::vec((id.clone(), id), 0..=most)
    })
}

fn places() -> impl Strategy<Value = (usize, usize)> {
    prop::sample::select(PLACES.to_vec())
}

/// All owned values of a field, by global number, put by `value`.
fn put(step: &mut Step<'_>, field: Field<u32>, value: impl Fn(u32) -> u32) {
    for v in step.part.owned_vertices() {
        let global = step.part.global(v).0;
        step.set(field, v, value(global));
    }
}

fn owned(step: &mut Step<'_>, v: u32) -> Option<LocalId> {
    step.part.local(GlobalId(v))
}

/// The field of a case's answer, if it holds numbers.
fn answer(case: &Case) -> Option<Field<u32>> {
    match case.name() {
        "bfs" => Some(LEVEL),
        "cc" => Some(LABEL),
        "kcore" => Some(DEGREE),
        _ => None,
    }
}

/// What a case keeps for its certificate.
fn evidence(case: &Case) -> Vec<Field<u32>> {
    let private = |name| Field::<u32>::new(name, Share::Private, 0);
    match case.name() {
        "cc" => ["near", "far", "seen", "entry", "round", "root"].map(private).into(),
        "kcore" => vec![STEP],
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn right_answers_of_random_graphs_hold(arcs in arcs(), directed in any::<bool>(), place in places()) {
        for case in cases() {
            let Some(graph) = graph(&case, &arcs, directed) else { continue };
            prop_assert_eq!(holds(&case, &graph, place), Ok(()));
        }
    }

    #[test]
    fn a_wrong_number_is_refused_with_evidence_kept_or_struck(
        arcs in arcs(),
        directed in any::<bool>(),
        place in places(),
        seed in any::<u64>(),
    ) {
        const ATTEMPTS: usize = 24;
        for case in cases() {
            let Some(graph) = graph(&case, &arcs, directed).filter(|graph| graph.vertices() > 0) else { continue };
            let Some(field) = answer(&case) else { continue };
            let (n, kept) = (graph.vertices() as u64, evidence(&case));
            let draw = |attempt: usize, what: u64| split_mix(seed ^ split_mix((attempt as u64) << 32 | what));
            // One or a few values change; in every second attempt evidence does too, and stays changed.
            let tamper = |step: &mut Step<'_>, attempt: usize| {
                for value in 0..1 + draw(attempt, 0) % 3 {
                    let Some(v) = owned(step, (draw(attempt, 10 + value) % n) as u32) else { continue };
                    let now = step.get(field, v);
                    let drawn = draw(attempt, 20 + value);
                    let new = match drawn % 5 {
                        0 => now ^ (1 << ((drawn >> 8) % 32)),
                        1 => now.wrapping_add(1),
                        2 => now.wrapping_sub(1),
                        3 => (drawn >> 8) as u32 % (n as u32 + 1),
                        _ => u32::MAX,
                    };
                    step.set(field, v, new);
                }
                for (number, &field) in kept.iter().enumerate().filter(|_| attempt % 2 == 1) {
                    let drawn = draw(attempt, 100 + number as u64);
                    if let Some(v) = owned(step, (drawn % n) as u32) {
                        step.set(field, v, if drawn >> 40 & 1 == 0 { (drawn >> 44) as u32 % (n as u32 + 2) } else { (drawn >> 20) as u32 });
                    }
                }
            };
            // What stands in the answer after each attempt, by a clean copy of the same changes.
            let right = std::sync::Mutex::new(vec![Vec::new(); ATTEMPTS + 1]);
            let note = |step: &mut Step<'_>, attempt: usize| {
                let values: Vec<(u32, u32)> = step
                    .part
                    .owned_vertices()
                    .map(|v| (step.part.global(v).0, step.get(field, v)))
                    .collect();
                right.lock().expect("no panic")[attempt].extend(values);
            };
            let verdicts = case.judge(&graph, place, ATTEMPTS + 1, &|step, attempt| {
                if attempt > 0 {
                    tamper(step, attempt);
                }
                note(step, attempt);
            });
            let mut states = right.into_inner().expect("no panic");
            states.iter_mut().for_each(|state| state.sort_unstable());
            for (state, verdict) in states.iter().zip(verdicts.expect("a run")) {
                prop_assert!(*state == states[0] || !verdict.is_sound(), "{} at {:?}: {:?} passed", case, place, state);
            }
        }
    }

    #[test]
    fn ranks_that_are_not_equal_to_the_right_ones_are_refused(
        arcs in arcs(),
        directed in any::<bool>(),
        place in places(),
        seed in any::<u64>(),
    ) {
        const ATTEMPTS: usize = 12;
        let case = Case::new("pagerank", &[""; 0]);
        let Some(graph) = graph(&case, &arcs, directed).filter(|graph| graph.vertices() > 0) else { return Ok(()) };
        let n = graph.vertices() as u64;
        let clean = std::sync::Mutex::new(std::collections::BTreeMap::new());
        let verdicts = case.judge(&graph, place, ATTEMPTS, &|step, attempt| {
            let drawn = split_mix(seed ^ attempt as u64);
            let before = split_mix(seed ^ attempt.wrapping_sub(1) as u64) % n;
            let mut clean = clean.lock().expect("no panic");
            if let (Some(v), Some(&rank)) = (owned(step, before as u32), clean.get(&before)) {
                step.set(RANK, v, rank);
            }
            let Some(v) = owned(step, (drawn % n) as u32) else { return };
            let now = step.get(RANK, v);
            clean.insert(drawn % n, now);
            // Each is farther from the truth than two answers may be from each other.
            let new = match drawn >> 32 & 7 {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => -now,
                3 => 0.0,
                4 => f64::from_bits(now.to_bits() ^ 1 << (40 + (drawn >> 40) % 24)),
                5 => now + 1e-8,
                6 => now - 1e-8,
                _ => now * 2.0,
            };
            step.set(RANK, v, new);
        });
        prop_assert!(verdicts.expect("a run").iter().all(|verdict| !verdict.is_sound()));
    }
}

/// How many numbers of so many digits there are.
fn numbers(base: usize, digits: usize) -> usize {
    base.pow(digits as u32)
}

fn digit(number: usize, base: usize, place: u32) -> usize {
    number / base.pow(place) % base
}

/// Undirected graphs of three and four vertices, one of each kind and some more.
fn tiny() -> Vec<Arcs> {
    let lists: [&[(i64, i64)]; 9] = [
        &[(0, 1), (1, 2), (2, 0)],
        &[(0, 1), (2, 2)],
        &[(0, 2), (1, 1)],
        &[(0, 1), (1, 2), (2, 3)],
        &[(0, 3), (3, 1), (1, 2)],
        &[(0, 1), (2, 3)],
        &[(0, 3), (1, 2), (1, 1)],
        &[(0, 1), (1, 2), (2, 0), (2, 3)],
        &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    ];
    lists.map(Vec::from).into()
}

/// Tries every state of `states` on one rank and on two: those that hold must have the answer that `is_right` accepts, and some
/// must hold.
fn exhaust(
    case: &Case,
    arcs: &[(i64, i64)],
    states: usize,
    tamper: impl Fn(&mut Step<'_>, usize) + Sync,
    is_right: impl Fn(usize) -> bool,
) {
    let graph = graph(case, arcs, false).expect("a graph with vertices");
    for place in [(1, 1), (2, 1)] {
        let verdicts = case.judge(&graph, place, states, &|step, state| tamper(step, state)).expect("a run");
        let held: Vec<usize> = (0..states).filter(|&state| verdicts[state].is_sound()).collect();
        assert!(!held.is_empty(), "{case} on {arcs:?} at {place:?}: nothing holds");
        let wrong = held.iter().find(|&&state| !is_right(state));
        assert!(wrong.is_none(), "{case} on {arcs:?} at {place:?}: state {wrong:?} holds");
    }
}

/// The right numbers, by global number: those of a run, which the laws compare with the serial check.
fn right(case: &Case, arcs: &[(i64, i64)], field: Field<u32>) -> Vec<u32> {
    let graph = graph(case, arcs, false).expect("a graph with vertices");
    let values = std::sync::Mutex::new(vec![0; graph.vertices()]);
    case.judge(&graph, (1, 1), 1, &|step, _| {
        for v in step.part.owned_vertices() {
            values.lock().expect("no panic")[v.index()] = step.get(field, v);
        }
    })
    .expect("a run");
    values.into_inner().expect("no panic")
}

#[test]
fn of_all_levels_of_a_tiny_graph_only_the_right_ones_hold() {
    const VALUES: [u32; 6] = [0, 1, 2, 3, 4, u32::MAX];
    let case = Case::new("bfs", &["--source", "index:0"]);
    for arcs in tiny() {
        let truth = right(&case, &arcs, LEVEL);
        let value = |state: usize, v: u32| VALUES[digit(state, 6, v)];
        exhaust(
            &case,
            &arcs,
            numbers(6, truth.len()),
            |step, state| put(step, LEVEL, |v| value(state, v)),
            |state| (0..truth.len()).all(|v| value(state, v as u32) == truth[v]),
        );
    }
}

#[test]
fn of_all_memberships_and_steps_of_a_tiny_graph_only_right_ones_hold() {
    const STEPS: [u32; 4] = [0, 1, 2, u32::MAX];
    for k in ["1", "2", "3"] {
        let case = Case::new("kcore", &["-k", k]);
        for arcs in tiny() {
            let truth = right(&case, &arcs, DEGREE);
            let n = truth.len();
            let member = |state: usize, v: u32| digit(state, 2, v) as u32;
            exhaust(
                &case,
                &arcs,
                numbers(2, n) * numbers(4, n),
                |step, state| {
                    put(step, DEGREE, |v| member(state, v));
                    put(step, STEP, |v| STEPS[digit(state / numbers(2, n), 4, v)]);
                },
                |state| (0..n).all(|v| member(state, v as u32) == truth[v]),
            );
        }
    }
}

#[test]
fn of_all_core_numbers_and_steps_of_a_tiny_graph_only_right_ones_hold() {
    const STEPS: [u32; 4] = [0, 1, 2, u32::MAX];
    let case = Case::new("kcore", &["--all-cores"]);
    for arcs in tiny() {
        let truth = right(&case, &arcs, DEGREE);
        let n = truth.len();
        let core = |state: usize, v: u32| digit(state, 4, v) as u32;
        exhaust(
            &case,
            &arcs,
            numbers(4, n) * numbers(4, n),
            |step, state| {
                put(step, DEGREE, |v| core(state, v));
                put(step, STEP, |v| STEPS[digit(state / numbers(4, n), 4, v)]);
            },
            |state| (0..n).all(|v| core(state, v as u32) == truth[v]),
        );
    }
}

#[test]
fn of_all_labels_and_hooks_of_a_tiny_graph_only_right_ones_hold() {
    let case = Case::new("cc", &[""; 0]);
    let [near, far] = ["near", "far"].map(|name| Field::<u32>::new(name, Share::Private, 0));
    for arcs in tiny() {
        let truth = right(&case, &arcs, LABEL);
        let n = truth.len();
        let label = |state: usize, v: u32| digit(state, n, v) as u32;
        // All hooks for three vertices, a draw of them for four.
        let hooks = if n == 3 { numbers(9, 3) } else { 97 };
        exhaust(
            &case,
            &arcs,
            numbers(n, n) * hooks,
            |step, state| {
                put(step, LABEL, |v| label(state, v));
                let number = state / numbers(n, n);
                let number = if n == 3 || number == 0 { number } else { split_mix(number as u64) as usize % 65_536 };
                let ends = move |v: u32| digit(number, n * n, v);
                if number > 0 {
                    put(step, near, |v| (ends(v) / n) as u32);
                    put(step, far, |v| (ends(v) % n) as u32);
                }
            },
            |state| (0..n).all(|v| label(state, v as u32) == truth[v]),
        );
    }
}

/// On two ranks: labels, and everything that is kept of trees and of where labels came, drawn from the numbers there are.
#[test]
fn of_drawn_labels_and_evidence_of_a_tiny_graph_on_two_ranks_only_right_ones_hold() {
    const DRAWS: usize = 12_000;
    let case = Case::new("cc", &[""; 0]);
    let fields = evidence(&case);
    for arcs in tiny() {
        let truth = right(&case, &arcs, LABEL);
        let n = truth.len();
        let label = |state: usize, v: u32| digit(state % numbers(n, n), n, v) as u32;
        let graph = graph(&case, &arcs, false).expect("a graph with vertices");
        for place in [(2, 1), (3, 1)] {
            let tamper = |step: &mut Step<'_>, state: usize| {
                put(step, LABEL, |v| label(state, v));
                // Ghosts too: what is kept is by local number, and read there.
                let locals: Vec<LocalId> = step.part.local_vertices().collect();
                for (number, &field) in fields.iter().enumerate() {
                    for &v in &locals {
                        let drawn = split_mix((state as u64) << 20 | (number as u64) << 12 | u64::from(v.number()));
                        step.set(
                            field,
                            v,
                            if drawn.is_multiple_of(16) { (drawn >> 20) as u32 } else { (drawn >> 8) as u32 % 68 },
                        );
                    }
                }
            };
            let verdicts = case.judge(&graph, place, DRAWS, &tamper).expect("a run");
            let wrong = (0..DRAWS)
                .filter(|&state| verdicts[state].is_sound())
                .find(|&state| (0..n).any(|v| label(state, v as u32) != truth[v]));
            assert!(wrong.is_none(), "{arcs:?} at {place:?}: draw {wrong:?} holds");
        }
    }
}

/// Numbers that need one byte, two and four: changes that a narrower copy would not tell from the right number.
#[test]
fn wrong_numbers_are_refused_whatever_width_they_are_read_in() {
    for last in [200i64, 253, 254, 255, 256, 300, 65_533, 65_534, 65_535, 65_536, 70_000] {
        let path: Arcs = (0..last).map(|v| (v, v + 1)).collect();
        for case in [Case::new("bfs", &["--source", "index:0"]), Case::new("kcore", &["-k", "2"])] {
            let graph = graph(&case, &path, false).expect("a path");
            // k-core: a path goes from both ends, a wave a step.
            let field = if case.name() == "bfs" { LEVEL } else { STEP };
            let place = [0u32, 1, (last / 2) as u32, last as u32];
            let by = [1u32, 255, 256, 257, 65_535, 65_536, 65_537, u32::MAX];
            let changes: Vec<(u32, u32)> = place.iter().flat_map(|&v| by.map(|by| (v, by))).collect();
            let before = std::sync::Mutex::new(None::<(u32, u32)>);
            for ranks in [1, 2] {
                let verdicts = case
                    .judge(&graph, (ranks, 1), changes.len() + 1, &|step, attempt| {
                        let mut before = before.lock().expect("no panic");
                        if let Some((v, value)) = *before
                            && let Some(own) = owned(step, v)
                        {
                            step.set(field, own, value);
                            *before = None;
                        }
                        let Some(&(v, by)) = attempt.checked_sub(1).and_then(|attempt| changes.get(attempt)) else {
                            return;
                        };
                        let Some(own) = owned(step, v) else { return };
                        let now = step.get(field, own);
                        *before = Some((v, now));
                        step.set(field, own, now.wrapping_add(by));
                    })
                    .expect("a run");
                if ranks == 1 {
                    assert!(verdicts[0].is_sound(), "{case}, path of {last}: {:?}", verdicts[0]);
                    // A level is unique; a step may move where the order stays right, but never to the next wave's number or beyond.
                    let wrong = (1..verdicts.len())
                        .filter(|&attempt| verdicts[attempt].is_sound())
                        .find(|_| case.name() == "bfs");
                    assert!(
                        wrong.is_none(),
                        "{case}, path of {last}: {:?} passes",
                        wrong.map(|attempt| changes[attempt - 1])
                    );
                }
                *before.lock().expect("no panic") = None;
            }
        }
    }
}
