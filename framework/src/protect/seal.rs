//! Checksums: sums over (place, value) pairs that do not depend on order, and seals of lists and messages.
//!
//! One term is a multiplication by an odd number and a fold, both one-to-one in the value for a given place: a single changed
//! value always changes the sum; several cancel out with a chance of about 2^-32 at worst (the low half does not add up
//! linearly, so opposite flips of one bit at several places do not cancel by structure).

use crate::memory::{Plain, bytes_of};
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

/// Bytes that a seal adds to a message: its sequence number and its hash.
const SEAL: usize = 16;

/// Seals the messages of one rank. Exchanges are collective, so all ranks count alike: a message that is not the next one is
/// an old or a missing one.
#[derive(Default, Debug)]
pub(crate) struct Seals {
    sequence: u64,
    /// Messages of this superstep that did not arrive as they were sent; they were dropped.
    pub(crate) broken: u64,
    /// Sums of the hashes of this superstep's messages.
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl Seals {
    /// Seals what this rank sends.
    pub(crate) fn close(&mut self, messages: &mut [Vec<u8>], me: usize) {
        self.sequence += 1;
        for (peer, message) in messages.iter_mut().enumerate().filter(|(peer, _)| *peer != me) {
            let hash = self.hash(message, me, peer);
            self.sent = self.sent.wrapping_add(hash);
            message.extend_from_slice(&self.sequence.to_le_bytes());
            message.extend_from_slice(&hash.to_le_bytes());
        }
    }

    /// Takes the seals off what it received. A message with a broken one is dropped.
    pub(crate) fn open(&mut self, messages: &mut [Vec<u8>], me: usize) {
        for (peer, message) in messages.iter_mut().enumerate().filter(|(peer, _)| *peer != me) {
            let payload = message.len().saturating_sub(SEAL);
            let hash = self.hash(&message[..payload], peer, me);
            let is_whole = message.get(payload..payload + 8) == Some(&self.sequence.to_le_bytes())
                && message.get(payload + 8..) == Some(&hash.to_le_bytes());
            message.truncate(if is_whole { payload } else { 0 });
            self.broken += u64::from(!is_whole);
            self.received = self.received.wrapping_add(hash);
        }
    }

    fn hash(&self, payload: &[u8], from: usize, to: usize) -> u64 {
        xxh3_64_with_seed(payload, mix(self.sequence, (from as u64) << 32 | to as u64))
    }

    /// Forgets the superstep.
    pub(crate) fn turn(&mut self) {
        (self.broken, self.sent, self.received) = (0, 0, 0);
    }
}

/// A seal of words that rest between two supersteps.
pub(crate) fn hash_of<T: Plain>(items: &[T], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes_of(items), seed)
}
