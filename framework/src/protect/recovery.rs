//! Going back: where to, by agreement of all ranks, and what is put in place there.
//!
//! Which snapshot: the newest that every rank has, verified and whole, and that is older than the suspected superstep; else the
//! start. A failed certificate names no superstep: first the older slot is restored, then the start. The last permitted try
//! always begins at the start. Everything that decides is agreed on, so all ranks restore alike.

use super::guard::ProtectedGuard;
use super::restore_points::Target;
use crate::algorithm::GraphAlgorithm;
use crate::base::error::Result;
use crate::base::probe::{Probe, Stage};
use crate::base::tally::Tally;
use crate::base::verdict::Finding;
use crate::driver::clock::Clock;
use crate::driver::guard::Next;
use crate::exchange::Exchange;
use crate::partition::ArcSums;
use crate::step::Step;
use crate::transport::agree_on_max;

impl ProtectedGuard<'_> {
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

    /// [`Guard::restore`](crate::driver::guard::Guard::restore): every rank, to the same state.
    pub(super) fn go_back<P: Probe>(
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
        let chosen = self.points.agree(target, exchange.transport())?;
        self.points.drop_after(chosen.as_ref().map(|snapshot| snapshot.index));
        let mut start = None;
        match chosen {
            Some(snapshot) => {
                snapshot.restore(step)?;
                algorithm.restore(&snapshot.memory);
                self.round = snapshot.round;
            }
            None => {
                start = Some(self.restart(algorithm, step, exchange)?);
            }
        }
        let end = clock.started().elapsed();
        clock.ended(Stage::Bookkeeping, iteration, begin, end);
        if let Some(start) = start {
            (step.total, ()) = clock.stage(Stage::Agree, 0, || exchange.agree(&start, ()))?;
        }
        if let Some(checksums) = &mut exchange.checksums {
            checksums.reset();
        }
        self.detection.iterations_redone += u64::from(reached.saturating_sub(step.index));
        self.is_frontier_whole = true;
        self.begin(step, clock);
        Ok(Next::GoOn)
    }

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
}
