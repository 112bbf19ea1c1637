//! Where a run happens: ranks, threads, layouts of the arcs, and what runs the operators.

use crate::device::Devices;
use crate::host::{IdlePolicy, cores};

/// Where a run happens.
#[derive(Clone, Copy, Debug)]
pub struct Placement<'d> {
    /// Ranks, at least 1.
    pub ranks: usize,
    /// Threads of each rank, at least 1.
    pub threads: usize,
    /// Which layouts of the arcs may be built.
    pub layouts: Layouts,
    /// What runs the operators.
    pub device: Device<'d>,
}

/// What runs the operators.
#[derive(Clone, Copy, Default, Debug)]
pub enum Device<'d> {
    /// Threads of this machine.
    #[default]
    Cpu,
    /// Others, dealt to the ranks in order.
    Accelerators(&'d dyn Devices),
}

/// Which layouts of the arcs a run may build.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layouts {
    /// Those that the algorithm asks for and that pay back within the run.
    #[default]
    AsAsked,
    /// None beyond the sorted rows.
    RowsOnly,
}

impl<'d> Placement<'d> {
    /// Ranks of so many threads, with the layouts that algorithms ask for.
    pub fn new(ranks: usize, threads: usize) -> Placement<'d> {
        Placement { ranks, threads, layouts: Layouts::AsAsked, device: Device::Cpu }
    }

    pub(crate) fn waiting(self) -> IdlePolicy {
        // Spinning threads that share a core hold each other up.
        if self.ranks * self.threads <= cores() { IdlePolicy::Spin } else { IdlePolicy::Park }
    }
}
