//! The whole state of a rank between two supersteps, copied: every field, the frontier, what was agreed, the plugin's memory.
//!
//! Cost: the bytes of the fields and a few bits a vertex, read and written once by all threads. A snapshot carries its own hash from
//! its check on, so that one that was damaged in memory since is not restored.

use crate::base::checksum::hash_of;
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::base::memory::{Buf, bytes_of, bytes_of_mut};
use crate::base::tally::Tally;
use crate::fault_tolerance::SuperstepTotals;
use crate::field::{Column, Fields};
use crate::frontier::FrontierSnapshot;
use crate::host::{CachePadded, Pool};
use crate::partition::Part;
use crate::step::Step;
use std::sync::OnceLock;

/// Bytes that a thread copies at once.
const PIECE: usize = 1 << 18;

/// A copy of a rank's state before superstep `index`.
pub(crate) struct Snapshot {
    pub(crate) index: u32,
    pub(crate) total: Tally,
    pub(crate) memory: Vec<u64>,
    pub(crate) fields: Fields,
    pub(crate) frontier: FrontierSnapshot,
    /// The checksum of the set-once field, as kept by the operators.
    pub(crate) sum: u64,
    /// The most that the superstep before moved a vertex.
    pub(crate) largest: f64,
    /// What was agreed after the superstep before.
    pub(crate) round: Option<SuperstepTotals>,
    /// Of all of it, once checked.
    pub(crate) hash: OnceLock<u64>,
}

impl Snapshot {
    /// An empty one, to be filled by [`Snapshot::take`].
    pub(crate) fn empty(step: &Step<'_>) -> Result<Snapshot> {
        Ok(Snapshot {
            index: 0,
            total: Tally::default(),
            memory: Vec::new(),
            fields: Fields::new(step.fields.specs().to_vec(), step.part.locals())?,
            frontier: FrontierSnapshot::default(),
            sum: 0,
            largest: 0.0,
            round: None,
            hash: OnceLock::new(),
        })
    }

    /// Copies the state of a step; whether its frontier rested unchanged, where only the copy shows that.
    ///
    /// # Errors
    /// When it cannot be copied from the device.
    pub(crate) fn take(
        &mut self,
        step: &mut Step<'_>,
        memory: Vec<u64>,
        round: Option<SuperstepTotals>,
    ) -> Result<bool> {
        let monitor = step.monitor.as_deref();
        (self.index, self.total, self.memory, self.round) = (step.index, step.total, memory, round);
        (self.sum, self.largest) = monitor.map_or((0, 0.0), |monitor| (monitor.sum, monitor.largest));
        self.hash = OnceLock::new();
        match &mut step.device {
            Some(device) => {
                device.health()?;
                device.download_fields(&mut self.fields, step.pool)?;
                device.save_frontier(step.part, step.pool, &mut self.frontier)
            }
            None => {
                copy(&step.fields, &mut self.fields, step.pool);
                step.frontier.save(&mut self.frontier);
                Ok(true)
            }
        }
    }

    /// Puts the state back.
    ///
    /// # Errors
    /// When it cannot be copied to the device.
    pub(crate) fn restore(&self, step: &mut Step<'_>) -> Result<()> {
        (step.index, step.total) = (self.index, self.total);
        match &mut step.device {
            Some(device) => device.restore(step.part, step.pool, &self.fields, &self.frontier)?,
            None => {
                copy(&self.fields, &mut step.fields, step.pool);
                step.frontier.restore(step.part, &self.frontier);
            }
        }
        if let Some(monitor) = &mut step.monitor {
            (monitor.sum, monitor.largest) = (self.sum, self.largest);
        }
        Ok(())
    }

    /// A hash of all of it.
    pub(crate) fn count_hash(&self) -> u64 {
        let head = [u64::from(self.index), self.sum, self.largest.to_bits()];
        let mut hash = hash_of(&self.memory, hash_of(&head, hash_of(&self.total.to_bytes(), 0)));
        for slot in 0..self.fields.specs().len() {
            hash = match self.fields.column(slot) {
                Column::U32(buf) => hash_of(buf, hash),
                Column::F64(buf) => hash_of(buf, hash),
            };
        }
        self.frontier.hash(hash)
    }

    /// Whether it is still what was checked.
    pub(crate) fn is_whole(&self) -> bool {
        self.hash.get().is_some_and(|&hash| hash == self.count_hash())
    }

    /// Bytes of one snapshot of a part with such fields; the frontier at its largest.
    pub(crate) fn bytes(fields: &Fields, part: &Part) -> u64 {
        (fields.bytes() + part.locals() / 4 + part.owned() * size_of::<LocalId>() / 8) as u64
    }
}

fn copy(from: &Fields, to: &mut Fields, pool: &Pool) {
    let mut pieces: Vec<(&[u8], &mut [u8])> = Vec::new();
    let slots = 0..from.specs().len();
    for (slot, to) in slots.zip(to.columns_mut()) {
        match (from.column(slot), to) {
            (Column::U32(from), Column::U32(to)) => add(&mut pieces, from, to),
            (Column::F64(from), Column::F64(to)) => add(&mut pieces, from, to),
            _ => unreachable!("a snapshot has the fields of its step"),
        }
    }
    let mut each: Vec<CachePadded<()>> = (0..pool.threads()).map(|_| CachePadded(())).collect();
    pool.chunks_over(&mut each, &mut pieces, |(), _, (from, to)| to.copy_from_slice(from));
}

fn add<'a, T: crate::base::memory::Pod>(
    pieces: &mut Vec<(&'a [u8], &'a mut [u8])>,
    from: &'a Buf<T>,
    to: &'a mut Buf<T>,
) {
    pieces.extend(bytes_of(from).chunks(PIECE).zip(bytes_of_mut(to).chunks_mut(PIECE)));
}
