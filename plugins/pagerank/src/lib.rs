//! PageRank as a plugin: the program, its options, the certificate, and the serial check.

mod fields;
mod verify;
mod certificate;
mod protection;
mod program;

pub use fields::RANK;
pub use program::PageRank;

framework::inventory::submit! {
    framework::algorithm::Registration::new::<PageRank>("pagerank", "rank by random walk with restart, f64")
        .with_kernels(include_str!("../../../kernels/pagerank.cu"), include_str!("../../../kernels/ptx/pagerank.ptx"))
}
