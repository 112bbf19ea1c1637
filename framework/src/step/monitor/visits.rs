//! The field whose values are set once: what visits put into it is added up as they go, and can be counted again.

use crate::base::checksum::mix;
use crate::base::id::LocalId;
use crate::field::{Bind, Column, Fields, Value};
use crate::host::access::at;
use crate::partition::Part;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The set-once field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetOnceField {
    pub(crate) slot: usize,
    pub(crate) initial: u64,
}

impl SetOnceField {
    pub(super) fn term_unless_initial(self, v: LocalId, bits: u64) -> u64 {
        if bits == self.initial { 0 } else { term(v, bits) }
    }

    /// The values of the field's column.
    fn values(self, column: &Column) -> &[AtomicU32] {
        u32::atoms(column).expect("a set-once field holds u32")
    }

    /// The checksum over owned vertices that are not at their initial value.
    pub(crate) fn recount(self, fields: &Fields, part: &Part) -> u64 {
        let values = &self.values(fields.column(self.slot))[..part.owned()];
        let terms = (0u32..).zip(values).map(|(v, value)| (LocalId::new(v), u64::from(value.load(Relaxed))));
        terms.fold(0u64, |sum, (v, bits)| sum.wrapping_add(self.term_unless_initial(v, bits)))
    }
}

/// The term of a set-once value: an odd weight, linear in the place, times a one-to-one hash of the value. So one wrong value always
/// shows, several cancel only where their places and values match crosswise, and equal values of many vertices cost an addition each.
#[inline(always)]
pub(super) fn term(v: LocalId, bits: u64) -> u64 {
    weight(v).wrapping_mul(hashed(bits))
}

#[inline(always)]
fn weight(v: LocalId) -> u64 {
    2 * u64::from(v.number()) + 1
}

#[inline(always)]
fn hashed(bits: u64) -> u64 {
    mix(0, bits)
}

/// Whether visits are watched: chosen once a call, compiled apart.
pub(crate) trait ObserverKind {
    type Over<'a>: VisitObserver;
    fn over<'a>(bind: &Bind<'a>, part: &Part, once: Option<SetOnceField>) -> Self::Over<'a>;
}

/// Looks at vertices that were just visited.
pub(crate) trait VisitObserver: Copy + Sync {
    const OBSERVES: bool;
    fn look(self, visited: impl Iterator<Item = LocalId>, visits: &mut VisitChecksum);
}

/// What one thread saw: the checksum of the values set.
#[derive(Clone, Copy, Default)]
pub(crate) struct VisitChecksum {
    sum: u64,
    /// Weights of the latest vertices, which all have this value.
    weights: u64,
    value: u32,
}

impl VisitChecksum {
    #[inline(always)]
    fn add(&mut self, v: LocalId, value: u32) {
        if value != self.value {
            *self = VisitChecksum { sum: self.sum(), weights: 0, value };
        }
        self.weights = self.weights.wrapping_add(weight(v));
    }

    fn sum(&self) -> u64 {
        self.sum.wrapping_add(self.weights.wrapping_mul(hashed(self.value.into())))
    }
}

/// What all saw.
#[derive(Default)]
pub(crate) struct SharedVisitChecksum {
    pub(super) sum: AtomicU64,
}

impl SharedVisitChecksum {
    #[inline(always)]
    pub(crate) fn add<S: VisitObserver>(&self, own: &VisitChecksum) {
        if S::OBSERVES {
            self.sum.fetch_add(own.sum(), Relaxed);
        }
    }
}

/// Nobody looks.
#[derive(Clone, Copy)]
pub(crate) struct NoObserver;

impl ObserverKind for NoObserver {
    type Over<'a> = NoObserver;
    #[inline(always)]
    fn over<'a>(_: &Bind<'a>, _: &Part, _: Option<SetOnceField>) -> NoObserver {
        NoObserver
    }
}

impl VisitObserver for NoObserver {
    const OBSERVES: bool = false;
    #[inline(always)]
    fn look(self, _: impl Iterator<Item = LocalId>, _: &mut VisitChecksum) {}
}

/// The set-once field is looked at after a visit.
pub(crate) struct WithChecksum;

#[derive(Clone, Copy)]
pub(crate) struct ChecksumObserver<'a> {
    values: &'a [AtomicU32],
    ghost_base: u32,
}

impl ObserverKind for WithChecksum {
    type Over<'a> = ChecksumObserver<'a>;
    fn over<'a>(bind: &Bind<'a>, part: &Part, once: Option<SetOnceField>) -> ChecksumObserver<'a> {
        let values = once.map_or(&[][..], |once| once.values(bind.column(once.slot)));
        // Without values there is nothing to look at, as at a ghost.
        ChecksumObserver { values, ghost_base: if values.is_empty() { 0 } else { part.ghost_base() } }
    }
}

impl VisitObserver for ChecksumObserver<'_> {
    const OBSERVES: bool = true;
    /// Only after: a load before would wait for memory that the visit merely writes, and what it overwrites does no harm.
    #[inline(always)]
    fn look(self, visited: impl Iterator<Item = LocalId>, visits: &mut VisitChecksum) {
        let mut own = *visits;
        for v in visited.filter(|v| v.number() < self.ghost_base) {
            own.add(v, at(self.values, v).load(Relaxed));
        }
        *visits = own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn visits_add_up_to_their_terms_and_one_wrong_value_shows(
            values in prop::collection::vec(0u32..4, 1..200),
            place in any::<prop::sample::Index>(),
            flip in 1u32..,
        ) {
            let mut visits = VisitChecksum::default();
            (0..).map(LocalId::new).zip(&values).for_each(|(v, &value)| visits.add(v, value));
            let sum = |values: &[u32]| {
                let terms = (0..).map(LocalId::new).zip(values).map(|(v, &value)| term(v, value.into()));
                terms.fold(0u64, u64::wrapping_add)
            };
            prop_assert_eq!(visits.sum(), sum(&values));
            let mut wrong = values.clone();
            wrong[place.index(values.len())] ^= flip;
            prop_assert_ne!(visits.sum(), sum(&wrong));
        }
    }
}
