//! Ghost exchange between devices of one process: the ranks only meet here, so that what one waits for has been
//! said by the other. No value comes to the host.

use super::{Exchange, slots};
use crate::base::error::Result;
use crate::base::tally::Tally;
use crate::device::{Device, MessageKind};
use crate::frontier::DirtySet;
use crate::step::Step;

impl Exchange<'_> {
    /// [`Exchange::run`].
    pub(super) fn run_directly(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        let offering = slots(&step.fields, |share| share.offers().is_some());
        let copying = slots(&step.fields, |share| share.copies());
        self.connect(step)?;
        device(step).begin_direct()?;
        if !offering.is_empty() {
            self.round(step, MessageKind::Offers, &offering)?;
        }
        if !copying.is_empty() {
            self.round(step, MessageKind::Copies, &copying)?;
        }
        device(step).end_exchange();
        self.end_directly(step)?;
        Ok(device(step).activated())
    }

    /// [`Exchange::run_initial`].
    pub(super) fn run_initial_directly(&mut self, step: &mut Step<'_>, copying: &[usize]) -> Result<()> {
        self.connect(step)?;
        device(step).begin_direct()?;
        let dirty = device(step).replace_dirty(DirtySet::All);
        self.round(step, MessageKind::Copies, copying)?;
        device(step).replace_dirty(dirty);
        device(step).forget_renewed_directly()?;
        if dirty == DirtySet::Frontier {
            // Ghosts of vertices that start in the frontier must know that they are in it.
            self.round(step, MessageKind::Copies, copying)?;
        }
        self.end_directly(step)
    }

    fn round(&mut self, step: &mut Step<'_>, kind: MessageKind, slots: &[usize]) -> Result<()> {
        device(step).send(kind, slots)?;
        self.barrier()?;
        device(step).receive(kind, slots)
    }

    fn end_directly(&mut self, step: &mut Step<'_>) -> Result<()> {
        let sent = device(step).end_direct()?;
        self.bytes_sent += sent.bytes;
        self.messages_sent += sent.messages;
        self.device_time = Some(sent.took);
        Ok(())
    }

    /// Once in a run: before it every rank has made its boxes, after it every rank has found those of all.
    pub(super) fn connect(&mut self, step: &mut Step<'_>) -> Result<()> {
        if device(step).is_connected() {
            return Ok(());
        }
        self.barrier()?;
        let part = step.part;
        device(step).connect(part)?;
        self.barrier()
    }

    fn barrier(&mut self) -> Result<()> {
        self.transport.all_gather(&[], &mut self.incoming)
    }
}

fn device<'s>(step: &'s mut Step<'_>) -> &'s mut dyn Device {
    step.device.as_deref_mut().expect("a step on a device")
}
