//! The operators as a device runs them: each leaves what its twin on the host leaves in [`crate::step`], the next frontier, offers and
//! a tally.

use super::{CriticalDegrees, GatherMarks};
use crate::base::error::Result;
use crate::base::tally::Tally;
use crate::op::Scalars;
use crate::partition::Part;

/// A leaf rule as a device knows it.
pub(crate) struct Rule {
    /// The name that its kernels begin with.
    pub(crate) name: &'static str,
    /// The fields it binds, in order.
    pub(crate) slots: Vec<usize>,
    /// Its numbers.
    pub(crate) scalars: Scalars,
    /// Of a protected run: the degrees at which vertices of the frontier that it consumes are critical.
    pub(crate) critical: CriticalDegrees,
}

/// Runs operators.
pub(crate) trait Operators {
    /// Pushes along the arcs of the frontier; also how many vertices it consumed.
    fn push(&mut self, rule: &Rule) -> Result<(Tally, u64)>;

    /// Selects vertices by key up to `bound` and then, if there is a rule for it, pushes from those selected: one look at what both
    /// added up. The tallies of both, and how many vertices were consumed.
    fn select(&mut self, rule: &Rule, bound: u32, then: Option<&Rule>) -> Result<(Tally, Tally, u64)>;

    /// Pushes or pulls to vertices that have not joined, by the same numbers as the host; also how many vertices it consumed.
    fn visit(&mut self, rule: &Rule, part: &Part, total: &Tally) -> Result<(Tally, u64)>;

    /// Runs a rule for every owned vertex, and for the ghosts too if `with_ghosts`; if `counts`, how many said true.
    fn each(&mut self, rule: &Rule, with_ghosts: bool, counts: bool) -> Result<u64>;

    /// Runs a rule for every owned vertex that a peer has as a ghost, and for every ghost.
    fn boundary(&mut self, rule: &Rule) -> Result<Tally>;

    /// Runs a rule for every vertex that the last exchange changed.
    fn changed(&mut self, rule: &Rule) -> Result<()>;

    /// Keeps those of the activated vertices that a rule says true of. The frontier's size is an upper bound from here to the next push.
    fn filter(&mut self, rule: &Rule) -> Result<()>;

    /// Gathers into every owned vertex and settles it.
    fn gather(&mut self, rule: &Rule, part: &Part, marks: Option<GatherMarks>) -> Result<Tally>;
}
