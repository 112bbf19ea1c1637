//! Original vertex IDs beside the dense numbering 0 to n - 1, which follows their numeric order.

use crate::id::GlobalId;
use crate::memory::Array;

/// The original ID of every vertex, ascending. IDs are `i64`: negative and sparse ones are welcome.
#[derive(Clone, Debug)]
pub enum Ids {
    /// One range, `first` to `first + len - 1`; costs no memory.
    Range {
        /// The smallest ID.
        first: i64,
        /// How many.
        len: usize,
    },
    /// Any ascending list, each once.
    Listed(Array<i64>),
}

impl Ids {
    /// From an ascending list without repetition; becomes a range where it is one.
    pub fn ascending(ids: Array<i64>) -> Ids {
        match (ids.first(), ids.last()) {
            (Some(&first), Some(&last)) if last.wrapping_sub(first) as u64 == ids.len() as u64 - 1 => {
                Ids::Range { first, len: ids.len() }
            }
            (None, _) => Ids::Range { first: 0, len: 0 },
            _ => Ids::Listed(ids),
        }
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        match self {
            Ids::Range { len, .. } => *len,
            Ids::Listed(ids) => ids.len(),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match self {
            Ids::Range { .. } => 0,
            Ids::Listed(ids) => ids.len() * 8,
        }
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The original ID of a vertex.
    ///
    /// # Panics
    /// If `v` is no vertex.
    pub fn original(&self, v: GlobalId) -> i64 {
        match self {
            Ids::Range { first, len } => {
                assert!((v.0 as usize) < *len, "vertex {} of {len}", v.0);
                first + i64::from(v.0)
            }
            Ids::Listed(ids) => ids[v.0 as usize],
        }
    }

    /// The vertex with this original ID.
    pub fn find(&self, original: i64) -> Option<GlobalId> {
        let place = match self {
            Ids::Range { first, len } => {
                usize::try_from(original.checked_sub(*first)?).ok().filter(|place| place < len)?
            }
            Ids::Listed(ids) => ids.binary_search(&original).ok()?,
        };
        Some(GlobalId(place as u32))
    }

    /// All original IDs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map(|v| self.original(GlobalId(v as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Buf;

    #[test]
    fn a_list_without_gaps_becomes_a_range_and_both_kinds_find_every_id() {
        for (list, is_range) in [(vec![-2, -1, 0, 1], true), (vec![i64::MIN, 5, i64::MAX], false), (vec![], true)] {
            let ids = Ids::ascending(Array::from(Buf::copied(&list)));
            assert_eq!(matches!(ids, Ids::Range { .. }), is_range, "{list:?}");
            assert_eq!(ids.iter().collect::<Vec<_>>(), list);
            for (place, &id) in list.iter().enumerate() {
                assert_eq!(ids.find(id), Some(GlobalId(place as u32)));
            }
            assert_eq!(ids.find(77), None);
        }
    }
}
