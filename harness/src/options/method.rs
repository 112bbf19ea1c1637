//! `--method`: ranks, device and protection in one word.

use clap::ValueEnum;

/// A method of schema v9.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
#[allow(clippy::enum_variant_names, reason = "the names are those of schema v9")]
pub(crate) enum Method {
    /// One rank on host threads
    SingleCpuBaseline,
    /// One rank on host threads, protected
    SingleCpuFaultTolerant,
    /// Two or more ranks on host threads
    MultiCpuBaseline,
    /// Two or more ranks on host threads, protected
    MultiCpuFaultTolerant,
    /// One rank on a GPU
    SingleGpuBaseline,
    /// One rank on a GPU, protected
    SingleGpuFaultTolerant,
    /// Two or more ranks on GPUs
    MultiGpuBaseline,
    /// Two or more ranks on GPUs, protected
    MultiGpuFaultTolerant,
}

impl Method {
    /// By its number of ranks, its device and its protection.
    pub(crate) fn of(ranks: usize, is_gpu: bool, is_protected: bool) -> Method {
        match (ranks > 1, is_gpu, is_protected) {
            (false, false, false) => Method::SingleCpuBaseline,
            (false, false, true) => Method::SingleCpuFaultTolerant,
            (true, false, false) => Method::MultiCpuBaseline,
            (true, false, true) => Method::MultiCpuFaultTolerant,
            (false, true, false) => Method::SingleGpuBaseline,
            (false, true, true) => Method::SingleGpuFaultTolerant,
            (true, true, false) => Method::MultiGpuBaseline,
            (true, true, true) => Method::MultiGpuFaultTolerant,
        }
    }

    /// Whether it runs on two or more ranks.
    pub(crate) fn is_multi(self) -> bool {
        use Method::{MultiCpuBaseline, MultiCpuFaultTolerant, MultiGpuBaseline, MultiGpuFaultTolerant};
        matches!(self, MultiCpuBaseline | MultiCpuFaultTolerant | MultiGpuBaseline | MultiGpuFaultTolerant)
    }

    /// Whether it runs on GPUs.
    pub(crate) fn is_gpu(self) -> bool {
        use Method::{MultiGpuBaseline, MultiGpuFaultTolerant, SingleGpuBaseline, SingleGpuFaultTolerant};
        matches!(self, SingleGpuBaseline | SingleGpuFaultTolerant | MultiGpuBaseline | MultiGpuFaultTolerant)
    }

    /// Whether it is protected.
    pub(crate) fn is_protected(self) -> bool {
        use Method::{MultiCpuFaultTolerant, MultiGpuFaultTolerant, SingleCpuFaultTolerant, SingleGpuFaultTolerant};
        matches!(self, SingleCpuFaultTolerant | MultiCpuFaultTolerant | SingleGpuFaultTolerant | MultiGpuFaultTolerant)
    }

    /// As records have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::SingleCpuBaseline => "single_cpu_baseline",
            Method::SingleCpuFaultTolerant => "single_cpu_fault_tolerant",
            Method::MultiCpuBaseline => "multi_cpu_baseline",
            Method::MultiCpuFaultTolerant => "multi_cpu_fault_tolerant",
            Method::SingleGpuBaseline => "single_gpu_baseline",
            Method::SingleGpuFaultTolerant => "single_gpu_fault_tolerant",
            Method::MultiGpuBaseline => "multi_gpu_baseline",
            Method::MultiGpuFaultTolerant => "multi_gpu_fault_tolerant",
        }
    }
}
