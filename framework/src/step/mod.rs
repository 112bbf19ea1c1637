//! What an algorithm works with in one superstep: its part, its fields, the frontier, and the operators over them.
//!
//! The operators are generic methods of this concrete type, so a leaf rule is inlined into a parallel loop in the plugin's own
//! crate while the algorithm itself stays a trait object that is called once per superstep. State at the end of an operator
//! does not depend on the number of threads.

pub(crate) mod monitor;
mod device;
mod gather;
mod tiles;
mod visit;
mod push;
mod vertex_map;

pub use tiles::{Layout, Tiles};

use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::base::probe::Activity;
use crate::base::tally::Tally;
use crate::device::{Demands, Device, Devices};
use crate::field::{Column, Field, FieldSpec, Fields, Kind, Value};
use crate::frontier::{DirtySet, Frontier};
use crate::host::Pool;
use crate::op::Scalars;
use crate::partition::Part;
use crate::step::monitor::{MonitorCounts, OperatorMonitor, SharedVisitChecksum};
use std::sync::atomic::Ordering::Relaxed;

/// The state of one rank during a run.
pub struct Step<'r> {
    /// This rank's part.
    pub part: &'r Part,
    /// The superstep, from 0.
    pub index: u32,
    /// What all ranks agreed on after the superstep before (before the first: after `init`).
    pub total: Tally,
    pub(crate) pool: &'r Pool,
    pub(crate) fields: Fields,
    pub(crate) frontier: Frontier,
    tiles: Option<Tiles>,
    /// The state on the device, if operators run on one; then the fields and the frontier here are empty.
    pub(crate) device: Option<Box<dyn Device>>,
    /// Owned vertices of the frontiers that operators of this superstep have consumed; none if none worked on a frontier.
    consumed: Option<u64>,
    /// Sees the operators of a protected run.
    pub(crate) monitor: Option<Box<OperatorMonitor>>,
}

impl<'r> Step<'r> {
    /// Allocates the fields, with their initial values, and an empty frontier.
    ///
    /// # Errors
    /// When two fields have one name, or there are more than an operator can bind.
    pub(crate) fn new(part: &'r Part, pool: &'r Pool, specs: Vec<FieldSpec>, layout: Layout) -> Result<Step<'r>> {
        let fields = initial_fields(specs, part, pool)?;
        Ok(Step {
            part,
            index: 0,
            total: Tally::default(),
            pool,
            fields,
            frontier: Frontier::new(part, pool.threads()),
            tiles: Tiles::if_worth(part, pool, layout),
            device: None,
            consumed: None,
            monitor: None,
        })
    }

    /// The same on the rank's device: fields and frontier lie there.
    ///
    /// # Errors
    /// As [`Step::new`], and when the device, its memory or the kernels fail.
    pub(crate) fn on_device(
        part: &'r Part,
        pool: &'r Pool,
        specs: Vec<FieldSpec>,
        devices: &dyn Devices,
        demands: Demands,
    ) -> Result<Step<'r>> {
        let mut fields = Fields::new(specs, part.locals())?;
        fields.leave_host();
        let device = devices.open(part, pool, fields.specs(), demands)?.0;
        Ok(Step {
            part,
            index: 0,
            total: Tally::default(),
            pool,
            fields,
            frontier: Frontier::new(part, pool.threads()),
            tiles: None,
            device: Some(device),
            consumed: None,
            monitor: None,
        })
    }

    /// Goes back to where it was before `init`. Layouts stay.
    ///
    /// # Errors
    /// When the device fails.
    pub(crate) fn reset(&mut self) -> Result<()> {
        match &mut self.device {
            Some(device) => device.reset(self.part, self.pool)?,
            None => {
                for (slot, spec) in self.fields.specs().iter().enumerate() {
                    fill(self.fields.column(slot), spec, self.pool);
                }
                self.frontier = Frontier::new(self.part, self.pool.threads());
            }
        }
        (self.index, self.total) = (0, Tally::default());
        self.forget_activity();
        if let Some(monitor) = &mut self.monitor {
            (monitor.sum, monitor.largest) = (0, 0.0);
        }
        Ok(())
    }

    /// Whether a pool of one thread runs the operators.
    fn is_alone(&self) -> bool {
        self.pool.threads() == 1
    }

    /// Puts one value; for `init`, not for loops.
    pub fn set<T: Value>(&mut self, field: Field<T>, v: LocalId, value: T) {
        if self.is_on_device() {
            return self.device_set(field, v, value);
        }
        let before = self.fields.changing(field).get(v);
        self.fields.changing(field).set(v, value);
        if let Some(monitor) = &mut self.monitor
            && !self.part.is_ghost(v)
        {
            monitor.record_write(self.fields.slot(field.spec()), v, before.to_bits(), value.to_bits());
        }
    }

    /// One value; for a few vertices, not for loops. On a device each costs a copy: [`Step::values`] brings many in one.
    pub fn get<T: Value>(&mut self, field: Field<T>, v: LocalId) -> T {
        self.values(field, &[v])[0]
    }

    /// The values at some vertices, in order; on a device one copy for all.
    pub fn values<T: Value>(&mut self, field: Field<T>, vertices: &[LocalId]) -> Vec<T> {
        if self.is_on_device() {
            return self.device_values(field, vertices);
        }
        let values = self.fields.changing(field);
        vertices.iter().map(|&v| values.get(v)).collect()
    }

    /// Exchanges the values of two fields of one type, all at once and at no cost.
    ///
    /// # Panics
    /// If the algorithm did not declare both: a mistake in the plugin.
    pub fn swap<T: Value>(&mut self, a: Field<T>, b: Field<T>) {
        if let Some(device) = &mut self.device {
            device.swap(self.fields.slot(a.spec()), self.fields.slot(b.spec()));
        }
        self.fields.swap(a.spec(), b.spec());
    }

    /// Puts an owned vertex into the frontier, as one that has joined.
    pub fn activate(&mut self, v: LocalId) {
        let degree = self.part.outgoing().degree(v);
        if let Some(device) = &mut self.device {
            return device.attempt(|device| device.activate(v, degree));
        }
        self.frontier.add(self.part, v);
    }

    /// Says that every vertex may have changed, so that exchange sends all that is shared.
    pub fn mark_all_dirty(&mut self) {
        match &mut self.device {
            Some(device) => device.mark_all_dirty(),
            None => self.frontier.dirty = DirtySet::All,
        }
    }

    /// An operator works on a frontier of so many owned vertices, by a rule with these numbers, and will read about so many arcs.
    fn consume(&mut self, vertices: u64, reads: u64, numbers: Scalars) {
        self.consumed = Some(self.consumed.unwrap_or(0) + vertices);
        if self.device.is_none()
            && let Some(mut monitor) = self.monitor.take()
        {
            monitor.before_consume(self, vertices, reads, numbers.words());
            self.monitor = Some(monitor);
        }
    }

    /// Owned vertices of the frontiers that this superstep has consumed.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed.unwrap_or(0)
    }

    /// A visit is over.
    fn visited(&mut self, visits: &SharedVisitChecksum) {
        if let Some(monitor) = &mut self.monitor {
            monitor.visited(visits);
        }
    }

    /// A superstep begins: what operators consumed before it, in `init` say, does not count as its work.
    pub(crate) fn forget_activity(&mut self) {
        self.consumed = None;
        if let Some(monitor) = &mut self.monitor {
            monitor.counts = MonitorCounts::default();
        }
        let index = self.index;
        if let Some(device) = &mut self.device {
            device.attempt(|device| device.begin_superstep(index));
        }
    }

    /// What the operators of this superstep worked on: the frontiers they consumed, or every owned vertex if they worked in place.
    pub(crate) fn activity(&self) -> Activity {
        let owned = self.part.owned() as u64;
        let (critical, assigned) =
            self.monitor.as_ref().map_or((0, 0), |monitor| (monitor.counts.critical, monitor.counts.assigned));
        // A vertex can be in the frontiers of two operators.
        let active = self.consumed.map_or(owned, |consumed| consumed.min(owned));
        Activity { owned, active, critical: critical.min(active), assigned }
    }

    /// The owned values of a field, little-endian, in order.
    ///
    /// # Errors
    /// When they cannot be copied from the device.
    pub(crate) fn raw_owned(&mut self, spec: FieldSpec) -> Result<Vec<u8>> {
        match &mut self.device {
            Some(device) => device.raw(self.fields.slot(spec), self.part.owned()),
            None => Ok(self.fields.raw(spec, self.part.owned())),
        }
    }

    /// The size of the frontier, as a tally: what `init` returns when it has activated vertices.
    pub fn tally(&self) -> Tally {
        if let Some(device) = &self.device {
            return device.frontier_tally();
        }
        Tally { active: self.frontier.count, arcs: self.frontier.arcs, ..Tally::default() }
    }

    /// Bytes of all fields.
    pub fn field_bytes(&self) -> usize {
        self.device.as_ref().map_or_else(|| self.fields.bytes(), |device| device.field_bytes())
    }

    /// Bytes of layouts beyond the rows.
    pub fn layout_bytes(&self) -> usize {
        self.tiles.as_ref().map_or(0, Tiles::bytes)
    }
}

/// Fields with their initial values.
pub(crate) fn initial_fields(specs: Vec<FieldSpec>, part: &Part, pool: &Pool) -> Result<Fields> {
    let fields = Fields::new(specs, part.locals())?;
    for (slot, spec) in fields.specs().iter().enumerate() {
        if spec.initial_bits() != 0 {
            fill(fields.column(slot), spec, pool);
        }
    }
    Ok(fields)
}

fn fill(column: &Column, spec: &FieldSpec, pool: &Pool) {
    const PIECE: usize = 1 << 14;
    let len = match column {
        Column::U32(buf) => buf.len(),
        Column::F64(buf) => buf.len(),
    };
    pool.chunks(len.div_ceil(PIECE), |_, chunk| {
        let range = chunk * PIECE..len.min((chunk + 1) * PIECE);
        match (column, spec.kind) {
            (Column::U32(buf), Kind::U32) => {
                buf[range].iter().for_each(|atom| atom.store(spec.initial_bits() as u32, Relaxed));
            }
            (Column::F64(buf), Kind::F64) => {
                buf[range].iter().for_each(|atom| atom.store(spec.initial_bits(), Relaxed));
            }
            _ => unreachable!("a column has its field's type"),
        }
    });
}
