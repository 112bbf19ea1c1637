//! Every operator by itself: a plugin that does nothing else runs it, and what counts is the time its supersteps (or their
//! exchanges) took, without set-up. `cargo bench -p graphalg-tests --bench operators`

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use framework::algorithm::{GraphAlgorithm, Record};
use framework::answer::{Answer, AnswerSpec, Meaning};
use framework::base::error::Result;
use framework::base::id::{GlobalId, LocalId};
use framework::base::probe::Off;
use framework::base::tally::Tally;
use framework::base::verdict::Verdict;
use framework::driver::clock::Timing;
use framework::field::{Bind, Changing, Field, FieldSpec, Frozen, Share};
use framework::graph::{Generator, Graph, Recipe, View};
use framework::host::{IdlePolicy, Pool};
use framework::op::{Access, EdgeOp, GatherOp, GatherResult, SelectOp, VertexOp, VisitOp};
use framework::partition::Part;
use framework::step::Layout;
use framework::step::Step;
use framework::trial::{Placement, trial};
use std::time::Duration;

const COUNT: Field<u32> = Field::<u32>::new("count", Share::Private, 0);
const SHARED: Field<u32> = Field::<u32>::new("shared", Share::FromOwner, 0);
const NOW: Field<f64> = Field::real("now", Share::FromOwner, 1.0);
const NEXT: Field<f64> = Field::real("next", Share::Private, 0.0);

/// What is measured, once a superstep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    /// From one vertex until nothing new is found: directions as it chooses.
    PushOrPull,
    /// Along all arcs.
    Push,
    /// By degree, one level a superstep.
    Select,
    /// Over rows or tiles.
    Pull(Layout),
    /// All vertices.
    ForEach,
    /// Nothing, but every vertex may have changed.
    TouchAll,
    /// Nothing, but one vertex in 64 has changed.
    TouchFew,
}

#[derive(Clone, Debug)]
struct Repeat {
    operator: Operator,
    rounds: u32,
}

macro_rules! count {
    () => {
        type View<'a> = Changing<'a, u32>;
        fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
            bind.changing(COUNT)
        }
    };
}

struct Visit;
struct Arc;
struct Degree;
struct Gather;
struct Count;
struct Few;

impl VisitOp for Visit {
    count!();
    #[inline(always)]
    fn visit(&self, count: Self::View<'_>, dst: LocalId) {
        count.set(dst, 1);
    }
}

impl EdgeOp for Arc {
    count!();
    #[inline(always)]
    fn edge<A: Access>(&self, count: Self::View<'_>, dst: LocalId) -> bool {
        count.add::<A>(dst, 1);
        false
    }
}

impl SelectOp for Degree {
    count!();
    #[inline(always)]
    fn key(&self, count: Self::View<'_>, v: LocalId) -> u32 {
        count.get(v)
    }
}

impl VertexOp for Count {
    count!();
    #[inline(always)]
    fn vertex<A: Access>(&self, count: Self::View<'_>, part: &Part, v: LocalId) -> bool {
        count.set(v, part.outgoing().degree(v) as u32);
        true
    }
}

impl VertexOp for Few {
    type View<'a> = Changing<'a, u32>;
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        bind.changing(SHARED)
    }
    fn vertex<A: Access>(&self, _: Self::View<'_>, part: &Part, v: LocalId) -> bool {
        !part.is_ghost(v) && v.number().is_multiple_of(64)
    }
}

impl GatherOp for Gather {
    type View<'a> = (Frozen<'a, f64>, Changing<'a, f64>);
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        (bind.frozen(NOW), bind.changing(NEXT))
    }
    #[inline(always)]
    fn gather(&self, (now, _): Self::View<'_>, src: LocalId) -> f64 {
        now.get(src)
    }
    #[inline(always)]
    fn prefetch(&self, (now, _): Self::View<'_>, src: LocalId) {
        now.prefetch(src);
    }
    #[inline(always)]
    fn settle(&self, (_, next): Self::View<'_>, v: LocalId, degree: u64, sum: f64) -> GatherResult {
        next.set(v, 0.5 + 0.5 * sum / degree.max(1) as f64);
        GatherResult::default()
    }
}

impl GraphAlgorithm for Repeat {
    fn view(&self) -> View {
        View::AsGiven { incoming: true }
    }
    fn fields(&self) -> Vec<FieldSpec> {
        match self.operator {
            Operator::Pull(_) => vec![COUNT.spec(), NOW.spec(), NEXT.spec()],
            Operator::TouchAll | Operator::TouchFew => vec![COUNT.spec(), SHARED.spec()],
            _ => vec![COUNT.spec()],
        }
    }
    fn answer(&self) -> AnswerSpec {
        AnswerSpec { field: COUNT.spec(), column: "count", meaning: Meaning::Count }
    }
    fn parameters(&self) -> Record {
        Record::new()
    }
    fn layout(&self) -> Layout {
        if let Operator::Pull(layout) = self.operator { layout } else { Layout::Rows }
    }
    fn init(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        match self.operator {
            Operator::PushOrPull => {
                if let Some(v) = step.part.local(GlobalId(0)) {
                    step.activate(v);
                }
            }
            // Every count is 0 still, so all are selected.
            Operator::Push => return Ok(step.select(&Degree, 0)),
            Operator::Select => step.for_each(&Count),
            _ => {}
        }
        Ok(step.tally())
    }
    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        Ok(match self.operator {
            Operator::PushOrPull => step.push_or_pull(&Visit),
            Operator::Push => step.push(&Arc),
            Operator::Select => step.select(&Degree, step.index),
            Operator::Pull(_) => {
                let tally = step.pull(&Gather);
                step.swap(NOW, NEXT);
                tally
            }
            Operator::ForEach => Tally::active(step.count_each(&Count)),
            Operator::TouchAll => {
                step.mark_all_dirty();
                Tally::active(1)
            }
            Operator::TouchFew => step.for_boundary(&Few),
        })
    }
    fn is_done(&self, total: &Tally) -> bool {
        self.operator == Operator::PushOrPull && total.active == 0
    }
    fn supersteps_max(&self, _: usize) -> u32 {
        self.rounds
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
}

/// The time of `rounds` supersteps.
fn time(graph: &Graph, place: Placement, operator: Operator, rounds: u32, of: fn(&Timing) -> Duration) -> Duration {
    let make = || Ok(Box::new(Repeat { operator, rounds }) as Box<dyn GraphAlgorithm>);
    of(&trial(graph, place, &make, &|_| Off).expect("a run").ranks[0].timing)
}

fn graph(generator: Generator, scale: u32, edge_factor: u32) -> Graph {
    let recipe = Recipe { generator, scale, edge_factor, seed: 1 };
    recipe.graph(View::AsGiven { incoming: true }).expect("a graph")
}

fn operators(criterion: &mut Criterion) {
    let kron = graph(Generator::Kron, 16, 16);
    let grid = graph(Generator::Grid, 16, 1);
    // From 2^17 vertices on tiles are built.
    let large = graph(Generator::Kron, 17, 8);
    let tiles = Layout::Tiles { pulls: 100 };
    // Those that use up what they work on have one run a measurement, the others many rounds of one run.
    let whole_runs = [
        ("push-or-pull", &kron, Operator::PushOrPull, u32::MAX),
        ("push-or-pull", &grid, Operator::PushOrPull, u32::MAX),
        ("push", &kron, Operator::Push, 1),
        ("select-64-levels", &kron, Operator::Select, 64),
    ];
    let rounds = [
        ("pull-rows", &kron, Operator::Pull(Layout::Rows)),
        ("pull-rows", &large, Operator::Pull(Layout::Rows)),
        ("pull-tiles", &large, Operator::Pull(tiles)),
        ("for-each", &kron, Operator::ForEach),
    ];
    let mut group = criterion.benchmark_group("operators");
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(800));
    for threads in [1, 2] {
        let place = Placement::new(1, threads);
        let id = |name: &str, graph: &Graph| {
            BenchmarkId::new(format!("{name} {}", graph.name()), format!("{threads} threads"))
        };
        for (name, graph, operator, rounds) in whole_runs {
            group.throughput(Throughput::Elements(graph.outgoing().arcs() as u64));
            group.bench_function(id(name, graph), |bencher| {
                bencher.iter_custom(|runs| {
                    (0..runs).map(|_| time(graph, place, operator, rounds, |timing| timing.graph_update)).sum()
                });
            });
        }
        for (name, graph, operator) in rounds {
            group.throughput(Throughput::Elements(graph.outgoing().arcs() as u64));
            group.bench_function(id(name, graph), |bencher| {
                bencher.iter_custom(|rounds| time(graph, place, operator, rounds as u32, |timing| timing.graph_update));
            });
        }
    }
    let place = Placement::new(2, 1);
    for (name, operator) in [("exchange-all", Operator::TouchAll), ("exchange-few", Operator::TouchFew)] {
        for graph in [&kron, &grid] {
            group.throughput(Throughput::Elements(graph.vertices() as u64));
            group.bench_function(BenchmarkId::new(format!("{name} {}", graph.name()), "2 ranks"), |bencher| {
                bencher.iter_custom(|rounds| time(graph, place, operator, rounds as u32, |timing| timing.exchange));
            });
        }
    }
    group.finish();
}

/// A parallel region in which nothing happens.
fn regions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("region");
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(800));
    for (name, waiting) in [("spin", IdlePolicy::Spin), ("park", IdlePolicy::Park)] {
        for threads in [1, 2] {
            let pool = Pool::new(threads, waiting);
            let id = BenchmarkId::new(name, format!("{threads} threads"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    pool.run(&|thread| {
                        std::hint::black_box(thread);
                    });
                })
            });
        }
    }
    group.finish();
}

criterion_group!(benches, operators, regions);
criterion_main!(benches);
