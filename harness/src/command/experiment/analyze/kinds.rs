//! What the two sides of a pair differ in, and the parts of a total that explain the difference.

use super::super::manifest::FrozenMethod;

/// What the two sides of a pair differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Fault tolerant against baseline, several ranks.
    MultiProtection,
    /// Several ranks against one, both baseline.
    Scaling,
    /// Fault tolerant against baseline, one rank.
    SingleProtection,
}

/// How a row takes part in a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// What the pair is about.
    Total,
    /// A part that explains it.
    Explains,
    /// A part that differs between the methods, but is not the cost of what they differ in.
    Change,
    /// What no part explains: with it, the rows add up to the total.
    Unexplained,
}

impl Role {
    /// As tables have it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Role::Total => "total",
            Role::Explains => "explains",
            Role::Change => "change",
            Role::Unexplained => "unexplained",
        }
    }
}

/// The totals that every pair is about: the number of the field in schema v9, and its name.
pub(super) const TOTALS: [(usize, &str); 2] = [(24, "algorithm_e2e_ms"), (17, "algorithm_total_ms")];

/// A part of a total: its name, the fields of schema v9 whose sum it is, and its role. Parts do not overlap.
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) fields: &'static [usize],
    pub(super) role: Role,
}

/// Parts outside the loop and its checks: of `algorithm_e2e_ms` only.
const OUTSIDE: [usize; 5] = [18, 19, 20, 21, 22];

impl Kind {
    /// As tables have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::MultiProtection => "multi_protection",
            Kind::Scaling => "scaling",
            Kind::SingleProtection => "single_protection",
        }
    }

    /// Whether the number of ranks is what is compared.
    pub(super) fn compares_ranks(self) -> bool {
        self == Kind::Scaling
    }

    /// The kind of pair that two methods make, if any.
    pub(super) fn of(baseline: &FrozenMethod, variant: &FrozenMethod) -> Option<Kind> {
        let (base, other) = (parts(&baseline.name)?, parts(&variant.name)?);
        let is_same_device = base.1 == other.1;
        match (base, other) {
            _ if !is_same_device => None,
            (("multi", _, "baseline"), ("multi", _, "fault_tolerant")) if baseline.ranks == variant.ranks => {
                Some(Kind::MultiProtection)
            }
            (("single", _, "baseline"), ("multi", _, "baseline")) => Some(Kind::Scaling),
            (("single", _, "baseline"), ("single", _, "fault_tolerant")) => Some(Kind::SingleProtection),
            _ => None,
        }
    }

    /// The parts that explain a total.
    pub(super) fn parts_of(self, total: usize) -> impl Iterator<Item = &'static Part> {
        let is_inside = move |part: &&Part| total == 24 || !part.fields.iter().any(|field| OUTSIDE.contains(field));
        // One rank alone talks to nobody: those parts are 0 by law.
        let is_there = move |part: &&Part| self != Kind::SingleProtection || part.role != Role::Change;
        self.parts().iter().filter(is_inside).filter(is_there)
    }

    fn parts(self) -> &'static [Part] {
        use Role::{Change, Explains};
        const fn part(name: &'static str, fields: &'static [usize], role: Role) -> Part {
            Part { name, fields, role }
        }
        // Numbers 8 and 9 are collected by profiling runs only, so here they are 0: they run beside the loop and are no part of it.
        const PROTECTION: [Part; 12] = [
            part("set_up_ms", &[18, 19], Explains),
            part("graph_kernel_ms", &[3], Explains),
            part("score_and_mark_ms", &[5], Explains),
            part("tolerance_gpu_bookkeeping_ms", &[7], Explains),
            part("d2h_summary_ms", &[8], Explains),
            part("cpu_validation_ms", &[9], Explains),
            part("cpu_check_drain_ms", &[11], Explains),
            part("postcheck_total_ms", &[14], Explains),
            part("nccl_exchange_ms", &[12], Change),
            part("mpi_sync_ms", &[13], Change),
            part("initial_ghost_exchange_ms", &[20], Change),
            part("final_result_ms", &[21, 22], Explains),
        ];
        const SCALING: [Part; 6] = [
            part("graph_kernel_ms", &[3], Explains),
            part("nccl_exchange_ms", &[12], Explains),
            part("mpi_sync_ms", &[13], Explains),
            part("set_up_ms", &[18, 19], Explains),
            part("initial_ghost_exchange_ms", &[20], Explains),
            part("final_result_ms", &[21, 22], Explains),
        ];
        match self {
            Kind::MultiProtection | Kind::SingleProtection => &PROTECTION,
            Kind::Scaling => &SCALING,
        }
    }
}

/// Ranks, device and protection of a method's name.
fn parts(name: &str) -> Option<(&str, &str, &str)> {
    let (ranks, rest) = name.split_once('_')?;
    let (device, protection) = rest.split_once('_')?;
    Some((ranks, device, protection))
}
