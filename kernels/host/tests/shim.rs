//! The shim itself: warp and block operations under shuffled schedules, and that it reports what a device only hangs on.
#![allow(unsafe_code)] // calls into the library that this crate builds

use std::ffi::{CString, c_void};
use std::process::Command;

type Launch =
    unsafe extern "C" fn(*const c_void, *const u32, *const u32, u32, *mut *mut c_void, u32, u32, u64, *mut u64) -> i32;
type Find = unsafe extern "C" fn(*const std::ffi::c_char) -> *const c_void;

/// Runs a kernel of two arguments, or one, on so many blocks of so many threads.
fn launch(
    name: &str,
    blocks: u32,
    threads: u32,
    out: &mut [u32],
    count: Option<u32>,
    workers: u32,
    seed: u64,
) -> Option<()> {
    let library = kernels_host::folder()?.join("libcuda.so");
    // SAFETY: our own library.
    let library = unsafe { libloading::Library::new(library) }.expect("it loads");
    // SAFETY: the symbols have these types (shim/gk_host.cpp).
    let (find, launch) = unsafe { (library.get::<Find>(b"gk_host_find"), library.get::<Launch>(b"gk_host_launch")) };
    let (find, launch) = (find.expect("exported"), launch.expect("exported"));
    let name = CString::new(name).expect("no zero byte");
    // SAFETY: a C string.
    let kernel = unsafe { find(name.as_ptr()) };
    assert!(!kernel.is_null());
    let (mut pointer, mut count) = (out.as_mut_ptr(), count);
    let mut arguments: Vec<*mut c_void> = vec![(&raw mut pointer).cast()];
    arguments.extend(count.as_mut().map(|count| std::ptr::from_mut(count).cast::<c_void>()));
    let (grid, block) = ([blocks, 1, 1], [threads, 1, 1]);
    // SAFETY: the arguments are the kernel's, and `out` is as large as it writes.
    let code = unsafe {
        launch(
            kernel,
            grid.as_ptr(),
            block.as_ptr(),
            0,
            arguments.as_mut_ptr(),
            arguments.len() as u32,
            workers,
            seed,
            std::ptr::null_mut(),
        )
    };
    assert_eq!(code, 0);
    Some(())
}

fn not_run(test: &str) {
    use std::io::Write;
    let line = format!("\nnot run: {test}: needs {}\n", kernels_host::NEEDS);
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
}

#[test]
fn two_hundred_schedules_agree_on_every_warp_and_block_operation() {
    for seed in 0..200 {
        let mut out = vec![0u32; 10_010];
        out[10_002] = u32::MAX;
        if launch("selftest_primitives", 2, 48, &mut out, Some(40), 2, seed).is_none() {
            return not_run("two_hundred_schedules_agree_on_every_warp_and_block_operation");
        }
        for (block, t) in (0..2u32).flat_map(|block| (0..48u32).map(move |t| (block, t))) {
            let (warp, lane, lanes) = (t & !31, t & 31, if t < 32 { 32 } else { 16u32 });
            let ballot = (0..lanes).filter(|l| (warp + l) % 3 == 0).fold(0u32, |all, l| all | 1 << l);
            let up = if lane % 16 >= 2 { t - 2 } else { t };
            let down = if lane % 8 < 7 { t + 1 } else { t };
            let full = if lanes == 32 { u32::MAX } else { 0xffff };
            let eighth = if lane < 8 { warp + 7 } else { full & 0xffff_ff00 };
            let want = [warp + 3, up, down, warp + (lane ^ 5), ballot, u32::from(t >= 32) | 2, 10, 1, eighth, 47 - t];
            assert_eq!(out[((block * 48 + t) * 10) as usize..][..10], want, "seed {seed}, block {block}, thread {t}");
        }
        let word = |at: usize| u64::from(out[at]) | u64::from(out[at + 1]) << 32;
        let sums = (f64::from_bits(word(10_000)), out[10_002], out[10_003], out[10_004], out[10_005], word(10_006));
        assert_eq!(sums, (40.0, 1, 39, 255, 9, 80 << 33), "seed {seed}");
    }
}

/// Not a test of its own: what `a_divergent_barrier_is_reported` runs in a process that may die.
#[test]
fn divergent_barrier_in_a_process_of_its_own() {
    if std::env::var_os("GRAPHALG_DIVERGE").is_some() {
        let _ = launch("selftest_bad_barrier", 1, 32, &mut [0; 32], None, 1, 0);
    }
}

#[test]
fn a_divergent_barrier_is_reported() {
    if kernels_host::folder().is_none() {
        return not_run("a_divergent_barrier_is_reported");
    }
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "divergent_barrier_in_a_process_of_its_own", "--nocapture"]).env("GRAPHALG_DIVERGE", "1");
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for words in ["selftest_bad_barrier", "no thread can go on", "16 at a block barrier", "waits in a warp operation"] {
        assert!(said.contains(words), "`{words}` is not in\n{said}");
    }
}
