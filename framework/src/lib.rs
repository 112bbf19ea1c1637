//! The framework of graphalg: graphs, partitions, fields, operators, devices, transports and the superstep driver.
//!
//! It knows no algorithm. Data flows one way: graph -> partition -> driver -> device -> transport -> report.

pub mod algorithm;
pub mod answer;
pub mod certify;
pub mod device;
pub mod driver;
pub mod error;
pub mod exchange;
pub mod fault;
pub mod field;
pub mod graph;
pub mod guard;
pub mod id;
pub mod memory;
pub mod op;
pub mod partition;
pub mod probe;
pub mod protect;
pub mod reload;
pub mod run;
pub mod step;
pub mod strike;
pub mod sum;
pub mod timing;
pub mod transport;
pub mod words;

pub use inventory;
