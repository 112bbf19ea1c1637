//! Ghost exchange: offers go to owners and are merged there, then copies of what changed go to ghosts.
//!
//! Only what changed is sent, packed: `[form u8][values]` where form says how places are named. Full: every place of the
//! route, in order, without names. Bitmap: one bit a place. Sparse: a 4-byte place before each value. The shortest is taken, so
//! a message costs at most `min(n, k * 4, n / 8)` bytes beside its k values. With one rank nothing happens. In a protected run every
//! message, empty ones too, ends in a sequence number and a hash (`checksum.rs`), so that one lost, repeated or changed is noticed before it is used.

mod checksum;
mod vote;
mod device;
mod peer_to_peer;

pub(crate) use checksum::MessageChecksums;
pub use vote::Vote;

use crate::base::error::{Error, Result};
use crate::base::id::{LocalId, Rank};
use crate::base::tally::Tally;
use crate::device::Device;
use crate::field::{Fields, Kind, Merge};
use crate::frontier::DirtySet;
use crate::host::access::Sequential;
use crate::step::Step;
use crate::transport::Transport;
use std::time::Duration;

const FULL: u8 = 1;
const SPARSE: u8 = 2;
const BITMAP: u8 = 3;

/// One rank's traffic with its peers: its end of the transport, buffers that live as long as the run, and what was sent.
pub struct Exchange<'t> {
    transport: &'t mut dyn Transport,
    outgoing: Vec<Vec<u8>>,
    incoming: Vec<Vec<u8>>,
    places: Vec<Vec<u32>>,
    words: Vec<u8>,
    rows: device::RowsOfPlaces,
    /// Checks messages, in a protected run.
    pub(crate) checksums: Option<MessageChecksums>,
    /// How long the device was at the last exchange, where devices exchange.
    pub(crate) device_time: Option<Duration>,
    /// Payload bytes this rank has sent in the superstep loop.
    pub bytes_sent: u64,
    /// Messages with payload this rank has sent in the superstep loop.
    pub messages_sent: u64,
}

impl<'t> Exchange<'t> {
    /// Over this rank's end of a transport.
    pub fn new(transport: &'t mut dyn Transport) -> Exchange<'t> {
        let ranks = transport.ranks();
        Exchange {
            transport,
            outgoing: vec![Vec::new(); ranks],
            incoming: vec![Vec::new(); ranks],
            places: vec![Vec::new(); ranks],
            words: Vec::new(),
            rows: device::RowsOfPlaces::default(),
            checksums: None,
            device_time: None,
            bytes_sent: 0,
            messages_sent: 0,
        }
    }

    /// The transport, for what is not exchange of ghosts.
    pub fn transport(&mut self) -> &mut dyn Transport {
        self.transport
    }

    /// The tally and the vote of all ranks, merged in rank order.
    ///
    /// # Errors
    /// When a peer is lost or sends something else.
    pub fn agree<V: Vote>(&mut self, mine: &Tally, vote: V) -> Result<(Tally, V)> {
        if self.outgoing.len() == 1 {
            return Ok((*mine, vote));
        }
        self.words.clear();
        self.words.extend_from_slice(&mine.to_bytes());
        vote.put(&mut self.words);
        self.transport.all_gather(&self.words, &mut self.incoming)?;
        let mut total: Option<(Tally, V)> = None;
        for (rank, bytes) in self.incoming.iter().enumerate() {
            let split = bytes.split_at_checked(Tally::BYTES);
            let theirs = split.and_then(|(tally, vote)| Some((Tally::from_bytes(tally)?, V::take(vote)?)));
            let (tally, vote) = theirs.ok_or_else(|| Error::PeerLost {
                rank: Rank(rank as u32),
                reason: format!("it sent {} bytes where a tally belongs", bytes.len()),
            })?;
            match &mut total {
                None => total = Some((tally, vote)),
                Some((all, votes)) => {
                    all.merge(&tally);
                    votes.merge(vote);
                }
            }
        }
        Ok(total.expect("there are several ranks"))
    }

    /// Exchanges every shared field of the step; `active` and `arcs` of the activated vertices.
    ///
    /// # Errors
    /// When a peer is lost, or its message does not fit the routes.
    pub fn run(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        if self.outgoing.len() == 1 {
            return Ok(Tally::default());
        }
        if let Some(device) = &step.device {
            return if self.is_direct(device.as_ref()) { self.run_directly(step) } else { self.run_on_device(step) };
        }
        step.frontier.activated.clear();
        step.frontier.updated_ghosts.clear();
        let offering = slots(&step.fields, |share| share.offers().is_some());
        if !offering.is_empty() {
            self.send_offers(step, &offering)?;
            self.merge_offers(step, &offering)?;
        }
        let copying = slots(&step.fields, |share| share.copies());
        if !copying.is_empty() {
            self.send_copies(step, &copying)?;
            self.put_copies(step, &copying)?;
        }
        step.frontier.offers.clear();
        step.frontier.dirty = DirtySet::Frontier;
        let activated = &step.frontier.activated;
        let arcs = activated.iter().map(|&v| step.part.outgoing().degree(v)).sum();
        Ok(Tally { active: activated.len() as u64, arcs, ..Tally::default() })
    }

    /// Copies every owned value of copied fields to the ghosts, before the first superstep. Nobody is woken.
    ///
    /// # Errors
    /// As [`Exchange::run`].
    pub fn run_initial(&mut self, step: &mut Step<'_>) -> Result<()> {
        let copying = slots(&step.fields, |share| share.copies());
        if self.outgoing.len() == 1 {
            return Ok(());
        }
        if step.device.as_ref().is_some_and(|device| self.is_direct(device.as_ref())) {
            self.connect(step)?;
        }
        if copying.is_empty() {
            return Ok(());
        }
        if let Some(device) = &step.device {
            return match self.is_direct(device.as_ref()) {
                true => self.run_initial_directly(step, &copying),
                false => self.run_initial_on_device(step, &copying),
            };
        }
        let dirty = std::mem::replace(&mut step.frontier.dirty, DirtySet::All);
        self.send_copies(step, &copying)?;
        self.put_copies(step, &copying)?;
        step.frontier.dirty = dirty;
        step.frontier.updated_ghosts.clear();
        if dirty == DirtySet::Frontier {
            // Ghosts of vertices that start in the frontier must know that they are in it.
            self.send_copies(step, &copying)?;
            self.put_copies(step, &copying)?;
        }
        Ok(())
    }

    /// Whether devices exchange: messages with checksums go over the transport, as they can then be lost and are noticed.
    fn is_direct(&self, device: &dyn Device) -> bool {
        device.is_direct() && self.checksums.is_none()
    }

    fn send_offers(&mut self, step: &mut Step<'_>, slots: &[usize]) -> Result<()> {
        let (routes, base) = (step.part.routes(), step.part.ghost_base());
        self.places.iter_mut().for_each(Vec::clear);
        if step.frontier.dirty == DirtySet::All {
            for (peer, places) in self.places.iter_mut().enumerate() {
                places.extend(0..routes.ghosts_of(peer).len() as u32);
            }
        } else {
            for ghost in &step.frontier.offers {
                let (peer, place) = routes.owner_of(ghost.number() - base);
                self.places[peer.index()].push(place);
            }
        }
        for peer in 0..self.places.len() {
            let first = routes.ghosts_of(peer).start + base;
            let vertex = |place: u32| LocalId::new(first + place);
            pack(
                &mut self.outgoing[peer],
                &mut self.places[peer],
                routes.ghosts_of(peer).len(),
                vertex,
                &step.fields,
                slots,
            );
            for &slot in slots {
                if step.fields.specs()[slot].share.offers() == Some(Merge::Add) {
                    for &place in &self.places[peer] {
                        step.fields.column(slot).set_bits(vertex(place), 0);
                    }
                }
            }
        }
        self.deliver()
    }

    fn merge_offers(&mut self, step: &mut Step<'_>, slots: &[usize]) -> Result<()> {
        let routes = step.part.routes();
        let (frontier, monitor) = (&mut step.frontier, &mut step.monitor);
        for (peer, message) in self.incoming.iter().enumerate() {
            let to = routes.copied_to(peer);
            let fields = &step.fields;
            unpack(peer, message, to.len(), fields, slots, |place, values| {
                let v = to[place as usize];
                let mut changed = false;
                for (&slot, &value) in slots.iter().zip(values) {
                    let merge = fields.specs()[slot].share.offers().expect("slots offer");
                    let before = monitor.as_ref().map(|_| fields.column(slot).bits(v));
                    let changes = fields.column(slot).merge(v, merge, value);
                    if let (Some(monitor), Some(before), true) = (monitor.as_deref_mut(), before, changes) {
                        monitor.record_write(slot, v, before, fields.column(slot).bits(v));
                    }
                    changed |= changes;
                }
                if changed && frontier.marks.set::<Sequential>(v) {
                    frontier.activated.push(v);
                }
            })?;
        }
        frontier.activated.iter().for_each(|&v| frontier.marks.clear_sequential(v));
        Ok(())
    }

    fn send_copies(&mut self, step: &mut Step<'_>, slots: &[usize]) -> Result<()> {
        let routes = step.part.routes();
        self.places.iter_mut().for_each(Vec::clear);
        let places = &mut self.places;
        if step.frontier.dirty == DirtySet::All {
            for (peer, places) in places.iter_mut().enumerate() {
                places.extend(0..routes.copied_to(peer).len() as u32);
            }
        } else {
            let mut note = |v: LocalId| {
                for &(peer, place) in routes.copies_of(v) {
                    places[peer.index()].push(place);
                }
            };
            let boundary = routes.boundary().len() as u64;
            if step.frontier.count > boundary {
                // More changed than can matter: ask each boundary vertex instead.
                let marks = &step.frontier.marks;
                step.frontier.for_each_owned(step.part, |v| {
                    marks.set::<Sequential>(v);
                });
                routes.boundary().iter().filter(|&&v| marks.has(v)).for_each(|&v| note(v));
                step.frontier.for_each_owned(step.part, |v| marks.clear_sequential(v));
            } else {
                step.frontier.for_each_owned(step.part, &mut note);
            }
            step.frontier.activated.iter().for_each(|&v| note(v));
        }
        for peer in 0..self.places.len() {
            let from = routes.copied_to(peer);
            let vertex = |place: u32| from[place as usize];
            pack(&mut self.outgoing[peer], &mut self.places[peer], from.len(), vertex, &step.fields, slots);
        }
        self.deliver()
    }

    fn put_copies(&mut self, step: &mut Step<'_>, slots: &[usize]) -> Result<()> {
        let (routes, base) = (step.part.routes(), step.part.ghost_base());
        let renews = slots.iter().any(|&slot| step.fields.specs()[slot].share.offers().is_some());
        let updated_ghosts = &mut step.frontier.updated_ghosts;
        for (peer, message) in self.incoming.iter().enumerate() {
            let ghosts = routes.ghosts_of(peer);
            let fields = &step.fields;
            unpack(peer, message, ghosts.len(), fields, slots, |place, values| {
                let ghost = LocalId::new(base + ghosts.start + place);
                for (&slot, &value) in slots.iter().zip(values) {
                    fields.column(slot).set_bits(ghost, value);
                }
                if renews {
                    updated_ghosts.push(ghost);
                }
            })?;
        }
        Ok(())
    }

    fn deliver(&mut self) -> Result<()> {
        let me = self.transport.rank().index();
        if let Some(checksums) = &mut self.checksums {
            checksums.close(&mut self.outgoing, me);
        }
        for message in self.outgoing.iter().filter(|message| !message.is_empty()) {
            self.bytes_sent += message.len() as u64;
            self.messages_sent += 1;
        }
        self.transport.exchange(&mut self.outgoing, &mut self.incoming)?;
        if let Some(checksums) = &mut self.checksums {
            checksums.open(&mut self.incoming, me);
        }
        Ok(())
    }
}

fn slots(fields: &Fields, wanted: impl Fn(crate::field::Share) -> bool) -> Vec<usize> {
    (0..fields.specs().len()).filter(|&slot| wanted(fields.specs()[slot].share)).collect()
}

/// Writes the values at `places` (of `route` many) in the shortest form; nothing when there are none.
fn pack(
    message: &mut Vec<u8>,
    places: &mut Vec<u32>,
    route: usize,
    vertex: impl Fn(u32) -> LocalId,
    fields: &Fields,
    slots: &[usize],
) {
    let kinds: Vec<Kind> = slots.iter().map(|&slot| fields.specs()[slot].kind).collect();
    frame(message, places, route, &kinds, |slot, place| fields.column(slots[slot]).bits(vertex(place)));
}

/// The same for values from anywhere: `value` gives that of the `slot`th field at a place.
fn frame(
    message: &mut Vec<u8>,
    places: &mut Vec<u32>,
    route: usize,
    kinds: &[Kind],
    value: impl Fn(usize, u32) -> u64,
) {
    message.clear();
    if places.is_empty() {
        return;
    }
    places.sort_unstable();
    places.dedup(); // a vertex can have changed and been woken
    let bitmap_bytes = route.div_ceil(8);
    let form = if places.len() == route {
        FULL
    } else if places.len() * 4 <= bitmap_bytes {
        SPARSE
    } else {
        BITMAP
    };
    message.push(form);
    if form == BITMAP {
        let start = message.len();
        message.resize(start + bitmap_bytes, 0);
        for &place in places.iter() {
            message[start + place as usize / 8] |= 1 << (place % 8);
        }
    }
    for &place in places.iter() {
        if form == SPARSE {
            message.extend_from_slice(&place.to_le_bytes());
        }
        for (slot, kind) in kinds.iter().enumerate() {
            let bits = value(slot, place);
            match kind {
                Kind::U32 => message.extend_from_slice(&(bits as u32).to_le_bytes()),
                Kind::F64 => message.extend_from_slice(&bits.to_le_bytes()),
            }
        }
    }
}

/// Reads a message back, checking each place and the length.
fn unpack(
    peer: usize,
    message: &[u8],
    route: usize,
    fields: &Fields,
    slots: &[usize],
    mut put: impl FnMut(u32, &[u64]),
) -> Result<()> {
    let Some((&form, mut rest)) = message.split_first() else { return Ok(()) };
    let misfit = || Error::PeerLost {
        rank: Rank(peer as u32),
        reason: format!("its message of {} bytes does not fit a route of {route}", message.len()),
    };
    let kinds: Vec<Kind> = slots.iter().map(|&slot| fields.specs()[slot].kind).collect();
    let mut values = vec![0u64; slots.len()];
    let mut read = |rest: &mut &[u8], place: u32| -> Option<()> {
        for (value, kind) in values.iter_mut().zip(&kinds) {
            *value = match kind {
                Kind::U32 => u64::from(u32::from_le_bytes(take(rest)?)),
                Kind::F64 => u64::from_le_bytes(take(rest)?),
            };
        }
        put(place, &values);
        Some(())
    };
    match form {
        FULL => (0..route as u32).try_for_each(|place| read(&mut rest, place)).ok_or_else(misfit)?,
        SPARSE => {
            while !rest.is_empty() {
                let place = take(&mut rest).map(u32::from_le_bytes).filter(|&place| (place as usize) < route);
                read(&mut rest, place.ok_or_else(misfit)?).ok_or_else(misfit)?;
            }
        }
        BITMAP => {
            let (bits, mut values) = rest.split_at_checked(route.div_ceil(8)).ok_or_else(misfit)?;
            for place in (0..route as u32).filter(|&place| bits[place as usize / 8] >> (place % 8) & 1 == 1) {
                read(&mut values, place).ok_or_else(misfit)?;
            }
            rest = values;
        }
        _ => return Err(misfit()),
    }
    if rest.is_empty() { Ok(()) } else { Err(misfit()) }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests;
