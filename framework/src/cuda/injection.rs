//! Where injected faults reach a device's memory: members of the frontier between two supersteps, the ends of arcs, words of the summary.

use super::driver::{Memory, Pinned};
use super::engine::Engine;
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::device::InjectionSites;
use crate::frontier::FrontierFormat;
use crate::partition::Part;

impl InjectionSites for Engine {
    fn inject_into_frontier(
        &mut self,
        visited: bool,
        owned: usize,
        change: &mut dyn FnMut(&mut [u32], bool),
    ) -> Result<()> {
        let frontier = self.frontier;
        let is_queue = !visited && frontier.form == FrontierFormat::Queue;
        let len = if is_queue { (frontier.count as usize).min(owned) } else { owned.div_ceil(32) };
        let lists = &self.lists;
        let memory = match (visited, is_queue) {
            (true, _) => &lists.visited,
            (_, true) => &lists.queues[frontier.turn % 2],
            _ => &lists.bits[frontier.bits_turn % 2],
        };
        self.change(memory, len, |words| change(words, is_queue)).map(|_| ())
    }

    fn inject_into_targets(
        &mut self,
        incoming: bool,
        part: &Part,
        change: &mut dyn FnMut(&mut [u32]) -> Option<usize>,
    ) -> Result<Option<(LocalId, &'static str)>> {
        let (rows, memory, name) = match part.incoming_apart() {
            Some(apart) if incoming => (apart, &self.graph.rows[3], "arcs in"),
            Some(_) => (part.outgoing(), &self.graph.rows[1], "arcs out"),
            None if part.has_incoming() => (part.outgoing(), &self.graph.rows[1], "arcs"),
            None => (part.outgoing(), &self.graph.rows[1], "arcs out"),
        };
        let place = self.change(memory, rows.targets().len(), change)?.flatten();
        let row = |place: usize| rows.offsets().partition_point(|&offset| offset <= place as u64) as u32 - 1;
        Ok(place.map(|place| (LocalId::new(row(place)), name)))
    }

    fn inject_into_summary(&mut self, place: usize, change: &mut dyn FnMut(u64) -> u64) -> Result<()> {
        let new = change(self.copied_summary()?[place]);
        let (Some(guard), Some(transfer)) = (&mut self.guard, &self.transfer) else { return Ok(()) };
        guard.seen.values_mut()[0] = new;
        transfer.stream.upload(&guard.summary, place * 8, &guard.seen, 1)?;
        transfer.stream.synchronize()
    }
}

impl Engine {
    /// What `change` says of words that it changed; none if there are none.
    fn change<R>(&self, memory: &Memory, len: usize, change: impl FnOnce(&mut [u32]) -> R) -> Result<Option<R>> {
        if len == 0 {
            return Ok(None);
        }
        let mut pinned = Pinned::<u32>::new(&self.context, len)?;
        self.compute.download(&mut pinned, memory, 0, len)?;
        self.compute.synchronize()?;
        let said = change(&mut pinned.values_mut()[..len]);
        self.compute.upload(memory, 0, &pinned, len)?;
        self.compute.synchronize()?;
        Ok(Some(said))
    }
}
