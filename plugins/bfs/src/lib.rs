//! Breadth-first search as a plugin: the program, its source option, and the serial check.

mod program;
mod source;
mod verify;

pub use program::{Bfs, LEVEL, UNREACHED};
pub use source::Source;

framework::inventory::submit! {
    framework::algorithm::Registration::new::<Bfs>("bfs", "fewest edges from a source to every vertex")
        .with_kernels(include_str!("../../../kernels/bfs.cu"), include_str!("../../../kernels/ptx/bfs.ptx"))
}
