//! Ghost exchange between devices of one process: each rank packs what changed straight into boxes in its peers' memory, and merges
//! what lies in its own.
//!
//! Where a device reaches a peer's memory, kernels write into it; elsewhere a message is packed beside it and copied by the driver.
//! Each rank has two boxes that rounds use in turn. A round: pack, say so by an event, meet the other ranks on the host, wait (on the
//! stream) for their events, merge, say so by another event, for which a sender waits before it writes into that box again. A wait
//! must come after the record that it means, and the meetings see to that: one lies between every record and every wait for it.
//! The host learns counts only, in the copy that tells how many owners changed.

use super::driver::{Arguments, Context, Event, Memory, Pinned, Stream};
use super::engine::Engine;
use super::layout::{Columns, PackedView, Report, RouteView, SENT_WORDS, Slot};
use crate::error::{Error, Result};
use crate::field::{FieldSpec, Kind};
use crate::id::Rank;
use crate::partition::Part;
use crate::step::{Form, News};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// `HEAD` of mail.cuh, in bytes.
const HEAD: usize = 16;

/// What a round carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Letters {
    /// From ghosts to their owners.
    Offers,
    /// From owners to ghosts.
    Copies,
}

/// How messages to a peer travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// Kernels write them where the peer reads them.
    Mapped,
    /// The driver copies them.
    Copied,
}

/// Where the ranks of a trial find each other's boxes, and which devices reach which.
#[derive(Default, Debug)]
pub(super) struct Board {
    boxes: Mutex<HashMap<usize, Weak<Mailbox>>>,
    pub(super) reaches: Mutex<HashMap<(usize, usize), Reach>>,
}

/// A rank's boxes. Kept by all ranks that write to them, so that none is freed under a message.
pub(super) struct Mailbox {
    context: Arc<Context>,
    /// `None` only while it is dropped.
    content: Option<Content>,
    /// Where the message of each peer begins.
    offers_at: Vec<u64>,
    copies_at: Vec<u64>,
}

struct Content {
    boxes: [Memory; 2],
    /// This rank has written all messages of a round.
    packed: [Event; 2],
    /// This rank has read its box.
    read: [Event; 2],
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the boxes of a rank on {}", self.context.info.label())
    }
}

impl Mailbox {
    fn content(&self) -> &Content {
        self.content.as_ref().expect("it is taken by drop only")
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // The last rank that lets go may be on another device.
        let content = self.content.take();
        self.context.visit(|| drop(content));
    }
}

/// Bytes of messages and tables, from the part and the fields alone.
pub(super) struct Sizes {
    /// Words of an entry that names its place.
    words: [usize; 2],
    /// Bytes that each peer's message takes at most in this rank's boxes, and this rank's in its peers'.
    incoming: [Vec<usize>; 2],
    outgoing: [Vec<usize>; 2],
    starts: [Vec<u32>; 2],
}

impl Letters {
    fn place(self) -> usize {
        self as usize
    }
}

impl Sizes {
    pub(super) fn of(part: &Part, specs: &[FieldSpec]) -> Sizes {
        let routes = part.routes();
        let words = |wanted: &dyn Fn(&FieldSpec) -> bool| {
            let words: usize = specs.iter().filter(|spec| wanted(spec)).map(|spec| spec.kind.bytes() / 4).sum();
            if words == 0 { 0 } else { 1 + words }
        };
        let words = [words(&|spec| spec.share.offers().is_some()), words(&|spec| spec.share.copies())];
        let ghosts: Vec<usize> = (0..routes.peers()).map(|peer| routes.ghosts_of(peer).len()).collect();
        let copied: Vec<usize> = (0..routes.peers()).map(|peer| routes.copied_to(peer).len()).collect();
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

    fn peers(&self) -> usize {
        self.outgoing[0].len()
    }

    fn box_bytes(&self) -> usize {
        self.incoming.iter().map(|regions| regions.iter().sum()).max().unwrap_or(0)
    }

    /// Bytes of the messages that cannot be written where they are read.
    fn outbox_bytes(&self, reaches: &[Reach]) -> usize {
        (0..self.peers()).filter(|&peer| reaches[peer] == Reach::Copied).map(|peer| self.outbox_of(peer)).sum()
    }

    fn outbox_of(&self, peer: usize) -> usize {
        self.outgoing[0][peer].max(self.outgoing[1][peer])
    }

    /// Words of the tables: addresses of boxes by direction, letters and turn, both starts, the copied vertices, counts and a ticket.
    fn table_words(&self) -> usize {
        let (peers, copied) = (self.peers(), self.starts[1].last().copied().unwrap_or(0) as usize);
        2 * 8 * peers + 2 * (peers + 1) + copied + peers + 1
    }

    /// Each allocation that [`Mail::new`] makes.
    pub(super) fn allocations(&self, reaches: &[Reach]) -> [usize; 4] {
        [self.box_bytes(), self.box_bytes(), self.outbox_bytes(reaches), self.table_words() * 4]
    }
}

/// A rank's end of the exchange between devices.
pub(super) struct Mail {
    board: Arc<Board>,
    mine: Arc<Mailbox>,
    /// By rank, once they have met.
    peers: Vec<Arc<Mailbox>>,
    rank: usize,
    reaches: Vec<Reach>,
    sizes: Sizes,
    tables: Memory,
    outbox: Memory,
    rounds: u64,
    /// What each round so far has sent is in `Engine::seen` behind the report.
    carried: [Carried; 2],
    timing: [Event; 2],
    order: Event,
}

/// What a round of this exchange carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carried {
    Nothing,
    /// Every entry, unnamed.
    All,
    Named,
}

/// What a rank sent in one exchange, and how long its device was at it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sent {
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
    pub(crate) took: Duration,
}

impl Mail {
    pub(super) fn new(
        context: &Arc<Context>,
        board: &Arc<Board>,
        part: &Part,
        sizes: Sizes,
        reaches: Vec<Reach>,
    ) -> Result<Mail> {
        let memory = |bytes: usize| Memory::new(context, bytes);
        let event = || Event::for_order(context);
        let at = |regions: &[usize]| {
            (0..regions.len()).map(|peer| regions[..peer].iter().sum::<usize>() as u64).collect::<Vec<u64>>()
        };
        let mine = Arc::new(Mailbox {
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
        Ok(Mail {
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

    fn turn(&self) -> usize {
        (self.rounds % 2) as usize
    }

    /// Peers to which messages of a kind may go, or from which they may come.
    fn others<'s>(&'s self, regions: &'s [usize]) -> impl Iterator<Item = (usize, &'s Mailbox)> {
        self.peers.iter().enumerate().filter(|&(peer, _)| regions[peer] > 0).map(|(peer, mailbox)| (peer, &**mailbox))
    }

    /// Where the message to a peer is packed: in its box, or in the outbox.
    fn target(&self, letters: Letters, peer: usize, turn: usize) -> u64 {
        match self.reaches[peer] {
            Reach::Mapped => self.destination(letters, peer, turn),
            Reach::Copied => self.outbox.address() + self.outbox_at(peer),
        }
    }

    fn outbox_at(&self, peer: usize) -> u64 {
        let before = (0..peer).filter(|&peer| self.reaches[peer] == Reach::Copied);
        before.map(|peer| self.sizes.outbox_of(peer) as u64).sum()
    }

    /// Where the peer reads the message from this rank.
    fn destination(&self, letters: Letters, peer: usize, turn: usize) -> u64 {
        let mailbox = &self.peers[peer];
        let at = [&mailbox.offers_at, &mailbox.copies_at][letters.place()][self.rank];
        mailbox.content().boxes[turn].address() + at
    }

    fn source(&self, letters: Letters, peer: usize, turn: usize) -> u64 {
        let at = [&self.mine.offers_at, &self.mine.copies_at][letters.place()][peer];
        self.mine.content().boxes[turn].address() + at
    }

    /// Finds the peers' boxes. Every rank has made its own, and none lets go of them before all have found them.
    fn connect(&mut self, part: &Part, context: &Context, stream: &Stream) -> Result<()> {
        let boxes = self.board.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        self.peers = (0..self.sizes.peers())
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
            for letters in [Letters::Offers, Letters::Copies] {
                for turn in 0..2 {
                    for peer in 0..self.peers.len() {
                        let address = match is_outgoing {
                            true => self.target(letters, peer, turn),
                            false => self.source(letters, peer, turn),
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
    fn route(&self, is_outgoing: bool, letters: Letters, ghost_base: u32) -> RouteView {
        let peers = self.peers.len();
        let table = ((usize::from(!is_outgoing) * 2 + letters.place()) * 2 + self.turn()) * peers;
        let is_of_ghosts = is_outgoing == (letters == Letters::Offers);
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

    fn packed(&self, letters: Letters, report: u64) -> PackedView {
        let counts = self.tables.address() + 4 * (self.sizes.table_words() - self.sizes.peers() - 1) as u64;
        PackedView {
            counts,
            ticket: counts + 4 * self.sizes.peers() as u64,
            sent: report + (size_of::<Report>() + letters.place() * SENT_WORDS * 4) as u64,
        }
    }

    /// Entries of a route in all.
    fn entries(&self, is_outgoing: bool, letters: Letters) -> u64 {
        let is_of_ghosts = is_outgoing == (letters == Letters::Offers);
        self.sizes.starts[usize::from(!is_of_ghosts)].last().copied().unwrap_or(0).into()
    }

    /// Entries that went to a peer; `seen` has been copied since.
    fn count(&self, letters: Letters, peer: usize, seen: &[u64]) -> usize {
        let starts = &self.sizes.starts[letters.place()];
        match self.carried[letters.place()] {
            Carried::Nothing => 0,
            Carried::All => (starts[peer + 1] - starts[peer]) as usize,
            Carried::Named => {
                let word = letters.place() * SENT_WORDS + peer;
                (seen[size_of::<Report>() / 8 + word / 2] >> (word % 2 * 32)) as u32 as usize
            }
        }
    }

    fn bytes(&self, letters: Letters, peer: usize, seen: &[u64]) -> usize {
        let words = self.sizes.words[letters.place()] - usize::from(self.carried[letters.place()] == Carried::All);
        HEAD + self.count(letters, peer, seen) * words * 4
    }

    /// How messages travel, for people.
    fn carrier(&self) -> &'static str {
        let copied = (0..self.peers.len()).filter(|&peer| self.reaches[peer] == Reach::Copied).count();
        match copied {
            0 => "device to device",
            all if all + 1 == self.peers.len() => "device to device by copies of the driver",
            _ => "device to device, some by copies of the driver",
        }
    }
}

impl Engine {
    /// Whether ghosts are exchanged between devices.
    pub(crate) fn has_mail(&self) -> bool {
        self.mail.is_some()
    }

    /// How ghosts travel, for people.
    pub(crate) fn carrier(&self) -> &'static str {
        self.mail.as_ref().map_or("through host memory", Mail::carrier)
    }

    /// Whether the ranks have found each other.
    pub(crate) fn is_connected(&self) -> bool {
        self.mail().peers.len() == self.mail().sizes.peers()
    }

    /// Finds the peers' boxes; all ranks are here.
    pub(crate) fn connect(&mut self, part: &Part) -> Result<()> {
        let mail = self.mail.as_mut().expect("callers asked has_mail");
        mail.connect(part, &self.context, &self.exchange)
    }

    fn mail(&self) -> &Mail {
        self.mail.as_ref().expect("callers asked has_mail")
    }

    /// A new exchange, after the operators so far: nobody is woken or renewed yet.
    pub(crate) fn begin_mail(&mut self) -> Result<()> {
        (self.frontier.woken, self.frontier.woken_arcs, self.frontier.renewed) = (0, 0, 0);
        let mail = self.mail.as_mut().expect("callers asked has_mail");
        mail.carried = [Carried::Nothing; 2];
        mail.order.record(&self.compute)?;
        self.exchange.wait_for(&mail.order)?;
        mail.timing[0].record(&self.exchange)?;
        let lengths = Slot::Woken.bit() | Slot::Renewed.bit();
        self.in_exchange("clear", 1, Arguments::default().with(self.report_address()).with(1u32).with(lengths))
    }

    /// Packs this rank's messages of a round, and sends them.
    pub(crate) fn post(&mut self, letters: Letters, slots: &[usize]) -> Result<()> {
        let mail = self.mail();
        let turn = mail.turn();
        if mail.rounds >= 2 {
            for (_, peer) in mail.others(&mail.sizes.outgoing[letters.place()]) {
                self.exchange.wait_for(&peer.content().read[turn])?;
            }
        }
        let route = mail.route(true, letters, self.graph.view.ghost_base);
        let packed = mail.packed(letters, self.report_address());
        let entries = mail.entries(true, letters);
        let arguments = Arguments::default().with(route).with(packed).with(self.columns_of(slots));
        let is_all = self.frontier.news == News::All;
        match letters {
            _ if is_all => {
                let restarts = u32::from(letters == Letters::Offers);
                self.in_exchange("send_all", entries, arguments.with(restarts))?;
            }
            Letters::Offers => {
                let offers = self.list(&self.lists.offers, Slot::Offers);
                self.in_exchange("send_listed", self.frontier.offers.into(), arguments.with(offers))?;
            }
            Letters::Copies => {
                // Woken vertices are marked already; they are not in the frontier yet.
                let (view, marks) = (self.frontier_view(), self.lists.marks.address());
                let bits = if self.frontier.form == Form::Bits { view.bits } else { 0 };
                if self.frontier.form == Form::Queue && self.frontier.count > 0 {
                    let queue = Arguments::default().with(view.queue).with(marks).with(self.graph.view.locals);
                    self.in_exchange("set_bits", self.frontier.count, queue)?;
                }
                self.in_exchange("send_marked", entries, arguments.with(marks).with(bits))?;
            }
        }
        self.mail.as_mut().expect("used above").carried[letters.place()] =
            if is_all { Carried::All } else { Carried::Named };
        self.copy_messages(letters)?;
        self.mail().mine.content().packed[turn].record(&self.exchange)
    }

    /// Has the driver copy the messages that could not be written where they are read: the host must know their lengths.
    fn copy_messages(&mut self, letters: Letters) -> Result<()> {
        let copied = |mail: &Mail| -> Vec<usize> {
            let regions = &mail.sizes.outgoing[letters.place()];
            mail.others(regions).map(|(peer, _)| peer).filter(|&peer| mail.reaches[peer] == Reach::Copied).collect()
        };
        let peers = copied(self.mail());
        if peers.is_empty() {
            return Ok(());
        }
        if self.mail().carried[letters.place()] == Carried::Named {
            self.see_exchange()?;
            self.exchange.synchronize()?;
        }
        let mail = self.mail();
        for peer in peers {
            let bytes = mail.bytes(letters, peer, self.seen.values());
            let to = (mail.destination(letters, peer, mail.turn()), &*mail.peers[peer].context);
            self.exchange.copy_to_peer(to, (&mail.outbox, mail.outbox_at(peer) as usize), bytes)?;
        }
        Ok(())
    }

    /// Merges or puts what the peers sent in this round; all have posted.
    pub(crate) fn collect(&mut self, letters: Letters, slots: &[usize]) -> Result<()> {
        let mail = self.mail();
        let turn = mail.turn();
        for (_, peer) in mail.others(&mail.sizes.incoming[letters.place()]) {
            self.exchange.wait_for(&peer.content().packed[turn])?;
        }
        let route = mail.route(false, letters, self.graph.view.ghost_base);
        let (entries, columns) = (mail.entries(false, letters), self.columns_of(slots));
        match letters {
            Letters::Offers => {
                for (first, last) in self.stretches(slots, &self.mail().sizes.incoming[0]) {
                    self.take_offers(route, columns, (first, last), entries)?;
                }
            }
            Letters::Copies => {
                let renews = slots.iter().any(|&slot| self.specs[slot].share.offers().is_some());
                let renewed = self.list(&self.lists.renewed, Slot::Renewed);
                let arguments = Arguments::default().with(route).with(columns).with(u32::from(renews)).with(renewed);
                self.in_exchange("take_copies", entries, arguments)?;
            }
        }
        let mail = self.mail.as_mut().expect("used above");
        mail.mine.content().read[turn].record(&self.exchange)?;
        mail.rounds += 1;
        Ok(())
    }

    fn take_offers(&mut self, route: RouteView, columns: Columns, peers: (u32, u32), entries: u64) -> Result<()> {
        let arguments = Arguments::default()
            .with(self.graph.view)
            .with(route)
            .with(columns)
            .with(peers.0)
            .with(peers.1)
            .with(self.lists.marks.address())
            .with(self.list(&self.lists.woken, Slot::Woken))
            .with(self.report_address());
        self.in_exchange("take_offers", entries, arguments)
    }

    /// Peers whose offers one kernel may merge: all, or, where the order shows, one after the other.
    fn stretches(&self, slots: &[usize], regions: &[usize]) -> Vec<(u32, u32)> {
        let shows_order = slots.iter().any(|&slot| self.specs[slot].kind == Kind::F64);
        match shows_order {
            false => vec![(0, regions.len() as u32)],
            true => (0..regions.len() as u32)
                .filter(|&peer| regions[peer as usize] > 0)
                .map(|peer| (peer, peer + 1))
                .collect(),
        }
    }

    /// Forgets the ghosts renewed so far: before the loop nobody is woken.
    pub(crate) fn forget_mail(&mut self) -> Result<()> {
        let lengths = Slot::Renewed.bit();
        self.in_exchange("clear", 1, Arguments::default().with(self.report_address()).with(0u32).with(lengths))
    }

    /// The exchange is over: who changed, and what was sent, in one copy.
    pub(crate) fn end_mail(&mut self) -> Result<Sent> {
        self.exchange.zero(&self.lists.marks)?;
        self.see_exchange()?;
        self.mail().timing[1].record(&self.exchange)?;
        self.mail().timing[1].synchronize()?;
        let report = self.seen_report();
        self.frontier.woken = report.length[Slot::Woken as usize];
        self.frontier.renewed = report.length[Slot::Renewed as usize];
        self.frontier.woken_arcs = report.arcs;
        let (mail, seen) = (self.mail(), self.seen.values());
        let seconds = mail.timing[1].seconds_since(&mail.timing[0])?;
        let mut sent = Sent { took: Duration::from_secs_f64(seconds.max(0.0)), ..Sent::default() };
        for letters in [Letters::Offers, Letters::Copies] {
            for peer in (0..mail.peers.len()).filter(|&peer| mail.count(letters, peer, seen) > 0) {
                sent.bytes += mail.bytes(letters, peer, seen) as u64;
                sent.messages += 1;
            }
        }
        Ok(sent)
    }
}
