//! Clean protected runs: the same answers as unprotected ones, and never an alarm. On small graphs, random and generated ones and,
//! where their folder is there, real ones; on one to four ranks and threads, while other threads take the cores away at drawn moments,
//! so that no two runs have one schedule. The campaign runs more of them, and on large real graphs too: `cargo xtask campaign clean-runs`.

use framework::base::checksum::split_mix;
use framework::graph::{Generator, Graph, Recipe};
use framework::protect::{Certified, Interval, Protection, Weights};
use graphalg_tests::golden::Views;
use graphalg_tests::needs::real_graphs;
use graphalg_tests::{Case, cases, graphs};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Runs of the short form.
const RUNS: u64 = 300;
/// Names the number of runs of the long one.
const VARIABLE: &str = "GRAPHALG_CLEAN_RUNS";
/// Names a file that says how far a long one came; one that is there already is gone on from.
const PROGRESS: &str = "GRAPHALG_CLEAN_RUNS_PROGRESS";
/// Runs between two notes of that.
const NOTE_EVERY: u64 = 20;
/// Real graphs of the short form have at most this many vertices.
const SMALL: u64 = 10_000;
/// Those with more are large: few runs each.
const LARGE: u64 = 200_000;
/// So many runs are drawn for one on a large graph.
const RARITY: u64 = 80;

/// The graphs of runs.
struct Stock {
    small: Vec<(String, Vec<(i64, i64)>)>,
    folder: Option<PathBuf>,
    /// Names, files, whether directed; large ones apart.
    real: [Vec<(String, String, bool)>; 2],
    /// Those that were read.
    views: BTreeMap<String, Views>,
}

impl Stock {
    fn new(is_long: bool) -> Stock {
        let folder = real_graphs("protection::clean runs on real graphs");
        let mut real = [Vec::new(), Vec::new()];
        if let Some(folder) = &folder {
            let text = std::fs::read(folder.join("expected.json")).expect("readable");
            let expected: Value = serde_json::from_slice(&text).expect("JSON");
            for (name, entry) in expected["graphs"].as_object().expect("a map") {
                let vertices = entry["vertices"].as_u64().expect("a number");
                if is_long || vertices <= SMALL {
                    let file = entry["file"].as_str().expect("a file").to_owned();
                    real[usize::from(vertices > LARGE)].push((name.clone(), file, entry["directed"] == true));
                }
            }
        }
        Stock { small: graphs::small(), folder, real, views: BTreeMap::new() }
    }
}

/// Where a run's graph comes from.
enum Source {
    Pairs(Vec<(i64, i64)>),
    Made(Recipe),
    Real { file: String, is_directed: bool },
}

/// One clean run, made from its number.
struct Tuple {
    case: Case,
    name: String,
    source: Source,
    directed: bool,
    ranks: usize,
    threads: usize,
    protection: Protection,
    /// Threads that take cores away, and the seed of when.
    disturbers: (u64, u64),
}

fn tuple(number: u64, stock: &Stock) -> Tuple {
    let draw = |what: u64, below: u64| split_mix(number << 8 | what) % below;
    let cases = cases();
    let case = cases[(number % cases.len() as u64) as usize].clone();
    let [usual, large] = &stock.real;
    // By stretches, so that every algorithm meets every graph.
    let turn = number / cases.len() as u64;
    let of = |list: &[(String, String, bool)], turn: u64| {
        let (name, file, is_directed) = list[(turn % list.len() as u64) as usize].clone();
        (name, Source::Real { file, is_directed })
    };
    let (name, source) = if !large.is_empty() && turn % RARITY == 1 {
        of(large, turn / RARITY)
    } else if !usual.is_empty() && turn % 4 == 2 {
        of(usual, turn / 4)
    } else if draw(11, 4) == 0 {
        let families = [(Generator::Kron, 8), (Generator::Uniform, 6), (Generator::Grid, 1)];
        let (generator, edge_factor) = families[draw(12, 3) as usize];
        let recipe = Recipe { generator, scale: 6 + draw(13, 7) as u32, edge_factor, seed: number };
        (format!("{generator:?} {} seed {number}", recipe.scale), Source::Made(recipe))
    } else if draw(0, 3) == 0 {
        let (name, pairs) = stock.small[draw(1, stock.small.len() as u64) as usize].clone();
        (name, Source::Pairs(pairs))
    } else {
        let (vertices, degree) = (20 + draw(2, 3000), 1 + draw(3, 12));
        let pairs = graphs::random(number, vertices, vertices * degree / 2);
        (format!("random {vertices} x {degree} seed {number}"), Source::Pairs(pairs))
    };
    let protection = Protection {
        snapshots: [Interval::Measured, Interval::Every(0), Interval::Every(1), Interval::Every(3)]
            [draw(4, 4) as usize],
        budget: [0.0, 0.02, 0.3, 1.0][draw(5, 4) as usize],
        weights: Weights { t: [0.0, 0.3, 0.6, 1.0][draw(6, 4) as usize], ..Weights::default() },
        certify: draw(7, 4) > 0,
        ..Protection::on()
    };
    let (ranks, threads) = (1 + draw(8, 4) as usize, [1, 1, 2, 2, 3, 4][draw(9, 6) as usize]);
    let disturbers = (draw(14, 3), draw(15, u64::MAX));
    Tuple { case, name, source, directed: draw(10, 2) == 0, ranks, threads, protection, disturbers }
}

/// Runs `run` while other threads work and rest by turns, for times drawn from the seed.
fn disturbed<R>((threads, seed): (u64, u64), run: impl FnOnce() -> R) -> R {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut state = seed ^ thread << 32;
                while !is_over.load(Relaxed) {
                    state = split_mix(state);
                    let begin = std::time::Instant::now();
                    let busy = Duration::from_micros(state % 300);
                    while begin.elapsed() < busy && !is_over.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                    std::thread::sleep(Duration::from_micros((state >> 32) % 300));
                }
            });
        }
        let result = run();
        is_over.store(true, Relaxed);
        result
    })
}

/// What runs gave so far.
#[derive(Clone, Copy, Default)]
struct Sums {
    next: u64,
    done: u64,
    covered: u64,
    snapshots: u64,
}

/// The program that this is: a campaign goes on with no other one.
fn build() -> String {
    let program = std::env::current_exe().and_then(std::fs::read).expect("this program can be read");
    let mut hash = DefaultHasher::new();
    hash.write(&program);
    format!("{:016x}", hash.finish())
}

impl Sums {
    fn read(path: &Path) -> Sums {
        let Ok(text) = std::fs::read(path) else { return Sums::default() };
        let said: Value = serde_json::from_slice(&text).expect("a note of progress");
        assert_eq!(said["build"], build(), "{}: the campaign was of another build; begin anew", path.display());
        let of = |key: &str| said[key].as_u64().expect("a number");
        Sums { next: of("next"), done: of("done"), covered: of("covered"), snapshots: of("snapshots") }
    }

    fn write(self, path: &Path) {
        let note = json!({
            "build": build(), "next": self.next, "done": self.done, "covered": self.covered, "snapshots": self.snapshots,
        });
        let beside = path.with_extension("unfinished");
        std::fs::write(&beside, note.to_string()).and_then(|()| std::fs::rename(&beside, path)).expect("written");
    }
}

/// One run beside an unprotected one; `None` if its graph is empty and the algorithm wants a vertex.
fn run(tuple: &Tuple, what: &str, graph: &Graph) -> Option<(u64, u64)> {
    let Tuple { case, ranks, threads, protection, disturbers, .. } = tuple;
    if case.make().expect("the law's own options").prepare(graph).is_err() {
        assert_eq!(graph.vertices(), 0, "{what}");
        return None;
    }
    let plain = case.run(graph, *ranks, *threads).unwrap_or_else(|error| panic!("{what}: {error}"));
    let guarded = disturbed(*disturbers, || case.run_protected(graph, (*ranks, *threads), protection, None));
    let guarded = guarded.unwrap_or_else(|error| panic!("{what}: {error}"));
    let detection = guarded.detection.expect("a protected run says what it found");
    assert!(detection.evidence.is_clean(), "{what}: {:?}", detection.evidence);
    assert_eq!(detection.recoveries, 0, "{what}"); // waits for the checker are the machine's affair
    assert_eq!(detection.refuted, None, "{what}");
    let proved = if protection.certify { Certified::Held } else { Certified::NotRun };
    assert_eq!(detection.certificate, proved, "{what}");
    assert!(guarded.end.is_sound && guarded.end.converged, "{what}");
    assert_eq!(guarded.end.iterations, plain.end.iterations, "{what}");
    assert_eq!(guarded.answer, plain.answer, "{what}");
    Some((detection.evidence.covered, detection.snapshots))
}

#[test]
fn clean_runs_raise_no_alarm_and_give_the_unprotected_answer() {
    let long = std::env::var(VARIABLE).ok().map(|runs| runs.parse().expect("a number of runs"));
    let progress = std::env::var_os(PROGRESS).map(PathBuf::from);
    let runs = long.unwrap_or(RUNS);
    let mut stock = Stock::new(long.is_some());
    let mut sums = progress.as_deref().map(Sums::read).unwrap_or_default();
    let (mut distinct, mut graphs, mut places) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    let say = |line: String| std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    for number in 0..runs {
        let tuple = tuple(number, &stock);
        let Tuple { case, name, directed, ranks, threads, protection, disturbers, .. } = &tuple;
        let what = format!("{case} on {name}, directed {directed}, {ranks}x{threads}, {protection:?}, {disturbers:?}");
        places.insert((*ranks, *threads));
        let kind = match &tuple.source {
            Source::Real { .. } => name.as_str(),
            Source::Made(_) => "generated",
            Source::Pairs(_) => "small and random",
        };
        *graphs.entry(kind.to_owned()).or_insert(0u32) += 1;
        distinct.insert(what.clone());
        if number < sums.next {
            continue;
        }
        let what = format!("run {number}: {what}");
        let view = case.make().expect("the law's own options").view();
        let found = match &tuple.source {
            Source::Real { file, is_directed } => {
                let path = stock.folder.as_ref().expect("the graph was found there").join(file);
                let views = stock.views.entry(name.clone()).or_insert_with(|| Views::load(&path, *is_directed));
                run(&tuple, &what, views.get(view, *is_directed && !directed))
            }
            Source::Made(recipe) => run(&tuple, &what, &recipe.graph(view).expect("a small graph")),
            Source::Pairs(pairs) => {
                run(&tuple, &what, &Graph::from_pairs(name, pairs, *directed, view).expect("a small graph"))
            }
        };
        if let Some((covered, snapshots)) = found {
            sums.done += 1;
            sums.covered += covered;
            sums.snapshots += snapshots;
        }
        sums.next = number + 1;
        if sums.next.is_multiple_of(NOTE_EVERY) || sums.next == runs {
            progress.iter().for_each(|path| sums.write(path));
        }
        if long.is_some() && sums.next.is_multiple_of(100) {
            say(format!("clean runs: {} of {runs}, no alarm\n", sums.next));
        }
    }
    assert!(sums.covered > 0 && sums.snapshots > 0, "the runs do what they are to be free of alarms with");
    let graphs: Vec<_> = graphs.iter().map(|(name, count)| format!("{name} {count}")).collect();
    say(format!(
        "\nclean runs: {} ({} distinct tuples, {} places of ranks x threads; {} of an empty graph left out), 0 alarms, {} updates done \
         again, {} snapshots\nby graph: {}\n",
        sums.done,
        distinct.len(),
        places.len(),
        runs - sums.done,
        sums.covered,
        sums.snapshots,
        graphs.join(", ")
    ));
}
