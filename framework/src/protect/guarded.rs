//! The guard of a protected run: collects summaries, takes snapshots, and goes back to one when all ranks agree that the state is
//! corrupt.
//!
//! Which snapshot: the newest that every rank has, verified and whole, and that is older than the suspected superstep; else the
//! start. A failed certificate names no superstep: first the older slot is restored, then the start. The last permitted try
//! always begins at the start. Everything that decides is agreed on, so all ranks restore alike.

use super::ballot::Ballot;
use super::checker::{Bench, Checker, Summary, Task};
use super::evidence::{Certified, Detection, Detector, NONE};
use super::resume::Placed;
use super::score::Score;
use super::snapshot::Snapshot;
use super::watch::Watch;
use super::{Interval, Protection, Recovery, Seals, agree_on_max};
use crate::algorithm::{GraphAlgorithm, Tally};
use crate::certify::ArcSums;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::fault::{FaultTolerance, Finding, Redundancy, Round, Verdict};
use crate::graph::Ids;
use crate::guard::{Guard, Next};
use crate::partition::Part;
use crate::probe::{Probe, RangeHooks, Stage};
use crate::step::Step;
use crate::timing::Clock;
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
pub struct Setting<'r> {
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
    /// Who is told of its ranges as they happen.
    pub ranges: Option<&'static RangeHooks>,
}

/// Where to go back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Before(u32),
    OlderSlot,
    Start,
}

/// Guards one rank's run.
pub struct Guarded<'r> {
    pub(super) protection: &'r Protection,
    pub(super) bench: Bench<'r>,
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
    pub(super) round: Option<Round>,
    seal: u64,
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

impl<'r> Guarded<'r> {
    /// Installs the watch in the step and starts the checker. Before `init`; collective.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn new<'scope, 'env>(
        setting: &Setting<'r>,
        step: &mut Step<'r>,
        exchange: &mut Exchange<'_>,
        algorithm: &dyn GraphAlgorithm,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<Guarded<'r>>
    where
        'r: 'scope,
    {
        let Setting { protection, part, .. } = *setting;
        let score = Score::new(protection.weights, setting.is_directed, part, exchange.transport())?;
        let into = if part.has_incoming() { part.incoming() } else { part.outgoing() };
        let in_degree = part.owned_vertices().map(|v| into.degree(v)).max().unwrap_or(0);
        let in_degree_max = agree_on_max(exchange.transport(), in_degree)?;
        let mut watch = Watch::new(Arc::clone(&setting.rules), score, protection.budget, &step.fields, part);
        watch.ranges = setting.ranges;
        let once = watch.set_once();
        step.install(watch, setting.is_timed)?;
        exchange.seals = Some(Seals::default());
        let bench = Bench {
            part,
            ids: setting.ids,
            rules: Arc::clone(&setting.rules),
            once,
            started: setting.started,
            is_timed: setting.is_timed,
            ranges: setting.ranges,
            checkpoints: protection.checkpoints.clone(),
        };
        let is_redundant = setting.rules.redundancy() != Redundancy::None;
        Ok(Guarded {
            protection,
            checker: Checker::start(scope, bench.clone())?,
            bench,
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
            seal: 0,
            is_frontier_whole: true,
            summary_copy: Duration::ZERO,
            first_memory: algorithm.memory(),
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
    pub(crate) fn go_on_from(&mut self, placed: &Placed) {
        self.round = placed.round;
    }

    /// The state is in place and the loop about to begin.
    pub fn begin<P: Probe>(&mut self, step: &Step<'_>, clock: &Clock<P>) {
        self.seal = step.frontier.seal();
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
    pub fn distrust_answer(&mut self) -> Next {
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
        if !snapshot.take(step, algorithm.memory(), self.round)? {
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
        algorithm.recall(&self.first_memory);
        step.reset()?;
        self.round = None;
        let start = algorithm.init(step)?;
        step.end_update()?;
        exchange.run_initial(step)?;
        Ok(start)
    }
}

impl Guard for Guarded<'_> {
    type Vote = Ballot;
    const UPDATE: Stage = Stage::ToleranceUpdate;

    fn observe<P: Probe>(
        &mut self,
        algorithm: &dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &mut Clock<P>,
    ) -> Result<()> {
        clock.begin(Stage::Bookkeeping);
        let begin = clock.started().elapsed();
        self.is_frontier_whole = step.frontier.seal() == self.seal;
        if !self.is_frontier_whole {
            step.frontier.clamp(step.part);
        } else {
            let to_disk = self.wants_checkpoint(step);
            if to_disk || self.wants_snapshot(step) {
                self.snapshot(algorithm, step, clock, to_disk)?;
            }
        }
        let end = clock.started().elapsed();
        clock.ended(Stage::Bookkeeping, step.index, begin, end);
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
            (tally, step.watch.as_ref().and_then(|watch| watch.seen.marking))
        })
    }

    fn vote<P: Probe>(&mut self, step: &mut Step<'_>, exchange: &Exchange<'_>, clock: &mut Clock<P>) -> Ballot {
        let begin = clock.latest();
        if let Some((is_whole, copy)) = step.take_summary() {
            clock.begin(Stage::Bookkeeping);
            self.is_frontier_whole &= is_whole;
            self.summary_copy = copy;
            let end = clock.started().elapsed();
            clock.ended(Stage::Bookkeeping, step.index, begin, end);
        }
        let Some(watch) = step.watch.as_deref() else { return Ballot::default() };
        let seen = &watch.seen;
        let is_broken = exchange.seals.as_ref().is_some_and(|seals| seals.broken > 0);
        let is_struck = is_broken || !self.is_frontier_whole || seen.differing + seen.set_twice + seen.below > 0;
        let suspect = self.checker.suspect().min(if is_struck { step.index } else { NONE });
        Ballot {
            suspect: if self.protection.recovery == Recovery::Off { NONE } else { suspect },
            is_due: self.is_snapshot_due(step, clock),
            consumed: step.consumed(),
            largest: seen.largest,
            mass: seen.mass,
        }
    }

    fn judge<P: Probe>(
        &mut self,
        vote: Ballot,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next> {
        let begin = clock.latest();
        let Some(watch) = step.watch.as_deref_mut() else { return Ok(Next::GoOn) };
        clock.begin(Stage::Bookkeeping);
        watch.largest = vote.largest;
        let before = self.round;
        let now = Round {
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
            seen: watch.seen,
            broken: 0,
            is_frontier_whole: self.is_frontier_whole,
            submitted: Duration::ZERO,
        };
        if let Some(seals) = &mut exchange.seals {
            summary.broken = seals.broken;
            if step.part.routes().peers() > 1 {
                self.messages.push((now.index, seals.sent, seals.received));
            }
            seals.turn();
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
        self.seal = step.frontier.seal();
        let end = clock.started().elapsed();
        clock.ended(Stage::Bookkeeping, now.index, begin, end);
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
        clock.begin(Stage::Bookkeeping);
        let begin = clock.started().elapsed();
        self.drain_checker(clock)?;
        self.checker.forget_suspect();
        // Before anything is redone: from damaged arcs it would come out wrong again.
        if self.protection.certify && self.is_graph_damaged(step, exchange)? {
            self.detection.iterations_redone += u64::from(reached);
            let end = clock.started().elapsed();
            clock.ended(Stage::Bookkeeping, iteration, begin, end);
            return Ok(Next::Rebuild);
        }
        let slot = self.agree_on_slot(target, exchange)?;
        let mut start = None;
        match slot {
            Some(place) => {
                self.slots.truncate(place + 1);
                let snapshot = Arc::clone(&self.slots[place].snapshot);
                snapshot.restore(step)?;
                algorithm.recall(&snapshot.memory);
                self.round = snapshot.round;
            }
            None => {
                self.slots.clear();
                start = Some(self.restart(algorithm, step, exchange)?);
            }
        }
        let end = clock.started().elapsed();
        clock.ended(Stage::Bookkeeping, iteration, begin, end);
        if let Some(start) = start {
            (step.total, ()) = clock.stage(Stage::Agree, 0, || exchange.agree(&start, ()))?;
        }
        if let Some(seals) = &mut exchange.seals {
            seals.turn();
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
        clock.begin(Stage::Drain);
        let begin = clock.started().elapsed();
        self.drain_checker(clock)?;
        if !(self.protection.certify && self.bench.rules.certifies()) {
            self.judge_live(algorithm, step)?;
        }
        let end = clock.started().elapsed();
        clock.ended(Stage::Drain, step.index.saturating_sub(1), begin, end);
        for span in self.checker.spans() {
            clock.checked(span.row, span.stage, span.index, span.begin, span.end);
        }
        Ok(())
    }

    fn settle<P: Probe>(
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

impl Guarded<'_> {
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
        if let Verdict::Corrupt(finding) = self.bench.judge_live(step, &algorithm.memory(), older)? {
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
