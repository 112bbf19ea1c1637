//! The exchange between devices, round by round, over the [message buffers](super::messages).

use super::driver::Arguments;
use super::engine::Engine;
use super::layout::{Columns, RouteView, Slot};
use super::messages::{Carried, PeerAccess, PeerMessages};
use crate::base::error::Result;
use crate::device::{DirectTraffic, MessageKind, PeerExchange};
use crate::field::Kind;
use crate::frontier::{DirtySet, FrontierFormat};
use crate::partition::Part;
use std::time::Duration;

impl PeerExchange for Engine {
    fn is_direct(&self) -> bool {
        self.messages.is_some()
    }

    fn carrier(&self) -> &'static str {
        self.messages.as_ref().map_or("through host memory", PeerMessages::carrier)
    }

    fn is_connected(&self) -> bool {
        self.messages().peers.len() == self.messages().sizes.ranks()
    }

    fn connect(&mut self, part: &Part) -> Result<()> {
        let messages = self.messages.as_mut().expect("callers asked is_direct");
        messages.connect(part, &self.context, &self.exchange)
    }

    fn begin_direct(&mut self) -> Result<()> {
        (self.frontier.activated, self.frontier.woken_arcs, self.frontier.updated_ghosts) = (0, 0, 0);
        let messages = self.messages.as_mut().expect("callers asked is_direct");
        messages.carried = [Carried::Nothing; 2];
        messages.order.record(&self.compute)?;
        self.exchange.wait_for(&messages.order)?;
        messages.timing[0].record(&self.exchange)?;
        let lengths = Slot::Woken.bit() | Slot::Renewed.bit();
        self.in_exchange("clear", 1, Arguments::default().with(self.report_address()).with(1u32).with(lengths))
    }

    fn send(&mut self, kind: MessageKind, slots: &[usize]) -> Result<()> {
        let messages = self.messages();
        let turn = messages.turn();
        if messages.rounds >= 2 {
            for (_, peer) in messages.others(&messages.sizes.outgoing[kind as usize]) {
                self.exchange.wait_for(&peer.content().read[turn])?;
            }
        }
        let route = messages.route(true, kind, self.graph.view.ghost_base);
        let packed = messages.packed(kind, self.report_address());
        let entries = messages.entries(true, kind);
        let arguments = Arguments::default().with(route).with(packed).with(self.columns_of(slots));
        let is_all = self.frontier.dirty == DirtySet::All;
        match kind {
            _ if is_all => {
                let restarts = u32::from(kind == MessageKind::Offers);
                self.in_exchange("send_all", entries, arguments.with(restarts))?;
            }
            MessageKind::Offers => {
                let offers = self.list(&self.lists.offers, Slot::Offers);
                self.in_exchange("send_listed", self.frontier.offers.into(), arguments.with(offers))?;
            }
            MessageKind::Copies => {
                // Woken vertices are marked already; they are not in the frontier yet.
                let (view, marks) = (self.frontier_view(), self.lists.marks.address());
                let bits = if self.frontier.form == FrontierFormat::Bitmap { view.bits } else { 0 };
                if self.frontier.form == FrontierFormat::Queue && self.frontier.count > 0 {
                    let queue = Arguments::default().with(view.queue).with(marks).with(self.graph.view.locals);
                    self.in_exchange("set_bits", self.frontier.count, queue)?;
                }
                self.in_exchange("send_marked", entries, arguments.with(marks).with(bits))?;
            }
        }
        self.messages.as_mut().expect("used above").carried[kind as usize] =
            if is_all { Carried::All } else { Carried::Named };
        self.copy_messages(kind)?;
        self.messages().mine.content().packed[turn].record(&self.exchange)
    }

    fn receive(&mut self, kind: MessageKind, slots: &[usize]) -> Result<()> {
        let messages = self.messages();
        let turn = messages.turn();
        for (_, peer) in messages.others(&messages.sizes.incoming[kind as usize]) {
            self.exchange.wait_for(&peer.content().packed[turn])?;
        }
        let route = messages.route(false, kind, self.graph.view.ghost_base);
        let (entries, columns) = (messages.entries(false, kind), self.columns_of(slots));
        match kind {
            MessageKind::Offers => {
                for (first, last) in self.stretches(slots, &self.messages().sizes.incoming[0]) {
                    self.take_offers(route, columns, (first, last), entries)?;
                }
            }
            MessageKind::Copies => {
                let renews = slots.iter().any(|&slot| self.specs[slot].share.offers().is_some());
                let updated_ghosts = self.list(&self.lists.updated_ghosts, Slot::Renewed);
                let arguments =
                    Arguments::default().with(route).with(columns).with(u32::from(renews)).with(updated_ghosts);
                self.in_exchange("take_copies", entries, arguments)?;
            }
        }
        let messages = self.messages.as_mut().expect("used above");
        messages.mine.content().read[turn].record(&self.exchange)?;
        messages.rounds += 1;
        Ok(())
    }

    fn forget_renewed_directly(&mut self) -> Result<()> {
        let lengths = Slot::Renewed.bit();
        self.in_exchange("clear", 1, Arguments::default().with(self.report_address()).with(0u32).with(lengths))
    }

    fn end_direct(&mut self) -> Result<DirectTraffic> {
        self.exchange.zero(&self.lists.marks)?;
        self.see_exchange()?;
        self.messages().timing[1].record(&self.exchange)?;
        self.messages().timing[1].synchronize()?;
        let report = self.seen_report();
        self.frontier.activated = report.length[Slot::Woken as usize];
        self.frontier.updated_ghosts = report.length[Slot::Renewed as usize];
        self.frontier.woken_arcs = report.arcs;
        let (messages, seen) = (self.messages(), self.seen.values());
        let seconds = messages.timing[1].seconds_since(&messages.timing[0])?;
        let mut sent = DirectTraffic { took: Duration::from_secs_f64(seconds.max(0.0)), ..DirectTraffic::default() };
        for kind in [MessageKind::Offers, MessageKind::Copies] {
            for peer in (0..messages.peers.len()).filter(|&peer| messages.count(kind, peer, seen) > 0) {
                sent.bytes += messages.bytes(kind, peer, seen) as u64;
                sent.messages += 1;
            }
        }
        Ok(sent)
    }
}

impl Engine {
    fn messages(&self) -> &PeerMessages {
        self.messages.as_ref().expect("callers asked is_direct")
    }

    /// Has the driver copy the messages that could not be written where they are read: the host must know their lengths.
    fn copy_messages(&mut self, kind: MessageKind) -> Result<()> {
        let copied = |messages: &PeerMessages| -> Vec<usize> {
            let regions = &messages.sizes.outgoing[kind as usize];
            messages
                .others(regions)
                .map(|(peer, _)| peer)
                .filter(|&peer| messages.reaches[peer] == PeerAccess::Copied)
                .collect()
        };
        let peers = copied(self.messages());
        if peers.is_empty() {
            return Ok(());
        }
        if self.messages().carried[kind as usize] == Carried::Named {
            self.see_exchange()?;
            self.exchange.synchronize()?;
        }
        let messages = self.messages();
        for peer in peers {
            let bytes = messages.bytes(kind, peer, self.seen.values());
            let to = (messages.destination(kind, peer, messages.turn()), &*messages.peers[peer].context);
            self.exchange.copy_to_peer(to, (&messages.outbox, messages.outbox_at(peer) as usize), bytes)?;
        }
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
            .with(self.list(&self.lists.activated, Slot::Woken))
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
}
