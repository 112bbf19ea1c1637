//! Tier 1's marks and replicas: what is critical ranks the vertices that are active together and depends on neither ranks nor threads;
//! what is done again is critical, fits, and finds an update that went wrong once; what each verdict took counts from its superstep's end.

use framework::algorithm::{GraphAlgorithm, Record};
use framework::answer::{Answer, AnswerSpec, Meaning};
use framework::base::error::Result;
use framework::base::id::{GlobalId, LocalId};
use framework::base::probe::{Activity, Probe, Stage};
use framework::base::tally::Tally;
use framework::base::verdict::Verdict;
use framework::fault_tolerance::{Change, CheckInput, FaultTolerance, Redundancy};
use framework::field::{Bind, Changing, Field, FieldSpec, Frozen, Share};
use framework::graph::{Generator, Graph, Recipe, View};
use framework::op::{GatherOp, GatherResult};
use framework::protect::{Interval, Protection, Recovery, Weights};
use framework::step::{Layout, Step};
use framework::trial::{Layouts, Placement, Trial, TrialConfig, protected_trial};
use graphalg_tests::{Case, cases, graphs};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Keeps what it is told.
#[derive(Default)]
struct Kept {
    spans: Vec<(Stage, u32, Duration, Duration)>,
    activity: Vec<(u32, Activity)>,
    checked: Vec<(u64, Stage, u32, Duration, Duration)>,
}

impl Probe for Kept {
    const WANTS_CHECKER: bool = true;
    fn span(&mut self, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        self.spans.push((stage, iteration, begin, end));
    }
    fn superstep(&mut self, _: u32) {}
    fn activity(&mut self, iteration: u32, activity: Activity) {
        self.activity.push((iteration, activity));
    }
    fn checked(&mut self, row: u64, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        self.checked.push((row, stage, iteration, begin, end));
    }
}

fn run(case: &Case, graph: &Graph, place: Placement<'_>, protection: &Protection) -> Trial<Kept> {
    let plan = TrialConfig { place, protection, resumable: None, reload: None };
    let trial = protected_trial(graph, &plan, &|| case.make(), &|_| Kept::default());
    trial.unwrap_or_else(|error| panic!("{case}: {error}"))
}

fn graph_for(case: &Case, name: &str, arcs: &[(i64, i64)], directed: bool) -> Graph {
    Graph::from_pairs(name, arcs, directed, case.make().expect("options").view()).expect("a graph")
}

/// What all ranks did in each superstep: active, critical, done again.
fn by_superstep(trial: &Trial<Kept>) -> BTreeMap<u32, [u64; 3]> {
    let mut sums = BTreeMap::<u32, [u64; 3]>::new();
    for (index, activity) in trial.ranks.iter().flat_map(|rank| &rank.probe.activity) {
        let own = [activity.active, activity.critical, activity.assigned];
        sums.entry(*index).or_default().iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    sums
}

fn redundancy(case: &Case) -> Redundancy {
    case.make().expect("options").protection().map_or(Redundancy::None, |rules| rules.redundancy())
}

fn at(budget: f64, weights: Weights) -> Protection {
    Protection { budget, weights, snapshots: Interval::Every(0), ..Protection::on() }
}

/// Two hubs, a random middle and leaves.
fn spread() -> Vec<(i64, i64)> {
    let mut arcs = graphs::random(7, 400, 900);
    arcs.extend((1..60).map(|v| (0, v)));
    arcs.extend((100..160).map(|v| (v, 99)));
    arcs.extend((400..500).map(|v| (v % 400, v)));
    arcs
}

/// Whether in some superstep some of those that are active together are critical, and some are not.
fn tells_apart(sums: &BTreeMap<u32, [u64; 3]>) -> bool {
    sums.values().any(|[active, critical, _]| 0 < *critical && critical < active)
}

#[test]
fn change_alone_tells_vertices_apart_that_are_active_together() {
    let mut told = BTreeMap::<&str, bool>::new();
    for case in cases().into_iter().filter(|case| redundancy(case) != Redundancy::None) {
        for directed in [true, false] {
            let graph = graph_for(&case, "spread", &spread(), directed);
            let at_threshold =
                |t| by_superstep(&run(&case, &graph, Placement::new(1, 1), &at(0.0, Weights { a: 0.0, b: 1.0, t })));
            *told.entry(case.name()).or_default() |=
                [0.2, 0.4, 0.6, 0.8].into_iter().any(|t| tells_apart(&at_threshold(t)));
        }
    }
    assert!(!told.is_empty() && told.values().all(|&is_told| is_told), "{told:?}");
}

#[test]
fn marks_depend_on_neither_ranks_nor_threads() {
    for case in cases() {
        for directed in [true, false] {
            let graph = graph_for(&case, "spread", &spread(), directed);
            for t in [0.3, 0.6] {
                let protection = at(0.02, Weights { t, ..Weights::default() });
                let what = format!("{case}, directed {directed}, t {t}");
                let alone = by_superstep(&run(&case, &graph, Placement::new(1, 1), &protection));
                if redundancy(&case) == Redundancy::None {
                    assert!(alone.values().all(|&[_, critical, _]| critical == 0), "{what}: nothing is scored");
                    continue;
                }
                for (ranks, threads) in [(1, 3), (3, 1), (4, 2)] {
                    let other = by_superstep(&run(&case, &graph, Placement::new(ranks, threads), &protection));
                    // With peers there may be one more superstep, in which nobody is active.
                    let marks = |all: &BTreeMap<u32, [u64; 3]>| {
                        all.values().map(|&[a, c, _]| (a, c)).filter(|&(active, _)| active > 0).collect::<Vec<_>>()
                    };
                    assert_eq!(marks(&alone), marks(&other), "{what}, {ranks}x{threads}");
                }
            }
        }
    }
}

#[test]
fn what_is_done_again_is_critical_and_fits_and_is_the_same_each_time() {
    for case in cases() {
        let how = redundancy(&case);
        for directed in [true, false] {
            let graph = graph_for(&case, "spread", &spread(), directed);
            for (budget, t) in [(0.0, 0.3), (0.02, 0.3), (0.02, 0.0), (0.3, 0.5), (1.0, 0.0), (1.0, 0.3)] {
                let protection = at(budget, Weights { t, ..Weights::default() });
                for (ranks, threads) in [(1, 1), (1, 3), (3, 2)] {
                    let what = format!("{case}, directed {directed}, budget {budget}, t {t}, {ranks}x{threads}");
                    let trial = run(&case, &graph, Placement::new(ranks, threads), &protection);
                    let detection = trial.detection.as_ref().expect("protected");
                    assert!(detection.evidence.is_clean() && detection.redundancy == how, "{what}: {detection:?}");
                    for (index, own) in trial.ranks.iter().flat_map(|rank| &rank.probe.activity) {
                        let Activity { owned, active, critical, assigned } = *own;
                        assert!(assigned <= critical && critical <= active, "{what}, superstep {index}: {own:?}");
                        let inactive = owned - active;
                        let fits = assigned <= inactive || how == Redundancy::OfGathers;
                        assert!(fits, "{what}, superstep {index}: {own:?}");
                        let is_all = budget >= 1.0 && how == Redundancy::OfGathers;
                        assert!(!is_all || assigned == critical, "{what}, superstep {index}: {own:?}");
                    }
                    let sums = by_superstep(&trial);
                    let [critical, assigned] = [1, 2].map(|place| sums.values().map(|sum| sum[place]).sum::<u64>());
                    let said = (detection.evidence.critical, detection.evidence.covered);
                    assert_eq!(said, (critical, assigned), "{what}: evidence and traces agree");
                    assert!(budget > 0.0 || assigned == 0, "{what}");
                    assert!(assigned > 0 || budget == 0.0 || t > 0.0 || critical == 0, "{what}");
                    let again = by_superstep(&run(&case, &graph, Placement::new(ranks, threads), &protection));
                    assert_eq!(sums, again, "{what}: the same each time");
                }
            }
        }
    }
}

#[test]
fn rows_are_summed_again_as_tiles_summed_them() {
    // Above the size from which tiles are built.
    let case = Case::new("pagerank", &["--tolerance", "1e-3"]);
    let recipe = Recipe { generator: Generator::Kron, scale: 17, edge_factor: 4, seed: 5 };
    let graph = recipe.graph(case.make().expect("options").view()).expect("a graph");
    let protection = Protection { certify: false, ..at(1.0, Weights { t: 0.0, ..Weights::default() }) };
    for (layouts, has_tiles) in [(Layouts::AsAsked, true), (Layouts::RowsOnly, false)] {
        let trial = run(&case, &graph, Placement { layouts, ..Placement::new(1, 2) }, &protection);
        assert_eq!(trial.ranks[0].costs.layout_bytes > 0, has_tiles);
        let evidence = trial.detection.expect("protected").evidence;
        assert!(evidence.is_clean(), "{evidence:?}");
        assert_eq!(evidence.covered, graph.vertices() as u64 * u64::from(trial.end.iterations));
    }
}

#[test]
fn each_of_the_options_changes_what_is_marked_or_done_again_unless_nothing_can_be() {
    let total = |case: &Case, graph: &Graph, protection: &Protection| {
        let sums = by_superstep(&run(case, graph, Placement::new(1, 1), protection));
        [1, 2].map(|place| sums.values().map(|sum| sum[place]).sum::<u64>())
    };
    let mut effects = BTreeMap::<(&str, &str), (bool, Redundancy)>::new();
    for case in cases() {
        let graph = graph_for(&case, "spread", &spread(), true);
        let usual = total(&case, &graph, &at(0.02, Weights::default()));
        let changed =
            |budget: f64, a: f64, b: f64, t: f64| total(&case, &graph, &at(budget, Weights { a, b, t })) != usual;
        let found = [
            ("-a", changed(0.02, 0.0, 0.5, 0.3)),
            ("-b", changed(0.02, 0.5, 0.0, 0.3)),
            ("-t", changed(0.02, 0.5, 0.5, 0.6)),
            ("--redundancy-budget", changed(1.0, 0.5, 0.5, 0.3)),
        ];
        for (option, has_effect) in found {
            let effect = effects.entry((case.name(), option)).or_insert((false, redundancy(&case)));
            effect.0 |= has_effect;
        }
    }
    for (what, (has_effect, how)) in effects {
        assert_eq!(has_effect, how != Redundancy::None, "{what:?}");
    }
}

#[test]
fn a_verdict_counts_from_the_end_of_the_superstep_that_it_is_about() {
    // A path has many supersteps, so that summaries come in batches.
    let path: Vec<(i64, i64)> = (0..300).map(|v| (v, v + 1)).collect();
    let case = Case::new("bfs", &["--source", "index:0"]);
    let graph = graph_for(&case, "path", &path, true);
    for ranks in [1, 2] {
        let trial = run(&case, &graph, Placement::new(ranks, 1), &at(0.02, Weights::default()));
        for rank in &trial.ranks {
            let Kept { spans, checked, .. } = &rank.probe;
            let of = |wanted: Stage| checked.iter().filter(move |(_, stage, ..)| *stage == wanted);
            // The first agreement is that on `init`.
            let ends = spans.iter().filter(|(stage, ..)| *stage == Stage::Agree).skip(1).map(|&(.., end)| end);
            let begins: Vec<Duration> = of(Stage::Verdict).map(|&(_, _, _, begin, _)| begin).collect();
            assert_eq!(begins, ends.collect::<Vec<_>>(), "{ranks} ranks: one verdict a superstep, from its end on");
            for ((row, _, index, begin, end), (_, _, _, looked, done)) in of(Stage::Verdict).zip(of(Stage::Validation))
            {
                assert_eq!(*row, u64::from(*index), "{ranks} ranks: nothing was redone");
                assert!(begin <= looked && looked <= done && done <= end, "{ranks} ranks, superstep {index}");
            }
        }
    }
}

#[test]
fn scoring_takes_time_wherever_something_is_scored() {
    for case in cases() {
        for arcs in [spread(), vec![(0, 1), (1, 2)]] {
            let graph = graph_for(&case, "graph", &arcs, false);
            for (ranks, threads) in [(1, 1), (1, 3), (3, 1)] {
                let trial = run(&case, &graph, Placement::new(ranks, threads), &at(0.02, Weights::default()));
                for rank in &trial.ranks {
                    let took = rank.timing.score_and_mark;
                    let what = format!("{case}, {ranks}x{threads}: {took:?}");
                    assert_eq!(took > Duration::ZERO, redundancy(&case) != Redundancy::None, "{what}");
                    let spans = rank.probe.spans.iter().filter(|(stage, ..)| *stage == Stage::ScoreAndMark);
                    let sum: Duration = spans.map(|&(_, _, begin, end)| end - begin).sum();
                    assert_eq!(sum, took, "{what}: the spans are the field");
                }
            }
        }
    }
}

const NOW: Field<f64> = Field::real("now", Share::FromOwner, 0.0);
const NEXT: Field<f64> = Field::real("next", Share::Private, 0.0);

/// Every vertex becomes 1 plus an eighth of what its neighbours are. One settles wrong, once.
#[derive(Clone)]
struct Eighth {
    round: u32,
    vertex: GlobalId,
    was_struck: Arc<AtomicBool>,
}

struct Rule<'a> {
    struck: Option<LocalId>,
    was_struck: &'a AtomicBool,
}

impl GatherOp for Rule<'_> {
    type View<'a> = (Frozen<'a, f64>, Changing<'a, f64>);
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        (bind.frozen(NOW), bind.changing(NEXT))
    }
    fn gather(&self, (now, _): Self::View<'_>, src: LocalId) -> f64 {
        now.get(src)
    }
    fn settle(&self, (now, next): Self::View<'_>, v: LocalId, degree: u64, sum: f64) -> GatherResult {
        let mut value = 1.0 + sum / (8.0 * degree.max(1) as f64);
        let moved = (value - now.get(v)).abs();
        if self.struck == Some(v) && !self.was_struck.swap(true, Relaxed) {
            value += f64::EPSILON;
        }
        next.set(v, value);
        GatherResult { value, moved, carry: None }
    }
}

impl FaultTolerance for Eighth {
    fn change(&self, _: &[u64]) -> Change {
        Change::Moved
    }
    fn redundancy(&self) -> Redundancy {
        Redundancy::OfGathers
    }
    fn check(&self, _: &CheckInput<'_>) -> Verdict {
        Verdict::Sound
    }
}

impl GraphAlgorithm for Eighth {
    fn view(&self) -> View {
        View::Symmetric
    }
    fn fields(&self) -> Vec<FieldSpec> {
        vec![NOW.spec(), NEXT.spec()]
    }
    fn answer(&self) -> AnswerSpec {
        AnswerSpec { field: NOW.spec(), column: "now", meaning: Meaning::Real }
    }
    fn layout(&self) -> Layout {
        Layout::Rows
    }
    fn parameters(&self) -> Record {
        Record::new()
    }
    fn init(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        Ok(Tally::active(step.part.owned() as u64))
    }
    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        let struck = step.part.find(self.vertex).filter(|v| step.index == self.round && !step.part.is_ghost(*v));
        let tally = step.pull(&Rule { struck, was_struck: &self.was_struck });
        step.swap(NOW, NEXT);
        Ok(tally)
    }
    fn is_done(&self, total: &Tally) -> bool {
        total.residual.value() <= 1e-6
    }
    fn result(&self, _: &Graph, _: &Answer, _: &Tally) -> Record {
        Record::new()
    }
    fn sentence(&self, _: &Graph, _: &Record) -> String {
        String::new()
    }
    fn verify(&self, _: &Graph, _: &Answer) -> Verdict {
        Verdict::Sound
    }
    fn protection(&self) -> Option<Arc<dyn FaultTolerance>> {
        Some(Arc::new(self.clone()))
    }
}

#[test]
fn a_gather_that_settles_wrong_once_by_one_bit_is_found_and_undone() {
    let ring: Vec<(i64, i64)> = (0..150).flat_map(|v| [(v, (v + 1) % 150), (v, (v * 7 + 3) % 150)]).collect();
    let graph = Graph::from_pairs("ring", &ring, false, View::Symmetric).expect("a graph");
    let trial = |round, vertex, ranks, protection: &Protection| {
        let algorithm = Eighth { round, vertex: GlobalId(vertex), was_struck: Arc::default() };
        let struck = Arc::clone(&algorithm.was_struck);
        let plan = TrialConfig { place: Placement::new(ranks, 2), protection, resumable: None, reload: None };
        let make = || Ok(Box::new(algorithm.clone()) as Box<dyn GraphAlgorithm>);
        let trial = protected_trial(&graph, &plan, &make, &|_| Kept::default()).expect("it runs");
        (trial, struck.load(Relaxed))
    };
    let all = Weights { t: 0.0, ..Weights::default() };
    for ranks in [1, 3] {
        let (clean, was_struck) = trial(u32::MAX, 0, ranks, &at(1.0, all));
        assert!(!was_struck && clean.detection.expect("protected").evidence.is_clean());
        for (round, vertex) in [(0, 0), (1, 149), (2, 77), (3, 5)] {
            let what = format!("round {round}, vertex {vertex}, {ranks} ranks");
            let (struck, was_struck) = trial(round, vertex, ranks, &at(1.0, all));
            assert!(was_struck, "{what}");
            let detection = struck.detection.expect("protected");
            assert_eq!((detection.evidence.dmr.count, detection.evidence.dmr.first), (1, Some(round)), "{what}");
            let [(_, finding)] = &detection.evidence.findings[..] else { panic!("{what}: {detection:?}") };
            assert_eq!(finding.vertex, Some(graph.ids().nth(vertex as usize)), "{what}");
            assert!(detection.recoveries == 1 && struck.end.is_sound, "{what}");
            assert_eq!(struck.answer, clean.answer, "{what}");

            // What is not repeated is not found here; what is found and not undone is said.
            let (missed, _) = trial(round, vertex, ranks, &at(0.0, all));
            assert!(missed.detection.expect("protected").evidence.is_clean(), "{what}");
            let off = Protection { recovery: Recovery::Off, attempts: 0, ..at(1.0, all) };
            let (told, _) = trial(round, vertex, ranks, &off);
            assert!(!told.end.is_sound && told.detection.expect("protected").evidence.dmr.count == 1, "{what}");
        }
    }
}
