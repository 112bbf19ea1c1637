//! PageRank as a plugin: the program, its options, the certificate, and the serial check.

mod certificate;
mod program;
mod protection;
mod verify;

pub use program::{PageRank, RANK};

framework::inventory::submit! {
    framework::algorithm::Registration::new::<PageRank>("pagerank", "rank by random walk with restart, f64")
        .with_kernels(include_str!("../../../kernels/pagerank.cu"), include_str!("../../../kernels/ptx/pagerank.ptx"))
}
