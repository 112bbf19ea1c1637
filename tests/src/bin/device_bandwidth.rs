//! Prints what a GPU's memory and bus reach, as one JSON object of bytes a second. Part of `cargo xtask device-check`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints one line")]

use framework::device::cuda::{bandwidth, devices};
use framework::device::host::cores;
use std::process::ExitCode;

/// Bytes of each copy, against caches of up to 100 MB.
const BYTES: usize = 1 << 30;

fn main() -> ExitCode {
    let measured = devices().and_then(|devices| Ok((devices[0].clone(), bandwidth(&devices[0], BYTES, cores())?)));
    match measured {
        Ok((device, reached)) => {
            let line = serde_json::json!({
                "device": device.name,
                "kind": device.kind(),
                "device_copy": reached.device_copy,
                "pinned_up": reached.pinned_up,
                "pinned_down": reached.pinned_down,
                "upload": reached.upload,
            });
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}
