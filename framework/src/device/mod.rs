//! Devices that run operators. The cpu device is the only one of this build.

pub mod host;
