//! Where injected faults reach a device's memory. What is hit is brought to the host, changed, and put back.

use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::partition::Part;

/// Places that faults can be put into.
pub(crate) trait InjectionSites {
    /// Lets `change` change words of the frontier between two supersteps: members of the queue if it is told so, else bits; with
    /// `visited`, the set of those that have joined. Does nothing where there is no word.
    fn inject_into_frontier(
        &mut self,
        visited: bool,
        owned: usize,
        change: &mut dyn FnMut(&mut [u32], bool),
    ) -> Result<()>;

    /// Lets `change` change the ends of arcs, and says at which place: whose row that is, and its direction.
    fn inject_into_targets(
        &mut self,
        incoming: bool,
        part: &Part,
        change: &mut dyn FnMut(&mut [u32]) -> Option<usize>,
    ) -> Result<Option<(LocalId, &'static str)>>;

    /// Changes a word of the summary where it lies.
    fn inject_into_summary(&mut self, place: usize, change: &mut dyn FnMut(u64) -> u64) -> Result<()>;
}
