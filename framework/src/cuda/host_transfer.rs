//! The stream on which state leaves a device and comes back, through two pinned buffers: while one is on its way, all threads of the
//! pool empty or fill the other.

use super::driver::{Context, Event, Memory, Pinned, Stream};
use crate::base::error::Result;
use crate::host::{CachePadded, Pool};
use std::sync::Arc;

/// Most bytes of each pinned buffer, as for uploads.
const BUFFER: usize = 4 << 20;
/// Bytes that a thread copies at once.
const SHARE: usize = 256 << 10;

/// The stream on which state leaves and comes back, and its buffers.
pub(super) struct HostTransfer {
    pub(super) stream: Stream,
    order: Event,
    buffers: [(Pinned<u8>, Event); 2],
}

impl HostTransfer {
    /// For stretches of at most so many bytes; longer ones are cut.
    pub(super) fn new(context: &Arc<Context>, longest: usize) -> Result<HostTransfer> {
        let room = longest.clamp(1 << 12, BUFFER);
        let buffer = || -> Result<(Pinned<u8>, Event)> { Ok((Pinned::new(context, room)?, Event::new(context)?)) };
        Ok(HostTransfer { stream: Stream::new(context)?, order: Event::new(context)?, buffers: [buffer()?, buffer()?] })
    }

    /// What follows on this stream waits for what was launched so far.
    pub(super) fn follow(&self, compute: &Stream) -> Result<()> {
        self.order.record(compute)?;
        self.stream.wait_for(&self.order)
    }

    /// What is launched from now on waits for this stream.
    pub(super) fn lead(&self, compute: &Stream) -> Result<()> {
        self.order.record(&self.stream)?;
        compute.wait_for(&self.order)
    }

    /// Brings stretches of device memory to the host, each from its start.
    pub(super) fn bring(&mut self, pool: &Pool, wanted: Vec<(&Memory, &mut [u8])>) -> Result<()> {
        let (room, mut pieces) = (self.buffers[0].0.len(), Vec::new());
        for (memory, to) in wanted {
            pieces.extend(to.chunks_mut(room).enumerate().map(|(place, to)| (memory, place * room, to)));
        }
        for turn in 0..=pieces.len() {
            if let Some((memory, at, to)) = pieces.get(turn) {
                let (buffer, arrived) = &mut self.buffers[turn % 2];
                self.stream.download(buffer, memory, *at, to.len())?;
                arrived.record(&self.stream)?;
            }
            if let Some((_, _, to)) = turn.checked_sub(1).and_then(|before| pieces.get_mut(before)) {
                let (buffer, arrived) = &self.buffers[(turn - 1) % 2];
                arrived.synchronize()?;
                let mut none: Vec<CachePadded<()>> = (0..pool.threads()).map(|_| CachePadded(())).collect();
                let from = buffer.values()[..to.len()].chunks(SHARE);
                let mut shares: Vec<_> = to.chunks_mut(SHARE).zip(from).collect();
                pool.chunks_over(&mut none, &mut shares, |(), _, (to, from)| to.copy_from_slice(from));
            }
        }
        Ok(())
    }
}
