//! Loading speed: a Kronecker graph of scale 18 as text (about 50 MB; `LOAD_SCALE` asks for another) to symmetric rows, on one and two threads.
//! `cargo bench -p graphalg-framework --bench load`

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use framework::graph::{Direction, Format, Generator, Input, LoadOptions, Recipe, View, load};
use std::fmt::Write as _;
use std::path::Path;

/// Writes each undirected edge once, ascending, as GAP's converter does.
fn write_text(path: &Path, scale: u32) -> u64 {
    let recipe = Recipe { generator: Generator::Kron, scale, edge_factor: 16, seed: 1 };
    let graph = recipe.graph(View::Symmetric).expect("a graph");
    let mut text = String::new();
    for u in 0..graph.vertices() as u32 {
        for &v in graph.outgoing().row(u).iter().filter(|&&v| v >= u) {
            writeln!(text, "{u} {v}").expect("in memory");
        }
    }
    std::fs::write(path, &text).expect("written");
    text.len() as u64
}

fn loading(criterion: &mut Criterion) {
    let scale = std::env::var("LOAD_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(18);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kron.txt");
    let bytes = write_text(&path, scale);
    let input = Input::Path(path);
    let options = LoadOptions { format: Format::EdgeList, direction: Direction::Undirected, view: View::Symmetric };
    let mut group = criterion.benchmark_group("load");
    group.throughput(Throughput::Bytes(bytes)).sample_size(10);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        group.bench_function(BenchmarkId::new(format!("kron-{scale}-text-to-symmetric-csr"), threads), |bencher| {
            bencher.iter(|| pool.install(|| load(&input, &options)).expect("a graph"));
        });
    }
    group.finish();
}

criterion_group!(benches, loading);
criterion_main!(benches);
