//! Recovery of a graph that was damaged in memory: the part is cut again, or the graph is loaded again.
//!
//! When a part is cut for the first time, the sum of its arcs is kept ([`ArcSums`]); a part that is cut later, for another trial or because a
//! certificate found damage, must have the same. What is damaged is mostly the part: with several ranks its rows are copies, and they
//! are cut again from the graph, one rank's at a time, at no memory beyond them. With one rank the rows are the graph's own arrays: then
//! it is read or generated again, once for all ranks, and stands beside the damaged one, which the caller holds, for as long as
//! the [`Reload`] lives. A mapped file is mapped again: damage to the system's cached page of it comes back with it, is found again, and
//! ends the run.

use crate::base::error::{Error, Result};
use crate::base::id::Rank;
use crate::graph::Graph;
use crate::host::Pool;
use crate::partition::ArcSums;
use crate::partition::Part;
use crate::transport::Transport;
use crate::transport::agree_on_max;
use crate::trial::RunHooks;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Makes the graph anew.
pub type Loader<'l> = dyn Fn() -> Result<Graph> + Send + Sync + 'l;

/// Where the graph of one or more trials comes from again, and what its arcs summed to.
#[derive(Default)]
pub struct Reload<'l> {
    loader: Option<&'l Loader<'l>>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// By number of ranks, and rank.
    sums: BTreeMap<(usize, Rank), ArcSums>,
    again: Option<Arc<Graph>>,
}

impl<'l> Reload<'l> {
    /// From a loader, which must make the same graph in the same view each time.
    pub fn from(loader: &'l Loader<'l>) -> Reload<'l> {
        Reload { loader: Some(loader), kept: Mutex::default() }
    }

    /// The graph that took the place of a damaged one, if that was necessary.
    pub fn latest(&self) -> Option<Arc<Graph>> {
        self.lock().again.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Loads it, if no other rank has; nobody does so twice.
    fn again(&self) -> Result<Arc<Graph>> {
        let mut kept = self.lock();
        if let Some(graph) = &kept.again {
            return Ok(Arc::clone(graph));
        }
        let Some(loader) = self.loader else {
            return Err(Error::Answer(
                "the graph in memory is damaged, and this run was given no way to load it again (TrialConfig::reload); load it and run \
                 again, and have the machine's memory checked if it repeats"
                    .into(),
            ));
        };
        let graph = Arc::new(loader()?);
        kept.again = Some(Arc::clone(&graph));
        Ok(graph)
    }
}

impl std::fmt::Debug for Reload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reload({})", if self.loader.is_some() { "from a loader" } else { "not at all" })
    }
}

/// The graph as one rank has it.
pub(crate) struct CurrentGraph<'g> {
    given: &'g Graph,
    again: Option<Arc<Graph>>,
    reload: &'g Reload<'g>,
}

impl<'g> CurrentGraph<'g> {
    pub(crate) fn new(given: &'g Graph, reload: &'g Reload<'g>) -> CurrentGraph<'g> {
        CurrentGraph { given, again: reload.latest(), reload }
    }

    pub(crate) fn graph(&self) -> &Graph {
        self.again.as_deref().unwrap_or(self.given)
    }

    /// Cuts this rank's part. If its arcs are to be `watched`, they are summed, and the sum is what it was when the part was first cut. Collective.
    ///
    /// # Errors
    /// When a peer is lost, or the graph is damaged and does not come again.
    pub(crate) fn part<W: RunHooks>(
        &mut self,
        watched: bool,
        transport: &mut dyn Transport,
        pool: &Pool,
        hooks: &W,
    ) -> Result<Part> {
        loop {
            let mut part = Part::cut(self.graph(), transport, pool)?;
            let is_again = self.again.is_some();
            if !watched {
                hooks.part(&mut part, is_again);
                return Ok(part);
            }
            let place = (transport.ranks(), transport.rank());
            let known = self.reload.lock().sums.get(&place).copied();
            if known.is_some() {
                hooks.part(&mut part, is_again);
            }
            let sums = part.record_arc_sums(pool);
            let is_damaged = known.is_some_and(|known| known != sums);
            if agree_on_max(transport, is_damaged.into())? == 0 {
                if known.is_none() {
                    self.reload.lock().sums.insert(place, sums);
                    hooks.part(&mut part, is_again);
                }
                return Ok(part);
            }
            if is_again {
                return Err(Error::Answer(
                    "the graph in memory was damaged, and what it was loaded from does not give the same arcs any more; check that \
                     nobody changes the file, then run again"
                        .into(),
                ));
            }
            drop(part);
            self.again = Some(self.reload.again()?);
        }
    }
}
