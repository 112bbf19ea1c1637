//! The Rust `graph` crate as a served peer: it loads one `.sg` file once, says `ready`, and then answers one line a
//! request, so that a slow load is paid once and measurements can alternate with other engines.
//!
//! Request: `ALGORITHM SOURCE TRIALS`; answer: `ms T T T ...` (PageRank: per round) or `no REASON`.
//! Threads come from `RAYON_NUM_THREADS`.

use std::io::{BufRead, Read, Write};
use std::time::Instant;

use graph::prelude::*;

/// Rounds that every PageRank engine is asked for.
const ROUNDS: usize = 20;

fn main() {
    let path = std::env::args().nth(1).expect("usage: graph-crate-peer FILE.sg");
    let edges = read_sg(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let graph: DirectedCsrGraph<u32> = GraphBuilder::new().csr_layout(CsrLayout::Sorted).edges(edges).build();
    println!("ready graph-crate 0.3");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("requests are text");
        let mut words = line.split_whitespace();
        let algorithm = words.next().unwrap_or_default();
        let trials = words.nth(1).and_then(|t| t.parse().ok()).unwrap_or(1);
        let timed = |run: &dyn Fn() -> f64| (0..trials).map(|_| format!(" {:.4}", run())).collect::<String>();
        match algorithm {
            "cc" => println!("ms{}", timed(&|| components_ms(&graph))),
            "pagerank" => println!("ms{}", timed(&|| round_ms(&graph))),
            other => println!("no {other} in this crate"),
        }
        std::io::stdout().flush().expect("stdout is open");
    }
}

fn components_ms(graph: &DirectedCsrGraph<u32>) -> f64 {
    let start = Instant::now();
    let components = graph::wcc::wcc_afforest(graph, WccConfig::default());
    let elapsed = start.elapsed();
    std::hint::black_box(components.component(0));
    elapsed.as_secs_f64() * 1e3
}

fn round_ms(graph: &DirectedCsrGraph<u32>) -> f64 {
    let start = Instant::now();
    let (ranks, rounds, _) = graph::page_rank::page_rank(graph, PageRankConfig::new(ROUNDS, 0.0, 0.85));
    let elapsed = start.elapsed();
    std::hint::black_box(ranks);
    elapsed.as_secs_f64() * 1e3 / rounds as f64
}

/// Out-arcs of a GAP serialized graph: flag, arcs, vertices, offsets (i64), targets (i32), little-endian.
fn read_sg(path: &str) -> Result<Vec<(u32, u32)>, String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|mut f| f.read_to_end(&mut bytes)).map_err(|e| e.to_string())?;
    let i64_at = |at: usize| -> Result<usize, String> {
        let b = bytes.get(at..at + 8).ok_or("the file is cut short")?;
        Ok(u64::from_le_bytes(b.try_into().expect("eight bytes")) as usize)
    };
    let (arcs, vertices) = (i64_at(1)?, i64_at(9)?);
    let targets = 17 + 8 * (vertices + 1);
    let mut edges = Vec::with_capacity(arcs);
    for v in 0..vertices {
        for arc in i64_at(17 + 8 * v)?..i64_at(17 + 8 * (v + 1))? {
            let at = targets + 4 * arc;
            let b = bytes.get(at..at + 4).ok_or("the file is cut short")?;
            edges.push((v as u32, u32::from_le_bytes(b.try_into().expect("four bytes"))));
        }
    }
    Ok(edges)
}
