//! Read access to the fields of one rank, for checks and certificates.

use crate::base::id::LocalId;
use crate::field::{Field, FieldSpec, Fields, Value};
use crate::host::access::{at, prefetch};

/// Read access to the fields of one rank: live ones, or those of a snapshot.
#[derive(Clone, Copy)]
pub struct State<'a> {
    fields: &'a Fields,
}

impl<'a> State<'a> {
    pub(crate) fn of(fields: &'a Fields) -> State<'a> {
        State { fields }
    }

    /// Puts a copy of its owner's value at a ghost.
    pub(crate) fn copy<T: Value>(self, field: Field<T>, ghost: LocalId, value: T) {
        T::store(at(self.fields.atoms(field), ghost), value);
    }

    /// Whether the algorithm declared the field.
    pub fn has(self, spec: FieldSpec) -> bool {
        self.fields.specs().iter().any(|own| own.name == spec.name)
    }

    /// A field's values, `[owned + ghosts]`.
    ///
    /// # Panics
    /// If the algorithm did not declare the field: a mistake in the plugin.
    pub fn values<T: Value>(self, field: Field<T>) -> Values<'a, T> {
        Values { atoms: self.fields.atoms(field) }
    }
}

/// The values of one field.
pub struct Values<'a, T: Value> {
    atoms: &'a [T::Atom],
}

impl<T: Value> Clone for Values<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Value> Copy for Values<'_, T> {}

impl<T: Value> Values<'_, T> {
    /// The value at `v`.
    #[inline(always)]
    pub fn get(self, v: LocalId) -> T {
        T::load(at(self.atoms, v))
    }

    /// Prefetches the value at `v`.
    #[inline(always)]
    pub fn prefetch(self, v: LocalId) {
        prefetch(self.atoms, v.index());
    }
}
