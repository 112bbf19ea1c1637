//! What stands beside the superstep loop when a run is protected. [`Unguarded`] is zero-sized: an unprotected run pays nothing.
//!
//! A guard can wrap another one: faults are injected by one that strikes the state at the begin of [`Guard::observe`], so that the
//! loop, the operators and the binaries hold no hook.

use crate::algorithm::{GraphAlgorithm, Tally};
use crate::error::Result;
use crate::exchange::Exchange;
use crate::probe::{Probe, Stage};
use crate::step::Step;
use crate::timing::Clock;

/// What a rank says beside its tally, and what all said: merged in rank order.
pub trait Vote: Copy {
    /// Appends it to a message.
    fn put(self, message: &mut Vec<u8>);
    /// Reads it back; `None` if the bytes are no vote.
    fn take(bytes: &[u8]) -> Option<Self>;
    /// Adds another rank's.
    fn merge(&mut self, other: Self);
}

impl Vote for () {
    #[inline(always)]
    fn put(self, _: &mut Vec<u8>) {}
    #[inline(always)]
    fn take(bytes: &[u8]) -> Option<()> {
        bytes.is_empty().then_some(())
    }
    #[inline(always)]
    fn merge(&mut self, (): ()) {}
}

/// What follows from a guard's look. The same on every rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The run goes on, or is over.
    GoOn,
    /// The state is corrupt: an older one must be restored and redone.
    Redo,
    /// The state is corrupt and no try is left: the run ends without an answer.
    GiveUp,
}

/// Watches a run and can take it back to a sound state.
pub trait Guard {
    /// What is agreed on with each tally.
    type Vote: Vote;

    /// The field that the time of operators counts to.
    const UPDATE: Stage;

    /// Before superstep `step.index`: looks at what rested, and takes a snapshot that is due.
    ///
    /// # Errors
    /// When the checker is lost.
    fn observe<P: Probe>(
        &mut self,
        algorithm: &dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &mut Clock<P>,
    ) -> Result<()>;

    /// Runs the update of a superstep, as stages of the clock.
    ///
    /// # Errors
    /// What an operator reports.
    fn update<P: Probe>(
        &mut self,
        algorithm: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Tally> {
        clock.update(Self::UPDATE, step.index, step, |step| algorithm.superstep(step))
    }

    /// After ghost exchange of a superstep: what this rank says beside its tally.
    fn vote<P: Probe>(&mut self, step: &Step<'_>, exchange: &Exchange<'_>, clock: &Clock<P>) -> Self::Vote;

    /// After agreement, `step.index` and `step.total` being those of the next superstep.
    ///
    /// # Errors
    /// When the checker or a peer is lost.
    fn judge<P: Probe>(
        &mut self,
        vote: Self::Vote,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next>;

    /// Puts the older state back that the last [`Next::Redo`] was about, the same on every rank.
    ///
    /// # Errors
    /// When the checker or a peer is lost.
    fn restore<P: Probe>(
        &mut self,
        algorithm: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<()>;

    /// After the last superstep, before `finish`: waits for verdicts in flight.
    ///
    /// # Errors
    /// When the checker is lost.
    fn drain<P: Probe>(
        &mut self,
        _algorithm: &dyn GraphAlgorithm,
        _step: &Step<'_>,
        _clock: &mut Clock<P>,
    ) -> Result<()> {
        Ok(())
    }

    /// After `finish`: judges the answer, with all ranks; after it gave up, it only gathers why, and gives up again.
    ///
    /// # Errors
    /// When the checker or a peer is lost.
    fn settle<P: Probe>(
        &mut self,
        converged: bool,
        algorithm: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next>;
}

/// No protection.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unguarded;

impl Guard for Unguarded {
    type Vote = ();
    const UPDATE: Stage = Stage::GraphUpdate;

    #[inline(always)]
    fn observe<P: Probe>(&mut self, _: &dyn GraphAlgorithm, _: &mut Step<'_>, _: &mut Clock<P>) -> Result<()> {
        Ok(())
    }
    #[inline(always)]
    fn vote<P: Probe>(&mut self, _: &Step<'_>, _: &Exchange<'_>, _: &Clock<P>) {}
    #[inline(always)]
    fn judge<P: Probe>(&mut self, (): (), _: &mut Step<'_>, _: &mut Exchange<'_>, _: &mut Clock<P>) -> Result<Next> {
        Ok(Next::GoOn)
    }
    #[inline(always)]
    fn restore<P: Probe>(
        &mut self,
        _: &mut dyn GraphAlgorithm,
        _: &mut Step<'_>,
        _: &mut Exchange<'_>,
        _: &mut Clock<P>,
    ) -> Result<()> {
        Ok(())
    }
    #[inline(always)]
    fn settle<P: Probe>(
        &mut self,
        _: bool,
        _: &mut dyn GraphAlgorithm,
        _: &mut Step<'_>,
        _: &mut Exchange<'_>,
        _: &mut Clock<P>,
    ) -> Result<Next> {
        Ok(Next::GoOn)
    }
}
