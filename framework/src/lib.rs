//! The framework of graphalg: graphs, partitions, fields, operators, devices, transports and the superstep driver.
//!
//! It knows no algorithm. Data flows one way: graph -> partition -> driver -> device -> transport -> report.

pub mod error;
pub mod graph;
pub mod id;
pub mod memory;
