//! Where strikes hit: values of fields, members of frontiers, numbers of summaries, arcs.

use super::{FaultInjector, Model, Rng, Target, changed};
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::device::word;
use crate::field::{Column, Fields, Kind};
use crate::frontier::FrontierFormat;
use crate::host::access::Sequential;
use crate::partition::Part;
use crate::step::Step;
use std::sync::atomic::Ordering::Relaxed;

/// Values that are hit together.
const WARP: usize = 32;

impl FaultInjector<'_> {
    /// Hits a field at one of these local numbers, `count` of which there are.
    fn strike_values(
        &self,
        step: &mut Step<'_>,
        slot: usize,
        count: usize,
        number: impl Fn(usize) -> u32,
        rng: &mut Rng,
    ) {
        let Some(first) = rng.below(count as u64) else { return };
        let first = first as usize;
        let (part, spec) = (step.part, step.fields.specs()[slot]);
        let width = spec.kind.bytes() as u32 * 8;
        let mut hit = |place: usize, change: &mut dyn FnMut(u64) -> u64| {
            let v = LocalId::new(number(place));
            let old = step.read_bits(slot, v);
            step.write_bits(slot, v, change(old));
        };
        let mut flipped = None;
        if self.strike.model == Model::Warp32 {
            let (bit, all_alike) = ((rng.word() % u64::from(width)) as u32, rng.word() & 1 == 0);
            flipped = all_alike.then_some(bit);
            for place in first..count.min(first + WARP) {
                hit(place, &mut |old| {
                    if all_alike { old ^ 1 << bit } else { changed(Model::Random, old, width, rng).0 }
                });
            }
        } else {
            hit(first, &mut |old| {
                let (new, bit) = changed(self.strike.model, old, width, rng);
                flipped = bit;
                new
            });
        }
        self.record(spec.name, self.id(part, LocalId::new(number(first))), step.index, flipped);
    }

    /// Hits any field, at an owned vertex or a ghost.
    pub(super) fn strike_field(&self, step: &mut Step<'_>) {
        let mut rng = self.strike.rng();
        let (owned, ghosts) = (step.part.owned(), step.part.ghosts());
        let Some(slot) = rng.below(step.fields.specs().len() as u64) else { return };
        let base = step.part.ghost_base();
        let number = |place: usize| if place < owned { place as u32 } else { base + (place - owned) as u32 };
        self.strike_values(step, slot as usize, owned + ghosts, number, &mut rng);
    }

    /// Takes the update of one value back: of those that changed since `before`.
    pub(super) fn strike_stale(&self, step: &mut Step<'_>, before: &[Vec<u64>]) -> Result<()> {
        let mut rng = self.strike.rng();
        let mut changed = Vec::new();
        let now = copy_of(step)?;
        for (slot, (old, now)) in before.iter().zip(&now).enumerate() {
            let is_changed = |v: &LocalId| now[v.index()] != old[v.index()];
            changed.extend(step.part.local_vertices().filter(is_changed).map(|v| (slot, v)));
        }
        let Some(&(slot, v)) = rng.below(changed.len() as u64).and_then(|place| changed.get(place as usize)) else {
            return Ok(());
        };
        step.write_bits(slot, v, before[slot][v.index()]);
        self.record(step.fields.specs()[slot].name, self.id(step.part, v), step.index, None);
        Ok(())
    }

    /// Hits a ghost's copy of a shared field.
    pub(super) fn strike_ghost(&self, step: &mut Step<'_>) {
        let mut rng = self.strike.rng();
        let shared: Vec<usize> = (0..step.fields.specs().len())
            .filter(|&slot| {
                let share = step.fields.specs()[slot].share;
                share.copies() || share.offers().is_some()
            })
            .collect();
        let Some(&slot) = rng.below(shared.len() as u64).and_then(|place| shared.get(place as usize)) else { return };
        let base = step.part.ghost_base();
        let number = |place: usize| base + place as u32;
        self.strike_values(step, slot, step.part.ghosts(), number, &mut rng);
    }

    /// Hits the answer of an owned vertex.
    pub(super) fn strike_answer(&self, step: &mut Step<'_>, name: &str) {
        let mut rng = self.strike.rng();
        let Some(slot) = step.fields.specs().iter().position(|spec| spec.name == name) else { return };
        let number = |place: usize| place as u32;
        self.strike_values(step, slot, step.part.owned(), number, &mut rng);
    }

    /// Hits the frontier as it rests: its members, or the set of vertices that have joined.
    pub(super) fn strike_frontier(&self, step: &mut Step<'_>) {
        let mut rng = self.strike.rng();
        let (part, index) = (step.part, step.index);
        if step.is_on_device() {
            return self.strike_frontier_on_device(step, &mut rng);
        }
        if rng.word().is_multiple_of(4) {
            return self.strike_joined(step, &mut rng);
        }
        let frontier = &mut step.frontier;
        if frontier.form == FrontierFormat::Bitmap {
            let words = &frontier.bits.words()[..part.owned().div_ceil(64)];
            let busy: Vec<usize> = (0..words.len()).filter(|&word| words[word].load(Relaxed) != 0).collect();
            let Some(&word) = rng.below(busy.len() as u64).and_then(|place| busy.get(place as usize)) else { return };
            let old = words[word].load(Relaxed);
            let (new, bit) = match self.strike.model {
                Model::Stale => (old & (old - 1), Some(old.trailing_zeros())),
                Model::Warp32 => (old ^ u64::from(u32::MAX) << (rng.word() & 32), None),
                model => changed(model, old, 64, &mut rng),
            };
            words[word].store(new, Relaxed);
            let first = LocalId::new((word * 64) as u32);
            return self.record("frontier", self.id(part, first), index, bit);
        }
        let total: usize = frontier.queues.iter().map(|queue| queue.0.len()).sum();
        let Some(mut place) = rng.below(total as u64).map(|place| place as usize) else { return };
        for queue in &mut frontier.queues {
            let list = &mut queue.0;
            if place >= list.len() {
                place -= list.len();
                continue;
            }
            let vertex = self.id(part, list[place]);
            let mut flipped = None;
            match self.strike.model {
                Model::Stale => drop(list.remove(place)),
                Model::Warp32 => {
                    for member in list.iter_mut().skip(place).take(WARP) {
                        *member = LocalId::new(rng.word() as u32);
                    }
                }
                model => {
                    let (new, bit) = changed(model, list[place].number().into(), 32, &mut rng);
                    // The guard looks at the checksum before anybody uses a member as a vertex.
                    (list[place], flipped) = (LocalId::new(new as u32), bit);
                }
            }
            return self.record("frontier", vertex, index, flipped);
        }
    }

    /// Flips whether vertices have joined; only real vertices, others would lead out of the part.
    fn strike_joined(&self, step: &Step<'_>, rng: &mut Rng) {
        let part = step.part;
        let Some(first) = rng.below(part.owned() as u64) else { return };
        let count = match self.strike.model {
            Model::Warp32 => WARP,
            Model::Bit2 => 2,
            _ => 1,
        };
        for v in (first as u32..part.owned() as u32).take(count).map(LocalId::new) {
            let visited = &step.frontier.visited;
            match (self.strike.model, visited.has(v)) {
                (Model::Zero | Model::Stale, true) => visited.clear_sequential(v),
                (Model::Zero | Model::Stale, false) => {}
                (_, true) => visited.clear_sequential(v),
                (_, false) => drop(visited.set::<Sequential>(v)),
            }
        }
        self.record("joined", self.id(part, LocalId::new(first as u32)), step.index, None);
    }

    /// Hits a number that the superstep leaves for the checker.
    pub(super) fn strike_summary(&self, step: &mut Step<'_>) {
        let (mut rng, index) = (self.strike.rng(), step.index);
        if step.is_on_device() {
            return self.strike_summary_on_device(step, &mut rng);
        }
        let Some(monitor) = step.monitor.as_deref_mut() else { return };
        let model = self.strike.model;
        let (sum, largest, counts) = (&mut monitor.sum, &mut monitor.largest, &mut monitor.counts);
        let words = [
            ("differing", &mut counts.differing),
            ("set_twice", &mut counts.set_twice),
            ("below", &mut counts.below),
            ("critical", &mut counts.critical),
            ("assigned", &mut counts.assigned),
            ("checksum", sum),
        ];
        let reals = [("mass", &mut counts.mass), ("largest", &mut counts.largest), ("largest_before", largest)];
        let place = rng.word() as usize % (words.len() + reals.len());
        let many = words.len();
        let (name, bit) = if place < many {
            let Some((name, word)) = words.into_iter().nth(place) else { return };
            let (new, bit) = changed(model, *word, 64, &mut rng);
            *word = new;
            (name, bit)
        } else {
            let Some((name, real)) = reals.into_iter().nth(place - many) else { return };
            let (new, bit) = changed(model, real.to_bits(), 64, &mut rng);
            *real = f64::from_bits(new);
            (name, bit)
        };
        self.record(name, None, index, bit);
    }

    /// Hits a number that the superstep has left on its device.
    fn strike_summary_on_device(&self, step: &mut Step<'_>, rng: &mut Rng) {
        const WORDS: [(&str, usize); 12] = [
            ("checksum", word::VISITED),
            ("joined", word::JOINED),
            ("consumed", word::CONSUMED),
            ("strays", word::STRAYS),
            ("critical", word::CRITICAL),
            ("assigned", word::ASSIGNED),
            ("differing", word::DIFFERING),
            ("set_twice", word::SET_TWICE),
            ("first_twice", word::FIRST_TWICE),
            ("below", word::BELOW),
            ("largest", word::LARGEST),
            ("mass", word::MASS),
        ];
        let (name, place) = WORDS[rng.word() as usize % WORDS.len()];
        let (model, index) = (self.strike.model, step.index);
        let Some(device) = &mut step.device else { return };
        let mut flipped = None;
        device.attempt(|device| {
            device.inject_into_summary(place, &mut |old| {
                let (new, bit) = changed(model, old, 64, rng);
                flipped = bit;
                new
            })
        });
        self.record(name, None, index, flipped);
    }

    /// Hits the frontier as it rests on its device: its members, or the set of vertices that have joined.
    fn strike_frontier_on_device(&self, step: &mut Step<'_>, rng: &mut Rng) {
        let (part, index, model) = (step.part, step.index, self.strike.model);
        let hits_joined = rng.word().is_multiple_of(4);
        let Some(device) = &mut step.device else { return };
        let mut struck = None;
        let mut change = |words: &mut [u32], is_queue: bool| -> Option<Option<(u32, Option<u32>)>> {
            if is_queue && words.len() == 1 && model == Model::Stale {
                return None; // nothing else could stand in its place
            }
            let busy: Vec<usize> = (0..words.len()).filter(|&at| is_queue || hits_joined || words[at] != 0).collect();
            let first = *busy.get(rng.below(busy.len() as u64)? as usize)?;
            let (old, mut flipped) = (words[first], None);
            match model {
                // A member is lost: another one stands in its place, or none.
                Model::Stale if is_queue => words[first] = words[(first + 1) % words.len()],
                Model::Stale => words[first] = old & old.wrapping_sub(1),
                Model::Warp32 => words[first..].iter_mut().take(if is_queue { WARP } else { 1 }).for_each(|word| {
                    *word = if is_queue { rng.word() as u32 } else { !*word };
                }),
                model => {
                    let (new, bit) = changed(model, old.into(), 32, rng);
                    (words[first], flipped) = (new as u32, bit);
                }
            }
            let v = if is_queue { old } else { first as u32 * 32 };
            Some(((v as usize) < part.owned()).then_some((v, flipped)))
        };
        device.attempt(|device| {
            device.inject_into_frontier(hits_joined, part.owned(), &mut |words, is_queue| {
                struck = change(words, is_queue)
            })
        });
        if let Some(hit) = struck {
            let vertex = hit.and_then(|(v, _)| self.id(part, LocalId::new(v)));
            let name = if hits_joined { "joined" } else { "frontier" };
            self.record(name, vertex, index, hit.and_then(|(_, bit)| bit));
        }
    }

    /// Hits the arcs as they lie on a device, which stay arcs to vertices of the part.
    pub(super) fn strike_arcs_on_device(&self, step: &mut Step<'_>) {
        let mut rng = self.strike.rng();
        let (part, incoming) = (step.part, rng.word() & 1 == 0);
        let Some(device) = &mut step.device else { return };
        let mut flipped = None;
        let struck = device.attempt(|device| {
            device.inject_into_targets(incoming, part, &mut |targets| {
                let (first, bit) = self.strike_ends(&ends(part), part.locals(), targets, &mut rng)?;
                flipped = bit;
                Some(first)
            })
        });
        if let Some((v, name)) = struck {
            self.record(name, self.id(part, v), step.index, flipped);
        }
    }

    /// Hits the arcs of the part, which stay arcs to vertices of it.
    pub(super) fn strike_arcs(&self, part: &mut Part) {
        let mut rng = self.strike.rng();
        let incoming = rng.word() & 1 == 0;
        let mut flipped = None;
        let (ends, locals) = (ends(part), part.locals());
        let struck = part.inject_into_targets(incoming, |targets| {
            let mut numbers: Vec<u32> = targets.iter().map(|target| target.number()).collect();
            let (first, bit) = self.strike_ends(&ends, locals, &mut numbers, &mut rng)?;
            flipped = bit;
            targets.iter_mut().zip(numbers).for_each(|(target, number)| *target = LocalId::new(number));
            Some(first)
        });
        if let Some((v, name)) = struck {
            self.record(name, self.id(part, v), 0, flipped);
        }
    }

    /// Changes some of the ends of arcs, to other vertices among `ends`; the place of the first, and the bit that was flipped.
    fn strike_ends(
        &self,
        ends: &[u32],
        locals: usize,
        targets: &mut [u32],
        rng: &mut Rng,
    ) -> Option<(usize, Option<u32>)> {
        let (model, locals, mut flipped) = (self.strike.model, locals as u64, None);
        let first = rng.below(targets.len() as u64)? as usize;
        let count = if model == Model::Warp32 { WARP } else { 1 };
        let (bit, all_alike) = (rng.word() % 32, rng.word() & 1 == 0);
        for target in targets.iter_mut().skip(first).take(count) {
            let old = u64::from(*target);
            let mut new = match model {
                Model::Warp32 if all_alike => old ^ 1 << bit,
                Model::Warp32 => changed(Model::Random, old, 32, rng).0,
                model => {
                    let (new, bit) = changed(model, old, 32, rng);
                    flipped = bit;
                    new
                }
            };
            // Bits beyond the part's vertices are a memory fault; another one is flipped, or another vertex drawn.
            let mut tries = 0;
            while new >= locals || ends.binary_search(&(new as u32)).is_err() {
                tries += 1;
                let within = 64 - locals.leading_zeros();
                let (again, bit) = changed(if tries < 8 { model } else { Model::Random }, old, within, rng);
                flipped = bit.filter(|_| flipped.is_some());
                new = if tries < 64 { again } else { u64::from(*ends.get(rng.below(ends.len() as u64)? as usize)?) };
            }
            *target = new as u32;
        }
        Some((first, flipped))
    }
}

/// The local vertices, by number.
fn ends(part: &Part) -> Vec<u32> {
    part.local_vertices().map(LocalId::number).collect()
}

/// The values of all fields, as bits.
pub(super) fn copy_of(step: &mut Step<'_>) -> Result<Vec<Vec<u64>>> {
    let mut copy = None;
    Ok(values_of(step.on_host(&mut copy)?))
}

fn values_of(fields: &Fields) -> Vec<Vec<u64>> {
    let column = |slot: usize| match (fields.column(slot), fields.specs()[slot].kind) {
        (Column::U32(buf), Kind::U32) => buf.iter().map(|atom| atom.load(Relaxed).into()).collect(),
        (Column::F64(buf), _) => buf.iter().map(|atom| atom.load(Relaxed)).collect(),
        (Column::U32(_), Kind::F64) => Vec::new(),
    };
    (0..fields.specs().len()).map(column).collect()
}

/// Whether the strike waits for the end of an update, or hits what rests before one.
pub(super) fn is_after_update(struck: &FaultInjector<'_>) -> bool {
    let mut rng = Rng::new(struck.strike.seed ^ 0x5550_4441_5445);
    struck.strike.target == Target::Field && (struck.strike.model == Model::Stale || rng.word() & 1 == 0)
}
