//! Loading speed: a Kronecker graph of scale 18 as text (100 MB; `LOAD_SCALE` asks for another) to symmetric rows, on one and
//! two threads; sorted as GAP's converter writes it, and shuffled. Then the same graph as `.gcsr` (`OPEN_SCALE`, 20): opening it with
//! and without its checksums, beside a plain sum of the mapped file's bytes, which is the least that any check of all of them costs.
//! `cargo bench -p graphalg-framework --bench load`

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use framework::graph::{Checksums, Direction, Format, Generator, Input, LoadOptions, Recipe, View, load};
use rayon::prelude::*;
use std::fmt::Write as _;
use std::path::Path;

/// Writes each edge in both directions, ascending, as GAP's converter does; or in an order that is none.
fn write_text(path: &Path, scale: u32, is_sorted: bool) -> u64 {
    let recipe = Recipe { generator: Generator::Kron, scale, edge_factor: 16, seed: 1 };
    let graph = recipe.graph(View::Symmetric).expect("a graph");
    let rows = graph.outgoing();
    let mut arcs: Vec<(u32, u32)> =
        (0..graph.vertices() as u32).flat_map(|u| rows.row(u).iter().map(move |&v| (u, v))).collect();
    if !is_sorted {
        arcs.sort_by_key(|&(u, v)| {
            (u64::from(u) << 32 | u64::from(v)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
        });
    }
    let mut text = String::new();
    for (u, v) in arcs {
        writeln!(text, "{u} {v}").expect("in memory");
    }
    std::fs::write(path, &text).expect("written");
    text.len() as u64
}

fn loading(criterion: &mut Criterion) {
    let scale = std::env::var("LOAD_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(18);
    let folder = tempfile::tempdir().expect("a folder");
    let options = LoadOptions {
        format: Format::EdgeList,
        direction: Direction::Undirected,
        view: View::Symmetric,
        ..LoadOptions::default()
    };
    let mut group = criterion.benchmark_group("load");
    for (order, is_sorted) in [("sorted", true), ("shuffled", false)] {
        let path = folder.path().join(order);
        let bytes = write_text(&path, scale, is_sorted);
        let input = Input::Path(path);
        group.throughput(Throughput::Bytes(bytes)).sample_size(10);
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            group.bench_function(BenchmarkId::new(format!("kron-{scale}-{order}"), threads), |bencher| {
                bencher.iter(|| pool.install(|| load(&input, &options)).expect("a graph"));
            });
        }
    }
    group.finish();
}

/// The sum of a mapped file's bytes, eight at a time, in the blocks in which checksums are compared.
fn sum(path: &Path) -> u64 {
    let map = framework::base::memory::map_file(&std::fs::File::open(path).expect("a file")).expect("mapped");
    let word = |word: &[u8]| u64::from_le_bytes(word.try_into().expect("eight bytes"));
    let block = |block: &[u8]| block.chunks_exact(8).map(word).fold(0, u64::wrapping_add);
    map.par_chunks(1 << 20).map(block).reduce(|| 0, u64::wrapping_add)
}

fn opening(criterion: &mut Criterion) {
    let scale = std::env::var("OPEN_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(20);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kron.gcsr");
    let recipe = Recipe { generator: Generator::Kron, scale, edge_factor: 16, seed: 1 };
    recipe.graph(View::Symmetric).expect("a graph").write_gcsr(&path).expect("written");
    let input = Input::Path(path.clone());
    let mut group = criterion.benchmark_group("open");
    group.throughput(Throughput::Bytes(std::fs::metadata(&path).expect("a file").len())).sample_size(20);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut bench = |what: &str, open: &(dyn Fn() + Sync)| {
            let name = BenchmarkId::new(format!("kron-{scale}-{what}"), threads);
            group.bench_function(name, |bencher| bencher.iter(|| pool.install(open)));
        };
        bench("bytes", &|| {
            std::hint::black_box(sum(&path));
        });
        for (what, checksums) in [("compared", Checksums::Compare), ("trusted", Checksums::Trust)] {
            let options = LoadOptions { checksums, view: View::Symmetric, ..LoadOptions::default() };
            bench(what, &|| {
                load(&input, &options).expect("a graph");
            });
        }
    }
    group.finish();
}

criterion_group!(benches, loading, opening);
criterion_main!(benches);
