//! The cpu device: a pool of threads with a cheap barrier, and the few unchecked accesses its inner loops need.

pub(crate) mod access;
mod pool;

pub use pool::{CachePadded, IdlePolicy, Pool};

/// How many threads the machine runs at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
