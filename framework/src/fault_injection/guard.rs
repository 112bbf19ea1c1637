//! The guard that strikes: it passes every call on to the real one and hits the state before or after.

use super::site::{copy_of, is_after_update};
use super::{FaultInjector, Model, Target, changed};
use crate::algorithm::GraphAlgorithm;
use crate::base::error::Result;
use crate::base::probe::{Probe, Stage};
use crate::base::tally::Tally;
use crate::driver::clock::Clock;
use crate::driver::guard::{Guard, Next};
use crate::exchange::Exchange;
use crate::protect::ProtectedGuard;
use crate::step::Step;
use std::sync::atomic::Ordering::Relaxed;

/// A guard whose run is struck once.
pub struct InjectingGuard<'r, 'g> {
    struck: &'r FaultInjector<'g>,
    inner: ProtectedGuard<'r>,
}

impl<'r, 'g> InjectingGuard<'r, 'g> {
    pub(super) fn new(struck: &'r FaultInjector<'g>, inner: ProtectedGuard<'r>) -> InjectingGuard<'r, 'g> {
        InjectingGuard { struck, inner }
    }

    fn is_due(&self, step: &Step<'_>, target: Target) -> bool {
        self.struck.is_due(step.part.rank(), step.index, target)
    }
}

impl<'r> From<InjectingGuard<'r, '_>> for ProtectedGuard<'r> {
    fn from(striking: InjectingGuard<'r, '_>) -> ProtectedGuard<'r> {
        striking.inner
    }
}

impl<'r> Guard for InjectingGuard<'r, '_> {
    type Vote = <ProtectedGuard<'r> as Guard>::Vote;
    const UPDATE: Stage = <ProtectedGuard<'r> as Guard>::UPDATE;

    fn observe<P: Probe>(
        &mut self,
        algorithm: &dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &mut Clock<P>,
    ) -> Result<()> {
        // Whether a verdict comes before a snapshot is due, or before the vote, must not depend on threads: a strike repeats by its seed.
        self.inner.drain_checker(clock)?;
        if step.part.rank() == self.struck.strike.rank {
            self.struck.now.store(step.index, Relaxed);
        }
        if step.is_on_device() && self.is_due(step, Target::Graph) {
            self.struck.strike_arcs_on_device(step);
        }
        if self.is_due(step, Target::Field) && !is_after_update(self.struck) {
            self.struck.strike_field(step);
        }
        if self.is_due(step, Target::Frontier) {
            self.struck.strike_frontier(step);
        }
        self.inner.observe(algorithm, step, clock)?;
        self.inner.drain_checker(clock)
    }

    fn update<P: Probe>(
        &mut self,
        algorithm: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Tally> {
        let is_due = self.is_due(step, Target::Field);
        let is_stale = is_due && self.struck.strike.model == Model::Stale;
        let before = if is_stale { Some(copy_of(step)?) } else { None };
        let tally = self.inner.update(algorithm, step, clock)?;
        match before {
            Some(before) => self.struck.strike_stale(step, &before)?,
            None if is_due => self.struck.strike_field(step),
            None => {}
        }
        if self.is_due(step, Target::Summary) {
            self.struck.strike_summary(step);
        }
        Ok(tally)
    }

    fn vote<P: Probe>(&mut self, step: &mut Step<'_>, exchange: &Exchange<'_>, clock: &mut Clock<P>) -> Self::Vote {
        let model = self.struck.strike.model;
        let is_message = matches!(model, Model::Drop | Model::Duplicate | Model::Corrupt);
        if !is_message && self.is_due(step, Target::Ghost) {
            self.struck.strike_ghost(step);
        }
        let mut vote = self.inner.vote(step, exchange, clock);
        let mut rng = self.struck.strike.rng();
        let place = rng.word() % 5;
        if place < 4 && self.is_due(step, Target::Checker) {
            let (name, bit) = match place {
                0 => {
                    let (new, bit) = changed(model, vote.suspect.into(), 32, &mut rng);
                    vote.suspect = new as u32;
                    ("suspect", bit)
                }
                1 => {
                    let (new, bit) = changed(model, vote.consumed, 64, &mut rng);
                    vote.consumed = new;
                    ("consumed", bit)
                }
                2 => {
                    let (new, bit) = changed(model, vote.mass.to_bits(), 64, &mut rng);
                    vote.mass = f64::from_bits(new);
                    ("mass", bit)
                }
                _ => {
                    let (new, bit) = changed(model, vote.largest.to_bits(), 64, &mut rng);
                    vote.largest = f64::from_bits(new);
                    ("largest", bit)
                }
            };
            self.struck.record(name, None, step.index, bit);
        }
        vote
    }

    fn judge<P: Probe>(
        &mut self,
        vote: Self::Vote,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next> {
        self.inner.judge(vote, step, exchange, clock)
    }

    fn restore<P: Probe>(
        &mut self,
        algorithm: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next> {
        self.inner.restore(algorithm, step, exchange, clock)
    }

    fn drain<P: Probe>(
        &mut self,
        algorithm: &dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &mut Clock<P>,
    ) -> Result<()> {
        self.inner.drain(algorithm, step, clock)
    }

    fn certify_answer<P: Probe>(
        &mut self,
        converged: bool,
        algorithm: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next> {
        let next = self.inner.certify_answer(converged, algorithm, step, exchange, clock)?;
        if next == Next::GoOn && self.struck.is_due(step.part.rank(), u32::MAX, Target::Answer) {
            self.struck.strike_answer(step, algorithm.answer().field.name);
        }
        if next == Next::GoOn && self.struck.is_due(step.part.rank(), u32::MAX, Target::Checker) {
            let mut rng = self.struck.strike.rng();
            if rng.word() % 5 == 4
                && let Some(sum) = self.inner.answer_sum_mut()
            {
                let (new, bit) = changed(self.struck.strike.model, *sum, 64, &mut rng);
                *sum = new;
                self.struck.record("answer_sum", None, step.index, bit);
            }
        }
        Ok(next)
    }
}
