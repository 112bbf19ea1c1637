//! Which events are work of a device, and of which class: the rules of docs/schemas.md ("Trace analysis").

use crate::error::{Error, Result};
use crate::names::{Name, Names};
use crate::recording::Class;
use regex::bytes::{Regex, RegexBuilder};
use std::collections::HashMap;

/// How events are told apart.
#[derive(Clone, Default, Debug)]
pub struct Rules {
    patterns: Vec<Regex>,
    /// Events of category `mtia_ccp_events` are computation.
    pub counts_mtia: bool,
}

impl Rules {
    /// Also kernels whose name matches one of these regular expressions are communication.
    ///
    /// # Errors
    /// For a text that is no regular expression.
    pub fn with_patterns(patterns: &[String]) -> Result<Rules> {
        let compiled = patterns.iter().map(|pattern| {
            let failed = |source| Error::Pattern { pattern: pattern.clone(), source };
            RegexBuilder::new(pattern).build().map_err(failed)
        });
        Ok(Rules { patterns: compiled.collect::<Result<_>>()?, counts_mtia: false })
    }

    fn is_communication(&self, name: &[u8]) -> bool {
        contains_any(name, &[b"nccl", b"rccl", b"hccl"]) || self.patterns.iter().any(|pattern| pattern.is_match(name))
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

/// Names that look like collectives although rules call them computation, with how often each occurs.
pub(crate) fn looks_like_a_collective(name: &str) -> bool {
    const SIGNS: [&[u8]; 9] = [
        b"all_reduce",
        b"allreduce",
        b"all_gather",
        b"allgather",
        b"reduce_scatter",
        b"reducescatter",
        b"all_to_all",
        b"alltoall",
        b"cross_device_reduce",
    ];
    contains_any(name.as_bytes(), &SIGNS)
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
    fn communication_is_known_by_name_or_by_pattern() {
        let rules = Rules::with_patterns(&["^multimem_".to_owned()]).expect("a pattern");
        let check = |name: &str, expected| {
            let mut names = Names::default();
            let name = names.name(name);
            assert_eq!(ByName::default().class(name, &names, &rules), expected, "{}", names.text(name));
        };
        for name in ["ncclDevKernel_AllReduce", "void NCCL_x", "my_rcclGeneric", "HcclAllReduce", "multimem_all_reduce"]
        {
            check(name, Class::Communication);
        }
        for name in ["gemm", "nccx", "all_reduce", "a multimem_x", ""] {
            check(name, Class::Computation);
        }
        assert!(Rules::with_patterns(&["(".to_owned()]).is_err());
    }
}
