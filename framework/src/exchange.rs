//! Ghost exchange: offers go to owners and are merged there, then copies of what changed go to ghosts.
//!
//! Only what changed is sent, packed: `[form u8][values]` where form says how places are named. Full: every place of the
//! route, in order, without names. Bitmap: one bit a place. Sparse: a 4-byte place before each value. The shortest is taken, so
//! a message costs at most `min(n, k * 4, n / 8)` bytes beside its k values. With one rank nothing happens. In a protected run every
//! message, empty ones too, ends in a seal (`protect::seal`), so that one lost, repeated or changed is noticed before it is used.

mod device;

use crate::algorithm::Tally;
use crate::device::host::access::Alone;
use crate::error::{Error, Result};
use crate::field::{Fields, Kind, Merge};
use crate::guard::Vote;
use crate::id::{LocalId, Rank};
use crate::protect::Seals;
use crate::step::{News, Step};
use crate::transport::Transport;

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
    /// Seals messages, in a protected run.
    pub(crate) seals: Option<Seals>,
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
            seals: None,
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

    /// Exchanges every shared field of the step; `active` and `arcs` of the woken vertices.
    ///
    /// # Errors
    /// When a peer is lost, or its message does not fit the routes.
    pub fn run(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        if self.outgoing.len() == 1 {
            return Ok(Tally::default());
        }
        if step.engine.is_some() {
            return self.run_on_device(step);
        }
        step.frontier.woken.clear();
        step.frontier.renewed.clear();
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
        step.frontier.news = News::Frontier;
        let woken = &step.frontier.woken;
        let arcs = woken.iter().map(|&v| step.part.outgoing().degree(v)).sum();
        Ok(Tally { active: woken.len() as u64, arcs, ..Tally::default() })
    }

    /// Copies every owned value of copied fields to the ghosts, before the first superstep. Nobody is woken.
    ///
    /// # Errors
    /// As [`Exchange::run`].
    pub fn run_initial(&mut self, step: &mut Step<'_>) -> Result<()> {
        let copying = slots(&step.fields, |share| share.copies());
        if self.outgoing.len() == 1 || copying.is_empty() {
            return Ok(());
        }
        if step.engine.is_some() {
            return self.run_initial_on_device(step, &copying);
        }
        let news = std::mem::replace(&mut step.frontier.news, News::All);
        self.send_copies(step, &copying)?;
        self.put_copies(step, &copying)?;
        step.frontier.news = news;
        step.frontier.renewed.clear();
        if news == News::Frontier {
            // Ghosts of vertices that start in the frontier must know that they are in it.
            self.send_copies(step, &copying)?;
            self.put_copies(step, &copying)?;
        }
        Ok(())
    }

    fn send_offers(&mut self, step: &mut Step<'_>, slots: &[usize]) -> Result<()> {
        let (routes, base) = (step.part.routes(), step.part.ghost_base());
        self.places.iter_mut().for_each(Vec::clear);
        if step.frontier.news == News::All {
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
        let (frontier, watch) = (&mut step.frontier, &mut step.watch);
        for (peer, message) in self.incoming.iter().enumerate() {
            let to = routes.copied_to(peer);
            let fields = &step.fields;
            unpack(peer, message, to.len(), fields, slots, |place, values| {
                let v = to[place as usize];
                let mut changed = false;
                for (&slot, &value) in slots.iter().zip(values) {
                    let merge = fields.specs()[slot].share.offers().expect("slots offer");
                    let before = watch.as_ref().map(|_| fields.column(slot).bits(v));
                    let changes = fields.column(slot).merge(v, merge, value);
                    if let (Some(watch), Some(before), true) = (watch.as_deref_mut(), before, changes) {
                        watch.taken(slot, v, before, fields.column(slot).bits(v));
                    }
                    changed |= changes;
                }
                if changed && frontier.marks.set::<Alone>(v) {
                    frontier.woken.push(v);
                }
            })?;
        }
        frontier.woken.iter().for_each(|&v| frontier.marks.clear_alone(v));
        Ok(())
    }

    fn send_copies(&mut self, step: &mut Step<'_>, slots: &[usize]) -> Result<()> {
        let routes = step.part.routes();
        self.places.iter_mut().for_each(Vec::clear);
        let places = &mut self.places;
        if step.frontier.news == News::All {
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
                    marks.set::<Alone>(v);
                });
                routes.boundary().iter().filter(|&&v| marks.has(v)).for_each(|&v| note(v));
                step.frontier.for_each_owned(step.part, |v| marks.clear_alone(v));
            } else {
                step.frontier.for_each_owned(step.part, &mut note);
            }
            step.frontier.woken.iter().for_each(|&v| note(v));
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
        let renewed = &mut step.frontier.renewed;
        for (peer, message) in self.incoming.iter().enumerate() {
            let ghosts = routes.ghosts_of(peer);
            let fields = &step.fields;
            unpack(peer, message, ghosts.len(), fields, slots, |place, values| {
                let ghost = LocalId::new(base + ghosts.start + place);
                for (&slot, &value) in slots.iter().zip(values) {
                    fields.column(slot).set_bits(ghost, value);
                }
                if renews {
                    renewed.push(ghost);
                }
            })?;
        }
        Ok(())
    }

    fn deliver(&mut self) -> Result<()> {
        let me = self.transport.rank().index();
        if let Some(seals) = &mut self.seals {
            seals.close(&mut self.outgoing, me);
        }
        for message in self.outgoing.iter().filter(|message| !message.is_empty()) {
            self.bytes_sent += message.len() as u64;
            self.messages_sent += 1;
        }
        self.transport.exchange(&mut self.outgoing, &mut self.incoming)?;
        if let Some(seals) = &mut self.seals {
            seals.open(&mut self.incoming, me);
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
mod tests {
    use super::*;
    use crate::device::host::{Pool, Waiting};
    use crate::field::{Field, FieldSpec, Share};
    use crate::graph::{Graph, View};
    use crate::partition::Part;
    use crate::transport::local;
    use proptest::prelude::*;

    const COUNT: Field<u32> = Field::<u32>::new("count", Share::FromOwner, 0);
    const REAL: Field<f64> = Field::real("real", Share::FromOwner, 0.0);
    const SLOTS: [usize; 2] = [0, 1];
    /// Bytes of the two values.
    const RECORD: usize = 12;

    fn fields(len: usize) -> Fields {
        Fields::new(vec![COUNT.spec(), REAL.spec()], len).expect("two names")
    }

    /// Fields with a value of its own at every place.
    fn filled(len: usize) -> Fields {
        let fields = fields(len);
        for v in 0..len as u32 {
            fields.column(0).set_bits(LocalId::new(v), u64::from(v ^ 0xdead_0000));
            fields.column(1).set_bits(LocalId::new(v), (f64::from(v) / 3.0).to_bits());
        }
        fields
    }

    /// A route, and some of its places: none, few, many or all, in any order and with repetitions.
    fn routes() -> impl Strategy<Value = (usize, Vec<u32>)> {
        (1usize..300).prop_flat_map(|route| {
            let place = 0..route as u32;
            let some = |most: usize| prop::collection::vec(place.clone(), 0..=most);
            let all = Just((0..route as u32).rev().collect::<Vec<u32>>());
            (Just(route), prop_oneof![some(1 + route / 40), some(route), some(3 * route), all])
        })
    }

    fn packed(route: usize, places: &[u32]) -> Vec<u8> {
        let mut message = vec![7; 5]; // what is left of the last one
        pack(&mut message, &mut places.to_vec(), route, |place| LocalId::new(place + 3), &filled(route + 3), &SLOTS);
        message
    }

    /// What arrives, place by place.
    fn unpacked(route: usize, message: &[u8]) -> Result<Vec<(u32, Vec<u64>)>> {
        let mut arrived = Vec::new();
        unpack(4, message, route, &fields(1), &SLOTS, |place, values| arrived.push((place, values.to_vec())))?;
        Ok(arrived)
    }

    proptest! {
        #[test]
        fn what_is_packed_arrives_whole_and_in_the_shortest_form((route, places) in routes()) {
            let message = packed(route, &places);
            let mut wanted = places;
            wanted.sort_unstable();
            wanted.dedup();
            let values = filled(route + 3);
            let value = |place: u32| SLOTS.map(|slot| values.column(slot).bits(LocalId::new(place + 3))).to_vec();
            let arrived = unpacked(route, &message).expect("a message of ours");
            prop_assert_eq!(arrived, wanted.iter().map(|&place| (place, value(place))).collect::<Vec<_>>());
            let names = match wanted.len() {
                none_or_all if none_or_all % route == 0 => 0,
                some => (some * 4).min(route.div_ceil(8)),
            };
            prop_assert_eq!(message.len(), if wanted.is_empty() { 0 } else { 1 + wanted.len() * RECORD + names });
        }

        #[test]
        fn a_message_cut_short_or_too_long_is_an_error_and_no_panic((route, places) in routes(), cut in 1usize..4000) {
            let message = packed(route, &places);
            prop_assume!(!message.is_empty());
            let mut long = message.clone();
            long.push(0);
            prop_assert!(unpacked(route, &long).is_err());
            let cut = 1 + cut % message.len();
            prop_assume!(cut < message.len());
            // A sparse message that ends between two records is a shorter one; nothing in it says how many belong.
            let is_shorter = message[0] == SPARSE && (cut - 1).is_multiple_of(RECORD + 4);
            prop_assert_eq!(unpacked(route, &message[..cut]).is_ok(), is_shorter);
        }

        #[test]
        fn any_bytes_are_places_of_the_route_or_an_error(
            route in 0usize..100,
            form in 0u8..6,
            rest in prop::collection::vec(any::<u8>(), 0..400),
            tame in any::<bool>(),
        ) {
            let mut message = vec![form];
            // High bytes zeroed now and then, so that sparse places are often in range.
            message.extend(rest.iter().enumerate().map(|(i, &byte)| if tame && i % 16 != 0 { 0 } else { byte }));
            match unpacked(route, &message) {
                Ok(arrived) => prop_assert!(arrived.iter().all(|&(place, _)| (place as usize) < route)),
                Err(error) => {
                    let text = format!("rank 4 stopped before the run was over: its message of {} bytes does not fit", message.len());
                    prop_assert!(error.to_string().starts_with(&text), "{}", error);
                }
            }
        }
    }

    const LEAST: Field<u32> = Field::<u32>::new("least", Share::Both(Merge::Min), 0);
    const LOSS: Field<u32> = Field::<u32>::new("loss", Share::ToOwner(Merge::Add), 0);
    const OWN: Field<u32> = Field::<u32>::new("own", Share::Private, 0);

    /// How much of a rank's state changes before an exchange.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Change {
        /// Anything may have.
        Unnamed,
        /// All vertices, named one by one.
        All,
        /// About half of them, named one by one.
        Half,
    }

    impl Change {
        fn names(self, seed: u64, rank: u64, vertex: u64) -> bool {
            self != Change::Half || draw(!seed, rank, vertex).is_multiple_of(2)
        }
    }

    /// A number for a vertex on a rank.
    fn draw(seed: u64, rank: u64, vertex: u64) -> u32 {
        (crate::answer::split_mix(seed ^ rank << 40 ^ vertex) >> 20) as u32
    }

    /// What a rank has after an exchange: its owned values and its ghosts, by global number, for each field.
    type Held = Vec<(u32, bool, [u32; 3])>;

    /// Every rank draws values for what it sees, says what changed, and exchanges once.
    fn exchanged(graph: &Graph, ranks: usize, seed: u64, change: Change) -> Vec<(Held, Tally)> {
        let specs: Vec<FieldSpec> = vec![LEAST.spec(), LOSS.spec(), OWN.spec()];
        std::thread::scope(|scope| {
            let threads: Vec<_> = local(ranks, Waiting::Park)
                .into_iter()
                .map(|mut end| {
                    let specs = specs.clone();
                    scope.spawn(move || {
                        let rank = u64::from(end.rank().0);
                        let pool = Pool::new(1, Waiting::Park);
                        let part = Part::cut(graph, &mut end, &pool).expect("all ranks are there");
                        let layout = crate::algorithm::Layout::Rows;
                        let mut step = Step::new(&part, &pool, specs, layout).expect("three names");
                        for v in part.local_vertices() {
                            let drawn = draw(seed, rank, part.global(v).0.into());
                            step.set(LEAST, v, drawn);
                            step.set(LOSS, v, drawn % 1000);
                            step.set(OWN, v, drawn);
                            match (change, change.names(seed, rank, part.global(v).0.into()), part.is_ghost(v)) {
                                (Change::Unnamed, ..) => step.touch_all(),
                                (_, true, true) => step.frontier.offers.push(v),
                                (_, true, false) => step.activate(v),
                                (_, false, _) => {}
                            }
                        }
                        let tally = Exchange::new(&mut end).run(&mut step).expect("all ranks are there");
                        let held = part.local_vertices().map(|v| {
                            let values = [step.get(LEAST, v), step.get(LOSS, v), step.get(OWN, v)];
                            (part.global(v).0, part.is_ghost(v), values)
                        });
                        (held.collect(), tally)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn owners_merge_all_offers_and_ghosts_get_the_result(
            arcs in prop::collection::vec((0i64..120, 0i64..120), 0..300),
            ranks in 1usize..=5,
            seed in any::<u64>(),
            change in prop_oneof![Just(Change::Unnamed), Just(Change::All), Just(Change::Half)],
        ) {
            let graph = Graph::from_pairs("random", &arcs, true, View::AsGiven { incoming: true }).expect("a small graph");
            let held = exchanged(&graph, ranks, seed, change);
            let mut changed_by_offers = vec![0; ranks];
            for v in 0..graph.vertices() as u32 {
                let find = |rank: usize| held[rank].0.iter().find(|&&(name, ..)| name == v).copied();
                let drawn = |rank: usize| draw(seed, rank as u64, v.into());
                let names = |rank: usize| change.names(seed, rank as u64, v.into());
                let owner = (0..ranks).find(|&rank| find(rank).is_some_and(|(_, ghost, _)| !ghost)).expect("an owner");
                let offering: Vec<usize> =
                    (0..ranks).filter(|&rank| rank != owner && find(rank).is_some() && names(rank)).collect();
                let least = offering.iter().map(|&rank| drawn(rank)).fold(drawn(owner), u32::min);
                let loss = offering.iter().map(|&rank| drawn(rank) % 1000).sum::<u32>() + drawn(owner) % 1000;
                let is_woken = least != drawn(owner) || loss != drawn(owner) % 1000;
                changed_by_offers[owner] += u64::from(is_woken);
                prop_assert_eq!(find(owner), Some((v, false, [least, loss, drawn(owner)])));
                for rank in (0..ranks).filter(|&rank| rank != owner) {
                    let Some((_, _, found)) = find(rank) else { continue };
                    // A copy comes when the owner changed; a loss that was handed over starts again from 0.
                    let copy = if is_woken || names(owner) { least } else { drawn(rank) };
                    let kept = if names(rank) { 0 } else { drawn(rank) % 1000 };
                    prop_assert_eq!(found, [copy, kept, drawn(rank)], "ghost {} on {}", v, rank);
                }
            }
            for (rank, (_, tally)) in held.iter().enumerate() {
                prop_assert_eq!(tally.active, changed_by_offers[rank], "a vertex is woken once");
            }
        }
    }
}
