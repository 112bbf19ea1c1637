//! NVTX ranges, for tools such as Nsight Systems that show them beside kernels: one domain `graphalg`; a range for each iteration and inside it one
//! for each stage, on the thread that does the work. The library is looked for once; without it a range costs a look at an empty table.
//! Layouts and functions are those of NVIDIA's nvToolsExt.h, version 3.
#![allow(unsafe_code)] // four functions of a library that is loaded by name

use super::stage;
use framework::base::id::Rank;
use framework::base::probe::{RangeHooks, Stage};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// CUDA 13's name, and the older one.
const LIBRARIES: [&str; 2] = ["libnvtx3interop.so.1", "libnvToolsExt.so.1"];

/// What is missing where ranges are not recorded.
pub(super) const ABSENT: &str = "neither libnvtx3interop.so.1 nor libnvToolsExt.so.1 is there";

const DOMAIN: &CStr = c"graphalg";

/// `nvtxEventAttributes_t`.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

/// `NVTX_VERSION`.
const VERSION: u16 = 3;
/// `NVTX_MESSAGE_TYPE_ASCII`.
const ASCII: i32 = 1;

struct Table {
    domain: *mut c_void,
    push: unsafe extern "C" fn(*mut c_void, *const Attributes) -> c_int,
    pop: unsafe extern "C" fn(*mut c_void) -> c_int,
    name_thread: unsafe extern "C" fn(u32, *const c_char),
}

// SAFETY: the handle of a domain and the functions may be used by any thread.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    let load = |name: &&str| {
        // SAFETY: NVIDIA's library; its initialisers do nothing that we must keep up.
        let library = unsafe { libloading::Library::new(*name) }.ok()?;
        // SAFETY: these functions have had these types since NVTX 2.
        let (create, push, pop, name_thread) = unsafe {
            let create: libloading::Symbol<'_, unsafe extern "C" fn(*const c_char) -> *mut c_void> =
                library.get(b"nvtxDomainCreateA").ok()?;
            (
                *create,
                *library.get(b"nvtxDomainRangePushEx").ok()?,
                *library.get(b"nvtxDomainRangePop").ok()?,
                *library.get(b"nvtxNameOsThreadA").ok()?,
            )
        };
        // SAFETY: a C string that lives as long as the program. The domain stays for as long, too.
        let domain = unsafe { create(DOMAIN.as_ptr()) };
        std::mem::forget(library); // the functions must stay
        Some(Table { domain, push, pop, name_thread })
    };
    TABLE.get_or_init(|| LIBRARIES.iter().find_map(load)).as_ref()
}

/// Whether ranges are recorded.
pub(super) fn is_there() -> bool {
    table().is_some()
}

/// A range of this thread begins.
fn push(name: &str) {
    let Some((table, name)) = table().zip(CString::new(name).ok()) else { return };
    let attributes = Attributes {
        version: VERSION,
        size: size_of::<Attributes>() as u16,
        category: 0,
        color_type: 0,
        color: 0,
        payload_type: 0,
        reserved: 0,
        payload: 0,
        message_type: ASCII,
        message: name.as_ptr(),
    };
    // SAFETY: attributes and name live through the call; NVTX copies them.
    unsafe { (table.push)(table.domain, &raw const attributes) };
}

/// The last range of this thread ends.
fn pop() {
    if let Some(table) = table() {
        // SAFETY: the domain was made by the library.
        unsafe { (table.pop)(table.domain) };
    }
}

/// The ranges of a rank's thread that are open. What an error leaves open ends with this, which is dropped on that thread then.
#[derive(Default, Debug)]
pub(super) struct Ranges {
    /// By depth: whether there is a range. Stages that one rank alone does not have have none.
    open: Vec<bool>,
}

impl Ranges {
    /// A range begins, if it has a name.
    pub(super) fn open(&mut self, name: Option<&str>) {
        name.into_iter().for_each(push);
        self.open.push(name.is_some());
    }

    /// `iteration N` begins.
    pub(super) fn open_iteration(&mut self, iteration: u32) {
        self.open(Some(&format!("iteration {iteration}")));
    }

    /// The last one ends.
    pub(super) fn close(&mut self) {
        if self.open.pop() == Some(true) {
            pop();
        }
    }
}

impl Drop for Ranges {
    fn drop(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }
}

/// Ranges of the checker's thread, and of work inside operators.
pub(super) static HOOKS: RangeHooks = RangeHooks {
    checker: |rank: Rank| {
        let Some((table, name)) = table().zip(CString::new(format!("checker of rank {}", rank.0)).ok()) else { return };
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        // SAFETY: a C string that lives through the call; NVTX copies it.
        unsafe { (table.name_thread)(thread, name.as_ptr()) };
    },
    // These stages have the same name on one rank and on several.
    begin: |stage: Stage| push(stage::name(stage, true).unwrap_or("checker")),
    end: pop,
};
