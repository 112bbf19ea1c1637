//! The whole state of a rank between two supersteps, from its device to host memory and back: for certificates, snapshots and
//! checkpoints.
//!
//! Copies run on a stream of their own, which waits for the operators so far by an event, through two pinned buffers: while one is on
//! its way, all threads of the pool empty or fill the other. Nothing waits for the whole device.

use super::driver::Memory;
use super::engine::Engine;
use super::guard_state::sum_of_members;
use super::host_transfer::HostTransfer;
use super::layout::{Report, Slot};
use super::upload::Uploader;
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::base::memory::bytes_of_mut;
use crate::device::{DeviceState, StateTransfer};
use crate::field::{Column, Fields};
use crate::frontier::{DirtySet, FrontierFormat, FrontierSnapshot};
use crate::host::Pool;
use crate::host::access::vertices_of;
use crate::partition::Part;

/// A list of vertices as it lies on the device; what is no vertex of the part is left out.
fn vertices(numbers: &[u32], locals: usize) -> Vec<LocalId> {
    numbers.iter().filter(|&&v| (v as usize) < locals).map(|&v| LocalId::new(v)).collect()
}

/// The owned vertices whose bits are set.
fn owned_bits<'b>(words: &'b [u64], part: &Part) -> impl Iterator<Item = u32> + use<'b> {
    let owned = part.owned();
    let set = words.iter().enumerate().flat_map(|(word, &bits)| vertices_of(word, bits));
    set.filter(move |v| v.index() < owned).map(LocalId::number)
}

impl StateTransfer for Engine {
    fn download_fields(&mut self, fields: &mut Fields, pool: &Pool) -> Result<()> {
        let columns = fields.columns_mut().map(|column| match column {
            Column::U32(buf) => bytes_of_mut(buf),
            Column::F64(buf) => bytes_of_mut(buf),
        });
        let mut transfer = self.begin_transfer()?;
        let done = transfer.bring(pool, self.columns.iter().zip(columns).collect());
        self.transfer = Some(transfer);
        done
    }

    fn save_frontier(&mut self, part: &Part, pool: &Pool, to: &mut FrontierSnapshot) -> Result<bool> {
        let state = self.frontier;
        let words = part.locals().div_ceil(64);
        let is_bits = state.form == FrontierFormat::Bitmap;
        let room = |count: u64, most: usize| vec![0u32; usize::try_from(count).unwrap_or(most).min(most)];
        let mut members = room(if is_bits { 0 } else { state.count }, part.owned());
        let mut activated = room(state.activated.into(), part.owned());
        let mut updated_ghosts = room(state.updated_ghosts.into(), part.ghosts());
        to.bits.clear();
        to.bits.resize(if is_bits { words } else { 0 }, 0);
        to.visited.clear();
        to.visited.resize(words, 0);
        let mut transfer = self.begin_transfer()?;
        let lists = &self.lists;
        let wanted = vec![
            (&lists.queues[state.turn % 2], bytes_of_mut(&mut members)),
            (&lists.activated, bytes_of_mut(&mut activated)),
            (&lists.updated_ghosts, bytes_of_mut(&mut updated_ghosts)),
            (&lists.bits[state.bits_turn % 2], bytes_of_mut(&mut to.bits)),
            (&lists.visited, bytes_of_mut(&mut to.visited)),
        ];
        let done = transfer.bring(pool, wanted);
        self.transfer = Some(transfer);
        done?;
        let is_whole = self.guard.as_ref().is_none_or(|guard| {
            let set = owned_bits(&to.bits, part).chain(members.iter().copied());
            guard.is_at_rest(sum_of_members(set), sum_of_members(activated.iter().copied()))
        });
        // On host threads numbers between the last owned vertex and the next word never join.
        if !part.owned().is_multiple_of(64) {
            to.visited[part.owned() / 64] |= !0 << (part.owned() % 64);
        }
        to.members = vertices(&members, part.owned());
        to.activated = vertices(&activated, part.owned());
        to.updated_ghosts = vertices(&updated_ghosts, part.locals());
        (to.count, to.arcs, to.remaining) = (state.count, state.arcs, state.remaining);
        Ok(is_whole)
    }

    fn restore(&mut self, part: &Part, pool: &Pool, fields: &Fields, from: &FrontierSnapshot) -> Result<()> {
        self.reset(part, pool)?;
        let transfer = self.begin_transfer()?;
        let owned = |list: &[LocalId]| -> Vec<u32> {
            list.iter().filter(|v| v.index() < part.owned()).map(|v| v.number()).collect()
        };
        let (members, activated) = (owned(&from.members), owned(&from.activated));
        let is_ghost = |v: &&LocalId| part.is_ghost(**v) && v.index() < part.locals();
        let updated_ghosts: Vec<u32> = from.updated_ghosts.iter().filter(is_ghost).map(|v| v.number()).collect();
        let words = |words: &[u64], owned_only: bool| -> Vec<u64> {
            let keeps = |word: usize| {
                let left =
                    if owned_only && word < part.ghost_base() as usize / 64 { part.owned() } else { part.locals() };
                let left = left.saturating_sub(64 * word);
                if left >= 64 { !0 } else { !(!0 << left) }
            };
            words.iter().take(part.locals().div_ceil(64)).enumerate().map(|(at, word)| word & keeps(at)).collect()
        };
        let (bits, visited) = (words(&from.bits, true), words(&from.visited, true));
        let lengths =
            [(Slot::QueueA, members.len()), (Slot::Woken, activated.len()), (Slot::Renewed, updated_ghosts.len())];
        let mut report = [0u32; size_of::<Report>() / 4];
        for (slot, length) in lengths {
            report[16 + slot as usize] = length as u32;
        }
        if activated.len() * 4 > self.lists.activated.bytes() {
            // A part without peers has no room for them; those of a run on more ranks are looked at all the same.
            self.lists.activated = Memory::new(&self.context, part.owned() * 4)?;
        }
        let mut uploader = Uploader::new(&self.context, pool)?;
        for (slot, memory) in self.columns.iter().enumerate() {
            match fields.column(slot) {
                Column::U32(buf) => uploader.put(&transfer.stream, memory, buf)?,
                Column::F64(buf) => uploader.put(&transfer.stream, memory, buf)?,
            }
        }
        uploader.put(&transfer.stream, &self.lists.queues[0], &members)?;
        uploader.put(&transfer.stream, &self.lists.activated, &activated)?;
        uploader.put(&transfer.stream, &self.lists.updated_ghosts, &updated_ghosts)?;
        uploader.put(&transfer.stream, &self.lists.bits[0], &bits)?;
        uploader.put(&transfer.stream, &self.lists.visited, &visited)?;
        uploader.put(&transfer.stream, &self.report, &report)?;
        transfer.stream.synchronize()?; // the pinned buffers go
        transfer.lead(&self.compute)?;
        self.transfer = Some(transfer);
        if let Some(guard) = &mut self.guard {
            let set = owned_bits(&bits, part).chain(members.iter().copied());
            guard.holds(sum_of_members(set), sum_of_members(activated.iter().copied()));
        }
        let is_queue = from.bits.is_empty();
        let count = if is_queue {
            members.len() as u64
        } else {
            bits[..part.owned().div_ceil(64)].iter().map(|word| u64::from(word.count_ones())).sum()
        };
        let frontier = &mut self.frontier;
        frontier.form = if is_queue { FrontierFormat::Queue } else { FrontierFormat::Bitmap };
        (frontier.count, frontier.arcs, frontier.remaining) = (count, from.arcs, from.remaining);
        (frontier.activated, frontier.updated_ghosts) = (activated.len() as u32, updated_ghosts.len() as u32);
        frontier.woken_arcs = activated.iter().map(|&v| part.outgoing().degree(LocalId::new(v))).sum();
        Ok(())
    }

    fn reset(&mut self, part: &Part, pool: &Pool) -> Result<()> {
        self.health()?;
        self.graph.renew(&self.context, &self.compute, part, pool)?;
        self.fill_columns()?;
        let lists = &self.lists;
        for memory in lists.bits.iter().chain([&lists.visited, &lists.marks, &self.report]) {
            self.compute.zero(memory)?;
        }
        let frontier = &mut self.frontier;
        (frontier.form, frontier.dirty) = (FrontierFormat::Queue, DirtySet::Frontier);
        (frontier.turn, frontier.bits_turn) = (0, 0);
        (frontier.count, frontier.arcs, frontier.remaining) = (0, 0, part.graph_vertices() as u64);
        (frontier.offers, frontier.activated, frontier.updated_ghosts, frontier.woken_arcs) = (0, 0, 0, 0);
        frontier.candidates = None;
        if let Some(guard) = &mut self.guard {
            guard.forget();
        }
        Ok(())
    }
}

impl Engine {
    /// The stream of leaving state, which waits for the operators so far; to be put back.
    fn begin_transfer(&mut self) -> Result<HostTransfer> {
        let transfer = self.transfer.take().map_or_else(|| HostTransfer::new(&self.context, self.longest()), Ok)?;
        transfer.follow(&self.compute)?;
        Ok(transfer)
    }

    /// Bytes of the largest field.
    pub(super) fn longest(&self) -> usize {
        self.columns.iter().map(Memory::bytes).max().unwrap_or(0)
    }
}
