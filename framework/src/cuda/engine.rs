//! One rank's state on its device: the part, the fields, the frontier, and the little that the host must know of them.

use super::compile::FRAMEWORK;
use super::driver::{Arguments, Context, Event, Function, Memory, Module, Pinned, Stream};
use super::gpus::{Ghosts, Gpus};
use super::guard_state::DeviceGuard;
use super::host_transfer::HostTransfer;
use super::layout::{BLOCK, Call, Columns, FrontierView, List, PIECE_BYTES, REPORT_BYTES, Report, Slot};
use super::long_rows::{LongRowsOfPart, LongRowsOnDevice};
use super::messages::{PeerMessages, Sizes};
use super::part::{GraphOnDevice, Plan};
use super::staging::Staging;
use crate::base::error::{Error, Result};
use crate::base::id::LocalId;
use crate::base::tally::Tally;
use crate::device::DeviceState;
use crate::field::{FieldSpec, Kind};
use crate::frontier::{DirtySet, FrontierFormat};
use crate::host::Pool;
use crate::partition::Part;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Blocks that a multiprocessor holds at once, at 32 registers a thread.
const BLOCKS_EACH: u32 = 8;

/// The device side of a [`Step`](crate::step::Step). Fields of it are dropped in order: the modules and streams last.
pub(super) struct Engine {
    pub(super) graph: GraphOnDevice,
    pub(super) columns: Vec<Memory>,
    pub(super) specs: Vec<FieldSpec>,
    pub(super) lists: Lists,
    pub(super) frontier: FrontierState,
    pub(super) long_rows: Option<LongRowsOnDevice>,
    pub(super) staging: Staging,
    pub(super) transfer: Option<HostTransfer>,
    pub(super) guard: Option<Box<DeviceGuard>>,
    /// Exchange between devices; without it, ghosts travel over the transport.
    pub(super) messages: Option<PeerMessages>,
    pub(super) report: Memory,
    pub(super) seen: Pinned<u64>,
    events: [Event; 2],
    is_measured: bool,
    is_timing: bool,
    device_time: Duration,
    functions: HashMap<String, Function>,
    plugin: Module,
    own: Module,
    /// Launches of operators.
    pub(super) compute: Stream,
    /// Ghost exchange between devices.
    pub(super) exchange: Stream,
    /// Copies from and to the host, which wait for what they need of `compute`.
    pub(super) copies: Stream,
    pub(super) context: Arc<Context>,
    failed: Option<Error>,
}

/// Lists and sets of vertices in device memory.
pub(super) struct Lists {
    pub(super) queues: [Memory; 2],
    pub(super) offers: Memory,
    pub(super) activated: Memory,
    pub(super) updated_ghosts: Memory,
    pub(super) listed: Memory,
    pub(super) candidates: Option<[Memory; 2]>,
    pub(super) bits: [Memory; 2],
    pub(super) visited: Memory,
    pub(super) marks: Memory,
    pub(super) pieces: Memory,
}

/// What the host knows of the frontier.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrontierState {
    pub(crate) form: FrontierFormat,
    /// Which queue, and which bits, hold it.
    pub(super) turn: usize,
    pub(super) bits_turn: usize,
    /// Owned vertices in it; an upper bound after `filter_changed`.
    pub(crate) count: u64,
    pub(crate) arcs: u64,
    /// Vertices of any rank that have not been in the frontier.
    pub(crate) remaining: u64,
    pub(crate) dirty: DirtySet,
    pub(crate) offers: u32,
    pub(crate) activated: u32,
    pub(crate) woken_arcs: u64,
    pub(crate) updated_ghosts: u32,
    /// Candidates of the next selection, once there was one.
    pub(super) candidates: Option<u32>,
    pub(super) candidates_turn: usize,
}

impl DeviceState for Engine {
    fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    fn fail(&mut self, error: Error) {
        self.failed = Some(error);
    }

    fn health(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn begin_update(&mut self) {
        self.is_measured = true;
    }

    fn end_update(&mut self) -> Duration {
        self.attempt(Engine::stop_timing);
        self.is_measured = false;
        std::mem::take(&mut self.device_time)
    }

    fn mark_all_dirty(&mut self) {
        self.frontier.dirty = DirtySet::All;
    }

    fn frontier_tally(&self) -> Tally {
        Tally { active: self.frontier.count, arcs: self.frontier.arcs, ..Tally::default() }
    }

    fn field_bytes(&self) -> usize {
        self.columns.iter().map(Memory::bytes).sum()
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.columns.swap(a, b);
    }

    fn raw(&mut self, slot: usize, len: usize) -> Result<Vec<u8>> {
        let bytes = len * self.specs[slot].kind.bytes();
        let mut pinned = Pinned::<u8>::new(&self.context, bytes)?;
        self.compute.download(&mut pinned, &self.columns[slot], 0, bytes)?;
        self.compute.synchronize()?;
        Ok(pinned.values()[..bytes].to_vec())
    }

    fn set_bits(&mut self, slot: usize, v: LocalId, bits: u64) -> Result<()> {
        let columns = self.columns_of(&[slot]);
        self.put_values(&[v.number()], &[bits], columns, false)
    }

    fn bits_at(&mut self, slot: usize, vertices: &[LocalId]) -> Result<Vec<u64>> {
        let numbers: Vec<u32> = vertices.iter().map(|v| v.number()).collect();
        let columns = self.columns_of(&[slot]);
        self.values_at(&numbers, columns)
    }

    fn activate(&mut self, v: LocalId, degree: u64) -> Result<()> {
        let arguments = Arguments::default().with(self.frontier_view()).with(v.number());
        self.own("activate", 1, arguments)?;
        self.note_active(v);
        self.frontier.count += 1;
        self.frontier.arcs += degree;
        Ok(())
    }
}

impl Engine {
    /// Opens the rank's device, loads the kernels, allocates, and uploads the part. Fields get their initial values. `guarded` says of a
    /// protected run whether updates are done again, which takes room.
    ///
    /// # Errors
    /// When the device, its memory or the kernels fail.
    pub(super) fn new(
        gpus: &Gpus,
        part: &Part,
        pool: &Pool,
        specs: &[FieldSpec],
        ghosts: Ghosts,
        guarded: Option<bool>,
    ) -> Result<Engine> {
        let context = gpus.context(part.rank())?;
        context.make_current()?;
        let own = Module::load(&context, &gpus.image(&FRAMEWORK, &context.info)?)?;
        let plugin = Module::load(&context, &gpus.image(&gpus.kernels, &context.info)?)?;
        let reaches = match ghosts {
            Ghosts::ByDevice => gpus.reaches(&context, part)?,
            Ghosts::ByTransport => None,
        };
        let plan = Plan::of(part, specs, &gpus.kernels, reaches.as_deref(), guarded);
        plan.check(&context)?;
        let compute = Stream::new(&context)?;
        let graph = GraphOnDevice::upload(&context, &compute, part, pool, &plan)?;
        let take = |bytes: usize| Memory::new(&context, bytes);
        let clear = |bytes: usize| -> Result<Memory> {
            let memory = Memory::new(&context, bytes)?;
            compute.zero(&memory)?;
            Ok(memory)
        };
        let lists = Lists {
            queues: [take(plan.owned * 4)?, take(plan.owned * 4)?],
            offers: take(plan.ghosts * 4)?,
            activated: take(plan.activated * 4)?,
            updated_ghosts: take(plan.ghosts * 4)?,
            listed: take(plan.listed * 4)?,
            candidates: match plan.candidates {
                None => None,
                Some(vertices) => Some([take(vertices * 4)?, take(vertices * 4)?]),
            },
            bits: [clear(plan.bits)?, clear(plan.bits)?],
            visited: clear(plan.bits)?,
            marks: clear(plan.bits)?,
            pieces: take(plan.pieces * PIECE_BYTES)?,
        };
        let columns = specs.iter().map(|spec| take(spec.kind.bytes() * plan.locals)).collect::<Result<Vec<_>>>()?;
        let report = clear(REPORT_BYTES)?;
        let messages = match reaches {
            Some(reaches) => Some(PeerMessages::new(&context, &gpus.board, part, Sizes::of(part, specs), reaches)?),
            None => None,
        };
        let frontier = FrontierState {
            form: FrontierFormat::Queue,
            turn: 0,
            bits_turn: 0,
            count: 0,
            arcs: 0,
            remaining: part.graph_vertices() as u64,
            dirty: DirtySet::Frontier,
            offers: 0,
            activated: 0,
            woken_arcs: 0,
            updated_ghosts: 0,
            candidates: None,
            candidates_turn: 0,
        };
        let mut engine = Engine {
            graph,
            columns,
            specs: specs.to_vec(),
            lists,
            frontier,
            long_rows: None,
            staging: Staging::new(&context, part, specs, messages.is_some())?,
            messages,
            report,
            transfer: None,
            guard: None,
            seen: Pinned::new(&context, REPORT_BYTES / 8)?,
            events: [Event::new(&context)?, Event::new(&context)?],
            is_measured: false,
            is_timing: false,
            device_time: Duration::ZERO,
            functions: HashMap::new(),
            plugin,
            own,
            exchange: Stream::new(&context)?,
            copies: Stream::new(&context)?,
            compute,
            context,
            failed: None,
        };
        engine.fill_columns()?;
        if plan.gathers {
            engine.long_rows =
                Some(LongRowsOnDevice::upload(&engine.context, &engine.compute, &LongRowsOfPart::of(part))?);
        }
        engine.compute.synchronize()?;
        Ok(engine)
    }

    pub(super) fn fill_columns(&mut self) -> Result<()> {
        for slot in 0..self.specs.len() {
            let (spec, memory) = (self.specs[slot], self.columns[slot].address());
            let count = self.graph.view.locals as u64;
            let arguments = Arguments::default().with(memory).with(count);
            match (spec.initial_bits(), spec.kind) {
                (0, _) => self.compute.zero(&self.columns[slot])?,
                (bits, Kind::U32) => self.own("fill_u32", count, arguments.with(bits as u32))?,
                (bits, Kind::F64) => self.own("fill_u64", count, arguments.with(bits))?,
            }
        }
        Ok(())
    }

    /// Runs `work` unless something has failed before, and keeps the error if it fails.
    fn attempt<R: Default>(&mut self, work: impl FnOnce(&mut Engine) -> Result<R>) -> R {
        if self.failed.is_some() {
            return R::default();
        }
        work(self).unwrap_or_else(|error| {
            self.failed = Some(error);
            R::default()
        })
    }

    /// Blocks for so many items, one a thread, within what the device holds at once.
    fn blocks(&self, items: u64) -> u32 {
        items.div_ceil(BLOCK.into()).clamp(1, u64::from(self.context.info.multiprocessors * BLOCKS_EACH)) as u32
    }

    /// Launches one of the framework's kernels over so many items.
    pub(super) fn own(&mut self, name: &str, items: u64, arguments: Arguments) -> Result<()> {
        self.launch(&format!("framework_{name}"), true, items, arguments)
    }

    /// Launches a kernel of the plugin's rule over so many items.
    pub(super) fn of_rule(&mut self, rule: &str, operator: &str, items: u64, arguments: Arguments) -> Result<()> {
        self.launch(&format!("{rule}_{operator}"), false, items, arguments)
    }

    /// Launches one of the framework's kernels in the stream of the exchange.
    pub(super) fn in_exchange(&mut self, name: &str, items: u64, mut arguments: Arguments) -> Result<()> {
        let name = format!("framework_{name}");
        self.know(&name, true)?;
        self.exchange.launch(&self.functions[&name], self.blocks(items), BLOCK, &mut arguments)
    }

    fn know(&mut self, name: &str, is_own: bool) -> Result<()> {
        if !self.functions.contains_key(name) {
            let module = if is_own { &self.own } else { &self.plugin };
            self.functions.insert(name.to_owned(), module.function(name)?);
        }
        Ok(())
    }

    fn launch(&mut self, name: &str, is_own: bool, items: u64, mut arguments: Arguments) -> Result<()> {
        self.know(name, is_own)?;
        self.start_timing()?;
        self.compute.launch(&self.functions[name], self.blocks(items), BLOCK, &mut arguments)
    }

    /// Clears the tally, and the lengths of some lists, before an operator.
    pub(super) fn clear(&mut self, slots: &[Slot]) -> Result<()> {
        let lengths = slots.iter().fold(0, |bits, slot| bits | slot.bit());
        let arguments = Arguments::default().with(self.report.address()).with(1u32).with(lengths);
        self.own("clear", 1, arguments)
    }

    /// Clears lengths but not the tally.
    pub(super) fn clear_lists(&mut self, slots: &[Slot]) -> Result<()> {
        let lengths = slots.iter().fold(0, |bits, slot| bits | slot.bit());
        let arguments = Arguments::default().with(self.report.address()).with(0u32).with(lengths);
        self.own("clear", 1, arguments)
    }

    /// Waits for the operators so far and reads what they added up: the one small copy of a superstep.
    pub(super) fn read_report(&mut self) -> Result<Report> {
        self.compute.download(&mut self.seen, &self.report, 0, size_of::<Report>() / 8)?;
        if self.is_timing {
            self.stop_timing()?;
        } else {
            self.compute.synchronize()?;
        }
        Ok(self.seen_report())
    }

    /// Copies the report, and what the exchange has sent, in the stream of the exchange.
    pub(super) fn see_exchange(&mut self) -> Result<()> {
        self.exchange.download(&mut self.seen, &self.report, 0, REPORT_BYTES / 8)
    }

    /// The report as it was copied last.
    pub(super) fn seen_report(&self) -> Report {
        let words = self.seen.values();
        let mut report = Report {
            active: words[0],
            arcs: words[1],
            residual: [words[2], words[3]],
            carry: [words[4], words[5]],
            least_inverted: words[6],
            consumed: words[7],
            length: [0; 12],
        };
        for (place, length) in report.length.iter_mut().enumerate() {
            *length = (words[8 + place / 2] >> (place % 2 * 32)) as u32;
        }
        report
    }

    /// Whether the plugin has a kernel for a rule and an operator.
    pub(super) fn has_kernel(&mut self, rule: &str, operator: &str) -> Result<bool> {
        let name = format!("{rule}_{operator}");
        if self.functions.contains_key(&name) {
            return Ok(true);
        }
        let found = self.plugin.find(&name)?;
        let is_there = found.is_some();
        self.functions.extend(found.map(|function| (name, function)));
        Ok(is_there)
    }

    pub(super) fn start_timing(&mut self) -> Result<()> {
        if self.is_measured && !self.is_timing {
            self.events[0].record(&self.compute)?;
            self.is_timing = true;
        }
        Ok(())
    }

    fn stop_timing(&mut self) -> Result<()> {
        if self.is_timing {
            self.is_timing = false;
            self.events[1].record(&self.compute)?;
            self.events[1].synchronize()?;
            self.device_time += Duration::from_secs_f64(self.events[1].seconds_since(&self.events[0])?.max(0.0));
        }
        Ok(())
    }

    pub(super) fn length_of(&self, slot: Slot) -> u64 {
        self.report.address() + 64 + 4 * slot as u64
    }

    pub(super) fn list(&self, memory: &Memory, slot: Slot) -> List {
        List { items: memory.address(), length: self.length_of(slot), capacity: memory.bytes() as u64 / 4 }
    }

    pub(super) fn queue_slot(&self, ahead: usize) -> Slot {
        if (self.frontier.turn + ahead).is_multiple_of(2) { Slot::QueueA } else { Slot::QueueB }
    }

    pub(super) fn queue(&self, ahead: usize) -> List {
        self.list(&self.lists.queues[(self.frontier.turn + ahead) % 2], self.queue_slot(ahead))
    }

    pub(super) fn frontier_view(&self) -> FrontierView {
        let bits = |ahead: usize| self.lists.bits[(self.frontier.bits_turn + ahead) % 2].address();
        FrontierView {
            queue: self.queue(0),
            next: self.queue(1),
            offers: self.list(&self.lists.offers, Slot::Offers),
            bits: bits(0),
            next_bits: bits(1),
            visited: self.lists.visited.address(),
            pieces: self.lists.pieces.address(),
            pieces_length: self.length_of(Slot::Pieces),
            pieces_capacity: (self.lists.pieces.bytes() / PIECE_BYTES) as u64,
            report: self.report.address(),
        }
    }

    pub(super) fn report_address(&self) -> u64 {
        self.report.address()
    }

    /// The call of a rule that binds these fields and has these numbers.
    pub(super) fn call(&self, slots: &[usize], scalars: &[u64]) -> Call {
        let mut call = Call { part: self.graph.view, ..Call::default() };
        for (word, &slot) in call.field.iter_mut().zip(slots) {
            *word = self.columns[slot].address();
        }
        for (word, &scalar) in call.scalar.iter_mut().zip(scalars) {
            *word = scalar;
        }
        call
    }

    /// The columns of some fields, as exchange carries them.
    pub(super) fn columns_of(&self, slots: &[usize]) -> Columns {
        let mut columns = Columns { count: slots.len() as u32, ..Columns::default() };
        for (place, &slot) in slots.iter().enumerate() {
            columns.address[place] = self.columns[slot].address();
            columns.kind[place] = u32::from(self.specs[slot].kind == Kind::F64);
            columns.merge[place] = self.specs[slot].share.offers().map_or(0, |merge| match merge {
                crate::field::Merge::Min => 1,
                crate::field::Merge::Add => 2,
            });
        }
        columns
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Work under way may use what is freed now. A lost device answers with an error, and nothing is under way then.
        let _ = self.compute.synchronize();
        let _ = self.exchange.synchronize();
        let _ = self.copies.synchronize();
        if let Some(transfer) = &self.transfer {
            let _ = transfer.stream.synchronize();
        }
    }
}
