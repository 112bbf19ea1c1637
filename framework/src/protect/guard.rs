//! The guard of a protected run: collects summaries, takes snapshots, and goes back to one when all ranks agree that the state is
//! corrupt.
//!
//! Which snapshot: the newest that every rank has, verified and whole, and that is older than the suspected superstep; else the
//! start. A failed certificate names no superstep: first the older slot is restored, then the start. The last permitted try
//! always begins at the start. Everything that decides is agreed on, so all ranks restore alike.

use super::checker::{CheckContext, Checker, Summary, Task};
use super::evidence::{Certified, Detection, Detector, NONE};
use super::resume::RestoredState;
use super::snapshot::Snapshot;
use super::vote::ProtectionVote;
use super::{Interval, Protection, Recovery};
use crate::algorithm::GraphAlgorithm;
use crate::base::error::Result;
use crate::base::probe::{Probe, Stage};
use crate::base::tally::Tally;
use crate::base::verdict::{Finding, Verdict};
use crate::driver::clock::Clock;
use crate::driver::guard::{Guard, Next};
use crate::exchange::Exchange;
use crate::exchange::MessageChecksums;
use crate::fault_tolerance::{FaultTolerance, Redundancy, SuperstepTotals};
use crate::graph::Ids;
use crate::partition::ArcSums;
use crate::partition::Part;
use crate::step::Step;
use crate::step::monitor::{OperatorMonitor, Score};
use crate::transport::agree_on_max;
use std::sync::Arc;
use std::thread::Scope;
use std::time::{Duration, Instant};

/// Summaries in a batch.
const BATCH: usize = 64;
/// A batch is handed over after this long, full or not: a thread that wakes on a machine whose cores all work takes one of them from a
/// superstep (k = 16 of urand-20, two threads: 3.4 ms when handed over every millisecond).
const BATCH_AGE: Duration = Duration::from_millis(10);
/// A snapshot is taken when its cost is at most 1 / 100 of the time since the last one.
const RARITY: u32 = 100;
/// Bytes a second at which a first snapshot is expected to be copied and checked; then it is measured.
const EXPECTED_RATE: f64 = 1e9;

/// What a guard is made from.
pub struct GuardConfig<'r> {
    /// How the run is protected.
    pub protection: &'r Protection,
    /// The plugin's rules.
    pub rules: Arc<dyn FaultTolerance>,
    /// The rank's part.
    pub part: &'r Part,
    /// The original IDs.
    pub ids: &'r Ids,
    /// Whether degrees count arcs in and out.
    pub is_directed: bool,
    /// When the trial started.
    pub started: Instant,
    /// Whether to measure the checker.
    pub is_timed: bool,
}

/// Where to go back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Before(u32),
    OlderSlot,
    Start,
}

/// Guards one rank's run.
pub struct ProtectedGuard<'r> {
    pub(super) protection: &'r Protection,
    pub(super) context: CheckContext<'r>,
    pub(super) checker: Checker,
    /// Newest last; at most two.
    slots: Vec<Slot>,
    spare: Option<Snapshot>,
    is_due: bool,
    last_snapshot: Duration,
    snapshot_cost: Option<Duration>,
    batch: Vec<Summary>,
    batch_begun: Duration,
    vertices: u64,
    in_degree_max: u64,
    pub(super) round: Option<SuperstepTotals>,
    checksum: u64,
    is_frontier_whole: bool,
    /// The time of the last copy of a summary from the device, where it is measured.
    summary_copy: Duration,
    /// The memory that the plugin began with.
    first_memory: Vec<u64>,
    pub(super) target: Option<Target>,
    /// Times that the end of the run was refuted.
    pub(super) refusals: u32,
    /// Hashes of messages by superstep begun, since the last post-check.
    pub(super) messages: Vec<(u32, u64, u64)>,
    /// What all ranks know.
    pub(super) detection: Detection,
    /// Whether something was found that nobody undid.
    pub(super) is_alarmed: bool,
    pub(super) has_given_up: bool,
    pub(super) answer_sum: Option<u64>,
    is_rebuilding: bool,
}

struct Slot {
    snapshot: Arc<Snapshot>,
    /// `None` while it is being checked.
    is_sound: Option<bool>,
}

impl<'r> ProtectedGuard<'r> {
    /// Installs the watch in the step and starts the checker. Before `init`; collective.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn new<'scope, 'env>(
        config: &GuardConfig<'r>,
        step: &mut Step<'r>,
        exchange: &mut Exchange<'_>,
        algorithm: &dyn GraphAlgorithm,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<ProtectedGuard<'r>>
    where
        'r: 'scope,
    {
        let GuardConfig { protection, part, .. } = *config;
        let score = Score::new(protection.weights, config.is_directed, part, exchange.transport())?;
        let into = if part.has_incoming() { part.incoming() } else { part.outgoing() };
        let in_degree = part.owned_vertices().map(|v| into.degree(v)).max().unwrap_or(0);
        let in_degree_max = agree_on_max(exchange.transport(), in_degree)?;
        let monitor = OperatorMonitor::new(Arc::clone(&config.rules), score, protection.budget, &step.fields, part);
        let once = monitor.set_once();
        step.install(monitor, config.is_timed)?;
        exchange.checksums = Some(MessageChecksums::default());
        let context = CheckContext {
            part,
            ids: config.ids,
            rules: Arc::clone(&config.rules),
            once,
            started: config.started,
            is_timed: config.is_timed,
            checkpoints: protection.checkpoints.clone(),
        };
        let is_redundant = config.rules.redundancy() != Redundancy::None;
        Ok(ProtectedGuard {
            protection,
            checker: Checker::start(scope, context.clone()),
            context,
            slots: Vec::with_capacity(2),
            spare: None,
            is_due: false,
            last_snapshot: Duration::ZERO,
            snapshot_cost: None,
            batch: Vec::with_capacity(BATCH),
            batch_begun: Duration::ZERO,
            vertices: part.graph_vertices() as u64,
            in_degree_max,
            round: None,
            checksum: 0,
            is_frontier_whole: true,
            summary_copy: Duration::ZERO,
            first_memory: algorithm.save(),
            target: None,
            refusals: 0,
            messages: Vec::new(),
            detection: Detection { is_redundant, ..Detection::default() },
            is_alarmed: false,
            has_given_up: false,
            answer_sum: None,
            is_rebuilding: false,
        })
    }

    /// What was known before the part was cut again.
    pub(crate) fn remember(&mut self, past: Detection) {
        self.detection = past;
    }

    /// Whether the part must be cut again.
    pub(crate) fn is_rebuilding(&self) -> bool {
        self.is_rebuilding
    }

    /// The state of a broken-off run is in place.
    pub(crate) fn resume_from(&mut self, placed: &RestoredState) {
        self.round = placed.round;
    }

    /// The state is in place and the loop about to begin.
    pub fn begin<P: Probe>(&mut self, step: &Step<'_>, clock: &Clock<P>) {
        self.checksum = step.frontier.checksum();
        self.last_snapshot = clock.latest();
    }

    /// What all ranks know of the run, and the sum that the gathered answer must have.
    pub fn into_detection(mut self) -> (Detection, Option<u64>) {
        self.detection.queue_waits += self.checker.waits;
        self.detection.checkpoints += self.checker.written;
        (self.detection, self.answer_sum)
    }

    /// What the certificate said that the answer sums to.
    pub fn answer_sum(&self) -> Option<u64> {
        self.answer_sum
    }

    /// The gathered answer is not the one that was certified: as if the certificate had failed.
    pub fn reject_answer(&mut self) -> Next {
        self.detection.certificate = Certified::Failed;
        self.detection.refuted.get_or_insert_with(|| Finding {
            rule: "the answer handed out is the one that was certified".into(),
            vertex: None,
            evidence: "their sums differ".into(),
        });
        match self.protection.recovery {
            Recovery::Rollback => self.recover(Target::OlderSlot),
            Recovery::Off => Next::GiveUp,
        }
    }

    /// The same, for fault injection.
    pub(crate) fn answer_sum_mut(&mut self) -> Option<&mut u64> {
        self.answer_sum.as_mut()
    }

    /// Hands the batch to the checker.
    pub(super) fn flush<P: Probe>(&mut self, clock: &Clock<P>) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let empty = self.checker.batch();
        let mut batch = std::mem::replace(&mut self.batch, empty);
        self.batch_begun = clock.latest();
        if P::WANTS_CHECKER {
            let now = clock.started().elapsed();
            batch.iter_mut().for_each(|summary| summary.submitted = now);
        }
        self.checker.submit(Task::Rounds(batch))
    }

    /// Waits until everything handed over is judged.
    pub(crate) fn drain_checker<P: Probe>(&mut self, clock: &Clock<P>) -> Result<()> {
        self.flush(clock)?;
        self.checker.drain()?;
        self.take_outcomes();
        Ok(())
    }

    /// Learns what became of snapshots.
    fn take_outcomes(&mut self) {
        for (is_sound, took) in std::mem::take(&mut self.checker.snapshots) {
            if let Some(slot) = self.slots.iter_mut().find(|slot| slot.is_sound.is_none()) {
                slot.is_sound = Some(is_sound);
            }
            self.snapshot_cost = self.snapshot_cost.map(|cost| cost + took);
        }
        // One that is not sound is of no use, and its buffers are wanted.
        if let Some(place) = self.slots.iter().position(|slot| slot.is_sound == Some(false)) {
            let slot = self.slots.remove(place);
            self.spare = self.spare.take().or(Arc::try_unwrap(slot.snapshot).ok());
        }
    }

    fn wants_checkpoint(&self, step: &Step<'_>) -> bool {
        let every = self.protection.checkpoints.as_ref().map(|checkpoints| checkpoints.every);
        step.index > 0 && every.is_some_and(|every| step.index.is_multiple_of(every))
    }

    fn wants_snapshot(&self, step: &Step<'_>) -> bool {
        match self.protection.snapshots {
            _ if step.index == 0 => false,
            Interval::Every(0) => false,
            Interval::Every(every) => step.index.is_multiple_of(every),
            Interval::Measured => self.is_due,
        }
    }

    /// Copies the state into the older slot and has it checked; not while the last one is still being checked, unless it must go to
    /// disk: for that the loop waits, so that ranks stay within one checkpoint of each other.
    fn snapshot<P: Probe>(
        &mut self,
        algorithm: &dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &Clock<P>,
        to_disk: bool,
    ) -> Result<()> {
        self.flush(clock)?;
        if to_disk {
            self.checker.drain()?;
        }
        self.checker.poll()?;
        self.take_outcomes();
        if self.slots.iter().any(|slot| slot.is_sound.is_none()) {
            return Ok(());
        }
        let begin = Instant::now();
        let reused = if self.slots.len() == 2 { Arc::try_unwrap(self.slots.remove(0).snapshot).ok() } else { None };
        let reused = reused.or_else(|| self.spare.take());
        let mut snapshot = reused.map_or_else(|| Snapshot::empty(step), Ok)?;
        if !snapshot.take(step, algorithm.save(), self.round)? {
            (self.is_frontier_whole, self.spare) = (false, Some(snapshot));
            return Ok(());
        }
        let now = Arc::new(snapshot);
        let before = self.slots.last().map(|slot| Arc::clone(&slot.snapshot));
        self.slots.push(Slot { snapshot: Arc::clone(&now), is_sound: None });
        self.checker.submit(Task::Snapshot { now, before, to_disk })?;
        self.snapshot_cost = Some(begin.elapsed());
        self.last_snapshot = clock.latest();
        self.detection.snapshots += 1;
        Ok(())
    }

    /// Says where to go back to, or that no try is left. `target` is agreed on.
    pub(super) fn recover(&mut self, target: Target) -> Next {
        if self.detection.recoveries >= self.protection.attempts {
            self.has_given_up = true;
            return Next::GiveUp;
        }
        self.detection.recoveries += 1;
        let is_last = self.detection.recoveries == self.protection.attempts;
        self.target = Some(if is_last { Target::Start } else { target });
        Next::Redo
    }

    /// The newest sound state before `bound` that all ranks have.
    fn agree_on_slot(&mut self, target: Target, exchange: &mut Exchange<'_>) -> Result<Option<usize>> {
        let bound = match target {
            Target::Start => 0,
            Target::Before(index) => index,
            Target::OlderSlot => NONE,
        };
        let is_usable =
            |slot: &Slot| slot.is_sound == Some(true) && slot.snapshot.index < bound && slot.snapshot.is_whole();
        let mine: Vec<u32> = self.slots.iter().filter(|slot| is_usable(slot)).map(|slot| slot.snapshot.index).collect();
        let transport = exchange.transport();
        let mut all = vec![Vec::new(); transport.ranks()];
        let bytes: Vec<u8> = mine.iter().flat_map(|index| index.to_le_bytes()).collect();
        transport.all_gather(&bytes, &mut all)?;
        let all: Vec<Vec<u32>> = all
            .iter()
            .map(|bytes| bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes"))).collect())
            .collect();
        let common = mine.into_iter().filter(|index| all.iter().all(|theirs| theirs.contains(index)));
        // A failed certificate does not say when it went wrong: the older one comes first.
        let chosen = if target == Target::OlderSlot { common.min() } else { common.max() };
        Ok(chosen.and_then(|index| self.slots.iter().position(|slot| slot.snapshot.index == index)))
    }

    fn restart(
        &mut self,
        algorithm: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<Tally> {
        algorithm.restore(&self.first_memory);
        step.reset()?;
        self.round = None;
        let start = algorithm.init(step)?;
        step.end_update()?;
        exchange.run_initial(step)?;
        Ok(start)
    }
}

impl Guard for ProtectedGuard<'_> {
    type Vote = ProtectionVote;
    const UPDATE: Stage = Stage::ToleranceUpdate;

    fn observe<P: Probe>(
        &mut self,
        algorithm: &dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &mut Clock<P>,
    ) -> Result<()> {
        let begin = clock.started().elapsed();
        self.is_frontier_whole = step.frontier.checksum() == self.checksum;
        if !self.is_frontier_whole {
            step.frontier.drop_invalid(step.part);
        } else {
            let to_disk = self.wants_checkpoint(step);
            if to_disk || self.wants_snapshot(step) {
                self.snapshot(algorithm, step, clock, to_disk)?;
            }
        }
        let end = clock.started().elapsed();
        clock.span(Stage::Bookkeeping, step.index, begin, end);
        Ok(())
    }

    fn update<P: Probe>(
        &mut self,
        algorithm: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Tally> {
        if step.is_on_device() {
            return clock.update(Self::UPDATE, step.index, step, |step| algorithm.superstep(step));
        }
        clock.stage_around(Self::UPDATE, Stage::ScoreAndMark, step.index, || {
            let tally = algorithm.superstep(step);
            (tally, step.monitor.as_ref().and_then(|monitor| monitor.counts.marking))
        })
    }

    fn vote<P: Probe>(&mut self, step: &mut Step<'_>, exchange: &Exchange<'_>, clock: &mut Clock<P>) -> ProtectionVote {
        let begin = clock.latest();
        if let Some((is_whole, copy)) = step.take_summary() {
            self.is_frontier_whole &= is_whole;
            self.summary_copy = copy;
            let end = clock.started().elapsed();
            clock.span(Stage::Bookkeeping, step.index, begin, end);
        }
        let Some(monitor) = step.monitor.as_deref() else { return ProtectionVote::default() };
        let counts = &monitor.counts;
        let is_broken = exchange.checksums.as_ref().is_some_and(|checksums| checksums.broken > 0);
        let is_struck = is_broken || !self.is_frontier_whole || counts.differing + counts.set_twice + counts.below > 0;
        let suspect = self.checker.suspect().min(if is_struck { step.index } else { NONE });
        ProtectionVote {
            suspect: if self.protection.recovery == Recovery::Off { NONE } else { suspect },
            is_due: self.is_snapshot_due(step, clock),
            consumed: step.consumed(),
            largest: counts.largest,
            mass: counts.mass,
        }
    }

    fn judge<P: Probe>(
        &mut self,
        vote: ProtectionVote,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next> {
        let begin = clock.latest();
        let Some(monitor) = step.monitor.as_deref_mut() else { return Ok(Next::GoOn) };
        monitor.largest = vote.largest;
        let before = self.round;
        let now = SuperstepTotals {
            index: step.index - 1,
            vertices: self.vertices,
            in_degree_max: self.in_degree_max,
            consumed: vote.consumed,
            consumed_so_far: before.map_or(0, |before| before.consumed_so_far) + vote.consumed,
            active: step.total.active,
            residual: step.total.residual.value(),
            mass: vote.mass,
        };
        self.round = Some(now);
        let mut summary = Summary {
            row: clock.row(),
            before,
            now,
            counts: monitor.counts,
            broken: 0,
            is_frontier_whole: self.is_frontier_whole,
            submitted: Duration::ZERO,
        };
        if let Some(checksums) = &mut exchange.checksums {
            summary.broken = checksums.broken;
            if step.part.routes().ranks() > 1 {
                self.messages.push((now.index, checksums.sent, checksums.received));
            }
            checksums.reset();
        }
        let copy = std::mem::take(&mut self.summary_copy);
        if copy > Duration::ZERO {
            clock.checked(summary.row, Stage::SummaryCopy, now.index, begin.saturating_sub(copy), begin);
        }
        self.batch.push(summary);
        if self.batch.len() >= BATCH || begin.saturating_sub(self.batch_begun) >= BATCH_AGE || vote.suspect != NONE {
            self.flush(clock)?;
        }
        self.is_due = vote.is_due;
        let next = if vote.suspect == NONE { Next::GoOn } else { self.recover(Target::Before(vote.suspect)) };
        self.checksum = step.frontier.checksum();
        let end = clock.started().elapsed();
        clock.span(Stage::Bookkeeping, now.index, begin, end);
        Ok(next)
    }

    fn restore<P: Probe>(
        &mut self,
        algorithm: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next> {
        let target = self.target.take().unwrap_or(Target::Start);
        let reached = step.index;
        let iteration = reached.saturating_sub(1);
        let begin = clock.started().elapsed();
        self.drain_checker(clock)?;
        self.checker.forget_suspect();
        // Before anything is redone: from damaged arcs it would come out wrong again.
        if self.protection.certify && self.is_graph_damaged(step, exchange)? {
            self.detection.iterations_redone += u64::from(reached);
            let end = clock.started().elapsed();
            clock.span(Stage::Bookkeeping, iteration, begin, end);
            return Ok(Next::Rebuild);
        }
        let slot = self.agree_on_slot(target, exchange)?;
        let mut start = None;
        match slot {
            Some(place) => {
                self.slots.truncate(place + 1);
                let snapshot = Arc::clone(&self.slots[place].snapshot);
                snapshot.restore(step)?;
                algorithm.restore(&snapshot.memory);
                self.round = snapshot.round;
            }
            None => {
                self.slots.clear();
                start = Some(self.restart(algorithm, step, exchange)?);
            }
        }
        let end = clock.started().elapsed();
        clock.span(Stage::Bookkeeping, iteration, begin, end);
        if let Some(start) = start {
            (step.total, ()) = clock.stage(Stage::Agree, 0, || exchange.agree(&start, ()))?;
        }
        if let Some(checksums) = &mut exchange.checksums {
            checksums.reset();
        }
        self.detection.iterations_redone += u64::from(reached.saturating_sub(step.index));
        (self.is_due, self.is_frontier_whole) = (false, true);
        self.begin(step, clock);
        Ok(Next::GoOn)
    }

    fn drain<P: Probe>(
        &mut self,
        algorithm: &dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &mut Clock<P>,
    ) -> Result<()> {
        let begin = clock.started().elapsed();
        self.drain_checker(clock)?;
        if !(self.protection.certify && self.context.rules.certifies()) {
            self.judge_live(algorithm, step)?;
        }
        let end = clock.started().elapsed();
        clock.span(Stage::Drain, step.index.saturating_sub(1), begin, end);
        for span in self.checker.spans() {
            clock.checked(span.row, span.stage, span.index, span.begin, span.end);
        }
        Ok(())
    }

    fn certify_answer<P: Probe>(
        &mut self,
        converged: bool,
        _: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next> {
        self.postcheck(converged, step, exchange, clock)
    }
}

impl ProtectedGuard<'_> {
    /// Whether any rank's arcs are not those that were loaded. What was seen until now is gathered then: this guard ends.
    fn is_graph_damaged(&mut self, step: &Step<'_>, exchange: &mut Exchange<'_>) -> Result<bool> {
        let is_damaged = step.part.is_damaged(step.pool);
        if agree_on_max(exchange.transport(), is_damaged.into())? == 0 {
            return Ok(false);
        }
        self.batch(exchange.transport())?;
        self.detection.refuted.get_or_insert_with(|| Finding {
            rule: ArcSums::RULE.into(),
            vertex: None,
            evidence: "the graph in memory is damaged".into(),
        });
        self.is_rebuilding = true;
        Ok(true)
    }

    /// Judges the last state as a snapshot's is judged: where no certificate does.
    fn judge_live(&mut self, algorithm: &dyn GraphAlgorithm, step: &mut Step<'_>) -> Result<()> {
        let older = self.slots.iter().rev().find(|slot| slot.is_sound == Some(true)).map(|slot| &*slot.snapshot);
        if let Verdict::Corrupt(finding) = self.context.judge_live(step, &algorithm.save(), older)? {
            let suspect = older.map_or(0, |older| older.index) + 1;
            self.checker.found(Detector::Monotonicity, step.index.saturating_sub(1), suspect, finding);
        }
        Ok(())
    }

    /// Whether a snapshot is due before the next superstep, by the first rank's clock.
    fn is_snapshot_due<P: Probe>(&self, step: &Step<'_>, clock: &Clock<P>) -> bool {
        if self.protection.snapshots != Interval::Measured || step.part.rank().index() != 0 {
            return false;
        }
        let expected = || {
            let bytes = Snapshot::bytes(&step.fields, step.part) as f64;
            Duration::from_secs_f64(bytes / EXPECTED_RATE)
        };
        let cost = self.snapshot_cost.unwrap_or_else(expected);
        clock.latest().saturating_sub(self.last_snapshot) >= RARITY * cost
    }
}
