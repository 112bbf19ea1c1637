//! The accumulators behind the 24 timing fields of schema v9, for one rank and one trial.

use crate::error::Result;
use crate::probe::{Activity, Probe, Stage};
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
    /// Inside the algorithm's operators.
    pub graph_update: Duration,
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
    /// The 24 fields in milliseconds, in the order of [`FIELDS`]. Fields of protection are 0: this run had none.
    pub fn milliseconds(&self) -> [f64; 24] {
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let only_if = |multi: bool, duration| if self.is_multi == multi { ms(duration) } else { 0.0 };
        let main_loop = ms(self.main_loop);
        let graph_update = ms(self.graph_update);
        let (exchange, agree) = (only_if(true, self.exchange), only_if(true, self.agree));
        let single_setup = only_if(false, self.setup);
        let multi_setup = only_if(true, self.setup);
        let initial = only_if(true, self.initial_exchange);
        let (copy, gather) = (only_if(false, self.final_result), only_if(true, self.final_result));
        let attributed = main_loop + single_setup + multi_setup + initial + copy + gather;
        let rest = (ms(self.whole) - attributed).max(0.0);
        [
            main_loop,
            graph_update,
            graph_update,
            graph_update,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            exchange,
            agree,
            0.0,
            0.0,
            exchange + agree,
            main_loop,
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
}

impl<P: Probe> Clock<P> {
    /// For a trial that started then.
    pub fn new(started: Instant, is_multi: bool, probe: P) -> Clock<P> {
        Clock { started, timing: Timing { is_multi, ..Timing::default() }, probe }
    }

    /// Runs one stage.
    pub fn stage<R>(&mut self, stage: Stage, iteration: u32, run: impl FnOnce() -> R) -> R {
        self.probe.begin(stage, self.timing.is_multi);
        let begin = self.started.elapsed();
        let result = run();
        let end = self.started.elapsed();
        *match stage {
            Stage::Setup => &mut self.timing.setup,
            Stage::InitialExchange => &mut self.timing.initial_exchange,
            Stage::GraphUpdate => &mut self.timing.graph_update,
            Stage::Exchange => &mut self.timing.exchange,
            Stage::Agree => &mut self.timing.agree,
            Stage::FinalResult => &mut self.timing.final_result,
        } += end - begin;
        self.probe.span(stage, iteration, begin, end);
        result
    }

    /// Runs the algorithm's part of a superstep. Its span is as long as its operators worked: wall time on host threads, the device's
    /// own time on a device.
    ///
    /// # Errors
    /// What `run` reports, or what failed on the device meanwhile.
    pub fn update<'r, R>(
        &mut self,
        iteration: u32,
        step: &mut Step<'r>,
        run: impl FnOnce(&mut Step<'r>) -> Result<R>,
    ) -> Result<R> {
        self.probe.begin(Stage::GraphUpdate, self.timing.is_multi);
        step.begin_update();
        let begin = self.started.elapsed();
        let result = run(step);
        let device_time = step.end_update();
        let wall = self.started.elapsed() - begin;
        let took = device_time.as_ref().ok().copied().flatten().map_or(wall, |device_time| device_time.min(wall));
        self.timing.graph_update += took;
        self.probe.span(Stage::GraphUpdate, iteration, begin, begin + took);
        device_time.and(result)
    }

    /// Tells the probe that superstep `iteration` begins.
    #[inline(always)]
    pub fn superstep(&mut self, iteration: u32) {
        self.probe.superstep(iteration);
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

    /// Ends the trial on this rank.
    pub fn finish(mut self) -> (Timing, P) {
        self.timing.whole = self.started.elapsed();
        (self.timing, self.probe)
    }
}
