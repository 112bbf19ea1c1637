//! Breadth-first search as a plugin: the program, its source option, the certificate, and the serial check.

mod fields;
mod source;
mod verify;
mod certificate;
mod protection;
mod program;

pub use fields::{LEVEL, UNREACHED};
pub use program::Bfs;
pub use source::Source;

framework::inventory::submit! {
    framework::algorithm::Registration::new::<Bfs>("bfs", "fewest edges from a source to every vertex")
        .with_kernels(include_str!("../../../kernels/bfs.cu"), include_str!("../../../kernels/ptx/bfs.ptx"))
}
