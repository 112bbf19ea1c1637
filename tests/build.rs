//! Tells the tests whether the folder of real graphs is at hand: without it they are listed as ignored, with the reason, so that
//! what was not run is seen. `GRAPHALG_TEST_GRAPHS` names the folder; else it is looked for beside the checkout.
#![allow(clippy::print_stdout)] // how a build script speaks to cargo

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(real_graphs)");
    println!("cargo::rerun-if-env-changed=GRAPHALG_TEST_GRAPHS");
    println!("cargo::rerun-if-changed=build.rs");
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|up| up.join("shared/data/graphs"));
    let named = std::env::var_os("GRAPHALG_TEST_GRAPHS").map(PathBuf::from);
    if let Some(folder) = named.into_iter().chain(beside()).find(|folder| folder.join("expected.json").is_file()) {
        println!("cargo::rustc-cfg=real_graphs");
        println!("cargo::rustc-env=REAL_GRAPHS={}", folder.display());
    }
}
