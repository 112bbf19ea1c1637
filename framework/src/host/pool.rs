//! Threads that meet at a barrier: a parallel region costs about 0.1 us while they spin (docs/performance.md), against 12 us of
//! a task scheduler (prototype, docs/decisions/0002), so that a superstep over a small frontier is not all overhead.
//!
//! The caller of a region is thread 0. A worker that waits longer than the gap between two supersteps parks. A panic inside a
//! region is carried to the caller after all threads are through; the pool stays usable.
#![allow(unsafe_code)] // a borrowed closure crosses threads, and threads take disjoint `&mut` from one slice

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, Thread};

/// A value alone on its cache lines (two, because the hardware fetches pairs).
#[derive(Default, Debug)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

/// What a thread does while it has nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdlePolicy {
    /// Spins for a while, then parks: for threads that have a core each.
    Spin,
    /// Parks at once: when more threads run than there are cores.
    Park,
}

type Job = *const (dyn Fn(usize) + Sync);

struct Shared {
    epoch: CachePadded<AtomicU32>,
    busy: CachePadded<AtomicUsize>,
    parked: Vec<CachePadded<AtomicBool>>,
    stop: AtomicBool,
    spins: u32,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    job: UnsafeCell<Option<Job>>,
}

// SAFETY: `job` is written by the owner only while no worker is busy and read by workers only after `epoch` rose.
unsafe impl Sync for Shared {}
// SAFETY: the pointer in `job` is used only between the rise of `epoch` and the fall of `busy` to 0.
unsafe impl Send for Shared {}

/// A fixed number of threads, owned and joined by this value. Not `Sync`: one thread starts regions, and none inside a region.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    wake: Vec<Thread>,
    cursors: Vec<CachePadded<AtomicUsize>>,
    one_owner: PhantomData<Cell<()>>,
}

/// Turns of a spinning worker before it parks: about 50 us, longer than the gap between two supersteps.
const SPINS: u32 = 1_500;

impl Pool {
    /// A pool of `threads` threads, the caller included; at least one.
    pub fn new(threads: usize, waiting: IdlePolicy) -> Pool {
        let threads = threads.max(1);
        let shared = Arc::new(Shared {
            epoch: CachePadded(AtomicU32::new(0)),
            busy: CachePadded(AtomicUsize::new(0)),
            parked: (0..threads).map(|_| CachePadded::default()).collect(),
            stop: AtomicBool::new(false),
            spins: if waiting == IdlePolicy::Spin { SPINS } else { 0 },
            panic: Mutex::new(None),
            job: UnsafeCell::new(None),
        });
        let workers: Vec<_> = (1..threads)
            .map(|id| {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || work(&shared, id))
            })
            .collect();
        let wake = workers.iter().map(|worker| worker.thread().clone()).collect();
        let cursors = (0..threads).map(|_| CachePadded::default()).collect();
        Pool { shared, workers, wake, cursors, one_owner: PhantomData }
    }

    /// The number of threads, the caller included.
    pub fn threads(&self) -> usize {
        self.cursors.len()
    }

    /// Calls `f(thread)` once on every thread and returns when all have returned.
    ///
    /// # Panics
    /// With the first panic of `f`, after every thread is through.
    pub fn run(&self, f: &(dyn Fn(usize) + Sync)) {
        if self.workers.is_empty() {
            return f(0);
        }
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. Workers use the job after `epoch` rises and are done with it before `busy` is 0,
        // and this function returns (or unwinds) only after that, while `f` lives. No worker is busy now.
        unsafe { *shared.job.get() = Some(std::mem::transmute::<&(dyn Fn(usize) + Sync), Job>(f)) };
        shared.busy.0.store(self.workers.len(), Ordering::Relaxed);
        // SeqCst here and at `parked`: either the worker sees the new epoch before it parks, or we see that it parked.
        shared.epoch.0.fetch_add(1, Ordering::SeqCst);
        for (id, thread) in self.wake.iter().enumerate() {
            if shared.parked[id + 1].0.load(Ordering::SeqCst) {
                thread.unpark();
            }
        }
        let mine = catch_unwind(AssertUnwindSafe(|| f(0)));
        let mut spins = 0u32;
        while shared.busy.0.load(Ordering::Acquire) != 0 {
            if spins < shared.spins {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        let theirs = shared.panic.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(panic) = mine.err().or(theirs) {
            resume_unwind(panic);
        }
    }

    /// Calls `f(thread, chunk)` for every chunk of `0..count`. A thread takes its own stretch first, the same in every call, so
    /// that it stays in its cache, then helps the others.
    pub fn chunks(&self, count: usize, f: impl Fn(usize, usize) + Sync) {
        let threads = self.threads();
        if threads == 1 || count <= 1 {
            for chunk in 0..count {
                f(0, chunk);
            }
            return;
        }
        for (thread, cursor) in self.cursors.iter().enumerate() {
            cursor.0.store(count * thread / threads, Ordering::Relaxed);
        }
        let cursors = &self.cursors;
        self.run(&|thread| {
            for turn in 0..threads {
                let owner = (thread + turn) % threads;
                let end = count * (owner + 1) / threads;
                loop {
                    // Relaxed: a chunk is claimed by the exchange alone; what it reads was published by the region's start.
                    let chunk = cursors[owner].0.fetch_add(1, Ordering::Relaxed);
                    if chunk >= end {
                        break;
                    }
                    f(thread, chunk);
                }
            }
        });
    }

    /// Like [`Pool::run`], with a value of its own for each thread.
    ///
    /// # Panics
    /// If there are fewer values than threads, or as `run`.
    pub fn run_with<T: Send>(&self, each: &mut [CachePadded<T>], f: impl Fn(&mut T, usize) + Sync) {
        let cells = DisjointSlice::new(each);
        assert!(cells.len >= self.threads(), "a value for each thread");
        // SAFETY: `run` calls each thread number once, so no two threads get the same value.
        self.run(&|thread| f(&mut unsafe { cells.get(thread) }.0, thread));
    }

    /// Like [`Pool::chunks`], with a value of its own for each thread.
    ///
    /// # Panics
    /// If there are fewer values than threads, or as `run`.
    pub fn chunks_with<T: Send>(&self, each: &mut [CachePadded<T>], count: usize, f: impl Fn(&mut T, usize) + Sync) {
        let cells = DisjointSlice::new(each);
        assert!(cells.len >= self.threads(), "a value for each thread");
        // SAFETY: one thread number runs one chunk at a time, so the value is borrowed once.
        self.chunks(count, |thread, chunk| f(&mut unsafe { cells.get(thread) }.0, chunk));
    }

    /// Like [`Pool::chunks_with`], with a value of its own for each chunk too: chunk `i` has `items[i]`.
    ///
    /// # Panics
    /// If there are fewer values than threads, or as `run`.
    pub fn chunks_over<T: Send, U: Send>(
        &self,
        each: &mut [CachePadded<T>],
        items: &mut [U],
        f: impl Fn(&mut T, usize, &mut U) + Sync,
    ) {
        let (cells, items) = (DisjointSlice::new(each), DisjointSlice::new(items));
        assert!(cells.len >= self.threads(), "a value for each thread");
        self.chunks(items.len, |thread, chunk| {
            // SAFETY: as in `chunks_with`; every chunk is handed out once, so no two threads get the same item.
            let (own, item) = unsafe { (cells.get(thread), items.get(chunk)) };
            f(&mut own.0, chunk, item);
        });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.epoch.0.fetch_add(1, Ordering::SeqCst);
        for thread in &self.wake {
            thread.unpark();
        }
        for worker in self.workers.drain(..) {
            // A worker's panic was carried to the caller already; it cannot end by one.
            let _ = worker.join();
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({} threads)", self.threads())
    }
}

fn work(shared: &Shared, id: usize) {
    let mut seen = 0;
    loop {
        let mut spins = 0u32;
        loop {
            let now = shared.epoch.0.load(Ordering::Acquire);
            if now != seen {
                seen = now;
                break;
            }
            if spins < shared.spins {
                spins += 1;
                std::hint::spin_loop();
                continue;
            }
            shared.parked[id].0.store(true, Ordering::SeqCst);
            if shared.epoch.0.load(Ordering::SeqCst) == seen {
                std::thread::park();
            }
            shared.parked[id].0.store(false, Ordering::SeqCst);
        }
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        // SAFETY: `epoch` rose, so the owner wrote the job and waits in `run` until `busy` is 0.
        let job = unsafe { (*shared.job.get()).map(|job| &*job) };
        if let Some(job) = job
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| job(id)))
        {
            shared.panic.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(panic);
        }
        shared.busy.0.fetch_sub(1, Ordering::Release);
    }
}

/// A slice whose items are handed to different threads.
struct DisjointSlice<'a, T> {
    first: *mut T,
    len: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: gives out `&mut T` for distinct items only (the promise of `get`), which is what `T: Send` allows.
unsafe impl<T: Send> Sync for DisjointSlice<'_, T> {}

impl<'a, T> DisjointSlice<'a, T> {
    fn new(items: &'a mut [T]) -> Self {
        DisjointSlice { first: items.as_mut_ptr(), len: items.len(), borrowed: PhantomData }
    }

    /// # Safety
    /// No two live borrows may have the same index.
    #[allow(clippy::mut_from_ref)] // the point of this type
    unsafe fn get(&self, index: usize) -> &mut T {
        assert!(index < self.len);
        // SAFETY: inside the slice; exclusive by the caller's promise.
        unsafe { &mut *self.first.add(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_runs_once_on_any_number_of_threads() {
        for threads in [1, 2, 3, 8] {
            for waiting in [IdlePolicy::Spin, IdlePolicy::Park] {
                let pool = Pool::new(threads, waiting);
                for count in [0, 1, 2, 7, 1000] {
                    let hits: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                    pool.chunks(count, |_, chunk| {
                        hits[chunk].fetch_add(1, Ordering::Relaxed);
                    });
                    assert!(
                        hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 1),
                        "{threads} threads, {count} chunks"
                    );
                }
            }
        }
    }

    #[test]
    fn each_thread_has_its_own_value_and_each_chunk_its_own_item() {
        let pool = Pool::new(3, IdlePolicy::Park);
        let mut each: Vec<CachePadded<u64>> = (0..3).map(|_| CachePadded(0)).collect();
        let mut items = vec![0u64; 500];
        pool.chunks_over(&mut each, &mut items, |own, chunk, item| {
            *own += 1;
            *item = chunk as u64;
        });
        assert_eq!(each.iter().map(|own| own.0).sum::<u64>(), 500);
        assert!(items.iter().enumerate().all(|(chunk, &item)| item == chunk as u64));
    }

    #[test]
    fn a_panic_in_a_region_reaches_the_caller_and_the_pool_goes_on() {
        let pool = Pool::new(2, IdlePolicy::Park);
        for culprit in [0, 1] {
            let caught = catch_unwind(AssertUnwindSafe(|| pool.run(&|thread| assert_ne!(thread, culprit, "struck"))));
            assert!(caught.is_err());
            let ran = AtomicUsize::new(0);
            pool.run(&|_| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(ran.into_inner(), 2);
        }
    }
}
