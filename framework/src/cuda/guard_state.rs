//! What a protected run keeps on its device beside the state, and the sums of members of the frontier that the host expects.

use super::driver::{Event, Memory, Pinned};
use crate::base::checksum::mix;
use crate::device::{GuardTerms, SUMMARY_WORDS};
use crate::partition::Part;
use std::time::Duration;

/// The device side of protection.
pub(super) struct DeviceGuard {
    pub(super) terms: GuardTerms,
    pub(super) summary: Memory,
    pub(super) seen: Pinned<u64>,
    pub(super) critical: Memory,
    /// Bits of the vertices that the last gather marked.
    pub(super) marks: Memory,
    pub(super) copied: [Event; 2],
    pub(super) marked: [Event; 2],
    pub(super) is_marked: bool,
    pub(super) marking: Duration,
    pub(super) index: u32,
    /// Arcs that replicas may still read; below 0 when a draw took more than its share.
    pub(super) allowance: f64,
    /// Whether a frontier has been consumed in this superstep.
    pub(super) consumes: bool,
    /// Whether one has been selected and not consumed.
    pub(super) selects: bool,
    /// Sums of members: of the frontier at rest, of the vertices that the last exchange woke, and of what must have been consumed.
    pub(super) resting: u64,
    pub(super) activated: u64,
    pub(super) expected: u64,
}

/// The term of a member of a frontier, as guard.cuh.
pub(super) fn member(v: u32) -> u64 {
    mix(v.into(), 1)
}

/// The sum of some members.
pub(super) fn sum_of_members(list: impl IntoIterator<Item = u32>) -> u64 {
    list.into_iter().fold(0, |sum, v| sum.wrapping_add(member(v)))
}

impl DeviceGuard {
    /// The frontier is empty again.
    pub(super) fn forget(&mut self) {
        (self.resting, self.activated, self.expected, self.allowance) = (0, 0, 0, 0.0);
        (self.consumes, self.selects) = (false, false);
    }

    /// Members that are put in place from the host, and activated vertices.
    pub(super) fn holds(&mut self, resting: u64, activated: u64) {
        (self.resting, self.activated) = (resting, activated);
    }

    /// Whether these are what is at rest. Where no operator consumes a frontier, nobody knows.
    pub(super) fn is_at_rest(&self, resting: u64, activated: u64) -> bool {
        self.terms.replicas.is_none() || (self.resting, self.activated) == (resting, activated)
    }

    /// What the exchange woke joins the frontier at rest.
    pub(super) fn apply_exchange(&mut self) {
        self.resting = self.resting.wrapping_add(std::mem::take(&mut self.activated));
    }

    /// What the exchange woke is looked at one by one.
    pub(super) fn forget_woken(&mut self) {
        self.activated = 0;
    }

    /// The frontier at rest is dropped: another one is selected.
    pub(super) fn select(&mut self, is_consumed: bool) {
        (self.resting, self.selects) = (0, !is_consumed);
    }
}

/// Bytes that guarding a part takes on the device, allocation by allocation.
pub(super) fn allocations(part: &Part, is_redundant: bool, gathers: bool) -> [usize; 3] {
    let marks = if gathers { mark_bytes(part.owned()) } else { 0 };
    [SUMMARY_WORDS * 8, if is_redundant { part.owned() * 4 } else { 0 }, marks]
}

/// Bytes of a bit for each owned vertex.
pub(super) fn mark_bytes(owned: usize) -> usize {
    owned.div_ceil(32) * 4
}
