//! Ghost exchange between devices of one process: each rank packs what changed straight into boxes in its peers' memory, and merges
//! what lies in its own.
//!
//! Where a device reaches a peer's memory, kernels write into it; elsewhere a message is packed beside it and copied by the driver.
//! Each rank has two boxes that rounds use in turn. A round: pack, say so by an event, meet the other ranks on the host, wait (on the
//! stream) for their events, merge, say so by another event, for which a sender waits before it writes into that box again. A wait
//! must come after the record that it means, and the meetings see to that: one lies between every record and every wait for it.
//! The host learns counts only, in the copy that tells how many owners changed.

use super::driver::{Context, Event, Memory, Pinned, Stream};
use super::layout::{PackedView, Report, RouteView, SENT_WORDS};
use crate::base::error::{Error, Result};
use crate::base::id::Rank;
use crate::device::MessageKind;
use crate::field::FieldSpec;
use crate::partition::Part;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// `HEAD` of messages.cuh, in bytes.
const HEAD: usize = 16;

/// How messages to a peer travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PeerAccess {
    /// Kernels write them where the peer reads them.
    Mapped,
    /// The driver copies them.
    Copied,
}

/// Where the ranks of a trial find each other's boxes, and which devices reach which.
#[derive(Default, Debug)]
pub(super) struct PeerRegistry {
    boxes: Mutex<HashMap<usize, Weak<ReceiveBuffers>>>,
    pub(super) reaches: Mutex<HashMap<(usize, usize), PeerAccess>>,
}

/// A rank's boxes. Kept by all ranks that write to them, so that none is freed under a message.
pub(super) struct ReceiveBuffers {
    pub(super) context: Arc<Context>,
    /// `None` only while it is dropped.
    pub(super) content: Option<Content>,
    /// Where the message of each peer begins.
    pub(super) offers_at: Vec<u64>,
    pub(super) copies_at: Vec<u64>,
}

pub(super) struct Content {
    pub(super) boxes: [Memory; 2],
    /// This rank has written all messages of a round.
    pub(super) packed: [Event; 2],
    /// This rank has read its box.
    pub(super) read: [Event; 2],
}

impl std::fmt::Debug for ReceiveBuffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the boxes of a rank on {}", self.context.info.label())
    }
}

impl ReceiveBuffers {
    pub(super) fn content(&self) -> &Content {
        self.content.as_ref().expect("it is taken by drop only")
    }
}

impl Drop for ReceiveBuffers {
    fn drop(&mut self) {
        // The last rank that lets go may be on another device.
        let content = self.content.take();
        self.context.visit(|| drop(content));
    }
}

/// Bytes of messages and tables, from the part and the fields alone.
pub(super) struct Sizes {
    /// Words of an entry that names its place.
    pub(super) words: [usize; 2],
    /// Bytes that each peer's message takes at most in this rank's boxes, and this rank's in its peers'.
    pub(super) incoming: [Vec<usize>; 2],
    pub(super) outgoing: [Vec<usize>; 2],
    pub(super) starts: [Vec<u32>; 2],
}

impl Sizes {
    pub(super) fn of(part: &Part, specs: &[FieldSpec]) -> Sizes {
        let routes = part.routes();
        let words = |wanted: &dyn Fn(&FieldSpec) -> bool| {
            let words: usize = specs.iter().filter(|spec| wanted(spec)).map(|spec| spec.kind.bytes() / 4).sum();
            if words == 0 { 0 } else { 1 + words }
        };
        let words = [words(&|spec| spec.share.offers().is_some()), words(&|spec| spec.share.copies())];
        let ghosts: Vec<usize> = (0..routes.ranks()).map(|peer| routes.ghosts_of(peer).len()).collect();
        let copied: Vec<usize> = (0..routes.ranks()).map(|peer| routes.copied_to(peer).len()).collect();
        let region = |entries: usize, words: usize| {
            if entries * words == 0 { 0 } else { (HEAD + entries * words * 4).next_multiple_of(HEAD) }
        };
        let regions = |entries: &[usize], words: usize| -> Vec<usize> {
            entries.iter().map(|&entries| region(entries, words)).collect()
        };
        let starts = |entries: &[usize]| -> Vec<u32> {
            let before = |peer: usize| entries[..peer].iter().sum::<usize>() as u32;
            (0..=entries.len()).map(before).collect()
        };
        Sizes {
            words,
            incoming: [regions(&copied, words[0]), regions(&ghosts, words[1])],
            outgoing: [regions(&ghosts, words[0]), regions(&copied, words[1])],
            starts: [starts(&ghosts), starts(&copied)],
        }
    }

    pub(super) fn ranks(&self) -> usize {
        self.outgoing[0].len()
    }

    fn box_bytes(&self) -> usize {
        self.incoming.iter().map(|regions| regions.iter().sum()).max().unwrap_or(0)
    }

    /// Bytes of the messages that cannot be written where they are read.
    fn outbox_bytes(&self, reaches: &[PeerAccess]) -> usize {
        (0..self.ranks()).filter(|&peer| reaches[peer] == PeerAccess::Copied).map(|peer| self.outbox_of(peer)).sum()
    }

    fn outbox_of(&self, peer: usize) -> usize {
        self.outgoing[0][peer].max(self.outgoing[1][peer])
    }

    /// Words of the tables: addresses of boxes by direction, kind and turn, both starts, the copied vertices, counts and a ticket.
    fn table_words(&self) -> usize {
        let (peers, copied) = (self.ranks(), self.starts[1].last().copied().unwrap_or(0) as usize);
        2 * 8 * peers + 2 * (peers + 1) + copied + peers + 1
    }

    /// Each allocation that [`PeerMessages::new`] makes.
    pub(super) fn allocations(&self, reaches: &[PeerAccess]) -> [usize; 4] {
        [self.box_bytes(), self.box_bytes(), self.outbox_bytes(reaches), self.table_words() * 4]
    }
}

/// A rank's end of the exchange between devices.
pub(super) struct PeerMessages {
    pub(super) board: Arc<PeerRegistry>,
    pub(super) mine: Arc<ReceiveBuffers>,
    /// By rank, once they have met.
    pub(super) peers: Vec<Arc<ReceiveBuffers>>,
    pub(super) rank: usize,
    pub(super) reaches: Vec<PeerAccess>,
    pub(super) sizes: Sizes,
    pub(super) tables: Memory,
    pub(super) outbox: Memory,
    pub(super) rounds: u64,
    /// What each round so far has sent is in `Engine::seen` behind the report.
    pub(super) carried: [Carried; 2],
    pub(super) timing: [Event; 2],
    pub(super) order: Event,
}

/// What a round of this exchange carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Carried {
    Nothing,
    /// Every entry, unnamed.
    All,
    Named,
}

impl PeerMessages {
    pub(super) fn new(
        context: &Arc<Context>,
        board: &Arc<PeerRegistry>,
        part: &Part,
        sizes: Sizes,
        reaches: Vec<PeerAccess>,
    ) -> Result<PeerMessages> {
        let memory = |bytes: usize| Memory::new(context, bytes);
        let event = || Event::for_order(context);
        let at = |regions: &[usize]| {
            (0..regions.len()).map(|peer| regions[..peer].iter().sum::<usize>() as u64).collect::<Vec<u64>>()
        };
        let mine = Arc::new(ReceiveBuffers {
            context: Arc::clone(context),
            content: Some(Content {
                boxes: [memory(sizes.box_bytes())?, memory(sizes.box_bytes())?],
                packed: [event()?, event()?],
                read: [event()?, event()?],
            }),
            offers_at: at(&sizes.incoming[0]),
            copies_at: at(&sizes.incoming[1]),
        });
        let rank = part.rank().index();
        let mut boxes = board.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        boxes.insert(rank, Arc::downgrade(&mine));
        drop(boxes);
        Ok(PeerMessages {
            board: Arc::clone(board),
            mine,
            peers: Vec::new(),
            rank,
            outbox: memory(sizes.outbox_bytes(&reaches))?,
            reaches,
            tables: memory(sizes.table_words() * 4)?,
            sizes,
            rounds: 0,
            carried: [Carried::Nothing; 2],
            timing: [Event::new(context)?, Event::new(context)?],
            order: event()?,
        })
    }

    pub(super) fn turn(&self) -> usize {
        (self.rounds % 2) as usize
    }

    /// Peers to which messages of a kind may go, or from which they may come.
    pub(super) fn others<'s>(&'s self, regions: &'s [usize]) -> impl Iterator<Item = (usize, &'s ReceiveBuffers)> {
        self.peers.iter().enumerate().filter(|&(peer, _)| regions[peer] > 0).map(|(peer, buffers)| (peer, &**buffers))
    }

    /// Where the message to a peer is packed: in its box, or in the outbox.
    pub(super) fn target(&self, kind: MessageKind, peer: usize, turn: usize) -> u64 {
        match self.reaches[peer] {
            PeerAccess::Mapped => self.destination(kind, peer, turn),
            PeerAccess::Copied => self.outbox.address() + self.outbox_at(peer),
        }
    }

    pub(super) fn outbox_at(&self, peer: usize) -> u64 {
        let before = (0..peer).filter(|&peer| self.reaches[peer] == PeerAccess::Copied);
        before.map(|peer| self.sizes.outbox_of(peer) as u64).sum()
    }

    /// Where the peer reads the message from this rank.
    pub(super) fn destination(&self, kind: MessageKind, peer: usize, turn: usize) -> u64 {
        let buffers = &self.peers[peer];
        let at = [&buffers.offers_at, &buffers.copies_at][kind as usize][self.rank];
        buffers.content().boxes[turn].address() + at
    }

    fn source(&self, kind: MessageKind, peer: usize, turn: usize) -> u64 {
        let at = [&self.mine.offers_at, &self.mine.copies_at][kind as usize][peer];
        self.mine.content().boxes[turn].address() + at
    }

    /// Finds the peers' boxes. Every rank has made its own, and none lets go of them before all have found them.
    pub(super) fn connect(&mut self, part: &Part, context: &Context, stream: &Stream) -> Result<()> {
        let boxes = self.board.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        self.peers = (0..self.sizes.ranks())
            .map(|rank| {
                boxes.get(&rank).and_then(Weak::upgrade).ok_or_else(|| Error::PeerLost {
                    rank: Rank(rank as u32),
                    reason: "its boxes for messages are gone".into(),
                })
            })
            .collect::<Result<_>>()?;
        drop(boxes);
        let mut words: Vec<u32> = Vec::with_capacity(self.sizes.table_words());
        for is_outgoing in [true, false] {
            for kind in [MessageKind::Offers, MessageKind::Copies] {
                for turn in 0..2 {
                    for peer in 0..self.peers.len() {
                        let address = match is_outgoing {
                            true => self.target(kind, peer, turn),
                            false => self.source(kind, peer, turn),
                        };
                        words.extend([address as u32, (address >> 32) as u32]);
                    }
                }
            }
        }
        words.extend(self.sizes.starts.iter().flatten());
        words.extend((0..self.peers.len()).flat_map(|peer| part.routes().copied_to(peer)).map(|v| v.number()));
        words.resize(self.sizes.table_words(), 0);
        let mut pinned = Pinned::<u32>::new(context, words.len())?;
        pinned.values_mut().copy_from_slice(&words);
        stream.upload(&self.tables, 0, &pinned, words.len())?;
        stream.synchronize()
    }

    /// The routes of a round as kernels see them.
    pub(super) fn route(&self, is_outgoing: bool, kind: MessageKind, ghost_base: u32) -> RouteView {
        let peers = self.peers.len();
        let table = ((usize::from(!is_outgoing) * 2 + (kind as usize)) * 2 + self.turn()) * peers;
        let is_of_ghosts = is_outgoing == (kind == MessageKind::Offers);
        let starts = self.tables.address() + 4 * (2 * 8 * peers) as u64;
        let other = starts + 4 * (peers + 1) as u64;
        RouteView {
            starts: if is_of_ghosts { starts } else { other },
            vertices: if is_of_ghosts { 0 } else { other + 4 * (peers + 1) as u64 },
            boxes: self.tables.address() + 8 * table as u64,
            peers: peers as u32,
            base: if is_of_ghosts { ghost_base } else { 0 },
        }
    }

    pub(super) fn packed(&self, kind: MessageKind, report: u64) -> PackedView {
        let counts = self.tables.address() + 4 * (self.sizes.table_words() - self.sizes.ranks() - 1) as u64;
        PackedView {
            counts,
            ticket: counts + 4 * self.sizes.ranks() as u64,
            sent: report + (size_of::<Report>() + (kind as usize) * SENT_WORDS * 4) as u64,
        }
    }

    /// Entries of a route in all.
    pub(super) fn entries(&self, is_outgoing: bool, kind: MessageKind) -> u64 {
        let is_of_ghosts = is_outgoing == (kind == MessageKind::Offers);
        self.sizes.starts[usize::from(!is_of_ghosts)].last().copied().unwrap_or(0).into()
    }

    /// Entries that went to a peer; `seen` has been copied since.
    pub(super) fn count(&self, kind: MessageKind, peer: usize, seen: &[u64]) -> usize {
        let starts = &self.sizes.starts[kind as usize];
        match self.carried[kind as usize] {
            Carried::Nothing => 0,
            Carried::All => (starts[peer + 1] - starts[peer]) as usize,
            Carried::Named => {
                let word = (kind as usize) * SENT_WORDS + peer;
                (seen[size_of::<Report>() / 8 + word / 2] >> (word % 2 * 32)) as u32 as usize
            }
        }
    }

    pub(super) fn bytes(&self, kind: MessageKind, peer: usize, seen: &[u64]) -> usize {
        let words = self.sizes.words[kind as usize] - usize::from(self.carried[kind as usize] == Carried::All);
        HEAD + self.count(kind, peer, seen) * words * 4
    }

    /// How messages travel, for people.
    pub(super) fn carrier(&self) -> &'static str {
        let copied = (0..self.peers.len()).filter(|&peer| self.reaches[peer] == PeerAccess::Copied).count();
        match copied {
            0 => "device to device",
            all if all + 1 == self.peers.len() => "device to device by copies of the driver",
            _ => "device to device, some by copies of the driver",
        }
    }
}
