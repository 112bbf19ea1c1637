//! Checksums: sums over (place, value) pairs that do not depend on order, and hashes of lists.
//!
//! One term is a multiplication by an odd number and a fold, both one-to-one in the value for a given place: a single changed
//! value always changes the sum; several cancel out with a chance of about 2^-32 at worst (the low half does not add up
//! linearly, so opposite flips of one bit at several places do not cancel by structure).

use crate::base::memory::{Pod, bytes_of};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Odd, without structure: 2^64 divided by the golden ratio.
const PLACES: u64 = 0x9e37_79b9_7f4a_7c15;
/// Odd, from SplitMix64.
const VALUES: u64 = 0xbf58_476d_1ce4_e5b9;

/// The term of value `bits` at `place`.
#[inline(always)]
pub fn mix(place: u64, bits: u64) -> u64 {
    let mixed = (bits ^ place.wrapping_mul(PLACES)).wrapping_mul(VALUES);
    mixed ^ (mixed >> 32)
}

/// Adds (vertex, value) pairs up so that any order and grouping gives the same sum: what the certificate read and what is handed out
/// must agree in it. `global` is the vertex's global number, `bits` the value's (4-byte values widened with zeros).
#[inline(always)]
pub fn answer_sum(sum: u64, global: u32, bits: u64) -> u64 {
    sum.wrapping_add(mix(global.into(), bits))
}

/// A hash of words that stay unchanged between two supersteps.
pub(crate) fn hash_of<T: Pod>(items: &[T], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes_of(items), seed)
}

/// SplitMix64 of one number. Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
pub fn split_mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_changed_value_always_changes_the_sum(place in any::<u64>(), value in any::<u64>(), other in any::<u64>()) {
            prop_assert_eq!(mix(place, value) == mix(place, other), value == other);
        }
    }
}
