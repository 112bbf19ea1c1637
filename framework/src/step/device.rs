//! The operators on a device: a leaf rule becomes the name of its kernels, the fields it binds and its numbers.
//!
//! An error stays with the device: what follows does nothing, and the driver finds it after the superstep.

use super::Step;
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::base::tally::Tally;
use crate::device::{Device, Rule};
use crate::field::{Bind, Field, Fields, Value};
use crate::op::{EdgeOp, GatherOp, Scalars, SelectOp, VertexOp, VisitOp};
use crate::step::monitor::OperatorMonitor;
use std::time::Duration;

/// A rule by what it binds.
fn rule(
    fields: &mut Fields,
    monitor: Option<&OperatorMonitor>,
    name: &'static str,
    scalars: Scalars,
    bind: impl FnOnce(&Bind<'_>),
) -> Rule {
    let book = fields.bind();
    bind(&book);
    let critical = monitor.map(|monitor| monitor.critical_degrees(scalars.words())).unwrap_or_default();
    Rule { name, slots: book.order(), scalars, critical }
}

macro_rules! rule_of {
    ($step:expr, $op:expr, $Op:ident) => {
        rule_of!($step, $op, named $Op::KERNEL)
    };
    ($step:expr, $op:expr, named $name:expr) => {
        rule(&mut $step.fields, $step.monitor.as_deref(), $name, $op.scalars(), |bind| _ = $op.bind(bind))
    };
}

impl Step<'_> {
    /// Runs an operator on the device, if the step has one.
    #[inline(always)]
    pub(crate) fn is_on_device(&self) -> bool {
        self.device.is_some()
    }

    fn device(&mut self) -> &mut (dyn Device + 'static) {
        self.device.as_deref_mut().expect("callers asked is_on_device")
    }

    pub(super) fn device_push<O: EdgeOp>(&mut self, op: &O) -> Tally {
        let rule = rule_of!(self, op, named op.kernel());
        let (tally, consumed) = self.device().attempt(|device| device.push(&rule));
        self.consume(consumed, 0, Scalars::default());
        tally
    }

    pub(super) fn device_visit<O: VisitOp>(&mut self, op: &O) -> Tally {
        let rule = rule_of!(self, op, O);
        let (part, total) = (self.part, self.total);
        let (tally, consumed) = self.device().attempt(|device| device.visit(&rule, part, &total));
        self.consume(consumed, 0, Scalars::default());
        tally
    }

    pub(super) fn device_select<O: SelectOp>(&mut self, op: &O, bound: u32) -> Tally {
        let rule = rule_of!(self, op, O);
        self.device().attempt(|device| device.select(&rule, bound, None)).0
    }

    pub(super) fn device_select_then_push<S: SelectOp, O: EdgeOp>(
        &mut self,
        op: &S,
        bound: u32,
        then: &O,
    ) -> (Tally, Tally) {
        let (select, push) = (rule_of!(self, op, S), rule_of!(self, then, named then.kernel()));
        let (chosen, tally, consumed) = self.device().attempt(|device| device.select(&select, bound, Some(&push)));
        self.consume(consumed, 0, Scalars::default());
        (chosen, tally)
    }

    pub(super) fn device_each<O: VertexOp>(&mut self, op: &O, with_ghosts: bool, counts: bool) -> u64 {
        let rule = rule_of!(self, op, named op.kernel());
        self.device().attempt(|device| device.each(&rule, with_ghosts, counts))
    }

    pub(super) fn device_boundary<O: VertexOp>(&mut self, op: &O) -> Tally {
        let rule = rule_of!(self, op, named op.kernel());
        self.consume(self.part.routes().boundary().len() as u64, 0, Scalars::default());
        self.device().attempt(|device| device.boundary(&rule))
    }

    pub(super) fn device_changed<O: VertexOp>(&mut self, op: &O) {
        let rule = rule_of!(self, op, named op.kernel());
        self.device().attempt(|device| device.changed(&rule));
    }

    pub(super) fn device_filter_changed<O: VertexOp>(&mut self, op: &O) {
        let rule = rule_of!(self, op, named op.kernel());
        self.device().attempt(|device| device.filter(&rule));
    }

    pub(super) fn device_pull<O: GatherOp>(&mut self, op: &O) -> Tally {
        let rule = rule_of!(self, op, O);
        let (part, marks) = (self.part, self.monitor.as_ref().map(|monitor| monitor.marks_on_device()));
        self.device().attempt(|device| device.gather(&rule, part, marks))
    }

    pub(super) fn device_set<T: Value>(&mut self, field: Field<T>, v: LocalId, value: T) {
        let slot = self.fields.slot(field.spec());
        if self.monitor.is_some() && !self.part.is_ghost(v) {
            let before = self.read_bits(slot, v);
            if let Some(monitor) = &mut self.monitor {
                monitor.record_write(slot, v, before, value.to_bits());
            }
        }
        self.write_bits(slot, v, value.to_bits());
    }

    pub(super) fn device_values<T: Value>(&mut self, field: Field<T>, vertices: &[LocalId]) -> Vec<T> {
        let slot = self.fields.slot(field.spec());
        let values = self.device().attempt(|device| device.bits_at(slot, vertices));
        // After an error there are none, and the run is about to end: any value will do.
        (0..vertices.len()).map(|i| T::from_bits(values.get(i).copied().unwrap_or(0))).collect()
    }

    /// Every field in host memory: the live ones, or a copy of those that lie on a device, made in `copy`.
    ///
    /// # Errors
    /// When the device fails.
    pub(crate) fn on_host<'s>(&'s mut self, copy: &'s mut Option<Fields>) -> Result<&'s Fields> {
        let Some(device) = &mut self.device else { return Ok(&self.fields) };
        device.health()?;
        let mut fields = Fields::new(self.fields.specs().to_vec(), self.part.locals())?;
        device.download_fields(&mut fields, self.pool)?;
        Ok(copy.insert(fields))
    }

    /// The bits of one value, wherever it lies.
    pub(crate) fn read_bits(&mut self, slot: usize, v: LocalId) -> u64 {
        match &mut self.device {
            Some(device) => device.attempt(|device| device.bits_at(slot, &[v])).first().copied().unwrap_or(0),
            None => self.fields.column(slot).bits(v),
        }
    }

    /// Puts the bits of one value, wherever it lies.
    pub(crate) fn write_bits(&mut self, slot: usize, v: LocalId, bits: u64) {
        match &mut self.device {
            Some(device) => device.attempt(|device| device.set_bits(slot, v, bits)),
            None => self.fields.column(slot).set_bits(v, bits),
        }
    }

    /// On a device: takes in the summary of the superstep, exchange included. Whether what was consumed is what had joined, and the time
    /// of the copy.
    pub(crate) fn take_summary(&mut self) -> Option<(bool, Duration)> {
        let (device, monitor) = (self.device.as_mut()?, self.monitor.as_mut()?);
        let summary = device.attempt(|device| device.summary().map(Some))?;
        monitor.apply_summary(&summary, self.part);
        Some((summary.is_whole, summary.copy))
    }

    /// The time that scoring and marking took in the update that is just over.
    pub(crate) fn take_marking(&mut self) -> Duration {
        match (&mut self.device, &mut self.monitor) {
            (Some(device), _) => device.take_marking(),
            (None, Some(monitor)) => std::mem::take(&mut monitor.counts.marking),
            (None, None) => Duration::ZERO,
        }
    }

    /// How ghosts travel between devices, if there are any.
    pub(crate) fn carrier(&self) -> Option<&'static str> {
        self.device.as_ref().map(|device| device.carrier())
    }

    /// An update begins: on a device its time counts from here.
    pub(crate) fn begin_update(&mut self) {
        if let Some(device) = &mut self.device {
            device.begin_update();
        }
    }

    /// An update is over: the time the device has worked for it, if there is one.
    ///
    /// # Errors
    /// Whatever failed on the device meanwhile.
    pub(crate) fn end_update(&mut self) -> Result<Option<Duration>> {
        let Some(device) = &mut self.device else { return Ok(None) };
        let took = device.end_update();
        device.health()?;
        Ok(Some(took))
    }
}
