//! The guard of a protected run, superstep by superstep: it collects summaries for the checker, takes snapshots when they are due, and
//! says that the run must go back when all ranks agree that the state is corrupt (`recovery` does it, `restore_points` knows where to).

use super::checker::{CheckContext, Checker, Summary, Task};
use super::evidence::{Certified, Detection, Detector, NONE};
use super::restore_points::{RestorePoints, Taken, Target};
use super::resume::RestoredState;
use super::vote::ProtectionVote;
use super::{Protection, Recovery};
use crate::algorithm::GraphAlgorithm;
use crate::base::error::Result;
use crate::base::probe::{Probe, RangeHooks, Stage};
use crate::base::verdict::{Finding, Verdict};
use crate::driver::clock::Clock;
use crate::driver::guard::{Guard, Next};
use crate::exchange::Exchange;
use crate::exchange::MessageChecksums;
use crate::fault_tolerance::{FaultTolerance, SuperstepTotals};
use crate::graph::Ids;
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
    /// Who is told of its ranges as they happen.
    pub ranges: Option<&'static RangeHooks>,
}

/// Guards one rank's run.
pub struct ProtectedGuard<'r> {
    pub(super) protection: &'r Protection,
    pub(super) context: CheckContext<'r>,
    pub(super) checker: Checker,
    pub(super) points: RestorePoints,
    batch: Vec<Summary>,
    batch_begun: Duration,
    vertices: u64,
    in_degree_max: u64,
    pub(super) round: Option<SuperstepTotals>,
    checksum: u64,
    pub(super) is_frontier_whole: bool,
    /// The time of the last copy of a summary from the device, where it is measured.
    summary_copy: Duration,
    /// The memory that the plugin began with.
    pub(super) first_memory: Vec<u64>,
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
    pub(super) is_rebuilding: bool,
}

impl<'r> ProtectedGuard<'r> {
    /// Installs the operator monitor in the step and starts the checker. Before `init`; collective.
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
        let (rules, budget) = (Arc::clone(&config.rules), protection.budget);
        let mut monitor = OperatorMonitor::new(rules, score, budget, &step.fields, part, step.pool);
        monitor.ranges = config.ranges;
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
            ranges: config.ranges,
            checkpoints: protection.checkpoints.clone(),
        };
        let redundancy = config.rules.redundancy();
        Ok(ProtectedGuard {
            protection,
            checker: Checker::start(scope, context.clone())?,
            context,
            points: RestorePoints::new(protection.snapshots),
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
            detection: Detection { redundancy, ..Detection::default() },
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
        self.points.begin(clock.latest());
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
        let batch = std::mem::replace(&mut self.batch, empty);
        self.batch_begun = clock.latest();
        self.checker.submit(Task::Rounds(batch))
    }

    /// Waits until everything handed over is judged.
    pub(crate) fn drain_checker<P: Probe>(&mut self, clock: &Clock<P>) -> Result<()> {
        self.flush(clock)?;
        self.checker.drain()?;
        self.points.learn(std::mem::take(&mut self.checker.snapshots));
        Ok(())
    }

    fn wants_checkpoint(&self, step: &Step<'_>) -> bool {
        let every = self.protection.checkpoints.as_ref().map(|checkpoints| checkpoints.every);
        step.index > 0 && every.is_some_and(|every| step.index.is_multiple_of(every))
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
        self.points.learn(std::mem::take(&mut self.checker.snapshots));
        match self.points.take(step, algorithm.save(), self.round, clock.latest())? {
            Taken::Snapshot { now, before } => {
                self.checker.submit(Task::Snapshot { now, before, to_disk })?;
                self.detection.snapshots += 1;
            }
            Taken::FrontierChanged => self.is_frontier_whole = false,
            Taken::None => {}
        }
        Ok(())
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
        clock.begin(Stage::Bookkeeping);
        let begin = clock.started().elapsed();
        self.is_frontier_whole = step.frontier.checksum() == self.checksum;
        if !self.is_frontier_whole {
            step.frontier.drop_invalid(step.part);
        } else {
            let to_disk = self.wants_checkpoint(step);
            if to_disk || self.points.wants(step.index) {
                self.snapshot(algorithm, step, clock, to_disk)?;
            }
        }
        let end = clock.started().elapsed();
        clock.ended(Stage::Bookkeeping, step.index, begin, end);
        Ok(())
    }

    fn vote<P: Probe>(&mut self, step: &mut Step<'_>, exchange: &Exchange<'_>, clock: &mut Clock<P>) -> ProtectionVote {
        let begin = clock.latest();
        if let Some((is_whole, copy)) = step.take_summary() {
            clock.begin(Stage::Bookkeeping);
            self.is_frontier_whole &= is_whole;
            self.summary_copy = copy;
            let end = clock.started().elapsed();
            clock.ended(Stage::Bookkeeping, step.index, begin, end);
        }
        let Some(monitor) = step.monitor.as_deref() else { return ProtectionVote::default() };
        let counts = &monitor.counts;
        let is_broken = exchange.checksums.as_ref().is_some_and(|checksums| checksums.broken > 0);
        let is_suspicious =
            is_broken || !self.is_frontier_whole || counts.differing + counts.set_twice + counts.below > 0;
        let suspect = self.checker.suspect().min(if is_suspicious { step.index } else { NONE });
        ProtectionVote {
            suspect: if self.protection.recovery == Recovery::Off { NONE } else { suspect },
            is_due: self.points.is_due_now(step, clock.latest()),
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
        clock.begin(Stage::Bookkeeping);
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
            ended: begin,
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
        self.points.set_due(vote.is_due);
        let next = if vote.suspect == NONE { Next::GoOn } else { self.recover(Target::Before(vote.suspect)) };
        self.checksum = step.frontier.checksum();
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
        self.go_back(algorithm, step, exchange, clock)
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
        if !(self.protection.certify && self.context.rules.certifies()) {
            self.judge_live(algorithm, step)?;
        }
        let end = clock.started().elapsed();
        clock.ended(Stage::Drain, step.index.saturating_sub(1), begin, end);
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
    /// Judges the last state as a snapshot's is judged: where no certificate does.
    fn judge_live(&mut self, algorithm: &dyn GraphAlgorithm, step: &mut Step<'_>) -> Result<()> {
        let older = self.points.newest_sound();
        if let Verdict::Corrupt(finding) = self.context.judge_live(step, &algorithm.save(), older)? {
            let suspect = older.map_or(0, |older| older.index) + 1;
            self.checker.found(Detector::Monotonicity, step.index.saturating_sub(1), suspect, finding);
        }
        Ok(())
    }
}
