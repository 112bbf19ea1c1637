//! The checker: one thread a rank that judges summaries and snapshots while the loop goes on.
//!
//! Summaries come in batches through a bounded queue: waking a thread costs microseconds, which a superstep of ten cannot pay each
//! time. The loop waits only when the queue is full (counted) and when it drains the checker at the end or before a restore. A
//! finding becomes a suspected superstep that the loop finds at its next vote.

use super::checkpoint::Checkpoints;
use super::evidence::{Detector, Evidence, NONE};
use super::snapshot::Snapshot;
use crate::base::error::{Error, Result};
use crate::base::id::{LocalId, Rank};
use crate::base::probe::{OpenRange, RangeHooks, Stage};
use crate::base::verdict::{Finding, Verdict};
use crate::fault_tolerance::{CheckInput, FaultTolerance, SuperstepTotals};
use crate::field::State;
use crate::graph::Ids;
use crate::partition::Part;
use crate::step::monitor::{MonitorCounts, SetOnceField};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Batches in the queue.
const QUEUE: usize = 64;

/// What one superstep of one rank leaves to be checked: of fixed size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) row: u64,
    pub(crate) before: Option<SuperstepTotals>,
    pub(crate) now: SuperstepTotals,
    pub(crate) counts: MonitorCounts,
    /// Messages that did not arrive as they were sent.
    pub(crate) broken: u64,
    /// Whether the frontier rested unchanged before the superstep.
    pub(crate) is_frontier_whole: bool,
    /// When the superstep ended, all ranks having agreed on it, from the start of the trial.
    pub(crate) ended: Duration,
}

/// Work for the checker.
pub(crate) enum Task {
    Rounds(Vec<Summary>),
    Snapshot { now: Arc<Snapshot>, before: Option<Arc<Snapshot>>, to_disk: bool },
}

/// What became of a task.
pub(crate) enum TaskResult {
    Rounds(Vec<Summary>),
    Snapshot { is_sound: bool, took: Duration, written: Result<bool> },
}

/// What the checker judges by.
#[derive(Clone)]
pub(crate) struct CheckContext<'r> {
    pub(crate) part: &'r Part,
    pub(crate) ids: &'r Ids,
    pub(crate) rules: Arc<dyn FaultTolerance>,
    pub(crate) once: Option<SetOnceField>,
    pub(crate) started: Instant,
    /// Whether to measure what it does to summaries.
    pub(crate) is_timed: bool,
    /// Who is told of its ranges as they happen.
    pub(crate) ranges: Option<&'static RangeHooks>,
    /// Where sound snapshots are written that are to be.
    pub(crate) checkpoints: Option<Checkpoints>,
}

/// A span of the checker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckerSpan {
    pub(crate) row: u64,
    pub(crate) stage: Stage,
    pub(crate) index: u32,
    pub(crate) begin: Duration,
    pub(crate) end: Duration,
}

/// What the checker and the loop both see.
#[derive(Default)]
pub(crate) struct CheckerState {
    suspect: AtomicU32,
    evidence: Mutex<Evidence>,
    spans: Mutex<Vec<CheckerSpan>>,
}

/// The loop's end of the checker.
pub(crate) struct Checker {
    rank: Rank,
    tasks: Option<SyncSender<Task>>,
    done: Receiver<TaskResult>,
    board: Arc<CheckerState>,
    under_way: u64,
    /// Times that the queue was full.
    pub(crate) waits: u64,
    spare: Vec<Vec<Summary>>,
    /// Checkpoints written.
    pub(crate) written: u64,
    /// Outcomes of snapshots, oldest first.
    pub(crate) snapshots: Vec<(bool, Duration)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panicking checker leaves is whole: it only appends.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl CheckerState {
    fn suspect(&self, index: u32) {
        // Relaxed: the number itself is all that is agreed on.
        self.suspect.fetch_min(index, Relaxed);
    }
}

impl Checker {
    /// Starts the thread in a scope that ends after the run.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub(crate) fn start<'scope, 'r: 'scope>(
        scope: &'scope std::thread::Scope<'scope, '_>,
        context: CheckContext<'r>,
    ) -> Result<Checker> {
        let (tasks, todo) = sync_channel(QUEUE);
        let (report, done) = channel();
        let board = Arc::new(CheckerState { suspect: AtomicU32::new(NONE), ..CheckerState::default() });
        let rank = context.part.rank();
        let thread = std::thread::Builder::new().name(format!("checker {}", rank.0));
        let run = {
            let board = Arc::clone(&board);
            move || work(&context, &board, &todo, &report)
        };
        thread.spawn_scoped(scope, run).map_err(|error| {
            Error::Environment(format!("no thread for the checker of rank {}: {error}; run with fewer ranks", rank.0))
        })?;
        Ok(Checker {
            rank,
            tasks: Some(tasks),
            done,
            board,
            under_way: 0,
            waits: 0,
            spare: Vec::new(),
            written: 0,
            snapshots: Vec::new(),
        })
    }

    /// Hands a task over.
    pub(crate) fn submit(&mut self, task: Task) -> Result<()> {
        self.poll()?;
        let tasks = self.tasks.as_ref().ok_or_else(|| lost(self.rank))?;
        match tasks.try_send(task) {
            Ok(()) => {}
            Err(TrySendError::Full(task)) => {
                self.waits += 1;
                tasks.send(task).map_err(|_| lost(self.rank))?;
            }
            Err(TrySendError::Disconnected(_)) => return Err(lost(self.rank)),
        }
        self.under_way += 1;
        Ok(())
    }

    /// Takes in what is done.
    pub(crate) fn poll(&mut self) -> Result<()> {
        while self.under_way > 0 {
            match self.done.try_recv() {
                Ok(done) => self.take(done)?,
                Err(std::sync::mpsc::TryRecvError::Empty) => return Ok(()),
                Err(std::sync::mpsc::TryRecvError::Disconnected) => return Err(lost(self.rank)),
            }
        }
        Ok(())
    }

    /// Waits until nothing is under way.
    pub(crate) fn drain(&mut self) -> Result<()> {
        while self.under_way > 0 {
            let done = self.done.recv().map_err(|_| lost(self.rank))?;
            self.take(done)?;
        }
        Ok(())
    }

    fn take(&mut self, done: TaskResult) -> Result<()> {
        self.under_way -= 1;
        match done {
            TaskResult::Rounds(mut batch) => {
                batch.clear();
                self.spare.push(batch);
            }
            TaskResult::Snapshot { is_sound, took, written } => {
                self.snapshots.push((is_sound, took));
                self.written += u64::from(written?);
            }
        }
        Ok(())
    }

    /// An empty batch.
    pub(crate) fn batch(&mut self) -> Vec<Summary> {
        self.spare.pop().unwrap_or_default()
    }

    /// The earliest superstep suspected so far.
    pub(crate) fn suspect(&self) -> u32 {
        self.board.suspect.load(Relaxed)
    }

    /// A finding of the loop itself; `suspect` is the superstep whose result is not to be trusted.
    pub(crate) fn found(&self, detector: Detector, index: u32, suspect: u32, finding: Finding) {
        lock(&self.board.evidence).add(detector, 1, index, finding);
        self.board.suspect(suspect);
    }

    /// Forgets the suspicion: the state is about to be restored, or the run goes on with it.
    pub(crate) fn forget_suspect(&self) {
        self.board.suspect.store(NONE, Relaxed);
    }

    /// The evidence so far, taken away.
    pub(crate) fn evidence(&self) -> Evidence {
        std::mem::take(&mut *lock(&self.board.evidence))
    }

    /// The spans so far, taken away.
    pub(crate) fn spans(&self) -> Vec<CheckerSpan> {
        std::mem::take(&mut *lock(&self.board.spans))
    }
}

fn lost(rank: Rank) -> Error {
    Error::Panicked { rank, message: "the checker stopped: a rule of the plugin panicked".into() }
}

fn work(context: &CheckContext<'_>, board: &CheckerState, todo: &Receiver<Task>, report: &Sender<TaskResult>) {
    if let Some(hooks) = context.ranges {
        (hooks.checker)(context.part.rank());
    }
    while let Ok(task) = todo.recv() {
        let done = catch_unwind(AssertUnwindSafe(|| match task {
            Task::Rounds(batch) => {
                batch.iter().for_each(|summary| context.judge(summary, board));
                TaskResult::Rounds(batch)
            }
            Task::Snapshot { now, before, to_disk } => {
                let begin = Instant::now();
                let is_sound = context.judge_snapshot(&now, before.as_deref(), board);
                let took = begin.elapsed();
                let written = match &context.checkpoints {
                    Some(checkpoints) if is_sound && to_disk => checkpoints.write(context.part, &now).map(|()| true),
                    _ => Ok(false),
                };
                drop((now, before));
                TaskResult::Snapshot { is_sound, took, written }
            }
        }));
        // The loop learns of a panic by the closed channel.
        let Ok(done) = done else { return };
        if report.send(done).is_err() {
            return;
        }
    }
}

impl CheckContext<'_> {
    fn judge(&self, summary: &Summary, board: &CheckerState) {
        let _range = OpenRange::begin(self.ranges, Stage::Validation);
        let begin = if self.is_timed { self.started.elapsed() } else { Duration::ZERO };
        let (index, counts) = (summary.now.index, &summary.counts);
        let id = |v: Option<LocalId>| v.map(|v| self.ids.original(self.part.global(v)));
        let mut evidence = lock(&board.evidence);
        let mut found = |detector, count, rule: &str, vertex, text: String| {
            evidence.add(detector, count, index, Finding { rule: rule.into(), vertex, evidence: text });
            board.suspect(index);
        };
        if counts.differing > 0 {
            let (rule, text) = ("an update done again gives the same", format!("{} differ", counts.differing));
            found(Detector::Dmr, counts.differing, rule, id(counts.first_differing), text);
        }
        if counts.set_twice > 0 {
            let (rule, text) = ("a value is set once", format!("{} were set again", counts.set_twice));
            found(Detector::Monotonicity, counts.set_twice, rule, id(counts.first_twice), text);
        }
        if counts.below > 0 {
            found(Detector::Monotonicity, counts.below, "no value lies below the floor", None, "one does".into());
        }
        if summary.broken > 0 {
            let text = format!("{} did not", summary.broken);
            found(Detector::Trend, summary.broken, "a message arrives as it was sent", None, text);
        }
        if !summary.is_frontier_whole {
            let text = "its checksum differs".into();
            found(Detector::Trend, 1, "a frontier stays unchanged between supersteps", None, text);
        }
        if let Verdict::Corrupt(finding) = self.rules.trend(summary.before.as_ref(), &summary.now) {
            found(Detector::Trend, 1, &finding.rule, finding.vertex, finding.evidence);
        }
        evidence.critical += counts.critical;
        evidence.covered += counts.assigned;
        drop(evidence);
        if self.is_timed {
            let end = self.started.elapsed();
            let span = |stage, begin| CheckerSpan { row: summary.row, stage, index, begin, end };
            lock(&board.spans).extend([span(Stage::Validation, begin), span(Stage::Verdict, summary.ended)]);
        }
    }

    fn judge_snapshot(&self, now: &Snapshot, before: Option<&Snapshot>, board: &CheckerState) -> bool {
        let _ = now.hash.set(now.count_hash());
        let older = before.map(|before| (State::of(&before.fields), before.index));
        let window = CheckInput {
            part: self.part,
            ids: self.ids,
            now: State::of(&now.fields),
            index: now.index,
            before: older,
            memory: &now.memory,
        };
        let verdict = match self.recount(&now.fields, now.sum) {
            Verdict::Sound => self.rules.check(&window),
            corrupt => corrupt,
        };
        let Verdict::Corrupt(finding) = verdict else { return true };
        lock(&board.evidence).add(Detector::Monotonicity, 1, now.index.saturating_sub(1), finding);
        // It went wrong after the older state, nobody knows when.
        board.suspect(before.map_or(0, |before| before.index) + 1);
        false
    }

    /// Compares the set-once field with the checksum that the operators kept of it.
    fn recount(&self, fields: &crate::field::Fields, kept: u64) -> Verdict {
        let Some(once) = self.once else { return Verdict::Sound };
        let counted = once.recount(fields, self.part);
        Verdict::require(counted == kept, "a value stays as it was set", None, || {
            format!("the checksum is {counted:016x}, {kept:016x} was kept")
        })
    }

    /// Judges live state as a snapshot's is judged.
    ///
    /// # Errors
    /// When it cannot be copied from the device.
    pub(crate) fn judge_live(
        &self,
        step: &mut crate::step::Step<'_>,
        memory: &[u64],
        older: Option<&Snapshot>,
    ) -> Result<Verdict> {
        let (index, kept) = (step.index, step.monitor.as_deref().map_or(0, |monitor| monitor.sum));
        let mut copy = None;
        let fields = step.on_host(&mut copy)?;
        let window = CheckInput {
            part: self.part,
            ids: self.ids,
            now: State::of(fields),
            index,
            before: older.map(|older| (State::of(&older.fields), older.index)),
            memory,
        };
        Ok(match self.recount(fields, kept) {
            Verdict::Sound => self.rules.check(&window),
            corrupt => corrupt,
        })
    }
}
