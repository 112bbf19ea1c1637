//! The accumulators behind the 24 timing fields of schema v9, for one rank and one trial.

use crate::base::error::Result;
use crate::base::probe::{Activity, Probe, Stage};
use crate::exchange::Exchange;
use crate::step::Step;
use std::time::{Duration, Instant};

/// The names of the 24 fields, in order.
pub const FIELDS: [&str; 24] = [
    "main_loop_ms",
    "gpu_compute_ms",
    "graph_kernel_ms",
    "graph_update_ms",
    "score_and_mark_ms",
    "tolerance_graph_update_ms",
    "tolerance_gpu_bookkeeping_ms",
    "d2h_summary_ms",
    "cpu_validation_ms",
    "checker_end_to_end_ms",
    "cpu_check_drain_ms",
    "nccl_exchange_ms",
    "mpi_sync_ms",
    "postcheck_total_ms",
    "postcheck_mpi_ms",
    "communication_ms",
    "algorithm_total_ms",
    "single_gpu_setup_ms",
    "distributed_setup_ms",
    "initial_ghost_exchange_ms",
    "final_result_copy_ms",
    "final_result_gather_ms",
    "e2e_unattributed_ms",
    "algorithm_e2e_ms",
];

/// What was measured, as durations; what follows from it is computed in [`Timing::milliseconds`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Timing {
    /// Whether more than one rank ran.
    pub is_multi: bool,
    /// The superstep loop.
    pub main_loop: Duration,
    /// Inside the algorithm's operators, unprotected.
    pub graph_update: Duration,
    /// Scoring and marking.
    pub score_and_mark: Duration,
    /// Inside the algorithm's operators and redundant updates, protected.
    pub tolerance_update: Duration,
    /// Checksums, snapshots, summaries.
    pub bookkeeping: Duration,
    /// Summaries on their way from the device; not collected unless the probe wants it.
    pub summary_copy: Duration,
    /// The checker at work; not collected unless the probe wants it.
    pub validation: Duration,
    /// Sum of the times from the end of a superstep to the verdict on its summary; not collected unless the probe wants it.
    pub verdicts: Duration,
    /// Waiting for the checker after the loop.
    pub drain: Duration,
    /// The post-check.
    pub postcheck: Duration,
    /// Communication inside it.
    pub postcheck_communication: Duration,
    /// Inside ghost exchange.
    pub exchange: Duration,
    /// Inside agreement.
    pub agree: Duration,
    /// Before the loop, ghost exchange apart.
    pub setup: Duration,
    /// The first ghost exchange.
    pub initial_exchange: Duration,
    /// The answer from the device, or from all ranks.
    pub final_result: Duration,
    /// From the first to the last of these.
    pub whole: Duration,
}

impl Timing {
    /// The 24 fields in milliseconds, in the order of [`FIELDS`].
    pub fn milliseconds(&self) -> [f64; 24] {
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let only_if = |multi: bool, duration| if self.is_multi == multi { ms(duration) } else { 0.0 };
        let main_loop = ms(self.main_loop);
        let (plain, fused) = (ms(self.graph_update), ms(self.tolerance_update));
        let (marking, bookkeeping) = (ms(self.score_and_mark), ms(self.bookkeeping));
        let (drain, postcheck) = (ms(self.drain), ms(self.postcheck));
        let (exchange, agree) = (only_if(true, self.exchange), only_if(true, self.agree));
        let postcheck_communication = only_if(true, self.postcheck_communication);
        let total = main_loop + drain + postcheck;
        let single_setup = only_if(false, self.setup);
        let multi_setup = only_if(true, self.setup);
        let initial = only_if(true, self.initial_exchange);
        let (copy, gather) = (only_if(false, self.final_result), only_if(true, self.final_result));
        let attributed = total + single_setup + multi_setup + initial + copy + gather;
        let rest = (ms(self.whole) - attributed).max(0.0);
        [
            main_loop,
            plain + marking + fused + bookkeeping,
            plain + fused,
            plain,
            marking,
            fused,
            bookkeeping,
            ms(self.summary_copy),
            ms(self.validation),
            ms(self.verdicts),
            drain,
            exchange,
            agree,
            postcheck,
            postcheck_communication,
            exchange + agree + postcheck_communication,
            total,
            single_setup,
            multi_setup,
            initial,
            copy,
            gather,
            rest,
            attributed + rest,
        ]
    }
}

/// Measures the stages of one rank and tells the probe the same spans.
pub struct Clock<P: Probe> {
    started: Instant,
    timing: Timing,
    probe: P,
    /// The last reading.
    latest: Duration,
    /// Supersteps that began.
    rows: u64,
}

impl<P: Probe> Clock<P> {
    /// For a trial that started then.
    pub fn new(started: Instant, is_multi: bool, probe: P) -> Clock<P> {
        let timing = Timing { is_multi, ..Timing::default() };
        Clock { started, timing, probe, latest: Duration::ZERO, rows: 0 }
    }

    /// When the trial started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The last reading, without another one.
    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    /// The number of supersteps that began before the present one.
    pub(crate) fn row(&self) -> u64 {
        self.rows.saturating_sub(1)
    }

    /// Runs one stage.
    pub fn stage<R>(&mut self, stage: Stage, iteration: u32, run: impl FnOnce() -> R) -> R {
        self.probe.begin(stage, self.timing.is_multi);
        let begin = self.started.elapsed();
        let result = run();
        let end = self.started.elapsed();
        self.probe.end();
        self.span(stage, iteration, begin, end);
        result
    }

    /// A stage begins that [`Clock::ended`] ends.
    pub(crate) fn begin(&mut self, stage: Stage) {
        self.probe.begin(stage, self.timing.is_multi);
    }

    /// The stage that began last ends and ran then.
    pub(crate) fn ended(&mut self, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        self.probe.end();
        self.span(stage, iteration, begin, end);
    }

    /// A stage that ran then.
    fn span(&mut self, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        *self.sum(stage) += end.saturating_sub(begin);
        self.latest = end;
        self.probe.span(stage, iteration, begin, end);
    }

    /// A span of the checker.
    pub(crate) fn checked(&mut self, row: u64, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        *self.sum(stage) += end.saturating_sub(begin);
        self.probe.checked(row, stage, iteration, begin, end);
    }

    fn sum(&mut self, stage: Stage) -> &mut Duration {
        match stage {
            Stage::Setup => &mut self.timing.setup,
            Stage::InitialExchange => &mut self.timing.initial_exchange,
            Stage::GraphUpdate => &mut self.timing.graph_update,
            Stage::ScoreAndMark => &mut self.timing.score_and_mark,
            Stage::ToleranceUpdate => &mut self.timing.tolerance_update,
            Stage::Bookkeeping => &mut self.timing.bookkeeping,
            Stage::Exchange => &mut self.timing.exchange,
            Stage::Agree => &mut self.timing.agree,
            Stage::Drain => &mut self.timing.drain,
            Stage::PostCheck => &mut self.timing.postcheck,
            Stage::FinalResult => &mut self.timing.final_result,
            Stage::SummaryCopy => &mut self.timing.summary_copy,
            Stage::Validation => &mut self.timing.validation,
            Stage::Verdict => &mut self.timing.verdicts,
        }
    }

    /// Runs the algorithm's part of a superstep. Its span is as long as its operators worked: wall time on host threads, the device's
    /// own time on a device.
    ///
    /// # Errors
    /// What `run` reports, or what failed on the device meanwhile.
    pub fn update<'r, R>(
        &mut self,
        stage: Stage,
        iteration: u32,
        step: &mut Step<'r>,
        run: impl FnOnce(&mut Step<'r>) -> Result<R>,
    ) -> Result<R> {
        self.probe.begin(stage, self.timing.is_multi);
        step.begin_update();
        let begin = self.started.elapsed();
        let result = run(step);
        let device_time = step.end_update();
        let wall = self.started.elapsed() - begin;
        self.probe.end();
        let took = device_time.as_ref().ok().copied().flatten().map_or(wall, |device_time| device_time.min(wall));
        // Scoring is spread over the update, or was the device's: its time stands at the begin.
        let marking = step.take_marking().min(took);
        if marking > Duration::ZERO {
            self.span(Stage::ScoreAndMark, iteration, begin, begin + marking);
        }
        self.span(stage, iteration, begin + marking, begin + took);
        device_time.and(result)
    }

    /// Runs a ghost exchange. Its span is as long as the device was at it, from the first kernel to the last with all waits between, where
    /// devices exchange; wall time otherwise.
    ///
    /// # Errors
    /// What `run` reports.
    pub fn exchange<'t, R>(
        &mut self,
        stage: Stage,
        iteration: u32,
        exchange: &mut Exchange<'t>,
        run: impl FnOnce(&mut Exchange<'t>) -> Result<R>,
    ) -> Result<R> {
        self.probe.begin(stage, self.timing.is_multi);
        exchange.device_time = None;
        let begin = self.started.elapsed();
        let result = run(exchange);
        let wall = self.started.elapsed() - begin;
        self.probe.end();
        let took = exchange.device_time.map_or(wall, |device_time| device_time.min(wall));
        self.span(stage, iteration, begin, begin + took);
        result
    }

    /// Tells the probe that superstep `iteration` begins.
    #[inline(always)]
    pub fn superstep(&mut self, iteration: u32) {
        self.rows += 1;
        self.probe.superstep(iteration);
    }

    /// Tells the probe that the superstep which began last is over.
    #[inline(always)]
    pub fn superstep_ends(&mut self) {
        self.probe.superstep_ends();
    }

    /// Tells the probe what the update of superstep `iteration` worked on.
    #[inline(always)]
    pub fn activity(&mut self, iteration: u32, activity: Activity) {
        self.probe.activity(iteration, activity);
    }

    /// The main loop took this long.
    pub(crate) fn main_loop(&mut self, took: Duration) {
        self.timing.main_loop += took;
    }

    /// Communication of the post-check took this long.
    pub(crate) fn postcheck_communication(&mut self, took: Duration) {
        self.timing.postcheck_communication += took;
    }

    /// Ends the trial on this rank.
    pub fn finish(mut self) -> (Timing, P) {
        self.timing.whole = self.started.elapsed();
        (self.timing, self.probe)
    }
}
