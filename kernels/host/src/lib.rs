//! The kernels on host threads, behind a simulated CUDA driver: tests only, never a device of a real run.
//!
//! `libcuda.so` in [`folder`] answers the entry points that the cuda device calls; streams execute at once, each block runs on one
//! thread, and every CUDA thread of it is a fiber. It finds wrong arguments, copies outside allocations, divergent barriers
//! and wrong results. With `GRAPHALG_SIM_LAZY=1` streams execute as late as events and synchronising calls allow, which finds orders
//! between streams and devices that nobody promised. Devices are called `simulated device N`.
//!
//! Environment: `GRAPHALG_SIM_DEVICES` (1), `_MEMORY` (bytes a device), `_DRIVER` (13000), `_SEED` (shuffles schedules), `_WORKERS`
//! (threads that run blocks), `_FAULT_AT` (the launch that loses the device), `_PEER` (which devices reach each other's memory: 0 none, 1 all, 2 pairs), `_PEAK` (a file that gets
//! the most bytes in use by device at exit), `_SHORT` (allocations of so many bytes lack the last four), `_LAUNCHES` (a file that gets counts by kernel at exit).

use std::path::Path;

/// The folder of the simulated `libcuda.so`, for LD_LIBRARY_PATH; `None` where it could not be built, which needs a C++ compiler and
/// x86-64.
pub fn folder() -> Option<&'static Path> {
    Some(env!("GRAPHALG_SIMULATED_CUDA")).filter(|path| !path.is_empty()).map(Path::new)
}

/// The same built with AddressSanitizer, which must be loaded first.
pub fn folder_with_address_sanitizer() -> Option<&'static Path> {
    Some(env!("GRAPHALG_SIMULATED_CUDA_ASAN")).filter(|path| !path.is_empty()).map(Path::new)
}

/// What a test that cannot have it needs.
pub const NEEDS: &str = "g++ on x86-64 (the simulated CUDA driver is built with it)";

/// Driver calls of the calling thread, in the order in which `graphalg_sim_calls` of the library counts them.
pub const CALLS: [&str; 9] = [
    "launches",
    "copies to the host",
    "copies from the host",
    "synchronises",
    "device synchronises",
    "memsets",
    "events",
    "allocations",
    "peer copies",
];
