//! The cuda device on simulated GPUs (kernels/host). What runs here says nothing about speed and is never a device of a real run.
//! With `GRAPHALG_LAWS_ON=cuda` the same tests take the GPUs of this machine instead (`cargo xtask device-check`).
#![allow(unsafe_code)] // loads one library of our own

use crate::needs::not_run;
use framework::answer::{Answer, Values};
use framework::cuda::{DeviceInfo, devices};
use std::sync::OnceLock;

/// How many driver calls of each kind (`kernels_host::CALLS`) this thread has made; `None` on real devices.
pub fn calls() -> Option<[u64; kernels_host::CALLS.len()]> {
    static COUNT: OnceLock<Option<extern "C" fn(u32) -> u64>> = OnceLock::new();
    let count = (*COUNT.get_or_init(|| {
        // SAFETY: the library is loaded already, under this soname, where there is one; the symbol has this type.
        let library = unsafe { libloading::Library::new("libcuda.so") }.ok()?;
        // SAFETY: as above.
        let count = unsafe { library.get::<extern "C" fn(u32) -> u64>(b"graphalg_sim_calls") }.ok().map(|found| *found);
        std::mem::forget(library);
        count
    }))?;
    Some(std::array::from_fn(|kind| count(kind as u32)))
}

/// Equal by hash, or, for reals, within the distance that two sound answers may have.
///
/// # Panics
/// When they are not.
pub fn assert_same(on_cpu: &Answer, on_gpu: &Answer, what: &str) {
    match (&on_cpu.values, &on_gpu.values) {
        (Values::Real(a), Values::Real(b)) => {
            let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
            assert!(a.len() == b.len() && distance <= 2.0 * 1e-10 * 0.85 / 0.15, "{what}: {distance:e} apart");
        }
        _ => assert_eq!(on_cpu.hash(), on_gpu.hash(), "{what}"),
    }
}

/// Devices for a law in this process: simulated ones, or `None` after saying that `test` was not run. The driver's environment is read by the library
/// itself; `GRAPHALG_SIM_DEVICES` is set to four before it is loaded.
///
/// # Panics
/// When the library is there and does not answer.
pub fn devices_for(test: &str) -> Option<Vec<DeviceInfo>> {
    static DEVICES: OnceLock<Option<Vec<DeviceInfo>>> = OnceLock::new();
    let found = DEVICES.get_or_init(|| {
        if std::env::var_os("GRAPHALG_LAWS_ON").is_some_and(|on| on == "cuda") {
            let real = devices().expect("GRAPHALG_LAWS_ON asks for a GPU");
            assert!(real.iter().all(|device| !device.is_simulated()), "{real:?}");
            return Some(real);
        }
        let library = kernels_host::folder()?.join("libcuda.so");
        // SAFETY: under the OnceLock, before the library that reads them is loaded. Rust's readers are locked out meanwhile.
        unsafe { std::env::set_var("GRAPHALG_SIM_DEVICES", "4") };
        // SAFETY: our own library, whose initialisers register kernels. It stays loaded, so it answers when the device asks for libcuda.
        let loaded = unsafe { libloading::Library::new(&library) }.expect("the simulated driver loads");
        std::mem::forget(loaded);
        let devices = devices().expect("the simulated driver answers");
        assert!(devices.iter().all(DeviceInfo::is_simulated), "{devices:?}");
        Some(devices)
    });
    if found.is_none() {
        not_run(test, kernels_host::NEEDS);
    }
    found.clone()
}
