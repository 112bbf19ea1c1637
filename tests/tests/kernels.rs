//! Kernels without a GPU: each is compiled by NVRTC for every architecture, within the registers, spills and shared memory that
//! kernels/ceilings.csv allows, and the PTX that ships is what the source gives.
//!
//! `GRAPHALG_UPDATE_KERNELS=1 cargo test -p graphalg-tests --test kernels` writes both anew; look at what changed.

use framework::algorithm::Registry;
use framework::cuda::{FRAMEWORK, compile, has_nvrtc, nvrtc_version};
use framework::device::Kernels;
use graphalg_tests::cases;
use graphalg_tests::needs::not_run;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const ARCHITECTURES: [&str; 7] = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"];
/// The oldest device that the PTX serves.
const PTX: &str = "compute_70";
/// The version that reaches all of them, and that the PTX was made with.
const NVRTC: (u32, u32) = (12, 9);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels")
}

fn updates() -> bool {
    std::env::var_os("GRAPHALG_UPDATE_KERNELS").is_some()
}

fn is_here(test: &str) -> bool {
    let is_here = has_nvrtc() && nvrtc_version() == Some(NVRTC);
    if !is_here {
        not_run(test, "nvrtc 12.9 (the wheel nvidia-cuda-nvrtc-cu12==12.9.86 on LD_LIBRARY_PATH)");
    }
    is_here
}

fn all() -> Vec<Kernels> {
    assert!(!cases().is_empty(), "plugins are linked");
    let registry = Registry::linked().expect("distinct names");
    let mut all: Vec<Kernels> = registry.iter().filter_map(|entry| entry.kernels).collect();
    all.push(FRAMEWORK);
    all
}

#[test]
fn every_file_in_kernels_is_somebodys() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .expect("kernels/")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".cu").map(str::to_owned))
        .collect();
    let mut known: Vec<String> = all().iter().map(|kernels| kernels.name.to_owned()).collect();
    files.sort();
    known.sort();
    assert_eq!(files, known);
}

#[test]
fn every_kernel_compiles_for_every_architecture_within_its_ceilings() {
    if !is_here("every_kernel_compiles_for_every_architecture_within_its_ceilings") {
        return;
    }
    let mut most: BTreeMap<String, [u32; 3]> = BTreeMap::new();
    for kernels in all() {
        for architecture in ARCHITECTURES {
            let compiled = compile(&kernels, architecture).unwrap_or_else(|error| panic!("{error}"));
            assert!(compiled.image.starts_with(b"\x7fELF"), "{} for {architecture}", kernels.name);
            // NVRTC 12.9 says of old architectures that 13 will not have them; that is why it is 12.9.
            let mut warnings = compiled
                .log
                .lines()
                .filter(|line| line.contains("warning") && !line.contains("are deprecated and may be removed"));
            assert_eq!(warnings.next(), None, "{} for {architecture}", kernels.name);
            let usage = compiled.usage();
            assert!(!usage.is_empty(), "{} holds kernels", kernels.name);
            for one in usage {
                assert!(one.registers > 0, "{} says its registers", one.kernel);
                let most = most.entry(one.kernel).or_default();
                for (most, now) in most.iter_mut().zip([one.registers, one.spilled, one.shared]) {
                    *most = (*most).max(now);
                }
            }
        }
    }
    let file = folder().join("ceilings.csv");
    if updates() {
        let mut text = String::from("kernel,registers,spilled_bytes,shared_bytes\n");
        for (kernel, [registers, spilled, shared]) in &most {
            let _ = writeln!(text, "{kernel},{registers},{spilled},{shared}");
        }
        std::fs::write(&file, text).expect("written");
    }
    let mut ceilings: BTreeMap<String, [u32; 3]> = BTreeMap::new();
    for row in csv::Reader::from_path(&file).expect("kernels/ceilings.csv").deserialize() {
        let (kernel, registers, spilled, shared): (String, u32, u32, u32) = row.expect("a row of four");
        ceilings.insert(kernel, [registers, spilled, shared]);
    }
    assert!(
        ceilings.keys().eq(most.keys()),
        "rows of kernels/ceilings.csv: {:?}\nkernels: {:?}",
        ceilings.keys(),
        most.keys()
    );
    for (kernel, now) in &most {
        let ceiling = &ceilings[kernel];
        assert!(now.iter().zip(ceiling).all(|(now, ceiling)| now <= ceiling), "{kernel}: {now:?} above {ceiling:?}");
        assert_eq!(now[1], 0, "{kernel} spills registers");
    }
}

#[test]
fn the_ptx_that_ships_is_what_the_source_gives() {
    if !is_here("the_ptx_that_ships_is_what_the_source_gives") {
        return;
    }
    for kernels in all() {
        let made = compile(&kernels, PTX).unwrap_or_else(|error| panic!("{error}")).image;
        let file = folder().join("ptx").join(format!("{}.ptx", kernels.name));
        if updates() {
            std::fs::write(&file, &made).expect("written");
            continue; // what is linked in is the old one
        }
        assert!(made == kernels.ptx.as_bytes(), "{} is stale: GRAPHALG_UPDATE_KERNELS=1 makes it anew", file.display());
    }
}
