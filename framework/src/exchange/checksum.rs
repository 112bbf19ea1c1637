//! Checksums of messages: one that is lost, repeated, out of its turn or changed is noticed before it is used.

use crate::base::checksum::mix;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What is appended to a message: its sequence number and its hash.
const CHECKSUM_BYTES: usize = 16;

/// Appends to each message of one rank its sequence number and its hash, and checks those of what it receives. Exchanges are
/// collective, so all ranks count alike: a message that is not the next one is an old or a missing one.
#[derive(Default, Debug)]
pub(crate) struct MessageChecksums {
    sequence: u64,
    /// Messages of this superstep that did not arrive as they were sent; they were dropped.
    pub(crate) broken: u64,
    /// Sums of the hashes of this superstep's messages.
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl MessageChecksums {
    /// Completes what this rank sends.
    pub(crate) fn close(&mut self, messages: &mut [Vec<u8>], me: usize) {
        self.sequence += 1;
        for (peer, message) in messages.iter_mut().enumerate().filter(|(peer, _)| *peer != me) {
            let hash = self.hash(message, me, peer);
            self.sent = self.sent.wrapping_add(hash);
            message.extend_from_slice(&self.sequence.to_le_bytes());
            message.extend_from_slice(&hash.to_le_bytes());
        }
    }

    /// Checks what it received and takes the sequence numbers and hashes off. A message that is not as it was sent is dropped.
    pub(crate) fn open(&mut self, messages: &mut [Vec<u8>], me: usize) {
        for (peer, message) in messages.iter_mut().enumerate().filter(|(peer, _)| *peer != me) {
            let payload = message.len().saturating_sub(CHECKSUM_BYTES);
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
    pub(crate) fn reset(&mut self) {
        (self.broken, self.sent, self.received) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What rank 1 finds after rank 0 sent `sent` and `arrived` came, in the second exchange.
    fn broken(sent: &[u8], arrive: impl Fn(Vec<u8>, &[u8]) -> Vec<u8>) -> (u64, Vec<u8>) {
        let (mut from, mut to) = (MessageChecksums::default(), MessageChecksums::default());
        let mut first = vec![Vec::new(), b"earlier".to_vec()];
        from.close(&mut first, 0);
        to.close(&mut [Vec::new(), Vec::new()], 1);
        let old = first[1].clone();
        to.open(&mut [std::mem::take(&mut first[1]), Vec::new()], 1);
        assert_eq!((to.broken, to.received), (0, from.sent));
        to.reset();
        let mut messages = vec![Vec::new(), sent.to_vec()];
        from.close(&mut messages, 0);
        to.close(&mut [Vec::new(), Vec::new()], 1);
        let mut arrived = vec![arrive(std::mem::take(&mut messages[1]), &old), Vec::new()];
        to.open(&mut arrived, 1);
        (to.broken, std::mem::take(&mut arrived[0]))
    }

    proptest! {
        #[test]
        fn a_message_arrives_as_it_was_sent_or_not_at_all(
            sent in prop::collection::vec(any::<u8>(), 0..60),
            at in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            prop_assert_eq!(broken(&sent, |message, _| message), (0, sent.clone()));
            let flipped = broken(&sent, |mut message, _| {
                let at = at.index(message.len());
                message[at] ^= 1 << bit;
                message
            });
            prop_assert_eq!(flipped, (1, Vec::new()));
            prop_assert_eq!(broken(&sent, |_, _| Vec::new()), (1, Vec::new()), "lost");
            prop_assert_eq!(broken(&sent, |_, old| old.to_vec()), (1, Vec::new()), "repeated");
            prop_assert_eq!(broken(&sent, |message, _| message.repeat(2)).0, 1, "doubled");
            prop_assert_eq!(broken(&sent, |message, _| message[..at.index(message.len())].to_vec()).0, 1, "torn");
        }

    }
}
