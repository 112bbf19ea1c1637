//! The superstep loop of one rank.
//!
//! Every rank runs it in lockstep: update, exchange ghosts, agree on the tally of all, ask the algorithm whether that ends the
//! run. It names no algorithm, and is generic over probe and guard so that what is off is not in the program.

pub mod clock;
pub mod guard;

use crate::algorithm::GraphAlgorithm;
use crate::base::error::Result;
use crate::base::probe::{Probe, Stage};
use crate::base::tally::Tally;
use crate::driver::clock::Clock;
use crate::driver::guard::{Guard, Next};
use crate::exchange::Exchange;
use crate::step::Step;
use std::time::Instant;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoopResult {
    /// Accepted supersteps.
    pub iterations: u32,
    /// Whether the algorithm said that it was done, before its limit.
    pub converged: bool,
    /// The tally that all ranks agreed on last.
    pub last: Tally,
    /// Whether the guard let the answer pass; always so without one.
    pub is_sound: bool,
}

/// Runs supersteps until the algorithm is done or its limit is reached, then lets it finish the answer; again from an older state
/// if the guard says so. `start` is this rank's tally of `init`; without one, the step stands where a run was broken off.
///
/// # Errors
/// What an operator, the transport or the guard reports.
pub fn drive<P: Probe, G: Guard>(
    algorithm: &mut dyn GraphAlgorithm,
    step: &mut Step<'_>,
    exchange: &mut Exchange<'_>,
    guard: &mut G,
    clock: &mut Clock<P>,
    start: Option<&Tally>,
) -> Result<LoopResult> {
    let limit = algorithm.supersteps_max(step.part.graph_vertices());
    let mut next = Next::GoOn;
    let mut start = start;
    loop {
        let began = Instant::now();
        let mut converged = false;
        if let Some(start) = start.take() {
            (step.total, ()) = clock.stage(Stage::Agree, 0, || exchange.agree(start, ()))?;
        }
        loop {
            if next == Next::Redo {
                (next, converged) = (guard.restore(algorithm, step, exchange, clock)?, false);
            }
            if next == Next::Rebuild {
                clock.main_loop(began.elapsed());
                return Ok(LoopResult { iterations: step.index, converged: false, last: step.total, is_sound: false });
            }
            if converged || step.index >= limit || next == Next::GiveUp {
                break;
            }
            let iteration = step.index;
            clock.superstep(iteration);
            guard.observe(algorithm, step, clock)?;
            step.forget_activity();
            let mut tally = guard.update(algorithm, step, clock)?;
            let activated = clock.exchange(Stage::Exchange, iteration, exchange, |exchange| exchange.run(step))?;
            tally.merge(&activated);
            let vote = guard.vote(step, exchange, clock);
            clock.activity(iteration, step.activity());
            let (total, vote) = clock.stage(Stage::Agree, iteration, || exchange.agree(&tally, vote))?;
            (step.index, step.total) = (iteration + 1, total);
            converged = algorithm.is_done(&total);
            next = guard.judge(vote, step, exchange, clock)?;
            clock.superstep_ends();
        }
        clock.main_loop(began.elapsed());
        guard.drain(algorithm, step, clock)?;
        let began = Instant::now();
        clock.update(G::UPDATE, step.index.saturating_sub(1), step, |step| algorithm.finish(step))?;
        clock.main_loop(began.elapsed());
        if next != Next::Redo {
            next = guard.certify_answer(converged, algorithm, step, exchange, clock)?;
        }
        if next != Next::Redo {
            let is_sound = next == Next::GoOn;
            return Ok(LoopResult { iterations: step.index, converged, last: step.total, is_sound });
        }
    }
}
