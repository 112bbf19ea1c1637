//! What a device's memory and its bus reach, measured by plain copies: the figures that kernels and uploads are compared with.

use super::cache::Cache;
use super::compile::{self, FRAMEWORK, nvrtc_version};
use super::driver::{Arguments, Context, DeviceInfo, Event, Memory, Module, Pinned, Stream};
use super::layout::BLOCK;
use super::upload::Uploader;
use crate::base::error::Result;
use crate::host::{IdlePolicy, Pool};
use std::sync::Arc;
use std::time::Instant;

/// Copies measured; the fastest counts.
const ROUNDS: usize = 10;

/// Bytes a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bandwidth {
    /// Read and written by a kernel that copies, both counted.
    pub device_copy: f64,
    /// From pinned memory to the device.
    pub pinned_up: f64,
    /// From the device to pinned memory.
    pub pinned_down: f64,
    /// From ordinary memory to the device, as graphs are uploaded.
    pub upload: f64,
}

/// Measures a device with copies of so many bytes, with so many threads for uploads.
///
/// # Errors
/// When the device fails or has no room.
pub fn bandwidth(info: &DeviceInfo, bytes: usize, threads: usize) -> Result<Bandwidth> {
    let context = Arc::new(Context::new(info.clone())?);
    context.make_current()?;
    let (image, _) = compile::image(&FRAMEWORK, info, nvrtc_version(), &Cache::of_user())?;
    let module = Module::load(&context, &image)?;
    let stream = Stream::new(&context)?;
    let words = bytes / 8;
    let (from, to) = (Memory::new(&context, words * 8)?, Memory::new(&context, words * 8)?);
    stream.zero(&from)?;
    let copy = module.function("framework_copy")?;
    let events = [Event::new(&context)?, Event::new(&context)?];
    let best = |work: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            events[0].record(&stream)?;
            work()?;
            events[1].record(&stream)?;
            events[1].synchronize()?;
            best = best.min(events[1].seconds_since(&events[0])?);
        }
        Ok((words * 8) as f64 / best.max(1e-9))
    };
    let device_copy = best(&mut || {
        let mut arguments = Arguments::default().with(from.address()).with(to.address()).with(words as u64);
        stream.launch(&copy, info.multiprocessors * 8, BLOCK, &mut arguments)
    })?;
    let mut pinned = Pinned::<u64>::new(&context, words)?;
    let pinned_up = best(&mut || stream.upload(&to, 0, &pinned, words))?;
    let pinned_down = best(&mut || stream.download(&mut pinned, &from, 0, words))?;
    drop(pinned);
    let pool = Pool::new(threads, IdlePolicy::Park);
    let ordinary = vec![1u64; words];
    let mut uploader = Uploader::new(&context, &pool)?;
    let mut fastest = f64::INFINITY;
    for _ in 0..3 {
        let began = Instant::now();
        uploader.put(&stream, &to, &ordinary)?;
        stream.synchronize()?;
        fastest = fastest.min(began.elapsed().as_secs_f64());
    }
    Ok(Bandwidth {
        device_copy: 2.0 * device_copy,
        pinned_up,
        pinned_down,
        upload: (words * 8) as f64 / fastest.max(1e-9),
    })
}
