//! Buffers in device memory and pinned memory through which listed vertices and their values cross.

use super::driver::{Context, Event, Memory, Pinned};
use crate::base::error::Result;
use crate::base::memory::Pod;
use crate::field::FieldSpec;
use crate::partition::Part;

/// Buffers on both sides.
#[derive(Default)]
pub(super) struct Staging {
    pub(super) numbers: Option<Buffer<u32>>,
    pub(super) values: Option<Buffer<u64>>,
    pub(super) order: Option<Event>,
}

/// Values that are put or read one by one go through the same buffers; of more at once, so many.
pub(super) const SAMPLE: usize = 1024;

/// What [`Staging`] allocates on the device at most, when all that is shared changes at once.
pub(super) fn staging_allocations(part: &Part, specs: &[FieldSpec], has_mail: bool) -> [usize; 2] {
    let entries = if has_mail { 0 } else { part.ghosts().max(part.routes().boundary().len()) };
    let shared = specs.iter().filter(|spec| spec.share.copies() || spec.share.offers().is_some()).count();
    [entries.max(SAMPLE).next_power_of_two() * 4, (entries * shared).max(SAMPLE).next_power_of_two() * 8]
}

impl Staging {
    /// As large as [`staging_allocations`] says, so that nothing is allocated later.
    pub(super) fn new(context: &Context, part: &Part, specs: &[FieldSpec], has_mail: bool) -> Result<Staging> {
        let [numbers, values] = staging_allocations(part, specs, has_mail);
        let mut staging = Staging::default();
        grown(&mut staging.numbers, context, numbers / 4)?;
        grown(&mut staging.values, context, values / 8)?;
        Ok(staging)
    }
}

pub(super) struct Buffer<T: Pod> {
    pub(super) device: Memory,
    pub(super) pinned: Pinned<T>,
}

pub(super) fn grown<'s, T: Pod>(
    slot: &'s mut Option<Buffer<T>>,
    context: &Context,
    len: usize,
) -> Result<&'s mut Buffer<T>> {
    if slot.as_ref().is_none_or(|buffer| buffer.pinned.len() < len) {
        let room = len.max(SAMPLE).next_power_of_two();
        *slot = None; // before its successor is there
        *slot =
            Some(Buffer { device: Memory::new(context, room * size_of::<T>())?, pinned: Pinned::new(context, room)? });
    }
    Ok(slot.as_mut().expect("just made"))
}
