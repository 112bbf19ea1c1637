//! Devices that run operators. The cpu device runs threads of this machine, the cuda device kernels on GPUs.

pub mod cuda;
pub mod host;
