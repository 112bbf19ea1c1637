//! How ranks reach each other. Two collective calls are all a transport gives: bytes to each peer, and bytes to all.

mod local;

pub use local::{LocalTransport, local};

use crate::base::error::{Error, Result};
use crate::base::id::Rank;

/// One rank's end of the connection. Calls are collective: every rank makes the same ones in the same order.
pub trait Transport: Send {
    /// This rank.
    fn rank(&self) -> Rank;

    /// How many ranks there are.
    fn ranks(&self) -> usize;

    /// Sends `outgoing[p]` to peer `p` and puts what peer `p` sent into `incoming[p]`. Buffers are swapped, not copied, where
    /// the transport can; `outgoing` comes back empty.
    ///
    /// # Errors
    /// When a peer is lost.
    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<()>;

    /// Gives `mine` to all, and puts what rank `r` gave into `all[r]`.
    ///
    /// # Errors
    /// When a peer is lost.
    fn all_gather(&mut self, mine: &[u8], all: &mut [Vec<u8>]) -> Result<()>;

    /// Whether every rank is a thread of this process and nothing stands between them, so that devices may exchange by themselves.
    fn is_one_process(&self) -> bool {
        false
    }

    /// Tells the peers that this rank cannot go on, so that none waits for it.
    fn abandon(&mut self, reason: &str);
}

/// The largest of all ranks' numbers.
pub(crate) fn agree_on_max(transport: &mut dyn Transport, mine: u64) -> Result<u64> {
    let mut all = vec![Vec::new(); transport.ranks()];
    transport.all_gather(&mine.to_le_bytes(), &mut all)?;
    let number = |bytes: &Vec<u8>| bytes.as_slice().try_into().map(u64::from_le_bytes).ok();
    let most = all.iter().map(number).try_fold(0, |most, number| Some(most.max(number?)));
    most.ok_or_else(|| Error::Environment("a peer sent no number where one belongs; run again".into()))
}
