//! How inner loops reach memory: rules compiled for one thread or for many, prefetches, and bitmaps indexed by vertex.
//!
//! Every index here is a [`LocalId`] or a word number below the length; debug builds check each one.
#![allow(unsafe_code)] // unchecked indexing by LocalId (proved at load) and prefetches (touch nothing)

use crate::base::id::LocalId;
use crate::base::memory::{Buf, Pod};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How a rule changes shared words. Rules are compiled twice: for an operator that runs on one thread, and for many.
pub trait Access: Copy + Sync + Send + 'static {
    /// Whether no other thread runs the operator, so that plain loads and stores do.
    const IS_SEQUENTIAL: bool;
}

/// One thread runs the operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequential;
/// Several threads run the operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Concurrent;

impl Access for Sequential {
    const IS_SEQUENTIAL: bool = true;
}
impl Access for Concurrent {
    const IS_SEQUENTIAL: bool = false;
}

/// `items[v]`; `items` has an element for every vertex of the part that `v` belongs to.
#[inline(always)]
pub(crate) fn at<T>(items: &[T], v: LocalId) -> &T {
    debug_assert!(v.index() < items.len(), "vertex {} of {}", v.index(), items.len());
    // SAFETY: a LocalId was proved to be a vertex of its part, and fields and rows have an element for each.
    unsafe { items.get_unchecked(v.index()) }
}

/// `items[from..to]` for offsets of a validated adjacency.
#[inline(always)]
pub(crate) fn row<T>(items: &[T], from: u64, to: u64) -> &[T] {
    debug_assert!(from <= to && to as usize <= items.len());
    // SAFETY: `Csr::new` proved that offsets rise from 0 to the number of targets.
    unsafe { items.get_unchecked(from as usize..to as usize) }
}

/// Asks for `items[index]` to be prefetched; any index is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(items.as_ptr().wrapping_add(index).cast::<i8>(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

/// One bit for every vertex of a part.
pub(crate) struct Bitmap {
    words: Buf<AtomicU64>,
}

impl Bitmap {
    pub(crate) fn new(vertices: usize) -> Bitmap {
        Bitmap { words: Buf::zeroed(vertices.div_ceil(64)) }
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    #[inline(always)]
    fn word(&self, v: LocalId) -> &AtomicU64 {
        debug_assert!(v.index() / 64 < self.words.len());
        // SAFETY: as in `at`; there is a bit for every vertex of the part.
        unsafe { self.words.get_unchecked(v.index() / 64) }
    }

    #[inline(always)]
    pub(crate) fn has(&self, v: LocalId) -> bool {
        self.word(v).load(Relaxed) >> (v.index() % 64) & 1 != 0
    }

    /// Sets the bit; true when it was clear. Relaxed: the bit itself is all that is agreed on.
    #[inline(always)]
    pub(crate) fn set<A: Access>(&self, v: LocalId) -> bool {
        let (word, mask) = (self.word(v), 1u64 << (v.index() % 64));
        let was = word.load(Relaxed);
        if A::IS_SEQUENTIAL {
            word.store(was | mask, Relaxed);
            was & mask == 0
        } else {
            was & mask == 0 && word.fetch_or(mask, Relaxed) & mask == 0
        }
    }

    #[inline(always)]
    pub(crate) fn clear_sequential(&self, v: LocalId) {
        let word = self.word(v);
        word.store(word.load(Relaxed) & !(1u64 << (v.index() % 64)), Relaxed);
    }

    pub(crate) fn clear_all(&self) {
        for word in self.words.iter() {
            word.store(0, Relaxed);
        }
    }
}

/// The vertices whose bits are set in word number `word`.
#[inline(always)]
pub(crate) fn vertices_of(word: usize, mut bits: u64) -> impl Iterator<Item = LocalId> {
    std::iter::from_fn(move || {
        if bits == 0 {
            return None;
        }
        let v = (word * 64) as u32 + bits.trailing_zeros();
        bits &= bits - 1;
        Some(LocalId::new(v))
    })
}

/// Appends those of `row` that pass the test. Without a branch on it: the vertex is always written, the length grows by the test
/// (road-FLA on one thread: 22.9 to 17.2 ms, prototype).
#[inline(always)]
pub(crate) fn append_where(row: &[LocalId], out: &mut Vec<LocalId>, mut test: impl FnMut(LocalId) -> bool) {
    out.reserve(row.len());
    // Kept in registers: `test` may write to memory, which the compiler must take for the list's head otherwise.
    let (start, mut len) = (out.as_mut_ptr(), out.len());
    for &v in row {
        // SAFETY: at most one write for each of `row`, for which room was reserved above.
        unsafe { start.add(len).write(v) };
        len += usize::from(test(v));
    }
    // SAFETY: the elements below `len` were written.
    unsafe { out.set_len(len) };
}

/// Sorts a list out by what `test` says of each element, (taken, kept): those taken are appended to `out`, those not kept leave
/// the list. Without a branch, as neither can be predicted.
#[inline(always)]
pub(crate) fn sort_out(list: &mut Vec<LocalId>, out: &mut Vec<LocalId>, mut test: impl FnMut(LocalId) -> (bool, bool)) {
    out.reserve(list.len());
    let (start, mut taken, mut kept) = (out.as_mut_ptr(), out.len(), 0);
    let items = list.as_mut_slice();
    for i in 0..items.len() {
        let v = items[i];
        let (is_taken, is_kept) = test(v);
        // SAFETY: at most one write for each of `list`, for which room was reserved above; `kept` is at most `i`.
        unsafe {
            start.add(taken).write(v);
            *items.get_unchecked_mut(kept) = v;
        }
        taken += usize::from(is_taken);
        kept += usize::from(is_kept);
    }
    list.truncate(kept);
    // SAFETY: the elements below `taken` were written.
    unsafe { out.set_len(taken) };
}

/// A read-only view of a field's memory as plain values.
///
/// # Safety
/// Nobody may write the field while the view lives.
pub(crate) unsafe fn frozen<T: Pod, U: Pod>(items: &[T]) -> &[U] {
    assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>());
    // SAFETY: same size and alignment, any bits are a value of U, and no writes by the caller's promise.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), items.len()) }
}
