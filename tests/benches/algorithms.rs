//! Every algorithm from set-up to gathered answer, on a graph with hubs and on one like a road network; one thread and two.
//! `cargo bench -p graphalg-tests --bench algorithms`; `BENCH_SCALE` asks for another size than 16.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use framework::graph::{Generator, Graph, Recipe};
use graphalg_tests::Case;
use std::time::Duration;

fn scale() -> u32 {
    std::env::var("BENCH_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(16)
}

fn graph(case: &Case, generator: Generator) -> Graph {
    let recipe = Recipe { generator, scale: scale(), edge_factor: generator.default_edge_factor(), seed: 1 };
    let view = case.make().expect("the options below").view();
    recipe.graph(view).expect("a graph")
}

fn algorithms(criterion: &mut Criterion) {
    let cases = [
        ("bfs", Case::new("bfs", &[""; 0])),
        ("cc", Case::new("cc", &[""; 0])),
        ("kcore-5", Case::new("kcore", &["-k", "5"])),
        ("all-cores", Case::new("kcore", &["--all-cores"])),
        ("pagerank-20-rounds", Case::new("pagerank", &["--max-iterations", "20"])),
    ];
    for (name, case) in cases {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
        for generator in [Generator::Kron, Generator::Grid] {
            let graph = graph(&case, generator);
            group.throughput(Throughput::Elements(graph.outgoing().arcs() as u64));
            for threads in [1, 2] {
                let id = BenchmarkId::new(graph.name(), format!("{threads} threads"));
                group.bench_function(id, |bencher| bencher.iter(|| case.run(&graph, 1, threads).expect("a run")));
            }
        }
        group.finish();
    }
}

criterion_group!(benches, algorithms);
criterion_main!(benches);
