//! Arrays for graphs and fields: zeroed on huge pages when large, and read-only views that own their memory or map a file.
//!
//! Memory of a large [`Buf`] is reserved, not touched: pages appear where a thread first writes (first-touch placement) and
//! cost nothing before. An allocation that the machine refuses is an error of the process, as everywhere in Rust.
#![allow(unsafe_code)] // raw pages and file mappings; each block names its promise

use crate::base::id::LocalId;
use memmap2::Mmap;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A type for which any bytes are a value, so that zeroed or mapped memory may be read as it.
///
/// # Safety
/// Every bit pattern is valid, there is no padding and no drop.
pub unsafe trait Pod: Send + Sync + 'static {}
// SAFETY: integers, floats and their atomics accept any bits.
unsafe impl Pod for u8 {}
// SAFETY: as above.
unsafe impl Pod for u16 {}
// SAFETY: as above.
unsafe impl Pod for u32 {}
// SAFETY: as above.
unsafe impl Pod for u64 {}
// SAFETY: as above.
unsafe impl Pod for i64 {}
// SAFETY: as above.
unsafe impl Pod for f64 {}
// SAFETY: as above.
unsafe impl Pod for AtomicU32 {}
// SAFETY: as above.
unsafe impl Pod for AtomicU64 {}
// SAFETY: a transparent u32; that its value is a vertex of the part is checked where an adjacency is accepted.
unsafe impl Pod for LocalId {}

const HUGE_PAGE: usize = 2 << 20;
/// From this size on an array lies on its own huge pages (measured: 0 to 5 % on most loops, 20 % on k-core's offsets).
const HUGE_FROM: usize = HUGE_PAGE;

/// A zeroed, writable array of fixed length.
pub struct Buf<T: Pod> {
    start: NonNull<T>,
    len: usize,
    home: Allocation,
}

enum Allocation {
    Heap(Layout),
    Pages { base: NonNull<libc::c_void>, bytes: usize },
}

// SAFETY: a Buf owns its memory; `Pod` types are Send and Sync.
unsafe impl<T: Pod> Send for Buf<T> {}
// SAFETY: as above; shared access gives `&[T]` only.
unsafe impl<T: Pod> Sync for Buf<T> {}

impl<T: Pod> Buf<T> {
    /// `len` zeroes.
    ///
    /// # Panics
    /// If `len` elements overflow the address space.
    pub fn zeroed(len: usize) -> Buf<T> {
        let bytes = len.checked_mul(size_of::<T>()).expect("an array larger than the address space");
        if bytes >= HUGE_FROM
            && let Some(buf) = Self::on_huge_pages(len, bytes)
        {
            return buf;
        }
        let layout = Layout::from_size_align(bytes.max(1), 64).expect("64 is a power of two");
        // SAFETY: the layout has a size above 0.
        let raw = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(raw.cast()) else { handle_alloc_error(layout) };
        Buf { start, len, home: Allocation::Heap(layout) }
    }

    fn on_huge_pages(len: usize, bytes: usize) -> Option<Buf<T>> {
        let span = bytes.next_multiple_of(HUGE_PAGE) + HUGE_PAGE;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no memory of ours.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                span,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        let base = NonNull::new(base)?;
        let skip = base.as_ptr().align_offset(HUGE_PAGE);
        // SAFETY: `skip` < HUGE_PAGE, so start and `span - HUGE_PAGE` bytes after it lie inside the mapping; advice only.
        let start = unsafe {
            let start = base.as_ptr().byte_add(skip);
            libc::madvise(start, span - HUGE_PAGE, libc::MADV_HUGEPAGE);
            start
        };
        Some(Buf { start: NonNull::new(start.cast())?, len, home: Allocation::Pages { base, bytes: span } })
    }

    /// A copy of `items`.
    pub fn copied(items: &[T]) -> Buf<T>
    where
        T: Copy,
    {
        let mut buf = Buf::zeroed(items.len());
        buf.copy_from_slice(items);
        buf
    }
}

impl<T: Pod> Drop for Buf<T> {
    fn drop(&mut self) {
        match self.home {
            // SAFETY: allocated with this very layout.
            Allocation::Heap(layout) => unsafe { dealloc(self.start.as_ptr().cast(), layout) },
            // SAFETY: mapped with this very base and length.
            Allocation::Pages { base, bytes } => unsafe {
                libc::munmap(base.as_ptr(), bytes);
            },
        }
    }
}

impl<T: Pod> Deref for Buf<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements from `start` are ours, initialised (zeroed) and valid for any bits.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for Buf<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// A read-only array that owns its memory or lies in a mapped file. Cloning shares it.
pub struct Array<T: Pod> {
    start: NonNull<T>,
    len: usize,
    owner: Owner,
}

#[derive(Clone)]
enum Owner {
    Memory(#[expect(dead_code, reason = "held to keep the memory alive")] Arc<dyn Any + Send + Sync>),
    File(#[expect(dead_code, reason = "held to keep the mapping alive")] Arc<Mmap>),
}

// SAFETY: read-only; the owner is Send and Sync.
unsafe impl<T: Pod> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for Array<T> {}

impl<T: Pod> Array<T> {
    /// `len` elements at byte `offset` of a mapped file; `None` when they do not fit or are not aligned.
    pub fn mapped(file: &Arc<Mmap>, offset: usize, len: usize) -> Option<Array<T>> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let slice = file.get(offset..offset.checked_add(bytes)?)?;
        let start = NonNull::from(slice).cast::<T>();
        start.is_aligned().then(|| Array { start, len, owner: Owner::File(Arc::clone(file)) })
    }

    /// Whether the elements lie in a mapped file (and cost no memory of the process).
    pub fn is_mapped(&self) -> bool {
        matches!(self.owner, Owner::File(_))
    }
}

impl<T: Pod> From<Buf<T>> for Array<T> {
    fn from(buf: Buf<T>) -> Self {
        Array { start: buf.start, len: buf.len, owner: Owner::Memory(Arc::new(buf)) }
    }
}

impl<T: Pod> Clone for Array<T> {
    fn clone(&self) -> Self {
        Array { start: self.start, len: self.len, owner: self.owner.clone() }
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the owner keeps `len` elements from `start` alive and nobody writes them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().take(32)).finish()
    }
}

/// Maps a whole file for reading. The file must not be written or cut short by anybody while the mapping lives: what is read
/// would change under the reader, or the process would be stopped by the system (SIGBUS).
///
/// # Errors
/// What the system says; an empty file cannot be mapped.
pub fn map_file(file: &std::fs::File) -> std::io::Result<Mmap> {
    // SAFETY: a read-only private view; that nobody changes the file meanwhile is the user's side of opening any input.
    unsafe { Mmap::map(file) }
}

/// The bytes of some elements, in the machine's order.
pub(crate) fn bytes_of<T: Pod>(elements: &[T]) -> &[u8] {
    // SAFETY: `Pod` types have no padding, so all `size_of_val` bytes are initialised; bytes need no alignment.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The same, to be written: any bytes are values of a `Pod` type.
pub(crate) fn bytes_of_mut<T: Pod>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes_of`; the borrow is exclusive, and whatever is written is a value.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

/// The same numbers, read as vertices of a part that has all of them (proved when the adjacency was accepted).
pub(crate) fn as_vertices(numbers: &Array<u32>) -> Array<LocalId> {
    // LocalId is a transparent u32: same size and alignment.
    Array { start: numbers.start.cast(), len: numbers.len, owner: numbers.owner.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_starts_zeroed_and_keeps_what_is_written() {
        for len in [0, 1, 63, 1 << 20] {
            let mut buf = Buf::<u64>::zeroed(len);
            assert!(buf.iter().all(|&x| x == 0));
            if let Some(last) = buf.last_mut() {
                *last = 7;
                assert_eq!(Array::from(buf).last(), Some(&7));
            }
        }
    }

    #[test]
    fn a_mapped_array_is_refused_outside_the_file_or_unaligned() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        std::io::Write::write_all(&mut file, &[1u8; 64]).expect("written");
        // SAFETY: nobody else writes this file.
        let map = Arc::new(unsafe { Mmap::map(&file) }.expect("mapped"));
        assert_eq!(Array::<u32>::mapped(&map, 4, 15).map(|a| a.len()), Some(15));
        assert!(Array::<u32>::mapped(&map, 4, 16).is_none());
        assert!(Array::<u32>::mapped(&map, 2, 1).is_none());
        assert!(Array::<u32>::mapped(&map, usize::MAX, 1).is_none());
        assert!(Array::<u64>::mapped(&map, 0, usize::MAX).is_none());
    }
}
