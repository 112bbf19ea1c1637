//! Typed names for per-vertex arrays, how each is shared between ranks, and the views that operators get of them.
//!
//! A field has an element for every local vertex: `[owned + ghosts]`. An operator names the fields it uses once per call, in
//! `bind`: frozen ones (read as plain values) or changing ones (relaxed atomics). No field can be both in one call.
#![allow(unsafe_code)] // one frozen view, guarded by the record of borrows

mod view;

pub use view::{State, Values};

use crate::base::error::{Error, Result};
use crate::base::id::LocalId;
use crate::base::memory::{Buf, Pod};
use crate::host::access::{Access, at, frozen, prefetch};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// How offers for one vertex combine. Each is commutative and associative, so the order of messages does not show; sums of reals are
/// so up to rounding only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merge {
    /// The smaller wins; idempotent.
    Min,
    /// They add up (wrapping); the ghost starts again from 0 after each exchange.
    Add,
}

/// What ghost exchange does with a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Share {
    /// Never leaves its rank; ghosts hold whatever the rank puts there.
    Private,
    /// Ghosts are copies of their owner's value.
    FromOwner,
    /// Ghosts are offers to their owner; a changed owner is woken.
    ToOwner(Merge),
    /// Offers first, then copies of the result.
    Both(Merge),
}

impl Share {
    /// How offers are combined, if ghosts make offers.
    pub fn offers(self) -> Option<Merge> {
        match self {
            Share::ToOwner(merge) | Share::Both(merge) => Some(merge),
            Share::Private | Share::FromOwner => None,
        }
    }

    /// Whether ghosts get copies.
    pub fn copies(self) -> bool {
        matches!(self, Share::FromOwner | Share::Both(_))
    }
}

/// A number type that a field can hold.
pub trait Value: Pod + Copy + PartialEq + PartialOrd {
    /// The atomic of the same size.
    type Atom: Pod;
    /// For storage chosen at run time.
    const KIND: Kind;
    /// As 64 bits.
    fn to_bits(self) -> u64;
    /// From 64 bits.
    fn from_bits(bits: u64) -> Self;
    /// Relaxed load.
    fn load(atom: &Self::Atom) -> Self;
    /// Relaxed store.
    fn store(atom: &Self::Atom, value: Self);
    /// The column's atoms, if it holds this type.
    fn atoms(column: &Column) -> Option<&[Self::Atom]>;
}

/// The types of [`Value`], for storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `u32`
    U32,
    /// `f64`
    F64,
}

impl Kind {
    /// Bytes of one value.
    pub fn bytes(self) -> usize {
        match self {
            Kind::U32 => 4,
            Kind::F64 => 8,
        }
    }
}

/// The memory of one field.
pub enum Column {
    /// Of `u32`.
    U32(Buf<AtomicU32>),
    /// Of `f64`, as bits.
    F64(Buf<AtomicU64>),
}

impl Value for u32 {
    type Atom = AtomicU32;
    const KIND: Kind = Kind::U32;
    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.into()
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> u32 {
        bits as u32
    }
    #[inline(always)]
    fn load(atom: &AtomicU32) -> u32 {
        atom.load(Relaxed)
    }
    #[inline(always)]
    fn store(atom: &AtomicU32, value: u32) {
        atom.store(value, Relaxed);
    }
    fn atoms(column: &Column) -> Option<&[AtomicU32]> {
        match column {
            Column::U32(buf) => Some(buf),
            Column::F64(_) => None,
        }
    }
}

impl Value for f64 {
    type Atom = AtomicU64;
    const KIND: Kind = Kind::F64;
    #[inline(always)]
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn load(atom: &AtomicU64) -> f64 {
        f64::from_bits(atom.load(Relaxed))
    }
    #[inline(always)]
    fn store(atom: &AtomicU64, value: f64) {
        atom.store(value.to_bits(), Relaxed);
    }
    fn atoms(column: &Column) -> Option<&[AtomicU64]> {
        match column {
            Column::F64(buf) => Some(buf),
            Column::U32(_) => None,
        }
    }
}

/// A typed name of a per-vertex array.
#[derive(Clone, Copy, Debug)]
pub struct Field<T> {
    spec: FieldSpec,
    holds: PhantomData<T>,
}

/// A field without its type: what snapshots, exchange and fault injection enumerate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FieldSpec {
    /// Unique within an algorithm.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// How it is shared.
    pub share: Share,
    initial: u64,
}

impl Field<u32> {
    /// A field of `u32` that starts at `initial` everywhere.
    pub const fn new(name: &'static str, share: Share, initial: u32) -> Field<u32> {
        Field { spec: FieldSpec { name, kind: Kind::U32, share, initial: initial as u64 }, holds: PhantomData }
    }
}

impl Field<f64> {
    /// A field of `f64` that starts at `initial` everywhere.
    pub const fn real(name: &'static str, share: Share, initial: f64) -> Field<f64> {
        Field { spec: FieldSpec { name, kind: Kind::F64, share, initial: initial.to_bits() }, holds: PhantomData }
    }
}

impl<T> Field<T> {
    /// The field without its type.
    pub const fn spec(&self) -> FieldSpec {
        self.spec
    }
}

/// The fields of one rank.
pub struct Fields {
    specs: Vec<FieldSpec>,
    columns: Vec<Column>,
    len: usize,
}

impl Fields {
    /// Columns of `len` elements, zeroed; [`crate::step::Step::new`] fills in the initial values.
    pub(crate) fn new(specs: Vec<FieldSpec>, len: usize) -> Result<Fields> {
        for (place, spec) in specs.iter().enumerate() {
            if specs[..place].iter().any(|other| other.name == spec.name) {
                return Err(Error::usage(format!("two fields are called `{}`; give each its own name", spec.name)));
            }
        }
        if specs.len() > BOUND_MAX {
            return Err(Error::usage(format!(
                "{} fields are declared; an algorithm has at most {BOUND_MAX}",
                specs.len()
            )));
        }
        let columns = columns(&specs, len);
        Ok(Fields { specs, columns, len })
    }

    /// The values lie on a device, and the columns here are empty: only names are resolved here.
    pub(crate) fn leave_host(&mut self) {
        self.columns = columns(&self.specs, 0);
    }

    /// The fields, in the order declared.
    pub fn specs(&self) -> &[FieldSpec] {
        &self.specs
    }

    /// Bytes held, touched or not.
    pub fn bytes(&self) -> usize {
        self.specs.iter().map(|spec| spec.kind.bytes() * self.len).sum()
    }

    /// The atoms of a field.
    ///
    /// # Panics
    /// If the algorithm did not declare it.
    pub(crate) fn atoms<T: Value>(&self, field: Field<T>) -> &[T::Atom] {
        T::atoms(&self.columns[self.slot(field.spec)]).expect("slot() compared the types")
    }

    pub(crate) fn column(&self, slot: usize) -> &Column {
        &self.columns[slot]
    }

    pub(crate) fn columns_mut(&mut self) -> impl Iterator<Item = &mut Column> {
        self.columns.iter_mut()
    }

    pub(crate) fn swap(&mut self, a: FieldSpec, b: FieldSpec) {
        let (a, b) = (self.slot(a), self.slot(b));
        assert_eq!(self.specs[a].kind, self.specs[b].kind, "fields of one type can be swapped");
        self.columns.swap(a, b);
    }

    /// # Panics
    /// If the algorithm did not declare the field: a mistake in the plugin.
    pub(crate) fn slot(&self, spec: FieldSpec) -> usize {
        let slot = self.specs.iter().position(|own| own.name == spec.name && own.kind == spec.kind);
        slot.unwrap_or_else(|| panic!("field `{}` is used but not declared in fields()", spec.name))
    }

    /// The first `len` values of a field, little-endian.
    pub(crate) fn raw(&self, spec: FieldSpec, len: usize) -> Vec<u8> {
        match &self.columns[self.slot(spec)] {
            Column::U32(buf) => buf[..len].iter().flat_map(|atom| atom.load(Relaxed).to_le_bytes()).collect(),
            Column::F64(buf) => buf[..len].iter().flat_map(|atom| atom.load(Relaxed).to_le_bytes()).collect(),
        }
    }

    pub(crate) fn changing<T: Value>(&mut self, field: Field<T>) -> Changing<'_, T> {
        Changing { atoms: self.atoms(field) }
    }

    /// The record of what one operator call borrows.
    pub(crate) fn bind(&mut self) -> Bind<'_> {
        Bind { fields: self, taken: Default::default(), order: RefCell::default() }
    }
}

fn columns(specs: &[FieldSpec], len: usize) -> Vec<Column> {
    let column = |spec: &FieldSpec| match spec.kind {
        Kind::U32 => Column::U32(Buf::zeroed(len)),
        Kind::F64 => Column::F64(Buf::zeroed(len)),
    };
    specs.iter().map(column).collect()
}

impl Column {
    /// The value at `v`, as bits.
    #[inline(always)]
    pub(crate) fn bits(&self, v: LocalId) -> u64 {
        match self {
            Column::U32(buf) => at(buf, v).load(Relaxed).into(),
            Column::F64(buf) => at(buf, v).load(Relaxed),
        }
    }

    /// Puts bits at `v`.
    #[inline(always)]
    pub(crate) fn set_bits(&self, v: LocalId, bits: u64) {
        match self {
            Column::U32(buf) => at(buf, v).store(bits as u32, Relaxed),
            Column::F64(buf) => at(buf, v).store(bits, Relaxed),
        }
    }

    /// Combines an offer into `v`; whether the value changed.
    pub(crate) fn merge(&self, v: LocalId, merge: Merge, offer: u64) -> bool {
        let now = self.bits(v);
        let next = match (self, merge) {
            (Column::U32(_), Merge::Min) => u64::from((now as u32).min(offer as u32)),
            (Column::U32(_), Merge::Add) => u64::from((now as u32).wrapping_add(offer as u32)),
            (Column::F64(_), Merge::Min) => f64::from_bits(now).min(f64::from_bits(offer)).to_bits(),
            (Column::F64(_), Merge::Add) => (f64::from_bits(now) + f64::from_bits(offer)).to_bits(),
        };
        if next != now {
            self.set_bits(v, next);
        }
        next != now
    }
}

impl FieldSpec {
    /// The value it starts with, as bits.
    pub fn initial_bits(&self) -> u64 {
        self.initial
    }
}

/// The most fields of an algorithm that one operator can bind.
const BOUND_MAX: usize = 16;

#[derive(Clone, Copy, PartialEq, Default)]
enum Borrow {
    #[default]
    Free,
    Frozen,
    Changing,
}

/// Hands an operator the views it asks for.
pub struct Bind<'a> {
    fields: &'a Fields,
    taken: [Cell<Borrow>; BOUND_MAX],
    order: RefCell<Vec<usize>>,
}

impl<'a> Bind<'a> {
    /// A field that this operator only reads, at any vertex.
    ///
    /// # Panics
    /// If the operator also binds it as changing, or the algorithm did not declare it: mistakes in the plugin.
    pub fn frozen<T: Value>(&self, field: Field<T>) -> Frozen<'a, T> {
        let slot = self.take(field.spec, Borrow::Frozen);
        let atoms = T::atoms(&self.fields.columns[slot]).expect("slot() compared the types");
        // SAFETY: `bind` borrowed the fields exclusively for 'a, and `take` refused a changing view of this one.
        Frozen { values: unsafe { frozen::<T::Atom, T>(atoms) } }
    }

    /// A field that this operator changes, or reads while others change it.
    ///
    /// # Panics
    /// As [`Bind::frozen`].
    pub fn changing<T: Value>(&self, field: Field<T>) -> Changing<'a, T> {
        let slot = self.take(field.spec, Borrow::Changing);
        Changing { atoms: T::atoms(&self.fields.columns[slot]).expect("slot() compared the types") }
    }

    /// The atoms of a field whatever the operator does with it: for looking on.
    pub(crate) fn column(&self, slot: usize) -> &'a Column {
        &self.fields.columns[slot]
    }

    /// The slots of the fields bound so far, in order.
    pub(crate) fn order(&self) -> Vec<usize> {
        self.order.borrow().clone()
    }

    fn take(&self, spec: FieldSpec, how: Borrow) -> usize {
        let slot = self.fields.slot(spec);
        self.order.borrow_mut().push(slot);
        let before = self.taken[slot].replace(how);
        assert!(before == Borrow::Free || before == how, "field `{}` is bound both frozen and changing", spec.name);
        slot
    }
}

/// A field that does not change during the operator call.
pub struct Frozen<'a, T> {
    values: &'a [T],
}

impl<T> Clone for Frozen<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Frozen<'_, T> {}

impl<T: Copy> Frozen<'_, T> {
    /// The value at `v`.
    #[inline(always)]
    pub fn get(self, v: LocalId) -> T {
        *at(self.values, v)
    }

    /// Prefetches the value at `v`.
    #[inline(always)]
    pub fn prefetch(self, v: LocalId) {
        prefetch(self.values, v.index());
    }
}

/// A field that may change during the operator call. All accesses are relaxed: operators agree on single words only, and the
/// end of a region publishes them.
pub struct Changing<'a, T: Value> {
    atoms: &'a [T::Atom],
}

impl<T: Value> Clone for Changing<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Value> Copy for Changing<'_, T> {}

impl<T: Value> Changing<'_, T> {
    /// The value at `v`.
    #[inline(always)]
    pub fn get(self, v: LocalId) -> T {
        T::load(at(self.atoms, v))
    }

    /// Puts a value at `v`.
    #[inline(always)]
    pub fn set(self, v: LocalId, value: T) {
        T::store(at(self.atoms, v), value);
    }

    /// Prefetches the value at `v`.
    #[inline(always)]
    pub fn prefetch(self, v: LocalId) {
        prefetch(self.atoms, v.index());
    }
}

impl Changing<'_, u32> {
    /// Takes `amount` away (wrapping); the value before.
    #[inline(always)]
    pub fn sub<A: Access>(self, v: LocalId, amount: u32) -> u32 {
        self.add::<A>(v, amount.wrapping_neg())
    }

    /// Adds `amount` (wrapping); the value before.
    #[inline(always)]
    pub fn add<A: Access>(self, v: LocalId, amount: u32) -> u32 {
        let atom = at(self.atoms, v);
        if A::IS_SEQUENTIAL {
            let was = atom.load(Relaxed);
            atom.store(was.wrapping_add(amount), Relaxed);
            was
        } else {
            atom.fetch_add(amount, Relaxed)
        }
    }

    /// Lowers the value to `offer` if that is smaller; whether it was.
    #[inline(always)]
    pub fn lower<A: Access>(self, v: LocalId, offer: u32) -> bool {
        let atom = at(self.atoms, v);
        if A::IS_SEQUENTIAL {
            let was = atom.load(Relaxed);
            if offer < was {
                atom.store(offer, Relaxed);
            }
            offer < was
        } else {
            atom.load(Relaxed) > offer && atom.fetch_min(offer, Relaxed) > offer
        }
    }

    /// Puts `to` at `v` if `from` stands there; whether it did.
    #[inline(always)]
    pub fn replace<A: Access>(self, v: LocalId, from: u32, to: u32) -> bool {
        let atom = at(self.atoms, v);
        if A::IS_SEQUENTIAL {
            let matches = atom.load(Relaxed) == from;
            if matches {
                atom.store(to, Relaxed);
            }
            matches
        } else {
            atom.compare_exchange(from, to, Relaxed, Relaxed).is_ok()
        }
    }
}

#[cfg(test)]
mod tests;
