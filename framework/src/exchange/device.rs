//! Ghost exchange of a rank whose fields lie on a device: what changed comes to the host in one piece, is framed and sent as on the
//! cpu device, and what peers sent goes back in one piece a peer.

use super::{Exchange, frame, slots, unpack};
use crate::base::error::Result;
use crate::base::tally::Tally;
use crate::device::{Device, Packed};
use crate::field::{Fields, Kind};
use crate::frontier::DirtySet;
use crate::step::Step;

/// For each peer, the row of a place in what was packed; only rows of places named in this exchange are read.
#[derive(Default)]
pub(super) struct RowsOfPlaces(Vec<Vec<u32>>);

impl RowsOfPlaces {
    fn set(&mut self, peer: usize, place: u32, row: usize) {
        let rows = &mut self.0[peer];
        if rows.len() <= place as usize {
            rows.resize(place as usize + 1, 0);
        }
        rows[place as usize] = row as u32;
    }
}

impl Exchange<'_> {
    /// [`Exchange::run`].
    pub(super) fn run_on_device(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        let offering = slots(&step.fields, |share| share.offers().is_some());
        let copying = slots(&step.fields, |share| share.copies());
        device(step).begin_exchange()?;
        if !offering.is_empty() {
            let packed = device(step).packed_offers(&offering)?;
            self.send_packed_offers(step, &offering, &packed)?;
            self.take_in(step, &offering, false)?;
            device(step).count_woken()?;
        }
        if !copying.is_empty() {
            self.copy_on_device(step, &copying)?;
        }
        device(step).end_exchange();
        Ok(device(step).activated())
    }

    /// [`Exchange::run_initial`].
    pub(super) fn run_initial_on_device(&mut self, step: &mut Step<'_>, copying: &[usize]) -> Result<()> {
        device(step).begin_exchange()?;
        let dirty = device(step).replace_dirty(DirtySet::All);
        self.copy_on_device(step, copying)?;
        device(step).replace_dirty(dirty);
        device(step).forget_renewed()?;
        if dirty == DirtySet::Frontier {
            // Ghosts of vertices that start in the frontier must know that they are in it.
            self.copy_on_device(step, copying)?;
        }
        Ok(())
    }

    fn copy_on_device(&mut self, step: &mut Step<'_>, copying: &[usize]) -> Result<()> {
        let packed = device(step).packed_copies(copying)?;
        self.send_packed_copies(step, copying, &packed)?;
        self.take_in(step, copying, true)
    }

    fn send_packed_offers(&mut self, step: &Step<'_>, slots: &[usize], packed: &Packed) -> Result<()> {
        let (routes, base) = (step.part.routes(), step.part.ghost_base());
        self.begin_places();
        for (row, ghost) in packed.items.iter().enumerate() {
            let (peer, place) = routes.owner_of(ghost - base);
            self.places[peer.index()].push(place);
            self.rows.set(peer.index(), place, row);
        }
        self.send_packed(&step.fields, slots, packed, |peer| routes.ghosts_of(peer).len())
    }

    fn send_packed_copies(&mut self, step: &Step<'_>, slots: &[usize], packed: &Packed) -> Result<()> {
        let routes = step.part.routes();
        self.begin_places();
        for (row, &place_in_boundary) in packed.items.iter().enumerate() {
            for &(peer, place) in routes.copies_at(place_in_boundary as usize) {
                self.places[peer.index()].push(place);
                self.rows.set(peer.index(), place, row);
            }
        }
        self.send_packed(&step.fields, slots, packed, |peer| routes.copied_to(peer).len())
    }

    fn begin_places(&mut self) {
        self.places.iter_mut().for_each(Vec::clear);
        self.rows.0.resize_with(self.places.len(), Vec::new);
    }

    fn send_packed(
        &mut self,
        fields: &Fields,
        slots: &[usize],
        packed: &Packed,
        route: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let kinds: Vec<Kind> = slots.iter().map(|&slot| fields.specs()[slot].kind).collect();
        let count = packed.items.len();
        for peer in 0..self.places.len() {
            let rows = &self.rows.0[peer];
            let value = |slot: usize, place: u32| packed.values[slot * count + rows[place as usize] as usize];
            frame(&mut self.outgoing[peer], &mut self.places[peer], route(peer), &kinds, value);
        }
        self.deliver()
    }

    /// Puts what the peers sent onto the device, in order of peers: copies at ghosts, or offers merged into owned vertices.
    fn take_in(&mut self, step: &mut Step<'_>, slots: &[usize], copies: bool) -> Result<()> {
        let (part, routes, base) = (step.part, step.part.routes(), step.part.ghost_base());
        let renews = slots.iter().any(|&slot| step.fields.specs()[slot].share.offers().is_some());
        for (peer, message) in self.incoming.iter().enumerate() {
            let to = part.routes().copied_to(peer);
            let ghosts = routes.ghosts_of(peer);
            let route = if copies { ghosts.len() } else { to.len() };
            let mut vertices = Vec::new();
            let mut by_slot: Vec<Vec<u64>> = vec![Vec::new(); slots.len()];
            unpack(peer, message, route, &step.fields, slots, |place, values| {
                vertices.push(if copies { base + ghosts.start + place } else { to[place as usize].number() });
                by_slot.iter_mut().zip(values).for_each(|(column, &value)| column.push(value));
            })?;
            if vertices.is_empty() {
                continue;
            }
            let values = by_slot.concat();
            let device = device(step);
            if copies {
                device.put(slots, &vertices, &values, renews)?
            } else {
                device.merge(slots, &vertices, &values)?
            }
        }
        Ok(())
    }
}

fn device<'s>(step: &'s mut Step<'_>) -> &'s mut dyn Device {
    step.device.as_deref_mut().expect("a step on a device")
}
