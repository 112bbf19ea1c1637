//! The framework of graphalg: graphs, partitions, fields, operators, devices, transports and the superstep driver.
//!
//! It knows no algorithm. Data flows one way, and so do imports. The modules below are floors, lowest first: each imports only from those
//! above it in this list, which is the order in which a run goes through them. `cargo xtask check` holds them to it.
//!
//! | floor | what lives there |
//! |---|---|
//! | [`base`] | errors, IDs, memory, exact sums, tallies, verdicts, checksums, what a probe is told |
//! | [`host`] | the cpu device: a pool of threads, and the few unchecked accesses of its inner loops |
//! | [`graph`] | reading, building, converting and generating graphs |
//! | [`transport`] | how ranks reach each other |
//! | [`partition`] | one rank's part of the graph, its ghosts and routes |
//! | [`field`], [`op`] | named per-vertex arrays, and the leaf rules over them |
//! | `frontier` | the vertices active in a superstep |
//! | [`fault_tolerance`] | what a plugin says about faults |
//! | [`device`], [`cuda`] | what a device other than the host must do, as traits; GPUs, which do it |
//! | [`step`], [`exchange`] | the operators of a superstep; ghosts and agreement between ranks |
//! | [`answer`], [`algorithm`] | what comes out; what a plugin writes, and the registry |
//! | [`driver`] | the superstep loop, its clock, and the place of protection beside it |
//! | [`protect`], [`certify`] | snapshots, checker, recovery; proofs of an answer |
//! | [`trial`], [`fault_injection`] | a whole run; the same with faults put in |

pub mod base;
pub mod host;
pub mod graph;
pub mod transport;
pub mod partition;
pub mod field;
pub mod op;
pub(crate) mod frontier;
pub mod fault_tolerance;
pub mod device;
pub mod cuda;
pub mod step;
pub mod exchange;
pub mod answer;
pub mod algorithm;
pub mod driver;
pub mod protect;
pub mod certify;
pub mod trial;
pub mod fault_injection;

pub use inventory;
