//! Whether there is a CUDA device, asked before anything else touches the driver: an absent or old library is an answer, never a panic.

use super::driver::{self, DeviceInfo};
use crate::base::error::{Error, Result};
use std::sync::OnceLock;

/// The oldest driver that the bindings work with, as CUDA writes its versions.
const DRIVER_MIN: u32 = 12_080;

/// The devices of this machine, simulated ones included.
///
/// # Errors
/// An environment error that says what is missing: the driver's library, a newer driver, or a device.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    if !*PRESENT.get_or_init(load) {
        return Err(Error::Environment(
            "there is no CUDA driver (libcuda.so is not found); install one, or pass --device cpu".into(),
        ));
    }
    let version = driver::driver_version()?;
    if version < DRIVER_MIN {
        return Err(Error::Environment(format!(
            "the CUDA driver is too old: it supports CUDA {}, this program needs {} or later; update it, or pass --device cpu",
            dotted(version),
            dotted(DRIVER_MIN)
        )));
    }
    let devices = driver::devices(version)?;
    if devices.is_empty() {
        return Err(Error::Environment(
            "the CUDA driver finds no device; check nvidia-smi and CUDA_VISIBLE_DEVICES, or pass --device cpu".into(),
        ));
    }
    Ok(devices)
}

/// A version as CUDA writes it, 12080, as people do, 12.8.
pub fn dotted(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// Looks for the library. Modules are to be loaded at once, not at the first launch, so that no load falls between two events.
#[allow(unsafe_code)] // the environment, and the one call that asks whether a library is there
fn load() -> bool {
    const LOADING: &str = "CUDA_MODULE_LOADING";
    if std::env::var_os(LOADING).is_none() {
        // SAFETY: once in the process, by the command line before it starts threads (the probe comes before the graph is read); Rust's
        // own readers of the environment are locked out meanwhile.
        unsafe { std::env::set_var(LOADING, "EAGER") };
    }
    // SAFETY: loads the driver's library and lets go of it again.
    unsafe { cudarc::driver::sys::is_culib_present() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_written_as_people_do() {
        assert_eq!(super::dotted(12_080), "12.8");
        assert_eq!(super::dotted(13_010), "13.1");
        assert_eq!(super::dotted(11_040), "11.4");
    }
}
