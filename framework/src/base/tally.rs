//! What one superstep adds up on one rank, and how the tallies of all ranks become one, in any order with the same result.

use crate::base::sum::Sum;

/// What one superstep adds up on one rank; [`Tally::merge`] gives the tally of all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tally {
    /// Vertices that the next superstep will work on. Summed.
    pub active: u64,
    /// Arcs out of them. Summed.
    pub arcs: u64,
    /// How far values moved. Summed, in any order with the same result.
    pub residual: Sum,
    /// Handed to the next superstep (PageRank: the rank held by sinks). Summed, in any order with the same result.
    pub carry: Sum,
    /// The least of some key (k-core: the smallest degree left); [`Tally::NONE`] when there is none. The smallest wins.
    pub least: u64,
}

impl Tally {
    /// No key at all.
    pub const NONE: u64 = u64::MAX;

    /// A tally of `active` vertices and nothing else.
    pub fn active(active: u64) -> Tally {
        Tally { active, ..Tally::default() }
    }

    /// Adds another rank's tally.
    pub fn merge(&mut self, other: &Tally) {
        self.active += other.active;
        self.arcs += other.arcs;
        self.residual.merge(other.residual);
        self.carry.merge(other.carry);
        self.least = self.least.min(other.least);
    }

    /// Length of [`Tally::to_bytes`].
    pub(crate) const BYTES: usize = 56;

    pub(crate) fn to_bytes(self) -> [u8; Tally::BYTES] {
        let [a, b] = self.residual.to_bits();
        let [c, d] = self.carry.to_bits();
        let mut bytes = [0; 56];
        for (slot, word) in bytes.chunks_exact_mut(8).zip([self.active, self.arcs, a, b, c, d, self.least]) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Tally> {
        let whole = Some(bytes).filter(|bytes| bytes.len() % 8 == 0)?;
        let words: Vec<u64> =
            whole.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
        let [active, arcs, a, b, c, d, least] = words[..] else { return None };
        Some(Tally { active, arcs, residual: Sum::from_bits([a, b]), carry: Sum::from_bits([c, d]), least })
    }
}

impl Default for Tally {
    fn default() -> Self {
        Tally { active: 0, arcs: 0, residual: Sum::default(), carry: Sum::default(), least: Tally::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tallies() -> impl Strategy<Value = Tally> {
        let sum = || prop::collection::vec(-0.01f64..0.01, 0..9).prop_map(|terms| terms.into_iter().collect::<Sum>());
        (0u64..1 << 60, 0u64..1 << 60, sum(), sum(), any::<u64>())
            .prop_map(|(active, arcs, residual, carry, least)| Tally { active, arcs, residual, carry, least })
    }

    fn merged(mut left: Tally, right: Tally) -> Tally {
        left.merge(&right);
        left
    }

    proptest! {
        #[test]
        fn tallies_merge_in_any_order_and_survive_the_wire(a in tallies(), b in tallies(), c in tallies()) {
            prop_assert_eq!(merged(a, b), merged(b, a));
            prop_assert_eq!(merged(merged(a, b), c), merged(a, merged(b, c)));
            prop_assert_eq!(merged(a, Tally::default()), a);
            prop_assert_eq!(Tally::from_bytes(&a.to_bytes()), Some(a));
        }

        #[test]
        fn bytes_of_another_length_are_no_tally(bytes in prop::collection::vec(any::<u8>(), 0..130)) {
            prop_assert_eq!(Tally::from_bytes(&bytes).is_some(), bytes.len() == 56);
        }
    }
}
