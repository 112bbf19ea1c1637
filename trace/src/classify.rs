//! This module decides which events are work of a device (by their category) and of which class they are (by category, then by name).
//! The rules are those of docs/schemas.md, "Trace analysis".

use crate::error::{Error, Result};
use crate::names::{Name, Names};
use crate::recording::Class;
use regex::bytes::{Regex, RegexBuilder};
use std::collections::HashMap;

/// Parts of names that make a kernel communication whatever the options: the libraries of NVIDIA, AMD and Huawei, and MSCCL's kernels.
const ALWAYS: [&[u8]; 4] = [b"nccl", b"rccl", b"hccl", b"mscclkernel"];

/// Parts of names by which further families of collectives are known. They are computation by the formula, so files with such kernels
/// get a warning; [`Rules::AUTO`] makes them communication. Each is a name of kernels or of their namespace in the sources of the
/// library that is said behind it.
const KNOWN_FAMILIES: [&[u8]; 31] = [
    // Collectives by their own name: custom all-reduce of vLLM, TensorRT-LLM and FlashInfer, symmetric memory of PyTorch.
    b"all_reduce",
    b"allreduce",
    b"all_gather",
    b"allgather",
    b"reduce_scatter",
    b"reducescatter",
    b"all_to_all",
    b"alltoall",
    // vLLM, SGLang and aiter: custom and quick all-reduce.
    b"cross_device_reduce",
    b"quickreduce",
    b"quick_reduce",
    // PyTorch: kernels over symmetric memory and multicast addresses.
    b"multimem",
    b"symm_mem",
    b"symmetric_memory",
    // One-sided communication of NVIDIA and AMD, and what is built on it.
    b"nvshmem",
    b"rocshmem",
    b"roc_shmem",
    // Expert dispatch and combine: DeepEP and its forks, pplx-kernels, mori, TensorRT-LLM.
    b"deep_ep",
    b"intranode::",
    b"internode::",
    b"internode_ll::",
    b"pplx",
    b"epdispatch",
    b"epcombine",
    b"moea2a",
    b"moe_a2a",
    // Transformer Engine; MSCCL++ and what else MSCCL brings; oneCCL of Intel; UCCL; FlagCX.
    b"userbuffers",
    b"msccl",
    b"oneccl",
    b"uccl::",
    b"flagcx",
];

/// How events are told apart.
#[derive(Clone, Default, Debug)]
pub struct Rules {
    patterns: Vec<Regex>,
    /// Kernels of families that are known as collective are communication.
    counts_known_families: bool,
    /// Events of category `mtia_ccp_events` are computation.
    pub counts_mtia: bool,
}

impl Rules {
    /// The word that stands for all families known as collective, in place of a pattern.
    pub const AUTO: &str = "auto";

    /// Also kernels whose name matches one of these regular expressions are communication; [`Rules::AUTO`] means every family of
    /// kernels known as collective.
    ///
    /// # Errors
    /// For a text that is no regular expression.
    pub fn with_patterns(patterns: &[String]) -> Result<Rules> {
        let counts_known_families = patterns.iter().any(|pattern| pattern == Rules::AUTO);
        let compiled = patterns.iter().filter(|pattern| pattern.as_str() != Rules::AUTO).map(|pattern| {
            let failed = |source| Error::Pattern { pattern: pattern.clone(), source };
            RegexBuilder::new(pattern).build().map_err(failed)
        });
        Ok(Rules { patterns: compiled.collect::<Result<_>>()?, counts_known_families, counts_mtia: false })
    }

    fn is_communication(&self, name: &[u8]) -> bool {
        contains_any(name, &ALWAYS)
            || self.counts_known_families && is_of_known_family(name)
            || self.patterns.iter().any(|pattern| pattern.is_match(name))
    }
}

/// The class of a kernel by its name, asked once a name.
#[derive(Default, Debug)]
pub(crate) struct ByName {
    classes: HashMap<Name, Class>,
}

impl ByName {
    pub(crate) fn class(&mut self, name: Name, names: &Names, rules: &Rules) -> Class {
        *self.classes.entry(name).or_insert_with(|| {
            if rules.is_communication(names.text(name).as_bytes()) { Class::Communication } else { Class::Computation }
        })
    }
}

/// Whether a kernel is of a family known as collective. Kernels that PyTorch's compiler writes are not: their names list the operators
/// that they fuse, and what it fuses is computation, also beside a collective.
pub(crate) fn is_of_known_family(name: &[u8]) -> bool {
    let is_generated = name.starts_with(b"triton_") && contains_any(name, &[b"_fused_"]);
    !is_generated && contains_any(name, &KNOWN_FAMILIES)
}

/// Whether one of the lower-case `needles` occurs in `text` in any case.
fn contains_any(text: &[u8], needles: &[&[u8]]) -> bool {
    needles.iter().any(|needle| text.windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle)))
}

/// What a category says of its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Category {
    /// Kernels: computation or communication, by name.
    Kernel,
    /// Copies and fills.
    Memory,
    /// Counted as kernels by option.
    Mtia,
    /// Calls to a runtime or a driver.
    Call,
    /// Anything else.
    Other,
}

impl Category {
    /// Whether its events are work of a device, if by option only.
    pub(crate) fn is_of_a_device(self) -> bool {
        matches!(self, Category::Kernel | Category::Memory | Category::Mtia)
    }

    #[inline]
    pub(crate) fn of(text: &[u8]) -> Category {
        let is = |other: &[u8]| text.eq_ignore_ascii_case(other);
        match (text.len(), text.first().map(|byte| byte | 0x20)) {
            (6, Some(b'k')) if is(b"kernel") => Category::Kernel,
            (10, Some(b'g')) if is(b"gpu_memcpy") || is(b"gpu_memset") => Category::Memory,
            (6, Some(b'm')) if is(b"memcpy") || is(b"memset") => Category::Memory,
            (15, Some(b'm')) if is(b"mtia_ccp_events") => Category::Mtia,
            (12 | 11 | 7, Some(b'c' | b'r')) if is(b"cuda_runtime") || is(b"cuda_driver") || is(b"runtime") => {
                Category::Call
            }
            (_, Some(b'p')) if is(b"privateuse1_runtime") || is(b"privateuse1_driver") => Category::Call,
            (_, Some(b'x' | b'm')) if is(b"xpu_runtime") || is(b"xpu_driver") || is(b"mtia_runtime") => Category::Call,
            // The format allows several categories, with commas between them.
            _ if text.contains(&b',') => text
                .split(|byte| *byte == b',')
                .map(|part| Category::of(part.trim_ascii()))
                .find(|of| *of != Category::Other)
                .unwrap_or(Category::Other),
            _ => Category::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_known_in_any_case_and_in_full() {
        let check = |text: &str, expected| assert_eq!(Category::of(text.as_bytes()), expected, "{text}");
        for text in ["kernel", "Kernel", "KERNEL"] {
            check(text, Category::Kernel);
        }
        for text in ["gpu_memcpy", "gpu_memset", "Memcpy", "Memset", "GPU_Memset"] {
            check(text, Category::Memory);
        }
        for text in ["cuda_runtime", "cuda_driver", "Runtime"] {
            check(text, Category::Call);
        }
        for text in ["", "cpu_op", "cuda_sync", "gpu_user_annotation", "kernels", "kernel ", "memory"] {
            check(text, Category::Other);
        }
        check("mtia_ccp_events", Category::Mtia);
    }

    #[test]
    fn of_several_categories_the_one_that_says_something_counts() {
        let check = |text: &str, expected| assert_eq!(Category::of(text.as_bytes()), expected, "{text}");
        check("gpu,kernel", Category::Kernel);
        check("Memcpy, gpu", Category::Memory);
        check("cpu_op,toplevel", Category::Other);
        check(",", Category::Other);
    }

    fn class(rules: &Rules, name: &str) -> Class {
        let mut names = Names::default();
        let name = names.name(name);
        ByName::default().class(name, &names, rules)
    }

    #[test]
    fn communication_is_known_by_name_or_by_pattern() {
        let rules = Rules::with_patterns(&["^multimem_".to_owned()]).expect("a pattern");
        for name in [
            "ncclDevKernel_AllReduce",
            "void NCCL_x",
            "my_rcclGeneric",
            "HcclAllReduce",
            "multimem_all_reduce",
            "mscclKernel_Sum_half_LL",
            "void MSCCLKERNEL<int>(x)",
        ] {
            assert_eq!(class(&rules, name), Class::Communication, "{name}");
        }
        for name in ["gemm", "nccx", "all_reduce", "a multimem_x", "", "nvshmemi_barrier", "mscclpp::executionKernel"] {
            assert_eq!(class(&rules, name), Class::Computation, "{name}");
        }
        assert!(Rules::with_patterns(&["(".to_owned()]).is_err());
    }

    #[test]
    fn auto_counts_every_known_family_and_only_those() {
        let auto = Rules::with_patterns(&["auto".to_owned(), "^mine".to_owned()]).expect("patterns");
        for name in [
            "nvshmemi_barrier_on_stream_kernel",
            "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)",
            "void deep_ep::internode_ll::combine<true>(void*)",
            "_ZN7deep_ep13internode_ll8dispatchEv",
            "void vllm::cross_device_reduce_1stage<half, 2>(vllm::RankData*)",
            "quickreduce::allreduce_prototype_twoshot<half>",
            "void c10d::one_shot_all_reduce_kernel<float>(x)",
            "multimem_one_shot_reduce_kernel",
            "void tensorrt_llm::moeA2ACombineKernel(x)",
            "mori::moe::EpDispatchIntraNodeKernel_bf16",
            "mscclpp::executionKernel",
            "userbuffers_fp16_sum_inplace_gpu_rr",
            "twoshotAllReduceKernel",
            "mine",
        ] {
            assert_eq!(class(&auto, name), Class::Communication, "{name}");
            let is_by_default = class(&Rules::default(), name) == Class::Communication;
            assert!(!is_by_default && (name == "mine" || is_of_known_family(name.as_bytes())), "{name}");
        }
        for name in
            ["gemm", "reduce_kernel", "dispatch", "combine_topk", "triton_poi_fused_all_reduce_add_0", "auto", ""]
        {
            assert_eq!(class(&auto, name), Class::Computation, "{name}");
            assert!(!is_of_known_family(name.as_bytes()), "{name}");
        }
    }
}
