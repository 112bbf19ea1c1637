//! What a certificate costs, beside one plain scan of the arcs on the same threads: each target, and one value of it.
//!
//! `cargo bench -p graphalg-tests --bench certificates -- --table kron-20 FILE...` takes turns instead of criterion's batches, and
//! prints medians and their ratio: for large graphs, and on a machine that is not quiet.

#![allow(missing_docs)] // made by criterion's macros

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use framework::algorithm::{GraphAlgorithm, Record};
use framework::answer::{Answer, AnswerSpec, Meaning};
use framework::base::error::Result;
use framework::base::id::LocalId;
use framework::base::probe::Off;
use framework::base::tally::Tally;
use framework::base::verdict::Verdict;
use framework::field::{Bind, Changing, Field, FieldSpec, Frozen, Share};
use framework::graph::{Direction, Format, Generator, Graph, Input, LoadOptions, Recipe, View, load};
use framework::op::{Access, VertexOp};
use framework::partition::Part;
use framework::step::Step;
use framework::trial::judge;
use framework::trial::{Placement, trial};
use graphalg_tests::{Case, cases};
use std::io::Write;
use std::time::Duration;

const VALUE: Field<u32> = Field::<u32>::new("value", Share::Private, 1);
const REAL: Field<f64> = Field::real("real", Share::Private, 1.0);
const SUM: Field<u32> = Field::<u32>::new("sum", Share::Private, 0);

/// Scans all arcs once a superstep, reading values of four bytes or of eight.
struct ArcScan {
    view: View,
    reals: bool,
    rounds: u32,
}

struct Narrow;
struct Wide;

impl VertexOp for Narrow {
    type View<'a> = (Frozen<'a, u32>, Changing<'a, u32>);
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        (bind.frozen(VALUE), bind.changing(SUM))
    }
    fn vertex<A: Access>(&self, (value, sum): Self::View<'_>, part: &Part, v: LocalId) -> bool {
        sum.set(v, part.incoming().of(v).iter().fold(0, |sum, &u| sum ^ value.get(u)));
        true
    }
}

impl VertexOp for Wide {
    type View<'a> = (Frozen<'a, f64>, Changing<'a, u32>);
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        (bind.frozen(REAL), bind.changing(SUM))
    }
    fn vertex<A: Access>(&self, (value, sum): Self::View<'_>, part: &Part, v: LocalId) -> bool {
        sum.set(v, part.incoming().of(v).iter().map(|&u| value.get(u)).sum::<f64>() as u32);
        true
    }
}

impl GraphAlgorithm for ArcScan {
    fn view(&self) -> View {
        self.view
    }
    fn fields(&self) -> Vec<FieldSpec> {
        vec![VALUE.spec(), REAL.spec(), SUM.spec()]
    }
    fn answer(&self) -> AnswerSpec {
        AnswerSpec { field: SUM.spec(), column: "sum", meaning: Meaning::Count }
    }
    fn parameters(&self) -> Record {
        Record::new()
    }
    fn init(&mut self, _: &mut Step<'_>) -> Result<Tally> {
        Ok(Tally::active(1))
    }
    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        Ok(Tally::active(if self.reals { step.count_each(&Wide) } else { step.count_each(&Narrow) }))
    }
    fn is_done(&self, _: &Tally) -> bool {
        false
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

fn scan(graph: &Graph, view: View, threads: usize, reals: bool, rounds: u64) -> Duration {
    let make = || Ok(Box::new(ArcScan { view, reals, rounds: rounds as u32 }) as Box<dyn GraphAlgorithm>);
    trial(graph, Placement::new(1, threads), &make, &|_| Off).expect("a run").ranks[0].timing.graph_update
}

fn certificate(case: &Case, graph: &Graph, threads: usize, rounds: u64) -> Duration {
    let judged = judge(graph, Placement::new(1, threads), &|| case.make(), rounds as usize, &|_, _| {}).expect("a run");
    judged.iter().map(|ranks| ranks[0].took).sum()
}

fn certificates(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("arc_scan");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(1500));
    for (generator, scale, edge_factor) in
        [(Generator::Kron, 18, 16), (Generator::Uniform, 18, 16), (Generator::Grid, 20, 1)]
    {
        for case in cases() {
            let name = case.to_string();
            if !NAMES.contains(&name.as_str()) {
                continue;
            }
            let mut algorithm = case.make().expect("options");
            let recipe = Recipe { generator, scale, edge_factor, seed: 1 };
            let graph = recipe.graph(algorithm.view()).expect("a graph");
            algorithm.prepare(&graph).expect("there are vertices");
            group.throughput(Throughput::Elements(graph.outgoing().arcs() as u64));
            for threads in [1, 2] {
                let id = |what: &str| {
                    BenchmarkId::new(format!("{what} {}", graph.name()), format!("{} {threads} threads", name.trim()))
                };
                let reals = case.name() == "pagerank";
                group.bench_function(id("plain"), |bencher| {
                    bencher.iter_custom(|rounds| scan(&graph, algorithm.view(), threads, reals, rounds));
                });
                group.bench_function(id("certificate"), |bencher| {
                    bencher.iter_custom(|rounds| certificate(&case, &graph, threads, rounds));
                });
            }
        }
    }
    group.finish();
}

/// The algorithms whose certificates differ.
const NAMES: [&str; 5] = ["bfs ", "cc ", "kcore -k 3", "kcore --all-cores", "pagerank "];
/// Turns of a table.
const TURNS: usize = 9;

/// A generated graph by name (`kron-20`), or one in a file.
fn named(name: &str, view: View) -> Result<Graph> {
    let generated = name.rsplit_once('-').and_then(|(generator, scale)| Some((generator, scale.parse().ok()?)));
    let (generator, edge_factor) = match generated {
        Some(("kron", _)) => (Generator::Kron, 16),
        Some(("urand", _)) => (Generator::Uniform, 16),
        Some(("grid", _)) => (Generator::Grid, 1),
        _ => {
            let options =
                LoadOptions { format: Format::Auto, direction: Direction::Auto, view, ..LoadOptions::default() };
            return load(&Input::Path(name.into()), &options);
        }
    };
    let scale = generated.map_or(0, |(_, scale)| scale);
    Recipe { generator, scale, edge_factor, seed: 1 }.graph(view)
}

/// Medians in turns.
fn table(graphs: &[String]) {
    let mut out = std::io::stdout().lock();
    for graph in graphs {
        for case in cases().iter().filter(|case| NAMES.contains(&case.to_string().as_str())) {
            let mut algorithm = case.make().expect("options");
            let graph = named(graph, algorithm.view()).expect("a graph");
            algorithm.prepare(&graph).expect("there are vertices");
            let reals = case.name() == "pagerank";
            for threads in [1, 2] {
                let mut turns: Vec<[Duration; 2]> = (0..TURNS)
                    .map(|_| {
                        let plain = scan(&graph, algorithm.view(), threads, reals, 2) / 2;
                        [plain, certificate(case, &graph, threads, 1)]
                    })
                    .collect();
                let mut median = |of: fn(&[Duration; 2]) -> f64| {
                    turns.sort_by(|a, b| of(a).total_cmp(&of(b)));
                    of(&turns[TURNS / 2])
                };
                let plain = median(|turn| turn[0].as_secs_f64() * 1e3);
                let whole = median(|turn| turn[1].as_secs_f64() * 1e3);
                let ratio = median(|turn| turn[1].as_secs_f64() / turn[0].as_secs_f64());
                let (name, case) = (graph.name(), case.to_string());
                writeln!(out, "{name:<14} {case:<18} {threads} threads  scan {plain:>8.2} ms  certificate {whole:>8.2} ms  ratio {ratio:.2}")
                    .expect("stdout");
            }
        }
    }
}

criterion_group!(benches, certificates);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.split_first() {
        Some((first, graphs)) if first == "--table" => table(graphs),
        _ => {
            benches();
            Criterion::default().configure_from_args().final_summary();
        }
    }
}
