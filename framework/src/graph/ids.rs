//! Original vertex IDs beside the dense numbering 0 to n - 1, which follows their numeric order unless the graph was reordered.
//!
//! Everything users see is in ascending original ID. What depends on that asks here ([`Ids::vertices`], [`Ids::at`],
//! [`Ids::by_id`], [`Ids::by_number`]) and never takes dense numbers for places in ascending ID.

use crate::base::id::GlobalId;
use crate::base::memory::Array;
use rayon::prelude::*;
use std::borrow::Cow;

/// The original ID of every vertex. IDs are `i64`: negative and sparse ones are welcome.
#[derive(Clone, Debug)]
pub enum Ids {
    /// One ascending range, `first` to `first + len - 1`; costs no memory.
    Range {
        /// The smallest ID.
        first: i64,
        /// How many.
        len: usize,
    },
    /// Any ascending list, each once.
    Listed(Array<i64>),
    /// IDs that do not ascend with the dense numbers; 12 bytes a vertex.
    Reordered {
        /// The ID of each vertex.
        ids: Array<i64>,
        /// The vertices in ascending ID.
        order: Array<u32>,
    },
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

    /// From the ID of each vertex and the vertices in ascending ID; becomes a list or a range where the IDs ascend by themselves.
    ///
    /// # Errors
    /// The sentence says what is wrong: the lengths differ, a number is no vertex, or the IDs do not ascend along the order.
    pub fn reordered(ids: Array<i64>, order: Array<u32>) -> Result<Ids, String> {
        if ids.len() != order.len() {
            return Err(format!("an order of {} vertices does not fit {} IDs", order.len(), ids.len()));
        }
        if let Some(&v) = order.par_iter().find_any(|&&v| v as usize >= ids.len()) {
            return Err(format!("the order of IDs names {v}, which is no vertex: there are {}", ids.len()));
        }
        // IDs that ascend strictly are all different, so the order names each vertex once.
        if order.par_windows(2).any(|pair| ids[pair[0] as usize] >= ids[pair[1] as usize]) {
            return Err("the IDs do not ascend along their order".into());
        }
        if order.par_iter().enumerate().all(|(place, &v)| place == v as usize) {
            return Ok(Ids::ascending(ids));
        }
        Ok(Ids::Reordered { ids, order })
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        match self {
            Ids::Range { len, .. } => *len,
            Ids::Listed(ids) | Ids::Reordered { ids, .. } => ids.len(),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match self {
            Ids::Range { .. } => 0,
            Ids::Listed(ids) => ids.len() * 8,
            Ids::Reordered { ids, order } => ids.len() * 8 + order.len() * 4,
        }
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vertices in ascending original ID; `None` where that is the dense numbering.
    pub fn ascending_order(&self) -> Option<&[u32]> {
        match self {
            Ids::Range { .. } | Ids::Listed(_) => None,
            Ids::Reordered { order, .. } => Some(order),
        }
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
            Ids::Listed(ids) | Ids::Reordered { ids, .. } => ids[v.0 as usize],
        }
    }

    /// The vertex with this original ID.
    pub fn find(&self, original: i64) -> Option<GlobalId> {
        let place = match self {
            Ids::Range { first, len } => {
                usize::try_from(original.checked_sub(*first)?).ok().filter(|place| place < len)?
            }
            Ids::Listed(ids) => ids.binary_search(&original).ok()?,
            Ids::Reordered { ids, order } => order.binary_search_by_key(&original, |&v| ids[v as usize]).ok()?,
        };
        Some(self.at(place))
    }

    /// The vertex at a place, counted from 0 in ascending original ID.
    ///
    /// # Panics
    /// If there are no more than `place` vertices.
    pub fn at(&self, place: usize) -> GlobalId {
        assert!(place < self.len(), "place {place} of {}", self.len());
        GlobalId(self.ascending_order().map_or(place as u32, |order| order[place]))
    }

    /// The original ID at a place, counted from 0 in ascending order: the one that value `place` of an answer belongs to.
    ///
    /// # Panics
    /// If there are no more than `place` vertices.
    pub fn nth(&self, place: usize) -> i64 {
        self.original(self.at(place))
    }

    /// All vertices, in ascending original ID.
    pub fn vertices(&self) -> impl DoubleEndedIterator<Item = GlobalId> + '_ {
        let order = self.ascending_order();
        (0..self.len()).map(move |place| GlobalId(order.map_or(place as u32, |order| order[place])))
    }

    /// All original IDs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.vertices().map(|v| self.original(v))
    }

    /// Values by dense number, rearranged into ascending original ID; nothing to do where these agree.
    ///
    /// # Panics
    /// If there is not one value a vertex.
    pub fn by_id<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        assert_eq!(values.len(), self.len(), "one value a vertex");
        match self.ascending_order() {
            None => values,
            Some(order) => order.iter().map(|&v| values[v as usize]).collect(),
        }
    }

    /// The reverse of [`Ids::by_id`]: values in ascending original ID, as an answer has them, by dense number.
    ///
    /// # Panics
    /// If there is not one value a vertex.
    pub fn by_number<'a, T: Copy + Default>(&self, values: &'a [T]) -> Cow<'a, [T]> {
        assert_eq!(values.len(), self.len(), "one value a vertex");
        let Some(order) = self.ascending_order() else { return Cow::Borrowed(values) };
        let mut all = vec![T::default(); values.len()];
        order.iter().zip(values).for_each(|(&v, &value)| all[v as usize] = value);
        Cow::Owned(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::memory::Buf;

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

    #[test]
    fn ids_in_any_order_are_found_and_come_back_ascending() {
        let make =
            |ids: &[i64], order: &[u32]| Ids::reordered(Array::from(Buf::copied(ids)), Array::from(Buf::copied(order)));
        let ids = make(&[7, -3, 40, 5], &[1, 3, 0, 2]).expect("they fit");
        assert_eq!(ids.iter().collect::<Vec<_>>(), [-3, 5, 7, 40]);
        assert_eq!([7, -3, 40, 5, 6].map(|id| ids.find(id).map(|v| v.0)), [Some(0), Some(1), Some(2), Some(3), None]);
        assert_eq!((ids.at(1), ids.nth(1), ids.original(GlobalId(1))), (GlobalId(3), 5, -3));
        assert_eq!(ids.by_id(vec!['a', 'b', 'c', 'd']), ['b', 'd', 'a', 'c']);
        assert_eq!(*ids.by_number(&['b', 'd', 'a', 'c']), ['a', 'b', 'c', 'd']);
        assert_eq!(ids.bytes(), 4 * 12);
        assert!(matches!(make(&[4, 5, 6], &[0, 1, 2]), Ok(Ids::Range { first: 4, len: 3 })));
        assert!(matches!(make(&[], &[]), Ok(Ids::Range { len: 0, .. })));
        for (list, order, words) in [
            (&[1, 2][..], &[0][..], "does not fit"),
            (&[1, 2], &[0, 2], "names 2"),
            (&[1, 2], &[0, 0], "do not ascend"),
            (&[1, 2], &[1, 0], "do not ascend"),
            (&[1, 1], &[0, 1], "do not ascend"),
        ] {
            let error = make(list, order).expect_err("they do not fit");
            assert!(error.contains(words), "{error}");
        }
    }
}
