//! The superstep loop of one rank.
//!
//! Every rank runs it in lockstep: update, exchange ghosts, agree on the tally of all, ask the algorithm whether that ends the
//! run. It names no algorithm, and is generic over probe and guard so that what is off is not in the program.

use crate::algorithm::{GraphAlgorithm, Tally};
use crate::error::Result;
use crate::exchange::Exchange;
use crate::guard::Guard;
use crate::probe::{Probe, Stage};
use crate::step::Step;
use crate::timing::Clock;
use std::time::Instant;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct End {
    /// Accepted supersteps.
    pub iterations: u32,
    /// Whether the algorithm said that it was done, before its limit.
    pub converged: bool,
    /// The tally that all ranks agreed on last.
    pub last: Tally,
}

/// Runs supersteps until the algorithm is done or its limit is reached, then lets it finish the answer. `start` is this rank's
/// tally of `init`.
///
/// # Errors
/// What an operator, the transport or the guard reports.
pub fn drive<P: Probe, G: Guard>(
    algorithm: &mut dyn GraphAlgorithm,
    step: &mut Step<'_>,
    exchange: &mut Exchange<'_>,
    guard: &mut G,
    clock: &mut Clock<P>,
    start: &Tally,
) -> Result<End> {
    let began = Instant::now();
    let limit = algorithm.supersteps_max(step.part.graph_vertices());
    step.total = clock.stage(Stage::Agree, 0, || exchange.agree(start))?;
    let mut converged = false;
    while !converged && step.index < limit {
        let iteration = step.index;
        clock.superstep(iteration);
        guard.observe(step)?;
        step.forget_activity();
        let mut tally = clock.update(iteration, step, |step| algorithm.superstep(step))?;
        clock.activity(iteration, step.activity());
        let woken = clock.stage(Stage::Exchange, iteration, || exchange.run(step))?;
        tally.merge(&woken);
        step.index += 1;
        step.total = clock.stage(Stage::Agree, iteration, || exchange.agree(&tally))?;
        converged = algorithm.is_done(&step.total);
        if converged && let Some(suspect) = guard.settle(step, exchange.transport())? {
            guard.restore_before(suspect, step)?;
            converged = false;
        }
    }
    clock.update(step.index.saturating_sub(1), step, |step| algorithm.finish(step))?;
    clock.main_loop(began.elapsed());
    Ok(End { iterations: step.index, converged, last: step.total })
}
