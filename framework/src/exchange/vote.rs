//! What a rank says beside its tally in an agreement.

/// What a rank says beside its tally, and what all said: merged in rank order.
pub trait Vote: Copy + Default {
    /// Appends it to a message.
    fn put(self, message: &mut Vec<u8>);
    /// Reads it back; `None` if the bytes are no vote.
    fn take(bytes: &[u8]) -> Option<Self>;
    /// Adds another rank's.
    fn merge(&mut self, other: Self);
}

impl Vote for () {
    #[inline(always)]
    fn put(self, _: &mut Vec<u8>) {}
    #[inline(always)]
    fn take(bytes: &[u8]) -> Option<()> {
        bytes.is_empty().then_some(())
    }
    #[inline(always)]
    fn merge(&mut self, (): ()) {}
}
