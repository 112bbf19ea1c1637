//! The answer of a run: one value a vertex, in ascending original ID, and its hash.
//!
//! Here, and only here, values leave the dense order of the run, so that neither plugins nor files know of reordered graphs.

use crate::base::checksum::split_mix;
use crate::base::id::GlobalId;
use crate::field::FieldSpec;
use crate::graph::{Graph, Ids};
use sha2::{Digest, Sha256};

/// Which field is the answer and what its numbers mean.
#[derive(Clone, Copy, Debug)]
pub struct AnswerSpec {
    /// The field.
    pub field: FieldSpec,
    /// The column's name in answer files.
    pub column: &'static str,
    /// What the numbers mean.
    pub meaning: Meaning,
}

/// What the numbers of an answer field mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A number; `u32::MAX` stands for none and prints as -1.
    Count,
    /// A class of vertices by the smallest dense number in it; the answer holds the smallest original ID in it.
    Class,
    /// 0 or 1.
    Flag,
    /// A real number.
    Real,
}

/// One value a vertex, in ascending original ID: value `i` belongs to [`Ids::nth`]`(i)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The column's name in answer files.
    pub column: &'static str,
    /// The values.
    pub values: Values,
}

/// The values of an answer, by type.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Levels, core numbers.
    Count(Vec<u32>),
    /// Original IDs.
    Vertex(Vec<i64>),
    /// Membership.
    Flag(Vec<u8>),
    /// Ranks.
    Real(Vec<f64>),
}

impl Answer {
    /// From the raw little-endian elements of the answer field, owned vertices only, in dense order.
    pub(crate) fn from_raw(spec: &AnswerSpec, graph: &Graph, raw: &[u8]) -> Answer {
        let ids = graph.ids();
        let words = || raw.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        let values = match spec.meaning {
            Meaning::Count => Values::Count(ids.by_id(words().collect())),
            Meaning::Flag => Values::Flag(ids.by_id(words().map(|word| u8::from(word != 0)).collect())),
            Meaning::Class => Values::Vertex(classes(ids, ids.by_id(words().collect()))),
            Meaning::Real => Values::Real(ids.by_id(
                raw.chunks_exact(8).map(|word| f64::from_le_bytes(word.try_into().expect("eight bytes"))).collect(),
            )),
        };
        Answer { column: spec.column, values }
    }

    /// SHA-256 over the values, little-endian, in ascending original ID: 4 bytes a count, 8 an ID, 1 a flag, 8 a real.
    pub fn hash(&self) -> String {
        let mut sha = Sha256::new();
        match &self.values {
            Values::Count(values) => values.iter().for_each(|value| sha.update(value.to_le_bytes())),
            Values::Vertex(values) => values.iter().for_each(|value| sha.update(value.to_le_bytes())),
            Values::Flag(values) => sha.update(values),
            Values::Real(values) => values.iter().for_each(|value| sha.update(value.to_le_bytes())),
        }
        sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Eight sums of the values, the sign of value `v` in sum `j` being bit `j` of SplitMix64 of its original ID (set: minus);
    /// `None` unless the values are real. Records can be compared by them without the answers.
    pub fn check_sums(&self, graph: &Graph) -> Option<[f64; 8]> {
        let Values::Real(values) = &self.values else { return None };
        let mut sums = [0.0f64; 8];
        for (&value, id) in values.iter().zip(graph.ids().iter()) {
            let bits = split_mix(id as u64);
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += if bits >> j & 1 == 1 { -value } else { value };
            }
        }
        Some(sums)
    }
}

/// The smallest original ID in the class of each vertex. A label that is no vertex can only come from corrupt state; it stays
/// visible as an impossible ID.
fn classes(ids: &Ids, labels: Vec<u32>) -> Vec<i64> {
    if ids.ascending_order().is_none() {
        // The smallest dense number has the smallest ID.
        let name = |label: u32| if (label as usize) < ids.len() { ids.original(GlobalId(label)) } else { i64::MIN };
        return labels.into_iter().map(name).collect();
    }
    // In ascending ID, the first vertex met of a class gives it its name.
    let mut names = vec![None; ids.len()];
    let named = ids.iter().zip(labels).map(|(id, label)| match names.get_mut(label as usize) {
        Some(name) => *name.get_or_insert(id),
        None => i64::MIN,
    });
    named.collect()
}
