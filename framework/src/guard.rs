//! What stands beside the superstep loop when a run is protected. [`Unguarded`] is zero-sized: an unprotected run pays nothing.

use crate::error::Result;
use crate::step::Step;
use crate::transport::Transport;

/// Watches a run and can take it back to a sound state.
pub trait Guard {
    /// Before superstep `step.index`: takes summaries and snapshots that are due.
    ///
    /// # Errors
    /// When the checker is lost.
    fn observe(&mut self, step: &Step<'_>) -> Result<()>;

    /// After the last superstep: waits for verdicts in flight. The superstep to redo from, if one is corrupt.
    ///
    /// # Errors
    /// When the checker or a peer is lost.
    fn settle(&mut self, step: &Step<'_>, transport: &mut dyn Transport) -> Result<Option<u32>>;

    /// Puts back a state older than superstep `suspect`, the same on every rank.
    ///
    /// # Errors
    /// When no try is left.
    fn restore_before(&mut self, suspect: u32, step: &mut Step<'_>) -> Result<()>;
}

/// No protection.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unguarded;

impl Guard for Unguarded {
    #[inline(always)]
    fn observe(&mut self, _: &Step<'_>) -> Result<()> {
        Ok(())
    }
    #[inline(always)]
    fn settle(&mut self, _: &Step<'_>, _: &mut dyn Transport) -> Result<Option<u32>> {
        Ok(None)
    }
    #[inline(always)]
    fn restore_before(&mut self, _: u32, _: &mut Step<'_>) -> Result<()> {
        Ok(())
    }
}
