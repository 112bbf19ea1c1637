//! What can stand between a run and its guard, transport and part: nothing, or the injection of faults.

use crate::driver::guard::Guard;
use crate::partition::Part;
use crate::protect::ProtectedGuard;
use crate::transport::Transport;

/// What stands between a run and its guard, transport and part. [`NoHooks`] is nothing at all.
pub(crate) trait RunHooks: Sync {
    /// The guard of a protected run, wrapped.
    type Guard<'r>: Guard + Into<ProtectedGuard<'r>>
    where
        Self: 'r;
    /// A transport, wrapped.
    type Transport<'r, T: Transport>: Transport
    where
        Self: 'r;
    /// Sees the part before the run, cut from the graph as given or as loaded again.
    fn part(&self, part: &mut Part, is_again: bool);
    /// Wraps a guard.
    fn guard<'r>(&'r self, inner: ProtectedGuard<'r>) -> Self::Guard<'r>;
    /// Wraps a transport.
    fn transport<'r, T: Transport>(&'r self, inner: T) -> Self::Transport<'r, T>;
}

/// No wrapping.
pub(super) struct NoHooks;

impl RunHooks for NoHooks {
    type Guard<'r> = ProtectedGuard<'r>;
    type Transport<'r, T: Transport> = T;
    fn part(&self, _: &mut Part, _: bool) {}
    fn guard<'r>(&'r self, inner: ProtectedGuard<'r>) -> ProtectedGuard<'r> {
        inner
    }
    fn transport<T: Transport>(&self, inner: T) -> T {
        inner
    }
}
