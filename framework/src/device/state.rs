//! A rank's state on a device: single values, whole columns, and everything at once for snapshots and checkpoints.

use crate::base::error::{Error, Result};
use crate::base::id::LocalId;
use crate::base::tally::Tally;
use crate::field::Fields;
use crate::frontier::FrontierSnapshot;
use crate::host::Pool;
use crate::partition::Part;
use std::time::Duration;

/// Keeps the fields and the frontier of a rank.
pub(crate) trait DeviceState {
    /// Whether something has failed that nobody has asked for yet.
    fn has_failed(&self) -> bool;

    /// Keeps what failed.
    fn fail(&mut self, error: Error);

    /// What failed since it was last asked.
    ///
    /// # Errors
    /// That.
    fn health(&mut self) -> Result<()>;

    /// An update begins: from here on the device's time is measured.
    fn begin_update(&mut self);

    /// The update is over: the time that the device has worked for it.
    fn end_update(&mut self) -> Duration;

    /// Every vertex may have changed.
    fn mark_all_dirty(&mut self);

    /// The size of the frontier.
    fn frontier_tally(&self) -> Tally;

    /// Bytes of the fields.
    fn field_bytes(&self) -> usize;

    /// Exchanges two fields of one type.
    fn swap(&mut self, a: usize, b: usize);

    /// The first `len` values of a field, little-endian.
    fn raw(&mut self, slot: usize, len: usize) -> Result<Vec<u8>>;

    /// Puts one value.
    fn set_bits(&mut self, slot: usize, v: LocalId, bits: u64) -> Result<()>;

    /// The values at some vertices, as bits: one gather and one copy.
    fn bits_at(&mut self, slot: usize, vertices: &[LocalId]) -> Result<Vec<u64>>;

    /// An owned vertex joins the frontier.
    fn activate(&mut self, v: LocalId, degree: u64) -> Result<()>;
}

/// Brings the whole state between two supersteps to host memory and back.
pub(crate) trait StateTransfer {
    /// Copies every field into columns of the same kinds in host memory.
    fn download_fields(&mut self, fields: &mut Fields, pool: &Pool) -> Result<()>;

    /// Copies what of the frontier outlives a superstep; whether it stayed unchanged since, as far as anybody knows.
    fn save_frontier(&mut self, part: &Part, pool: &Pool, to: &mut FrontierSnapshot) -> Result<bool>;

    /// Puts fields and frontier back. Members that are no vertices of the part are dropped.
    fn restore(&mut self, part: &Part, pool: &Pool, fields: &Fields, from: &FrontierSnapshot) -> Result<()>;

    /// Goes back to before `init`: initial values, an empty frontier, the arcs as the host has them.
    fn reset(&mut self, part: &Part, pool: &Pool) -> Result<()>;
}
