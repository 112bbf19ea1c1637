//! Checksums: sums over (place, value) pairs that do not depend on order, and seals of lists and messages.
//!
//! One term is a multiplication by an odd number and a fold, both one-to-one in the value for a given place: a single changed
//! value always changes the sum; several cancel out with a chance of about 2^-32 at worst (the low half does not add up
//! linearly, so opposite flips of one bit at several places do not cancel by structure).

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
