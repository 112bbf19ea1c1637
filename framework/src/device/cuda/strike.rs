//! Where strikes reach a device's memory: members of the frontier as they rest, and the ends of arcs. For fault injection only; what
//! is hit is brought to the host, changed, and put back.

use super::driver::{Memory, Pinned};
use super::engine::Engine;
use crate::error::Result;
use crate::id::LocalId;
use crate::partition::Part;
use crate::step::Form;

impl Engine {
    /// Lets `change` change words of the frontier at rest: members of the queue if it is told so, else bits. With `joined`, the set of
    /// those that have joined.
    pub(crate) fn strike_frontier<R>(
        &mut self,
        joined: bool,
        owned: usize,
        change: impl FnOnce(&mut [u32], bool) -> Option<R>,
    ) -> Result<Option<R>> {
        let frontier = self.frontier;
        let is_queue = !joined && frontier.form == Form::Queue;
        let len = if is_queue { (frontier.count as usize).min(owned) } else { owned.div_ceil(32) };
        let lists = &self.lists;
        let memory = match (joined, is_queue) {
            (true, _) => &lists.joined,
            (_, true) => &lists.queues[frontier.turn % 2],
            _ => &lists.bits[frontier.bits_turn % 2],
        };
        self.change(memory, len, |words| change(words, is_queue))
    }

    /// Lets `change` change the ends of arcs, and says at which place: whose row that is, and its direction.
    pub(crate) fn strike_targets(
        &mut self,
        incoming: bool,
        part: &Part,
        change: impl FnOnce(&mut [u32]) -> Option<usize>,
    ) -> Result<Option<(LocalId, &'static str)>> {
        let (rows, memory, name) = match part.incoming_apart() {
            Some(apart) if incoming => (apart, &self.graph.rows[3], "arcs in"),
            Some(_) => (part.outgoing(), &self.graph.rows[1], "arcs out"),
            None if part.has_incoming() => (part.outgoing(), &self.graph.rows[1], "arcs"),
            None => (part.outgoing(), &self.graph.rows[1], "arcs out"),
        };
        let place = self.change(memory, rows.targets().len(), change)?;
        let row = |place: usize| rows.offsets().partition_point(|&offset| offset <= place as u64) as u32 - 1;
        Ok(place.map(|place| (LocalId::new(row(place)), name)))
    }

    fn change<R>(
        &self,
        memory: &Memory,
        len: usize,
        change: impl FnOnce(&mut [u32]) -> Option<R>,
    ) -> Result<Option<R>> {
        if len == 0 {
            return Ok(None);
        }
        let mut pinned = Pinned::<u32>::new(&self.context, len)?;
        self.compute.download(&mut pinned, memory, 0, len)?;
        self.compute.synchronize()?;
        let changed = change(&mut pinned.values_mut()[..len]);
        self.compute.upload(memory, 0, &pinned, len)?;
        self.compute.synchronize()?;
        Ok(changed)
    }
}
