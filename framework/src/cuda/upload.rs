//! Host arrays to the device through two pinned buffers: while one is on its way, all threads of the pool fill the other. So the copy
//! runs at the speed of pinned memory although graphs lie in mapped files and ordinary pages.

use super::driver::{Context, Event, Memory, Pinned, Stream};
use crate::base::error::Result;
use crate::base::memory::{Pod, bytes_of};
use crate::host::{CachePadded, Pool};
use std::sync::Arc;

/// Bytes of each pinned buffer. Chosen: large against the cost of a copy, small against the cost of pinning.
const BUFFER: usize = 4 << 20;
/// Bytes that a thread copies at once.
const SHARE: usize = 256 << 10;

/// Uploads arrays one after the other.
pub(super) struct Uploader<'p> {
    buffers: [(Pinned<u8>, Event); 2],
    turn: usize,
    is_used: [bool; 2],
    pool: &'p Pool,
}

impl<'p> Uploader<'p> {
    pub(super) fn new(context: &Arc<Context>, pool: &'p Pool) -> Result<Uploader<'p>> {
        let buffer = || -> Result<(Pinned<u8>, Event)> { Ok((Pinned::new(context, BUFFER)?, Event::new(context)?)) };
        Ok(Uploader { buffers: [buffer()?, buffer()?], turn: 0, is_used: [false; 2], pool })
    }

    /// Puts `items` at the start of `to`.
    pub(super) fn put<T: Pod>(&mut self, stream: &Stream, to: &Memory, items: &[T]) -> Result<()> {
        for (number, piece) in bytes_of(items).chunks(BUFFER).enumerate() {
            let (buffer, sent) = &mut self.buffers[self.turn];
            if self.is_used[self.turn] {
                sent.synchronize()?;
            }
            let mut none: Vec<CachePadded<()>> = (0..self.pool.threads()).map(|_| CachePadded(())).collect();
            let mut shares: Vec<_> =
                buffer.values_mut()[..piece.len()].chunks_mut(SHARE).zip(piece.chunks(SHARE)).collect();
            self.pool.chunks_over(&mut none, &mut shares, |(), _, (to, from)| to.copy_from_slice(from));
            stream.upload(to, number * BUFFER, buffer, piece.len())?;
            sent.record(stream)?;
            self.is_used[self.turn] = true;
            self.turn = 1 - self.turn;
        }
        Ok(())
    }
}
