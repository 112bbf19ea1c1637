//! What the memory of this machine gives: the denominator of every roofline line in docs/performance.md.
//!
//! 512 MiB, more than any cache, read once (summed) or copied once, by the framework's own threads.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use framework::base::memory::Buf;
use framework::host::{CachePadded, IdlePolicy, Pool};
use std::hint::black_box;

const WORDS: usize = 64 << 20;
const PIECE: usize = 1 << 15;

fn bandwidth(criterion: &mut Criterion) {
    let mut from = Buf::<u64>::zeroed(WORDS);
    from.iter_mut().enumerate().for_each(|(place, word)| *word = place as u64);
    let mut to = Buf::<u64>::copied(&from);
    let mut group = criterion.benchmark_group("bandwidth");
    group.sample_size(10).throughput(Throughput::Bytes(8 * WORDS as u64));
    for threads in [1, 2] {
        let pool = Pool::new(threads, IdlePolicy::Spin);
        group.bench_function(format!("read/{threads}"), |bencher| {
            bencher.iter(|| {
                let mut sums: Vec<CachePadded<u64>> = (0..threads).map(|_| CachePadded(0)).collect();
                pool.chunks_with(&mut sums, WORDS / PIECE, |sum, piece| {
                    *sum =
                        from[piece * PIECE..(piece + 1) * PIECE].iter().fold(*sum, |sum, word| sum.wrapping_add(*word));
                });
                black_box(sums)
            });
        });
        group.bench_function(format!("copy/{threads}"), |bencher| {
            bencher.iter(|| {
                let mut none: Vec<CachePadded<()>> = (0..threads).map(|_| CachePadded(())).collect();
                let mut pieces: Vec<&mut [u64]> = to.chunks_mut(PIECE).collect();
                pool.chunks_over(&mut none, &mut pieces, |(), piece, to| {
                    to.copy_from_slice(&from[piece * PIECE..(piece + 1) * PIECE]);
                });
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bandwidth);
criterion_main!(benches);
