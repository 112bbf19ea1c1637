//! Thin ownership over the CUDA driver: contexts, streams, events, memory, modules and launches, every code checked.
//!
//! Built on the raw layer of cudarc, because its safe one tracks events for each argument and reports errors of drops late. Nothing
//! here may be called before [`super::probe`] has found a driver that is new enough: cudarc panics otherwise.
#![allow(unsafe_code)] // FFI: each block names the promise; handles are owned by one value and freed by its drop

use super::layout::Argument;
use crate::base::error::{Error, Result};
use crate::base::memory::Pod;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute, CUevent_flags, CUresult};
use std::ffi::{CString, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// What is known of a device before anything runs on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceInfo {
    /// Its number, as `--device cuda:N` has it.
    pub index: usize,
    /// The model.
    pub name: String,
    /// Its own ID.
    pub uuid: String,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory in all.
    pub memory: u64,
    /// The CUDA version that the driver supports, as 12080 for 12.8.
    pub driver: u32,
}

impl DeviceInfo {
    /// Whether it is the tests' stand-in, which is never chosen unasked and labelled in every record.
    pub fn is_simulated(&self) -> bool {
        self.name.starts_with("simulated device")
    }

    /// `cuda` or `simulated`, as records have it.
    pub fn kind(&self) -> &'static str {
        if self.is_simulated() { "simulated" } else { "cuda" }
    }

    /// As messages name it.
    pub fn label(&self) -> String {
        format!("cuda:{} ({})", self.index, self.name)
    }
}

/// Asks the driver for the devices. The caller has probed.
pub(super) fn devices(driver: u32) -> Result<Vec<DeviceInfo>> {
    let fail = |error: DriverError| broken("cuda", "list the devices", error);
    match result::init() {
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(Vec::new()),
        other => other.map_err(fail)?,
    }
    let count = result::device::get_count().map_err(fail)?;
    (0..count)
        .map(|index| {
            let device = result::device::get(index).map_err(fail)?;
            // SAFETY: `device` is a valid device.
            let attribute = |which| unsafe { result::device::get_attribute(device, which) }.map_err(fail);
            // SAFETY: as above.
            let memory = unsafe { result::device::total_mem(device) }.map_err(fail)? as u64;
            let uuid = result::device::get_uuid(device).map_err(fail)?.bytes;
            let hex: String = uuid.iter().map(|&byte| format!("{:02x}", byte as u8)).collect();
            let of = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default().to_owned();
            Ok(DeviceInfo {
                index: index as usize,
                name: result::device::get_name(device).map_err(fail)?,
                uuid: format!("GPU-{}-{}-{}-{}-{}", of(0..8), of(8..12), of(12..16), of(16..20), of(20..32)),
                capability: (
                    attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32,
                    attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32,
                ),
                multiprocessors: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
                memory,
                driver,
            })
        })
        .collect()
}

/// The version of the driver's CUDA, as 12080 for 12.8. The caller knows that the library is there.
pub(super) fn driver_version() -> Result<u32> {
    let mut version = 0;
    // SAFETY: writes one int; in every driver since CUDA 2.2, so the symbol is there.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }
        .result()
        .map_err(|error| broken("cuda", "ask the driver for its version", error))?;
    Ok(version.max(0) as u32)
}

fn broken(device: &str, doing: &str, error: DriverError) -> Error {
    let name = error.error_name().ok().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| format!("CUDA error {}", error.0 as u32));
    let mend = match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
            "its memory is full: use more devices (--device cuda:0,1 --ranks 2), or --device cpu"
        }
        CUresult::CUDA_ERROR_NOT_FOUND => {
            "the kernels do not belong to this program: clear the kernel cache, or pass --device cpu"
        }
        CUresult::CUDA_ERROR_INVALID_IMAGE
        | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_INVALID_PTX => {
            "the driver does not take the compiled kernels: install NVRTC beside the program (LD_LIBRARY_PATH) or a newer driver"
        }
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
        | CUresult::CUDA_ERROR_ASSERT
        | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
        | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
        | CUresult::CUDA_ERROR_UNKNOWN => "the device is lost to this process: run again, or pass --device cpu",
        _ => "run again, or pass --device cpu",
    };
    Error::Device { device: device.to_owned(), problem: format!("cannot {doing}: {name}"), mend: mend.to_owned() }
}

/// A device's primary context, shared by all ranks on it and kept between trials.
#[derive(Debug)]
pub(super) struct Context {
    raw: sys::CUcontext,
    device: sys::CUdevice,
    pub(crate) info: DeviceInfo,
    label: String,
}

// SAFETY: a primary context may be made current on any thread; the handle is only read.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn new(info: DeviceInfo) -> Result<Context> {
        let label = info.label();
        let fail = |error| broken(&label, "open the device", error);
        let device = result::device::get(info.index as i32).map_err(fail)?;
        // SAFETY: `device` is valid; released once, by drop.
        let raw = unsafe { result::primary_ctx::retain(device) }.map_err(fail)?;
        Ok(Context { raw, device, info, label })
    }

    /// Every thread calls this before it uses anything of the context.
    pub(super) fn make_current(&self) -> Result<()> {
        // SAFETY: retained until drop.
        unsafe { result::ctx::set_current(self.raw) }.map_err(|error| self.broken("use the device", error))
    }

    /// Runs `work` on this thread with this context current, and goes back to the one that was.
    pub(super) fn visit(&self, work: impl FnOnce()) {
        let before = result::ctx::get_current().ok().flatten();
        // A lost device refuses; what `work` frees is gone then.
        let _ = self.make_current();
        work();
        // SAFETY: it was current when this began, and contexts live as long as the run.
        let _ = unsafe { result::ctx::set_current(before.unwrap_or(std::ptr::null_mut())) };
    }

    /// Whether kernels of this context, which is current, may write to memory of a peer's from now on.
    pub(super) fn reaches(&self, peer: &Context) -> Result<bool> {
        let fail = |error| self.broken("ask which devices it reaches", error);
        let mut can = 0;
        // SAFETY: two devices; writes one int.
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, self.device, peer.device) }.result().map_err(fail)?;
        if can == 0 {
            return Ok(false);
        }
        // SAFETY: both contexts are retained until drop.
        match unsafe { sys::cuCtxEnablePeerAccess(peer.raw, 0) } {
            CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            CUresult::CUDA_ERROR_TOO_MANY_PEERS | CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => Ok(false),
            error => Err(fail(DriverError(error))),
        }
    }

    fn broken(&self, doing: &str, error: DriverError) -> Error {
        broken(&self.label, doing, error)
    }

    /// Bytes free now. The context is current.
    pub(super) fn free_bytes(&self) -> Result<u64> {
        let (free, _) = result::mem_get_info().map_err(|error| self.broken("ask for its free memory", error))?;
        Ok(free as u64)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once by `new`. An error has nobody to go to: the process is done with the device.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// A stream of a context that is current on this thread.
pub(super) struct Stream {
    raw: sys::CUstream,
    context: Arc<Context>,
}

impl Stream {
    pub(super) fn new(context: &Arc<Context>) -> Result<Stream> {
        let raw = result::stream::create(result::stream::StreamKind::NonBlocking)
            .map_err(|error| context.broken("make a stream", error))?;
        Ok(Stream { raw, context: Arc::clone(context) })
    }

    /// Waits for all work of the stream.
    pub(super) fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream lives.
        unsafe { result::stream::synchronize(self.raw) }.map_err(|error| self.broken("finish its work", error))
    }

    /// What comes later on this stream waits for the event.
    pub(super) fn wait_for(&self, event: &Event) -> Result<()> {
        // SAFETY: both live; they may belong to two contexts.
        unsafe { result::stream::wait_event(self.raw, event.raw, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT) }
            .map_err(|error| self.broken("order its streams", error))
    }

    pub(super) fn zero(&self, memory: &Memory) -> Result<()> {
        // SAFETY: the whole of a live allocation.
        unsafe { result::memset_d8_async(memory.address, 0, memory.bytes, self.raw) }
            .map_err(|error| self.broken("clear memory", error))
    }

    /// Pinned to device, asynchronously: `from` must be left alone until the stream has passed.
    pub(super) fn upload<T: Pod>(&self, to: &Memory, at: usize, from: &Pinned<T>, len: usize) -> Result<()> {
        let bytes = len * size_of::<T>();
        assert!(at + bytes <= to.bytes && len <= from.len, "a copy beyond its allocation");
        // SAFETY: both stretches lie in live allocations, as just checked.
        unsafe { sys::cuMemcpyHtoDAsync_v2(to.address + at as u64, from.start.as_ptr().cast(), bytes, self.raw) }
            .result()
            .map_err(|error| self.broken("copy to the device", error))
    }

    /// Device to pinned, asynchronously: `to` holds the values when the stream has passed.
    pub(super) fn download<T: Pod>(&self, to: &mut Pinned<T>, from: &Memory, at: usize, len: usize) -> Result<()> {
        let bytes = len * size_of::<T>();
        assert!(at + bytes <= from.bytes && len <= to.len, "a copy beyond its allocation");
        // SAFETY: both stretches lie in live allocations, as just checked.
        unsafe { sys::cuMemcpyDtoHAsync_v2(to.start.as_ptr().cast(), from.address + at as u64, bytes, self.raw) }
            .result()
            .map_err(|error| self.broken("copy from the device", error))
    }

    /// From memory of this device to an address in that of a peer, asynchronously.
    pub(super) fn copy_to_peer(&self, to: (u64, &Context), from: (&Memory, usize), bytes: usize) -> Result<()> {
        let ((to, there), (from, at)) = (to, from);
        assert!(at + bytes <= from.bytes, "a copy beyond its allocation");
        // SAFETY: the source was just checked; the peer published an address with room for the longest message.
        unsafe { sys::cuMemcpyPeerAsync(to, there.raw, from.address + at as u64, self.context.raw, bytes, self.raw) }
            .result()
            .map_err(|error| self.broken("copy to a peer", error))
    }

    /// Launches `function` on so many blocks. `arguments` are those of the kernel, in order.
    pub(super) fn launch(
        &self,
        function: &Function,
        blocks: u32,
        threads: u32,
        arguments: &mut Arguments,
    ) -> Result<()> {
        if arguments.sizes != function.sizes {
            return Err(Error::Device {
                device: self.context.label.clone(),
                problem: format!(
                    "`{}` takes parameters of {:?} bytes and was given {:?}",
                    function.name, function.sizes, arguments.sizes
                ),
                mend: "kernels and program are of different versions: clear the kernel cache, or pass --device cpu"
                    .into(),
            });
        }
        // SAFETY: the function belongs to a module that the caller holds; arguments are as large as its parameters, and point to
        // allocations that live until the stream has passed (the engine synchronizes before it frees any).
        unsafe {
            result::launch_kernel(function.raw, (blocks, 1, 1), (threads, 1, 1), 0, self.raw, &mut arguments.pointers())
        }
        .map_err(|error| self.broken(&format!("launch `{}`", function.name), error))
    }

    fn broken(&self, doing: &str, error: DriverError) -> Error {
        self.context.broken(doing, error)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once. An error shows at the next call on the context.
        let _ = unsafe { result::stream::destroy(self.raw) };
    }
}

/// A moment on a stream.
pub(super) struct Event {
    raw: sys::CUevent,
    context: Arc<Context>,
}

// SAFETY: the driver lets any thread use an event; the handle is only read.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// With its time.
    pub(super) fn new(context: &Arc<Context>) -> Result<Event> {
        Event::with(context, CUevent_flags::CU_EVENT_DEFAULT)
    }

    /// Without, which costs streams less.
    pub(super) fn for_order(context: &Arc<Context>) -> Result<Event> {
        Event::with(context, CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    fn with(context: &Arc<Context>, flags: CUevent_flags) -> Result<Event> {
        let raw = result::event::create(flags).map_err(|error| context.broken("make an event", error))?;
        Ok(Event { raw, context: Arc::clone(context) })
    }

    pub(super) fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both live.
        unsafe { result::event::record(self.raw, stream.raw) }
            .map_err(|error| self.context.broken("record an event", error))
    }

    /// Waits until the stream has passed it.
    pub(super) fn synchronize(&self) -> Result<()> {
        // SAFETY: the event lives.
        unsafe { result::event::synchronize(self.raw) }.map_err(|error| self.context.broken("finish its work", error))
    }

    /// Seconds from `earlier` to this; both have passed.
    pub(super) fn seconds_since(&self, earlier: &Event) -> Result<f64> {
        // SAFETY: both live and were recorded on one stream.
        let ms = unsafe { result::event::elapsed(earlier.raw, self.raw) };
        ms.map(|ms| f64::from(ms) / 1e3).map_err(|error| self.context.broken("measure time", error))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once.
        let _ = unsafe { result::event::destroy(self.raw) };
    }
}

/// An allocation on a device.
pub(super) struct Memory {
    address: u64,
    bytes: usize,
}

impl Memory {
    /// Of so many bytes, at least one. The context is current.
    pub(super) fn new(context: &Context, bytes: usize) -> Result<Memory> {
        let bytes = bytes.max(8);
        // SAFETY: the memory is written before a kernel reads it: callers fill, zero or upload.
        let address = unsafe { result::malloc_sync(bytes) }.map_err(|error| {
            context.broken(&format!("allocate {}", crate::base::format::bytes(bytes as u64)), error)
        })?;
        Ok(Memory { address, bytes })
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once; the driver waits for work that uses it. On a lost device it errs, and all is gone.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// Page-locked host memory (cached, so that the CPU reads it fast), zeroed.
pub(super) struct Pinned<T: Pod> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: owned memory of plain values.
unsafe impl<T: Pod> Send for Pinned<T> {}
// SAFETY: shared access gives `&[T]` only.
unsafe impl<T: Pod> Sync for Pinned<T> {}

impl<T: Pod> Pinned<T> {
    pub(super) fn new(context: &Context, len: usize) -> Result<Pinned<T>> {
        let len = len.max(1);
        // SAFETY: flags 0; zeroed below before anybody reads.
        let raw = unsafe { result::malloc_host(len * size_of::<T>(), 0) }
            .map_err(|error| context.broken("allocate pinned memory", error))?;
        let start = NonNull::new(raw.cast::<T>()).expect("the driver succeeded");
        // SAFETY: `len` elements from `start` were just allocated.
        unsafe { start.write_bytes(0, len) };
        Ok(Pinned { start, len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The values; no copy into them may be under way.
    pub(super) fn values(&self) -> &[T] {
        // SAFETY: `len` initialised elements; callers wait for the stream before they look.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The values, to write; no copy from or into them may be under way.
    pub(super) fn values_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `values`, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> Drop for Pinned<T> {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once.
        let _ = unsafe { result::free_host(self.start.as_ptr().cast()) };
    }
}

/// Loaded kernels.
pub(super) struct Module {
    raw: sys::CUmodule,
    context: Arc<Context>,
}

impl Module {
    /// Loads a cubin, or PTX text that ends with a zero byte.
    pub(super) fn load(context: &Arc<Context>, image: &[u8]) -> Result<Module> {
        // SAFETY: the image is whole: a cubin says its own size, PTX ends with a zero byte (made so by `compile`).
        let raw = unsafe { result::module::load_data(image.as_ptr().cast()) }
            .map_err(|error| context.broken("load the kernels", error))?;
        Ok(Module { raw, context: Arc::clone(context) })
    }

    /// A kernel, if the module has it.
    pub(super) fn find(&self, name: &str) -> Result<Option<Function>> {
        let symbol = CString::new(name).expect("names of kernels hold no zero byte");
        // SAFETY: the module is loaded.
        match unsafe { result::module::get_function(self.raw, symbol) } {
            Ok(raw) => Ok(Some(Function { raw, name: name.to_owned(), sizes: parameter_sizes(raw) })),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_FOUND)) => Ok(None),
            Err(error) => Err(self.context.broken(&format!("find `{name}`"), error)),
        }
    }

    /// A kernel that must be there.
    pub(super) fn function(&self, name: &str) -> Result<Function> {
        self.find(name)?.ok_or_else(|| Error::Device {
            device: self.context.label.clone(),
            problem: format!("there is no kernel `{name}`"),
            mend: "add the rule to the plugin's file in kernels/, or pass --device cpu".into(),
        })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded by `load`, unloaded once; the engine has synchronized.
        let _ = unsafe { result::module::unload(self.raw) };
    }
}

/// A kernel of a module; the engine holds both.
pub(super) struct Function {
    raw: sys::CUfunction,
    name: String,
    /// Bytes of each parameter.
    sizes: Vec<usize>,
}

/// The bytes of each parameter of a kernel, as its compiler laid them out.
fn parameter_sizes(function: sys::CUfunction) -> Vec<usize> {
    let size = |place: usize| {
        let (mut offset, mut bytes) = (0, 0);
        // SAFETY: the function belongs to a loaded module; writes two numbers. In every driver since CUDA 12.4, which the probe asks for.
        let code = unsafe { sys::cuFuncGetParamInfo(function, place, &raw mut offset, &raw mut bytes) };
        (code == CUresult::CUDA_SUCCESS).then_some(bytes)
    };
    (0..).map_while(size).collect()
}

/// The arguments of one launch, copied.
#[derive(Default)]
pub(super) struct Arguments {
    words: Vec<u64>,
    starts: Vec<usize>,
    sizes: Vec<usize>,
}

impl Arguments {
    /// Adds one.
    pub(super) fn with<A: Argument>(mut self, argument: A) -> Arguments {
        let start = self.words.len();
        self.words.resize(start + size_of::<A>().div_ceil(8), 0);
        // SAFETY: room for it was just made, 8-byte aligned, and no Argument wants more.
        unsafe { self.words.as_mut_ptr().add(start).cast::<A>().write(argument) };
        self.starts.push(start);
        self.sizes.push(size_of::<A>());
        self
    }

    fn pointers(&mut self) -> Vec<*mut c_void> {
        let words = self.words.as_mut_ptr();
        // SAFETY: each start lies in `words`.
        self.starts.iter().map(|&start| unsafe { words.add(start) }.cast()).collect()
    }
}
