//! Ghost exchange of a rank whose fields lie on a device: packed for the host's transport, or straight to the peers' devices.

use crate::base::error::Result;
use crate::base::tally::Tally;
use crate::frontier::DirtySet;
use crate::partition::Part;
use std::time::Duration;

/// Values of listed vertices: value `slot` of entry `i` is `values[slot * items.len() + i]`.
#[derive(Default)]
pub(crate) struct Packed {
    /// Vertices, or places among the boundary.
    pub(crate) items: Vec<u32>,
    /// As bits.
    pub(crate) values: Vec<u64>,
}

/// What a round between devices carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageKind {
    /// From ghosts to their owners.
    Offers,
    /// From owners to ghosts.
    Copies,
}

/// What a rank sent straight to its peers' devices in one exchange, and how long its device was at it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct DirectTraffic {
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
    pub(crate) took: Duration,
}

/// Lists and packs what changed for the host, and takes in what peers sent.
pub(crate) trait GhostExchange {
    /// A new exchange: no vertex is activated and no ghost updated yet.
    fn begin_exchange(&mut self) -> Result<()>;

    /// Every ghost that has an offer, with its values; sums at ghosts start again from 0.
    fn packed_offers(&mut self, slots: &[usize]) -> Result<Packed>;

    /// Every place of the boundary whose vertex changed, with its values.
    fn packed_copies(&mut self, slots: &[usize]) -> Result<Packed>;

    /// Merges one peer's offers, each vertex once.
    fn merge(&mut self, slots: &[usize], vertices: &[u32], values: &[u64]) -> Result<()>;

    /// After the last peer's offers: how many owners changed.
    fn count_woken(&mut self) -> Result<()>;

    /// Puts one peer's copies at ghosts.
    fn put(&mut self, slots: &[usize], ghosts: &[u32], values: &[u64], renews: bool) -> Result<()>;

    /// Forgets the ghosts updated so far: before the loop no vertex is activated.
    fn forget_renewed(&mut self) -> Result<()>;

    /// The exchange is over: offers are made.
    fn end_exchange(&mut self);

    /// The vertices that the exchange woke, and the arcs out of them.
    fn activated(&self) -> Tally;

    /// Says which owned vertices count as changed; what was said before.
    fn replace_dirty(&mut self, dirty: DirtySet) -> DirtySet;
}

/// Exchanges ghosts with the peers' devices.
pub(crate) trait PeerExchange {
    /// Whether ghosts are exchanged between devices.
    fn is_direct(&self) -> bool;

    /// How ghosts travel, for people.
    fn carrier(&self) -> &'static str;

    /// Whether the ranks have found each other.
    fn is_connected(&self) -> bool;

    /// Finds the peers' message buffers; all ranks are here.
    fn connect(&mut self, part: &Part) -> Result<()>;

    /// A new exchange, after the operators so far: no vertex is activated and no ghost updated yet.
    fn begin_direct(&mut self) -> Result<()>;

    /// Packs this rank's messages of a round, and sends them.
    fn send(&mut self, kind: MessageKind, slots: &[usize]) -> Result<()>;

    /// Merges or puts what the peers sent in this round; all have sent.
    fn receive(&mut self, kind: MessageKind, slots: &[usize]) -> Result<()>;

    /// Forgets the ghosts updated so far: before the loop no vertex is activated.
    fn forget_renewed_directly(&mut self) -> Result<()>;

    /// The exchange is over: who changed, and what was sent, in one copy.
    fn end_direct(&mut self) -> Result<DirectTraffic>;
}
