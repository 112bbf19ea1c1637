//! Builds a simulated `libcuda.so` from the shim, the simulated driver and all kernels: once plain, once with AddressSanitizer.
//! Where that cannot be (no C++ compiler, another processor) the paths are empty, and tests say what they need.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let kernels = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    println!("cargo:rerun-if-changed=shim");
    let mut sources: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&kernels).expect("the kernels folder").flatten() {
        let path = entry.path();
        match path.extension().and_then(|e| e.to_str()) {
            Some("cu") => sources.push(path),
            Some("cuh") => println!("cargo:rerun-if-changed={}", path.display()),
            _ => {}
        }
    }
    sources.sort();
    sources.extend(["shim/gk_host.cpp", "shim/driver.cpp", "shim/selftest.cu"].map(PathBuf::from));
    sources.iter().for_each(|source| println!("cargo:rerun-if-changed={}", source.display()));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    for (name, variable, flags) in [
        ("plain", "GRAPHALG_SIMULATED_CUDA", &[][..]),
        ("asan", "GRAPHALG_SIMULATED_CUDA_ASAN", &["-fsanitize=address", "-fno-omit-frame-pointer"][..]),
    ] {
        let folder = out.join(name);
        let built =
            build(&kernels, &sources, &folder, flags).map(|()| folder.display().to_string()).unwrap_or_default();
        println!("cargo:rustc-env={variable}={built}");
    }
}

fn build(kernels: &Path, sources: &[PathBuf], folder: &Path, flags: &[&str]) -> Option<()> {
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("x86_64") {
        return None;
    }
    let compiler = cc::Build::new().cpp(true).opt_level(2).debug(false).warnings(false).try_get_compiler().ok()?;
    Command::new(compiler.path()).arg("--version").output().ok()?;
    fs::create_dir_all(folder).expect("OUT_DIR is writable");
    let fixed = [
        "-std=c++17",
        "-O2",
        "-fPIC",
        "-fno-exceptions",
        "-fno-strict-aliasing",
        "-ffp-contract=off",
        "-pthread",
        "-Wno-unknown-pragmas",
    ];
    let object = |source: &PathBuf| folder.join(source.file_name().expect("a file")).with_extension("o");
    let running: Vec<_> = sources
        .iter()
        .map(|source| {
            let mut command = Command::new(compiler.path());
            command.args(fixed).args(flags).arg("-I").arg(kernels).arg("-Ishim").args(["-x", "c++", "-c"]);
            command.arg(source).arg("-o").arg(object(source)).spawn().expect("the compiler answered before")
        })
        .collect();
    for (mut child, source) in running.into_iter().zip(sources) {
        assert!(child.wait().is_ok_and(|status| status.success()), "{} does not compile on the host", source.display());
    }
    let mut link = Command::new(compiler.path());
    // The name that cudarc asks for first, so that a copy loaded by path answers it.
    link.args(["-shared", "-pthread", "-Wl,-soname,libcuda.so", "-o"]).arg(folder.join("libcuda.so")).args(flags);
    assert!(
        link.args(sources.iter().map(object)).status().is_ok_and(|status| status.success()),
        "libcuda.so does not link"
    );
    Some(())
}
