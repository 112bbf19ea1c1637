//! Ranks as threads of one process: messages are buffers that change hands.
//!
//! Two sets of slots alternate, so that one meeting a call is enough: a rank fills set k again only after the meeting of call
//! k + 1, to which every reader of set k came after reading. A rank that leaves early ends every meeting with an error.

use super::Transport;
use crate::base::error::{Error, Result};
use crate::base::id::Rank;
use crate::host::IdlePolicy;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Turns of spinning at a meeting before a rank sleeps: about 20 us.
const SPINS: u32 = 600;

struct Shared {
    ranks: usize,
    spins: u32,
    /// `slots[set][from * ranks + to]`
    slots: [Vec<Mutex<Vec<u8>>>; 2],
    meeting: Mutex<BarrierState>,
    all_here: Condvar,
    generation: AtomicU64,
    is_lost: AtomicBool,
}

struct BarrierState {
    arrived: usize,
    generation: u64,
    lost: Option<(Rank, String)>,
}

/// One rank's end of a local transport.
pub struct LocalTransport {
    shared: Arc<Shared>,
    rank: usize,
    calls: usize,
}

/// The ends of a local transport between `ranks` ranks, in rank order.
pub fn local(ranks: usize, waiting: IdlePolicy) -> Vec<LocalTransport> {
    let slots = || (0..ranks * ranks).map(|_| Mutex::default()).collect();
    let shared = Arc::new(Shared {
        ranks,
        spins: if waiting == IdlePolicy::Spin { SPINS } else { 0 },
        slots: [slots(), slots()],
        meeting: Mutex::new(BarrierState { arrived: 0, generation: 0, lost: None }),
        all_here: Condvar::new(),
        generation: AtomicU64::new(0),
        is_lost: AtomicBool::new(false),
    });
    (0..ranks).map(|rank| LocalTransport { shared: Arc::clone(&shared), rank, calls: 0 }).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A rank that panicked while it held a lock left whole buffers behind: they are swapped, never half-written.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Shared {
    fn meet(&self) -> Result<()> {
        let mut meeting = lock(&self.meeting);
        if let Some(lost) = &meeting.lost {
            return Err(peer_lost(lost));
        }
        let generation = meeting.generation;
        meeting.arrived += 1;
        if meeting.arrived == self.ranks {
            meeting.arrived = 0;
            meeting.generation += 1;
            self.generation.store(meeting.generation, Ordering::Release);
            self.all_here.notify_all();
            return Ok(());
        }
        drop(meeting);
        for _ in 0..self.spins {
            if self.generation.load(Ordering::Acquire) != generation {
                return Ok(());
            }
            if self.is_lost.load(Ordering::Acquire) {
                break;
            }
            std::hint::spin_loop();
        }
        let mut meeting = lock(&self.meeting);
        while meeting.generation == generation {
            if let Some(lost) = &meeting.lost {
                return Err(peer_lost(lost));
            }
            meeting = self.all_here.wait(meeting).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        Ok(())
    }
}

fn peer_lost((rank, reason): &(Rank, String)) -> Error {
    Error::PeerLost { rank: *rank, reason: reason.clone() }
}

impl LocalTransport {
    fn slot(&self, from: usize, to: usize) -> MutexGuard<'_, Vec<u8>> {
        lock(&self.shared.slots[self.calls % 2][from * self.shared.ranks + to])
    }
}

impl Transport for LocalTransport {
    fn rank(&self) -> Rank {
        Rank(self.rank as u32)
    }

    fn ranks(&self) -> usize {
        self.shared.ranks
    }

    fn is_one_process(&self) -> bool {
        true
    }

    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<()> {
        self.calls += 1;
        for (to, message) in outgoing.iter_mut().enumerate() {
            std::mem::swap(&mut *self.slot(self.rank, to), message);
            message.clear();
        }
        self.shared.meet()?;
        for (from, message) in incoming.iter_mut().enumerate() {
            std::mem::swap(&mut *self.slot(from, self.rank), message);
        }
        Ok(())
    }

    fn all_gather(&mut self, mine: &[u8], all: &mut [Vec<u8>]) -> Result<()> {
        self.calls += 1;
        let mut slot = self.slot(self.rank, self.rank);
        slot.clear();
        slot.extend_from_slice(mine);
        drop(slot);
        self.shared.meet()?;
        for (from, theirs) in all.iter_mut().enumerate() {
            theirs.clear();
            theirs.extend_from_slice(&self.slot(from, from));
        }
        Ok(())
    }

    fn abandon(&mut self, reason: &str) {
        lock(&self.shared.meeting).lost.get_or_insert_with(|| (Rank(self.rank as u32), reason.to_owned()));
        self.shared.is_lost.store(true, Ordering::Release);
        self.shared.all_here.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_each(ranks: usize, f: impl Fn(LocalTransport) + Sync) {
        std::thread::scope(|scope| {
            for end in local(ranks, IdlePolicy::Park) {
                scope.spawn(|| f(end));
            }
        });
    }

    #[test]
    fn every_message_arrives_at_its_peer_in_every_call() {
        for ranks in 1..=4 {
            on_each(ranks, |mut end| {
                let me = end.rank;
                let (mut out, mut inc) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
                for call in 0..200u8 {
                    for (to, message) in out.iter_mut().enumerate() {
                        message.extend([call, me as u8, to as u8].repeat(usize::from(call % 3)));
                    }
                    end.exchange(&mut out, &mut inc).expect("all ranks are there");
                    for (from, message) in inc.iter().enumerate() {
                        assert_eq!(*message, [call, from as u8, me as u8].repeat(usize::from(call % 3)));
                    }
                    end.all_gather(&[call, me as u8], &mut inc).expect("all ranks are there");
                    for (from, theirs) in inc.iter().enumerate() {
                        assert_eq!(*theirs, [call, from as u8]);
                    }
                }
            });
        }
    }

    #[test]
    fn a_rank_that_leaves_is_an_error_on_all_others_and_no_hang() {
        on_each(3, |mut end| {
            if end.rank == 1 {
                return end.abandon("out of memory");
            }
            let error = end.all_gather(&[], &mut vec![Vec::new(); 3]).expect_err("rank 1 left");
            assert_eq!(error.to_string(), "rank 1 stopped before the run was over: out of memory");
        });
    }
}
