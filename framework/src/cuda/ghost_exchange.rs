//! What ghost exchange does on the device: listing what changed, gathering its values, merging offers, putting copies.
//!
//! Values cross to the host through pinned buffers on a stream of their own, which waits for the operators before it; messages are then
//! framed and sent as those of the cpu device, so a run sends the same bytes on either.

use super::driver::{Arguments, Event};
use super::engine::Engine;
use super::layout::{Columns, List, Slot};
use super::staging::{SAMPLE, grown};
use crate::base::error::Result;
use crate::base::tally::Tally;
use crate::device::{GhostExchange, Packed};
use crate::frontier::{DirtySet, FrontierFormat};

impl GhostExchange for Engine {
    fn activated(&self) -> Tally {
        Tally { active: self.frontier.activated.into(), arcs: self.frontier.woken_arcs, ..Tally::default() }
    }

    fn replace_dirty(&mut self, dirty: DirtySet) -> DirtySet {
        std::mem::replace(&mut self.frontier.dirty, dirty)
    }

    fn packed_offers(&mut self, slots: &[usize]) -> Result<Packed> {
        let (base, ghosts) = (self.graph.view.ghost_base, self.graph.view.locals - self.graph.view.ghost_base);
        let offers = self.list(&self.lists.offers, Slot::Offers);
        let mut count = self.frontier.offers.min(ghosts);
        if self.frontier.dirty == DirtySet::All {
            count = ghosts;
            self.own("list_range", ghosts.into(), Arguments::default().with(base).with(ghosts).with(offers))?;
        }
        if count == 0 {
            return Ok(Packed::default());
        }
        let values = self.gather_values(offers, count, 0, self.columns_of(slots), true)?;
        Ok(Packed { items: self.items_of(Slot::Offers, count)?, values })
    }

    fn packed_copies(&mut self, slots: &[usize]) -> Result<Packed> {
        let all = self.graph.boundary_len;
        if all == 0 {
            return Ok(Packed::default());
        }
        let listed = self.list(&self.lists.listed, Slot::Listed);
        let boundary = self.graph.boundary.address();
        let mut count = all;
        if self.frontier.dirty == DirtySet::All {
            self.own("list_range", all.into(), Arguments::default().with(0u32).with(all).with(listed))?;
        } else {
            let view = self.frontier_view();
            let marks = self.lists.marks.address();
            self.clear_lists(&[Slot::Listed])?;
            let changed_among = |engine: &mut Engine, bits: u64| {
                let arguments = Arguments::default().with(boundary).with(all).with(bits).with(listed);
                engine.own("list_marked", all.into(), arguments)
            };
            // Woken vertices are not in the frontier yet, and never in it twice.
            self.compute.zero(&self.lists.marks)?;
            if self.frontier.activated > 0 {
                let activated = self.list(&self.lists.activated, Slot::Woken);
                self.own(
                    "set_bits",
                    self.frontier.activated.into(),
                    Arguments::default().with(activated).with(marks).with(self.graph.view.locals),
                )?;
            }
            match self.frontier.form {
                FrontierFormat::Queue => {
                    let arguments = Arguments::default().with(view.queue).with(marks).with(self.graph.view.locals);
                    self.own("set_bits", self.frontier.count, arguments)?;
                }
                FrontierFormat::Bitmap => {
                    let owned = self.graph.view.owned;
                    let words = u64::from(owned.div_ceil(32));
                    self.own("or_bits", words, Arguments::default().with(view.bits).with(owned).with(marks))?;
                }
            }
            changed_among(self, marks)?;
            self.compute.zero(&self.lists.marks)?;
            count = self.read_report()?.length[Slot::Listed as usize];
        }
        if count == 0 {
            return Ok(Packed::default());
        }
        let values = self.gather_values(listed, count, boundary, self.columns_of(slots), false)?;
        Ok(Packed { items: self.items_of(Slot::Listed, count)?, values })
    }

    fn begin_exchange(&mut self) -> Result<()> {
        (self.frontier.activated, self.frontier.woken_arcs, self.frontier.updated_ghosts) = (0, 0, 0);
        self.clear(&[Slot::Woken, Slot::Renewed])
    }

    fn merge(&mut self, slots: &[usize], vertices: &[u32], values: &[u64]) -> Result<()> {
        self.compute.synchronize()?;
        let (numbers, staged) = self.stage(vertices, values)?;
        let count = vertices.len() as u32;
        let arguments = Arguments::default()
            .with(self.graph.view)
            .with(numbers)
            .with(staged)
            .with(count)
            .with(self.columns_of(slots))
            .with(self.lists.marks.address())
            .with(self.list(&self.lists.activated, Slot::Woken))
            .with(self.report_address());
        match self.watch() {
            Some(watch) => self.own("guarded_merge", count.into(), arguments.with(watch)),
            None => self.own("merge", count.into(), arguments),
        }
    }

    fn count_woken(&mut self) -> Result<()> {
        self.compute.zero(&self.lists.marks)?;
        let report = self.read_report()?;
        (self.frontier.activated, self.frontier.woken_arcs) = (report.length[Slot::Woken as usize], report.arcs);
        Ok(())
    }

    fn put(&mut self, slots: &[usize], ghosts: &[u32], values: &[u64], renews: bool) -> Result<()> {
        let columns = self.columns_of(slots);
        self.put_values(ghosts, values, columns, renews)?;
        self.frontier.updated_ghosts += if renews { ghosts.len() as u32 } else { 0 };
        Ok(())
    }

    fn forget_renewed(&mut self) -> Result<()> {
        self.frontier.updated_ghosts = 0;
        self.clear_lists(&[Slot::Renewed])
    }

    fn end_exchange(&mut self) {
        self.frontier.offers = 0;
        self.frontier.dirty = DirtySet::Frontier;
    }
}

impl Engine {
    /// What follows on the stream of copies waits for the operators so far.
    fn copies_follow(&mut self) -> Result<()> {
        if self.staging.order.is_none() {
            self.staging.order = Some(Event::new(&self.context)?);
        }
        let order = self.staging.order.as_ref().expect("just made");
        order.record(&self.compute)?;
        self.copies.wait_for(order)
    }

    /// Puts numbers and values into device memory; the compute stream may use them on return. Their addresses.
    fn stage(&mut self, numbers: &[u32], values: &[u64]) -> Result<(u64, u64)> {
        let to = grown(&mut self.staging.numbers, &self.context, numbers.len().max(1))?;
        to.pinned.values_mut()[..numbers.len()].copy_from_slice(numbers);
        self.copies.upload(&to.device, 0, &to.pinned, numbers.len())?;
        let numbers = to.device.address();
        let to = grown(&mut self.staging.values, &self.context, values.len().max(1))?;
        if !values.is_empty() {
            to.pinned.values_mut()[..values.len()].copy_from_slice(values);
            self.copies.upload(&to.device, 0, &to.pinned, values.len())?;
        }
        self.copies.synchronize()?;
        Ok((numbers, to.device.address()))
    }

    /// Puts values at vertices, slot after slot; if `renews`, they are listed as renewed.
    pub(super) fn put_values(
        &mut self,
        vertices: &[u32],
        values: &[u64],
        columns: Columns,
        renews: bool,
    ) -> Result<()> {
        self.compute.synchronize()?; // the buffers may still be in use
        let (numbers, staged) = self.stage(vertices, values)?;
        let updated_ghosts = self.list(&self.lists.updated_ghosts, Slot::Renewed);
        let count = vertices.len() as u32;
        let arguments = Arguments::default()
            .with(numbers)
            .with(staged)
            .with(count)
            .with(columns)
            .with(u32::from(renews))
            .with(updated_ghosts);
        self.own("put", count.into(), arguments)
    }

    /// The values of one field at vertices.
    pub(super) fn values_at(&mut self, vertices: &[u32], columns: Columns) -> Result<Vec<u64>> {
        let mut values = Vec::with_capacity(vertices.len());
        for some in vertices.chunks(SAMPLE) {
            self.compute.synchronize()?;
            let (numbers, _) = self.stage(some, &[])?;
            let list = List { items: numbers, length: 0, capacity: some.len() as u64 };
            values.extend(self.gather_values(list, some.len() as u32, 0, columns, false)?);
        }
        Ok(values)
    }

    /// Gathers the values of `count` listed vertices and brings them to the host. `among` is the address of vertices that the list
    /// names by place, or 0.
    fn gather_values(
        &mut self,
        list: List,
        count: u32,
        among: u64,
        columns: Columns,
        restarts: bool,
    ) -> Result<Vec<u64>> {
        let total = count as usize * columns.count as usize;
        let address = grown(&mut self.staging.values, &self.context, total.max(1))?.device.address();
        let arguments = Arguments::default()
            .with(list.items)
            .with(count)
            .with(among)
            .with(columns)
            .with(u32::from(restarts))
            .with(address);
        self.own("pack", count.into(), arguments)?;
        self.copies_follow()?;
        let buffer = self.staging.values.as_mut().expect("grown above");
        self.copies.download(&mut buffer.pinned, &buffer.device, 0, total)?;
        self.copies.synchronize()?;
        Ok(buffer.pinned.values()[..total].to_vec())
    }

    /// Brings a list to the host.
    fn items_of(&mut self, which: Slot, count: u32) -> Result<Vec<u32>> {
        grown(&mut self.staging.numbers, &self.context, count.max(1) as usize)?;
        self.copies_follow()?;
        let memory = if which == Slot::Offers { &self.lists.offers } else { &self.lists.listed };
        let buffer = self.staging.numbers.as_mut().expect("grown above");
        self.copies.download(&mut buffer.pinned, memory, 0, count as usize)?;
        self.copies.synchronize()?;
        Ok(buffer.pinned.values()[..count as usize].to_vec())
    }
}
