//! The states of one rank that a run can go back to: two snapshots, the newest last, each usable once the checker found it sound.

use super::Interval;
use super::evidence::NONE;
use super::snapshot::Snapshot;
use crate::base::error::Result;
use crate::fault_tolerance::SuperstepTotals;
use crate::step::Step;
use crate::transport::Transport;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A snapshot is taken when its cost is at most 1 / 100 of the time since the last one.
const RARITY: u32 = 100;
/// Bytes a second at which a first snapshot is expected to be copied and checked; then it is measured.
const EXPECTED_RATE: f64 = 1e9;

/// Where to go back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Before(u32),
    OlderSlot,
    Start,
}

/// Two snapshots, and when the next one is due.
pub(super) struct RestorePoints {
    interval: Interval,
    /// Newest last; at most two.
    slots: Vec<Slot>,
    spare: Option<Snapshot>,
    is_due: bool,
    /// When the last one was taken.
    last: Duration,
    /// What it cost, its check included.
    cost: Option<Duration>,
}

struct Slot {
    snapshot: Arc<Snapshot>,
    /// `None` while it is being checked.
    is_sound: Option<bool>,
}

/// What came of taking a snapshot.
pub(super) enum Taken {
    /// The snapshot, and the one before it.
    Snapshot { now: Arc<Snapshot>, before: Option<Arc<Snapshot>> },
    /// The frontier was not what had been left.
    FrontierChanged,
    /// None: the last one is still being checked.
    None,
}

impl RestorePoints {
    pub(super) fn new(interval: Interval) -> RestorePoints {
        let (slots, last) = (Vec::with_capacity(2), Duration::ZERO);
        RestorePoints { interval, slots, spare: None, is_due: false, last, cost: None }
    }

    /// The loop begins, or begins again.
    pub(super) fn begin(&mut self, now: Duration) {
        (self.is_due, self.last) = (false, now);
    }

    /// What all ranks agreed on.
    pub(super) fn set_due(&mut self, is_due: bool) {
        self.is_due = is_due;
    }

    /// Learns what became of snapshots: whether each is sound, and how long its check took.
    pub(super) fn learn(&mut self, outcomes: Vec<(bool, Duration)>) {
        for (is_sound, took) in outcomes {
            if let Some(slot) = self.slots.iter_mut().find(|slot| slot.is_sound.is_none()) {
                slot.is_sound = Some(is_sound);
            }
            self.cost = self.cost.map(|cost| cost + took);
        }
        // One that is not sound is of no use, and its buffers are wanted.
        if let Some(place) = self.slots.iter().position(|slot| slot.is_sound == Some(false)) {
            let slot = self.slots.remove(place);
            self.spare = self.spare.take().or(Arc::try_unwrap(slot.snapshot).ok());
        }
    }

    /// Whether one is to be taken before superstep `index`.
    pub(super) fn wants(&self, index: u32) -> bool {
        match self.interval {
            _ if index == 0 => false,
            Interval::Every(0) => false,
            Interval::Every(every) => index.is_multiple_of(every),
            Interval::Measured => self.is_due,
        }
    }

    /// Whether one is due before the next superstep, by the first rank's clock.
    pub(super) fn is_due_now(&self, step: &Step<'_>, now: Duration) -> bool {
        if self.interval != Interval::Measured || step.part.rank().index() != 0 {
            return false;
        }
        let expected = || Duration::from_secs_f64(Snapshot::bytes(&step.fields, step.part) as f64 / EXPECTED_RATE);
        now.saturating_sub(self.last) >= RARITY * self.cost.unwrap_or_else(expected)
    }

    /// Copies the state into the older slot, unless the last snapshot is still being checked.
    ///
    /// # Errors
    /// When the device fails.
    pub(super) fn take(
        &mut self,
        step: &mut Step<'_>,
        memory: Vec<u64>,
        totals: Option<SuperstepTotals>,
        at: Duration,
    ) -> Result<Taken> {
        if self.slots.iter().any(|slot| slot.is_sound.is_none()) {
            return Ok(Taken::None);
        }
        let begin = Instant::now();
        let reused = if self.slots.len() == 2 { Arc::try_unwrap(self.slots.remove(0).snapshot).ok() } else { None };
        let reused = reused.or_else(|| self.spare.take());
        let mut snapshot = reused.map_or_else(|| Snapshot::empty(step), Ok)?;
        if !snapshot.take(step, memory, totals)? {
            self.spare = Some(snapshot);
            return Ok(Taken::FrontierChanged);
        }
        let now = Arc::new(snapshot);
        let before = self.slots.last().map(|slot| Arc::clone(&slot.snapshot));
        self.slots.push(Slot { snapshot: Arc::clone(&now), is_sound: None });
        (self.cost, self.last) = (Some(begin.elapsed()), at);
        Ok(Taken::Snapshot { now, before })
    }

    /// The newest that is sound.
    pub(super) fn newest_sound(&self) -> Option<&Snapshot> {
        self.slots.iter().rev().find(|slot| slot.is_sound == Some(true)).map(|slot| &*slot.snapshot)
    }

    /// Agrees on a sound, whole snapshot that all ranks have and that the target allows; none: the start.
    ///
    /// # Errors
    /// When a peer is lost.
    pub(super) fn agree(&self, target: Target, transport: &mut dyn Transport) -> Result<Option<Arc<Snapshot>>> {
        let bound = match target {
            Target::Start => 0,
            Target::Before(index) => index,
            Target::OlderSlot => NONE,
        };
        let is_usable =
            |slot: &&Slot| slot.is_sound == Some(true) && slot.snapshot.index < bound && slot.snapshot.is_whole();
        let mine: Vec<u32> = self.slots.iter().filter(is_usable).map(|slot| slot.snapshot.index).collect();
        let mut all = vec![Vec::new(); transport.ranks()];
        let bytes: Vec<u8> = mine.iter().flat_map(|index| index.to_le_bytes()).collect();
        transport.all_gather(&bytes, &mut all)?;
        let has = |bytes: &[u8], index: u32| bytes.chunks_exact(4).any(|theirs| theirs == index.to_le_bytes());
        let common = mine.into_iter().filter(|&index| all.iter().all(|theirs| has(theirs, index)));
        // A failed certificate does not say when it went wrong: the older one comes first.
        let chosen = if target == Target::OlderSlot { common.min() } else { common.max() };
        let slot = chosen.and_then(|index| self.slots.iter().find(|slot| slot.snapshot.index == index));
        Ok(slot.map(|slot| Arc::clone(&slot.snapshot)))
    }

    /// Drops what was taken after superstep `index` began; all, without one.
    pub(super) fn drop_after(&mut self, index: Option<u32>) {
        self.slots.retain(|slot| index.is_some_and(|index| slot.snapshot.index <= index));
    }
}
