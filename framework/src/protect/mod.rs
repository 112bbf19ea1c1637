//! Protection of a run.

mod seal;

pub use seal::mix;
