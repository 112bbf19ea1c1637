//! The cuda device: NVIDIA GPUs through their driver, loaded at run time.
//!
//! [`devices`] probes; [`Gpus`] are the devices of a run, opened when its first trial begins and kept for the others. Each rank has an
//! `Engine` on one of them, which is its [`Device`](crate::device): its part, its fields and its frontier lie in device memory,
//! operators are launches of the plugin's kernels by name, and what an operator adds up comes back in one small copy. Nothing waits for
//! a whole device.
//!
//! From below: `driver` owns the driver's handles, `layout` mirrors the kernels' structs, `compile` and `cache` make images; `long_rows`,
//! `staging`, `host_transfer`, `guard_state` and `messages` are parts of the state, `engine` is the whole of it; the modules after it
//! implement the traits of [`crate::device`], one each.

mod layout;
mod driver;
mod probe;
mod cache;
mod compile;
mod upload;
mod bandwidth;
mod long_rows;
mod staging;
mod host_transfer;
mod guard_state;
mod messages;
mod gpus;
mod part;
mod engine;
mod guard;
mod operators;
mod ghost_exchange;
mod peer_exchange;
mod state_transfer;
mod injection;
mod open;

pub use bandwidth::{Bandwidth, bandwidth};
pub use compile::{Compiled, FRAMEWORK, Usage, compile, has_nvrtc, nvrtc_version, whole_source};
pub use driver::DeviceInfo;
pub use gpus::Gpus;
pub use probe::{devices, dotted};
