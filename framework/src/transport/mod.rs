//! How ranks reach each other. Two collective calls are all a transport gives: bytes to each peer, and bytes to all.

mod local;

pub use local::{LocalTransport, local};

use crate::algorithm::Tally;
use crate::error::{Error, Result};
use crate::id::Rank;

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

    /// Tells the peers that this rank cannot go on, so that none waits for it.
    fn abandon(&mut self, reason: &str);
}

/// The tally of all ranks, merged in rank order.
///
/// # Errors
/// When a peer is lost or sends no tally.
pub fn agree(transport: &mut dyn Transport, mine: &Tally, scratch: &mut Vec<Vec<u8>>) -> Result<Tally> {
    if transport.ranks() == 1 {
        return Ok(*mine);
    }
    scratch.resize_with(transport.ranks(), Vec::new);
    transport.all_gather(&mine.to_bytes(), scratch)?;
    let mut total = Tally::default();
    for (rank, bytes) in scratch.iter().enumerate() {
        let theirs = Tally::from_bytes(bytes).ok_or_else(|| Error::PeerLost {
            rank: Rank(rank as u32),
            reason: format!("it sent {} bytes where a tally of 56 belongs", bytes.len()),
        })?;
        total.merge(&theirs);
    }
    Ok(total)
}
