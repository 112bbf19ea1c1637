//! The kernels on host threads, behind a simulated CUDA driver: tests only, never a device of a real run.
//!
//! `libcuda.so` in [`folder`] answers the entry points that the cuda device calls; streams execute at once, each block runs on one
//! thread, and every CUDA thread of it is a fiber. It finds wrong arguments, copies outside allocations, divergent barriers
//! and wrong results; it does not find races between streams. Devices are called `simulated device N`.
//!
//! Environment: `GRAPHALG_SIM_DEVICES` (1), `_MEMORY` (bytes a device), `_DRIVER` (13000), `_SEED` (shuffles schedules), `_WORKERS`
//! (threads that run blocks), `_FAULT_AT` (the launch that loses the device), `_SHORT` (allocations of so many bytes lack the last four), `_LAUNCHES` (a file that gets counts by kernel at exit).

use std::path::Path;

/// The folder of the simulated `libcuda.so` (and of a stand-in for NVTX that writes its ranges to `GRAPHALG_SIM_RANGES`), for LD_LIBRARY_PATH; `None` where it could not be built, which needs a C++ compiler and
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
