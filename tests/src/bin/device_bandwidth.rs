//! Prints what a GPU's memory and bus reach, as one JSON object of bytes a second. Part of `cargo xtask device-check`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints one line")]

use framework::cuda::{bandwidth, devices};
use framework::host::cores;
use std::process::ExitCode;

/// Bytes of each copy, against caches of up to 100 MB, unless the first argument says otherwise.
const BYTES: usize = 1 << 30;

fn main() -> ExitCode {
    let bytes = std::env::args().nth(1).and_then(|bytes| bytes.parse().ok()).unwrap_or(BYTES);
    let measured = devices().and_then(|devices| Ok((bandwidth(&devices[0], bytes, cores())?, devices)));
    match measured {
        Ok((reached, devices)) => {
            let device = &devices[0];
            let line = serde_json::json!({
                "device": device.name,
                "kind": device.kind(),
                "devices": devices.len(),
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
