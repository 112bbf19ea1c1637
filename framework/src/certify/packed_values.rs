//! Copies of values that a certificate reads at random: derived ones, and numbers packed into as few bytes as they need, so that more
//! of them stay in the cache.

use crate::base::id::LocalId;
use crate::base::memory::{Buf, Pod};
use crate::field::Values;
use crate::host::access::{at, prefetch};

/// A value for every local vertex, computed for a certificate.
pub struct VertexValues<T: Pod> {
    pub(super) values: Buf<T>,
}

impl<T: Pod + Copy> VertexValues<T> {
    /// The value at `v`.
    #[inline(always)]
    pub fn get(&self, v: LocalId) -> T {
        *at(&self.values, v)
    }

    /// Prefetches the value at `v`.
    #[inline(always)]
    pub fn prefetch(&self, v: LocalId) {
        prefetch(&self.values, v.index());
    }
}

/// Numbers of a field, in the narrowest of three widths that keeps them apart and in order.
pub enum Packed<'a> {
    /// One byte each.
    Bytes(VertexValues<u8>),
    /// Two bytes each.
    Shorts(VertexValues<u16>),
    /// The field itself.
    Words(Values<'a, u32>),
}

/// Numbers in order, the largest standing for `u32::MAX` and for nothing else.
pub trait Lookup: Sync {
    /// What stands for `u32::MAX`.
    const INFINITE: u32;

    /// The number at `v`.
    fn get(&self, v: LocalId) -> u32;

    /// The number at `v`, as the field has it.
    #[inline(always)]
    fn value(&self, v: LocalId) -> u32 {
        let own = self.get(v);
        if own == Self::INFINITE { u32::MAX } else { own }
    }

    /// Whether the number at `v` stands for `value`, as the field has it.
    #[inline(always)]
    fn is(&self, v: LocalId, value: u32) -> bool {
        self.value(v) == value
    }
}

impl Lookup for VertexValues<u8> {
    const INFINITE: u32 = u8::MAX as u32;
    #[inline(always)]
    fn get(&self, v: LocalId) -> u32 {
        VertexValues::get(self, v).into()
    }
}

impl Lookup for VertexValues<u16> {
    const INFINITE: u32 = u16::MAX as u32;
    #[inline(always)]
    fn get(&self, v: LocalId) -> u32 {
        VertexValues::get(self, v).into()
    }
}

impl Lookup for Values<'_, u32> {
    const INFINITE: u32 = u32::MAX;
    #[inline(always)]
    fn get(&self, v: LocalId) -> u32 {
        Values::get(*self, v)
    }
}
