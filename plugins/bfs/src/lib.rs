//! Breadth-first search as a plugin: the program, its source option, the certificate, and the serial check.

mod certificate;
mod program;
mod protection;
mod source;
mod verify;

pub use program::{Bfs, LEVEL, UNREACHED};
pub use source::Source;

framework::inventory::submit! {
    framework::algorithm::Registration::new::<Bfs>("bfs", "fewest edges from a source to every vertex")
        .with_kernels(include_str!("../../../kernels/bfs.cu"), include_str!("../../../kernels/ptx/bfs.ptx"))
}
