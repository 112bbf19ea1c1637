//! Kernels from source to an image that the driver loads: by NVRTC for the very device, else the PTX that was made at release.
//!
//! Compiled images are kept on disk by the hash of all that decides them (text with its headers, options, NVRTC's version), so a
//! source that changes is compiled anew and ranks that start together only do the same work twice. A file that is not what was
//! written there is compiled anew and replaced; a folder that cannot be written costs the compilation, not the run.
#![allow(unsafe_code)] // FFI to NVRTC: the program handle is owned by one value

use super::cache::Cache;
use super::driver::DeviceInfo;
use super::probe::dotted;
use crate::base::error::{Error, Result};
use crate::device::Kernels;
use cudarc::nvrtc::{result, sys};
use sha2::{Digest, Sha256};
use std::ffi::CString;
use std::fmt::Write;
use std::sync::OnceLock;

/// The framework's own kernels.
pub const FRAMEWORK: Kernels = Kernels {
    name: "framework",
    source: include_str!("../../../kernels/framework.cu"),
    ptx: include_str!("../../../kernels/ptx/framework.ptx"),
};

/// Headers that kernels may include, by name.
const HEADERS: [(&str, &str); 9] = [
    ("machine.cuh", include_str!("../../../kernels/machine.cuh")),
    ("state.cuh", include_str!("../../../kernels/state.cuh")),
    ("block.cuh", include_str!("../../../kernels/block.cuh")),
    ("messages.cuh", include_str!("../../../kernels/messages.cuh")),
    ("sum.cuh", include_str!("../../../kernels/sum.cuh")),
    ("guard.cuh", include_str!("../../../kernels/guard.cuh")),
    ("arcs.cuh", include_str!("../../../kernels/arcs.cuh")),
    ("gather.cuh", include_str!("../../../kernels/gather.cuh")),
    ("operators.cuh", include_str!("../../../kernels/operators.cuh")),
];

/// The source with each header in place of its first `#include`. NVRTC then needs no files.
pub fn whole_source(source: &str) -> String {
    let mut seen = Vec::new();
    let mut whole = String::new();
    splice(source, &mut seen, &mut whole);
    whole
}

fn splice(source: &str, seen: &mut Vec<&'static str>, whole: &mut String) {
    for line in source.lines() {
        let named = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"'));
        match named.and_then(|named| HEADERS.iter().find(|(name, _)| *name == named)) {
            Some((name, text)) => {
                if !seen.contains(name) {
                    seen.push(name);
                    splice(text, seen, whole);
                }
            }
            None if line == "#pragma once" => {}
            None => _ = writeln!(whole, "{line}"),
        }
    }
}

/// What NVRTC made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// A cubin for a real architecture, PTX text for a virtual one.
    pub image: Vec<u8>,
    /// What the compiler said: registers, spills, shared memory of each kernel.
    pub log: String,
}

/// Whether NVRTC is there.
pub fn has_nvrtc() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: loads the library and lets go of it again.
    *PRESENT.get_or_init(|| unsafe { sys::is_culib_present() })
}

/// NVRTC's version, if it is there.
pub fn nvrtc_version() -> Option<(u32, u32)> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is there; writes two ints.
    let code = has_nvrtc().then(|| unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) });
    code.filter(|&code| code == sys::nvrtcResult::NVRTC_SUCCESS).map(|_| (major as u32, minor as u32))
}

/// The options for an architecture, `sm_90` or `compute_70`. Products and sums are not fused: they would round otherwise than on
/// the cpu device.
fn options(architecture: &str) -> Vec<String> {
    let mut options: Vec<String> = ["--std=c++17", "-default-device", "--fmad=false"].map(String::from).to_vec();
    options.push(format!("--gpu-architecture={architecture}"));
    if architecture.starts_with("sm_") {
        options.push("--ptxas-options=-v".into());
    }
    options
}

/// Compiles kernels with NVRTC, which must be there.
///
/// # Errors
/// An environment error with the compiler's messages.
pub fn compile(kernels: &Kernels, architecture: &str) -> Result<Compiled> {
    let fail =
        |problem: String| Error::Environment(format!("kernels/{}.cu for {architecture}: {problem}", kernels.name));
    if !has_nvrtc() {
        return Err(fail(
            "NVRTC (libnvrtc.so) is not found; install it, or let LD_LIBRARY_PATH name its folder".into(),
        ));
    }
    let source = CString::new(whole_source(kernels.source)).map_err(|_| fail("the source holds a zero byte".into()))?;
    let name = CString::new(format!("{}.cu", kernels.name)).map_err(|_| fail("its name holds a zero byte".into()))?;
    let program =
        Program(result::create_program(&source, Some(&name)).map_err(|error| fail(format!("{:?}", error.0)))?);
    // SAFETY: the program lives.
    let outcome = unsafe { result::compile_program(program.0, &options(architecture)) };
    // SAFETY: as above.
    let log = unsafe { result::get_program_log(program.0) }.unwrap_or_default();
    let log =
        String::from_utf8_lossy(&log.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect::<Vec<_>>()).into_owned();
    outcome.map_err(|error| fail(format!("NVRTC says {:?}\n{log}", error.0)))?;
    let image = if architecture.starts_with("sm_") { program.cubin() } else { program.ptx() };
    Ok(Compiled { image: image.ok_or_else(|| fail("NVRTC made no image".into()))?, log })
}

struct Program(sys::nvrtcProgram);

impl Program {
    fn cubin(&self) -> Option<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program was compiled; writes one number.
        let code = unsafe { sys::nvrtcGetCUBINSize(self.0, &raw mut bytes) };
        let mut image = vec![0u8; bytes];
        // SAFETY: the buffer has the size that NVRTC asked for.
        let both =
            code.result().and_then(|()| unsafe { sys::nvrtcGetCUBIN(self.0, image.as_mut_ptr().cast()) }.result());
        both.ok().filter(|()| bytes > 0).map(|()| image)
    }

    fn ptx(&self) -> Option<Vec<u8>> {
        // SAFETY: the program was compiled.
        let text = unsafe { result::get_ptx(self.0) }.ok()?;
        Some(text.into_iter().map(|c| c as u8).take_while(|&c| c != 0).collect())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: made by create_program, destroyed once.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// The image of the kernels for a device, and a note for people if something was not as it should be.
///
/// # Errors
/// When there is neither NVRTC nor PTX, or the source does not compile.
pub(super) fn image(
    kernels: &Kernels,
    device: &DeviceInfo,
    nvrtc: Option<(u32, u32)>,
    cache: &Cache,
) -> Result<(Vec<u8>, Option<String>)> {
    let architecture = format!("sm_{}{}", device.capability.0, device.capability.1);
    let Some(version) = nvrtc else {
        return Ok((embedded(kernels, device, "NVRTC (libnvrtc.so) is not found")?, None));
    };
    if version.0 > device.driver / 1000 {
        // Cubins run on drivers of their own major version and later ones.
        let why = format!("NVRTC {}.{} makes kernels for newer drivers", version.0, version.1);
        return Ok((embedded(kernels, device, &why)?, Some(format!("{why}; the embedded PTX is used"))));
    }
    let key = key(kernels, &architecture, version);
    if let Some(image) = cache.get(&key) {
        return Ok((image, None));
    }
    match compile(kernels, &architecture) {
        Ok(compiled) => {
            let note = cache.put(&key, &compiled.image).err();
            Ok((compiled.image, note))
        }
        // An NVRTC that does not know the device: too old for it, or too new.
        Err(error) if error.to_string().contains("INVALID_OPTION") => {
            let why = format!("NVRTC {}.{} does not compile for {architecture}", version.0, version.1);
            Ok((embedded(kernels, device, &why)?, Some(format!("{why}; the embedded PTX is used"))))
        }
        Err(error) => Err(error),
    }
}

/// The PTX, ended by a zero byte as the driver wants it. A driver that is too old for it is told so here: its own error names no version.
fn embedded(kernels: &Kernels, device: &DeviceInfo, why: &str) -> Result<Vec<u8>> {
    let mend = "let LD_LIBRARY_PATH name the folder of libnvrtc.so";
    if kernels.ptx.is_empty() {
        return Err(Error::Environment(format!(
            "{why}, and {} brings no PTX; {mend}, or pass --device cpu",
            kernels.name
        )));
    }
    if let Some(((major, minor), needs)) = ptx_version(kernels.ptx).and_then(|ptx| Some((ptx, driver_for(ptx)?)))
        && device.driver < needs
    {
        return Err(Error::Environment(format!(
            "{why}, and the embedded PTX of {} is of version {major}.{minor}, which needs a driver for CUDA {} or later, while this one \
             supports CUDA {}; update the driver, {mend} (of CUDA {}), or pass --device cpu",
            kernels.name,
            dotted(needs),
            dotted(device.driver),
            device.driver / 1000,
        )));
    }
    let mut text = kernels.ptx.as_bytes().to_vec();
    text.push(0);
    Ok(text)
}

/// What the `.version` line of PTX says.
fn ptx_version(ptx: &str) -> Option<(u32, u32)> {
    let line = ptx.lines().find_map(|line| line.trim().strip_prefix(".version"))?;
    let (major, minor) = line.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The first CUDA whose driver takes a version of PTX, as 12090 for 12.9; `None` where nobody has said so yet. Source: the PTX ISA's
/// release notes.
fn driver_for(ptx: (u32, u32)) -> Option<u32> {
    match ptx {
        (6 | 7, _) => Some(11_000),
        (8, minor @ 0..=5) => Some(12_000 + 10 * minor),
        (8, minor @ 6..=8) => Some(12_010 + 10 * minor),
        (9, minor @ 0..=1) => Some(13_000 + 10 * minor),
        _ => None,
    }
}

fn key(kernels: &Kernels, architecture: &str, version: (u32, u32)) -> String {
    let mut hash = Sha256::new();
    hash.update(whole_source(kernels.source));
    hash.update(options(architecture).join(" "));
    hash.update(format!("NVRTC {}.{}", version.0, version.1));
    let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{architecture}-{digest}", kernels.name)
}

/// What one kernel uses, read from the compiler's log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Usage {
    /// The kernel.
    pub kernel: String,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of registers spilled.
    pub spilled: u32,
    /// Bytes of shared memory a block.
    pub shared: u32,
}

impl Compiled {
    /// By kernel, in order of name.
    pub fn usage(&self) -> Vec<Usage> {
        let number_before = |line: &str, word: &str| -> u32 {
            let before = line.split(word).next().unwrap_or_default();
            before
                .split(|c: char| !c.is_ascii_digit())
                .rfind(|digits| !digits.is_empty())
                .and_then(|d| d.parse().ok())
                .unwrap_or(0)
        };
        let mut usage: Vec<Usage> = Vec::new();
        for line in self.log.lines() {
            if let Some(kernel) =
                line.split("Compiling entry function '").nth(1).and_then(|rest| rest.split('\'').next())
            {
                usage.push(Usage { kernel: kernel.into(), registers: 0, spilled: 0, shared: 0 });
            }
            let Some(last) = usage.last_mut() else { continue };
            if line.contains("bytes spill stores") {
                last.spilled = number_before(line, "bytes spill stores");
            }
            if line.contains("registers") {
                last.registers = number_before(line, "registers");
            }
            if line.contains("bytes smem") {
                last.shared = number_before(line, "bytes smem");
            }
        }
        usage.sort_by(|a, b| a.kernel.cmp(&b.kernel));
        usage
    }
}

/// A kernel name in a C string of an image, for tests of what an image holds.
#[cfg(test)]
fn holds(image: &[u8], name: &std::ffi::CStr) -> bool {
    image.windows(name.to_bytes().len()).any(|window| window == name.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Kernels =
        Kernels { name: "own", source: "#include \"machine.cuh\"\nextern \"C\" __global__ void own() {}\n", ptx: "" };

    #[test]
    fn every_header_comes_once_and_before_its_use() {
        let whole = whole_source("#include \"operators.cuh\"\n#include \"state.cuh\"\nend\n");
        assert_eq!(whole.matches("struct Part {").count(), 1);
        assert!(!whole.contains("#include \"operators"));
        assert!(whole.find("struct Rows").expect("state.cuh") < whole.find("void push(").expect("operators.cuh"));
        assert!(whole.ends_with("end\n"));
    }

    #[test]
    fn without_nvrtc_the_ptx_serves_and_without_both_it_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path().into());
        let with = Kernels { ptx: ".version 8.0\n.entry own() {}\n", ..OWN };
        let (image, note) = image(&with, &device(12_080), None, &cache).expect("the PTX");
        assert!(holds(&image, c"own") && image.last() == Some(&0) && note.is_none());
        let error = super::image(&OWN, &device(12_080), None, &cache).expect_err("neither").to_string();
        assert!(error.contains("libnvrtc.so") && error.contains("no PTX"), "{error}");
    }

    fn device(driver: u32) -> DeviceInfo {
        let (name, uuid) = ("a device".into(), String::new());
        DeviceInfo { index: 0, name, uuid, capability: (9, 0), multiprocessors: 1, memory: 0, driver }
    }

    #[test]
    fn a_driver_too_old_for_the_ptx_is_told_which_one_it_needs() {
        let cache = Cache::at("nowhere".into());
        let of = |version: &'static str| Kernels { ptx: version, ..OWN };
        for (ptx, driver, needs) in [
            (".version 8.8\n", 12_080, Some("CUDA 12.9")),
            (".version 8.8\n", 12_090, None),
            ("//\n.version 8.7\n", 12_080, None),
            (".version 9.0\n", 12_090, Some("CUDA 13.0")),
            (".version 42.0\n", 12_080, None),
        ] {
            let error = image(&of(ptx), &device(driver), None, &cache).map(|_| ()).err().map(|e| e.to_string());
            match (needs, error) {
                (None, None) => {}
                (Some(needs), Some(error)) => {
                    assert!(error.contains(needs) && error.contains(&dotted(driver)), "{error}")
                }
                (needs, error) => panic!("{ptx}: {needs:?}, {error:?}"),
            }
        }
        // A newer NVRTC is not asked for cubins that the driver would refuse.
        let (_, note) = image(&of(".version 8.7\n"), &device(12_080), Some((13, 0)), &cache).expect("the PTX");
        assert!(note.is_some_and(|note| note.contains("NVRTC 13.0")));
    }

    #[test]
    fn the_key_follows_source_architecture_and_compiler() {
        let base = key(&OWN, "sm_90", (12, 9));
        assert_eq!(base, key(&OWN, "sm_90", (12, 9)));
        let other = Kernels { source: "other", ..OWN };
        for changed in [key(&other, "sm_90", (12, 9)), key(&OWN, "sm_80", (12, 9)), key(&OWN, "sm_90", (13, 0))] {
            assert_ne!(base, changed);
        }
    }

    #[test]
    fn the_compilers_log_is_read() {
        let log = "ptxas info    : Compiling entry function 'b' for 'sm_90'\n\
                   ptxas info    : Function properties for b\n    8 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads\n\
                   ptxas info    : Used 30 registers, used 1 barriers, 64 bytes smem, 608 bytes cmem[0]\n\
                   ptxas info    : Compiling entry function 'a' for 'sm_90'\n\
                   ptxas info    : Used 8 registers, used 0 barriers\n";
        let usage = Compiled { image: Vec::new(), log: log.into() }.usage();
        let of = |kernel: &str, registers, spilled, shared| Usage { kernel: kernel.into(), registers, spilled, shared };
        assert_eq!(usage, [of("a", 8, 0, 0), of("b", 30, 12, 64)]);
    }
}
