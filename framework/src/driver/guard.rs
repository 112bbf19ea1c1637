//! What stands beside the superstep loop when a run is protected. [`Unguarded`] is zero-sized: an unprotected run pays nothing.
//!
//! A guard can wrap another one: faults are injected by one that changes the state at the begin of [`Guard::observe`], so that the
//! loop, the operators and the binaries hold no hook.

use crate::algorithm::GraphAlgorithm;
use crate::base::error::Result;
use crate::base::probe::{Probe, Stage};
use crate::base::tally::Tally;
use crate::driver::clock::Clock;
use crate::exchange::Exchange;
use crate::exchange::Vote;
use crate::step::Step;

/// What follows from a guard's look. The same on every rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The run goes on, or is over.
    GoOn,
    /// The state is corrupt: an older one must be restored and redone.
    Redo,
    /// The arcs in memory are not those that were loaded: the part must be cut again, and the run begin anew.
    Rebuild,
    /// The state is corrupt and no try is left: the run ends without an answer.
    GiveUp,
}

/// Watches a run and can take it back to a sound state. What a guard leaves out does nothing; one that wraps another must pass all on.
pub trait Guard {
    /// What is agreed on with each tally.
    type Vote: Vote;

    /// The field that the time of operators counts to.
    const UPDATE: Stage;

    /// Before superstep `step.index`: looks at what rested, and takes a snapshot that is due.
    ///
    /// # Errors
    /// When the checker is lost.
    #[inline(always)]
    fn observe<P: Probe>(
        &mut self,
        _algorithm: &dyn GraphAlgorithm,
        _step: &mut Step<'_>,
        _clock: &mut Clock<P>,
    ) -> Result<()> {
        Ok(())
    }

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
    #[inline(always)]
    fn vote<P: Probe>(&mut self, _step: &mut Step<'_>, _exchange: &Exchange<'_>, _clock: &mut Clock<P>) -> Self::Vote {
        Self::Vote::default()
    }

    /// After agreement, `step.index` and `step.total` being those of the next superstep.
    ///
    /// # Errors
    /// When the checker or a peer is lost.
    #[inline(always)]
    fn judge<P: Probe>(
        &mut self,
        _vote: Self::Vote,
        _step: &mut Step<'_>,
        _exchange: &mut Exchange<'_>,
        _clock: &mut Clock<P>,
    ) -> Result<Next> {
        Ok(Next::GoOn)
    }

    /// Puts the older state back that the last [`Next::Redo`] was about, the same on every rank; or says that it must be
    /// [`Next::Rebuild`].
    ///
    /// # Errors
    /// When the checker or a peer is lost.
    #[inline(always)]
    fn restore<P: Probe>(
        &mut self,
        _algorithm: &mut dyn GraphAlgorithm,
        _step: &mut Step<'_>,
        _exchange: &mut Exchange<'_>,
        _clock: &mut Clock<P>,
    ) -> Result<Next> {
        Ok(Next::GoOn)
    }

    /// After the last superstep, before `finish`: waits for verdicts in flight.
    ///
    /// # Errors
    /// When the checker is lost.
    fn drain<P: Probe>(
        &mut self,
        _algorithm: &dyn GraphAlgorithm,
        _step: &mut Step<'_>,
        _clock: &mut Clock<P>,
    ) -> Result<()> {
        Ok(())
    }

    /// After `finish`: judges the answer, with all ranks; after it gave up, it only gathers why, and gives up again.
    ///
    /// # Errors
    /// When the checker or a peer is lost.
    #[inline(always)]
    fn certify_answer<P: Probe>(
        &mut self,
        _converged: bool,
        _algorithm: &mut dyn GraphAlgorithm,
        _step: &mut Step<'_>,
        _exchange: &mut Exchange<'_>,
        _clock: &mut Clock<P>,
    ) -> Result<Next> {
        Ok(Next::GoOn)
    }
}

/// No protection.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unguarded;

impl Guard for Unguarded {
    type Vote = ();
    const UPDATE: Stage = Stage::GraphUpdate;
}
