//! The figures of one device or of several, from their work: where the time went, how far computation hides communication, and
//! what else a summary tells. Each file below is one kind of figures and holds its definitions.

// From the lowest floor up: everything stands on `figures`.
mod figures;
mod collectives;
mod idle;
mod kernels;
mod ranks;
mod stragglers;
mod timeline;

pub use collectives::{Collective, collectives};
pub use figures::{Breakdown, ClassIntervals, Figures, Overlap, percent};
pub use idle::{IdleCauses, idle_causes};
pub use kernels::{KernelTotal, kernel_totals};
pub use ranks::{Comparison, compare};
pub use stragglers::{StepSpread, Stragglers, stragglers};
pub use timeline::{Bin, bins};
