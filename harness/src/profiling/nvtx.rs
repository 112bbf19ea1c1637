//! NVTX ranges around stages, for tools such as Nsight Systems that show them beside kernels. The library is looked for once, when a
//! recording begins; without it a range costs a look at an empty table.
#![allow(unsafe_code)] // two functions of a library that is loaded by name

use std::ffi::{CString, c_char, c_int};
use std::sync::OnceLock;

/// CUDA 13's name, and the older one.
const LIBRARIES: [&str; 2] = ["libnvtx3interop.so.1", "libnvToolsExt.so.1"];

struct Table {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
}

fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    let load = |name: &&str| {
        // SAFETY: NVIDIA's library; its initialisers do nothing that we must keep up.
        let library = unsafe { libloading::Library::new(*name) }.ok()?;
        // SAFETY: both have had these types since NVTX 1.
        let (push, pop) = unsafe { (library.get(b"nvtxRangePushA").ok()?, library.get(b"nvtxRangePop").ok()?) };
        let table = Table { push: *push, pop: *pop };
        std::mem::forget(library); // the functions must stay
        Some(table)
    };
    TABLE.get_or_init(|| LIBRARIES.iter().find_map(load)).as_ref()
}

/// A range of this thread begins.
pub(super) fn push(name: &str) {
    if let Some((table, name)) = table().zip(CString::new(name).ok()) {
        // SAFETY: a C string that lives through the call; NVTX copies it.
        unsafe { (table.push)(name.as_ptr()) };
    }
}

/// The last range of this thread ends.
pub(super) fn pop() {
    if let Some(table) = table() {
        // SAFETY: no arguments; a pop too many is ignored.
        unsafe { (table.pop)() };
    }
}
