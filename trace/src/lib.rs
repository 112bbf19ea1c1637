//! Activities: the one record of everything observable (operators, exchanges, copies, calls, markers), and what reads and
//! writes them. Today that is a writer of Chrome traces.

mod activity;
pub mod chrome;
mod names;

pub use activity::{Activity, ApiClass, Kind};
pub use names::{Detail, Index, Name, Names};
