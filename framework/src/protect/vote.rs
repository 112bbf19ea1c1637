//! What ranks say beside their tallies in a protected run.

use super::evidence::NONE;
use crate::exchange::Vote;

/// One rank's words, or those of all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProtectionVote {
    /// The earliest superstep that is suspected. The least counts.
    pub(crate) suspect: u32,
    /// Whether a snapshot is due before the next superstep: only the first rank says so.
    pub(crate) is_due: bool,
    /// Vertices in the frontiers that were consumed. Summed.
    pub(crate) consumed: u64,
    /// The most that any vertex moved. The most counts.
    pub(crate) largest: f64,
    /// The values that gathers settled on. Summed in rank order.
    pub(crate) mass: f64,
}

impl Default for ProtectionVote {
    fn default() -> ProtectionVote {
        ProtectionVote { suspect: NONE, is_due: false, consumed: 0, largest: 0.0, mass: 0.0 }
    }
}

impl Vote for ProtectionVote {
    fn put(self, message: &mut Vec<u8>) {
        message.extend_from_slice(&self.suspect.to_le_bytes());
        message.extend_from_slice(&u32::from(self.is_due).to_le_bytes());
        message.extend_from_slice(&self.consumed.to_le_bytes());
        message.extend_from_slice(&self.largest.to_le_bytes());
        message.extend_from_slice(&self.mass.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Option<ProtectionVote> {
        let (words, reals) = bytes.split_at_checked(16)?;
        let word = |at: usize| Some(u32::from_le_bytes(words.get(at..at + 4)?.try_into().ok()?));
        let real = |at: usize| Some(f64::from_le_bytes(reals.get(at..at + 8)?.try_into().ok()?));
        if bytes.len() != 32 {
            return None;
        }
        Some(ProtectionVote {
            suspect: word(0)?,
            is_due: word(4)? != 0,
            consumed: u64::from(word(8)?) | u64::from(word(12)?) << 32,
            largest: real(0)?,
            mass: real(8)?,
        })
    }

    fn merge(&mut self, other: ProtectionVote) {
        self.suspect = self.suspect.min(other.suspect);
        self.is_due |= other.is_due;
        self.consumed += other.consumed;
        self.largest = self.largest.max(other.largest);
        self.mass += other.mass;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vote_survives_the_wire_and_other_bytes_are_none() {
        let vote = ProtectionVote { suspect: 7, is_due: true, consumed: 1 << 40, largest: 0.25, mass: 1.5 };
        let mut bytes = Vec::new();
        vote.put(&mut bytes);
        assert_eq!(ProtectionVote::take(&bytes), Some(vote));
        assert_eq!(ProtectionVote::take(&bytes[1..]), None);
        let mut all = ProtectionVote::default();
        all.merge(vote);
        assert_eq!(all, vote);
    }
}
