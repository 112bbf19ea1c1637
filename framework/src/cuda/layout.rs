//! The structs that host and kernels share; each is laid out as its twin in kernels/state.cuh, gather.cuh or framework.cu.
//!
//! Addresses are of device memory. Each launch compares the sizes with what the kernels' compiler says.
#![allow(unsafe_code)] // the promise that a struct is laid out as a kernel's parameter; nothing else

use crate::device::GatherMarks;
use crate::op::SCALARS;

/// A type that may be handed to a kernel by value: plain words, no padding that matters, no references.
///
/// # Safety
/// `repr(C)`, and laid out as the kernel's parameter type.
pub(super) unsafe trait Argument: Copy {}

macro_rules! arguments {
    ($($name:ident),*) => {
        $(
            // SAFETY: repr(C) with the fields of its twin in the kernels, in order.
            unsafe impl Argument for $name {}
        )*
    };
}

// SAFETY: one word each.
unsafe impl Argument for u32 {}
// SAFETY: as above.
unsafe impl Argument for u64 {}
arguments!(
    RowsView,
    PartView,
    Call,
    List,
    FrontierView,
    LongRows,
    Columns,
    RouteView,
    PackedView,
    WatchView,
    SamplingParameters,
    Marks
);

/// Rows of the kernels.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct RowsView {
    pub(crate) offsets: u64,
    pub(crate) targets: u64,
}

/// `Part`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct PartView {
    pub(crate) outgoing: RowsView,
    pub(crate) incoming: RowsView,
    pub(crate) ghost_globals: u64,
    pub(crate) graph_vertices: u64,
    pub(crate) first: u32,
    pub(crate) owned: u32,
    pub(crate) ghost_base: u32,
    pub(crate) locals: u32,
}

/// The most fields that a rule binds on a device.
pub(super) const FIELDS: usize = 4;

/// `Call`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct Call {
    pub(crate) part: PartView,
    pub(crate) field: [u64; FIELDS],
    pub(crate) scalar: [u64; SCALARS],
}

/// `List`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct List {
    pub(crate) items: u64,
    pub(crate) length: u64,
    pub(crate) capacity: u64,
}

/// `Frontier`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct FrontierView {
    pub(crate) queue: List,
    pub(crate) next: List,
    pub(crate) offers: List,
    pub(crate) bits: u64,
    pub(crate) next_bits: u64,
    pub(crate) visited: u64,
    pub(crate) pieces: u64,
    pub(crate) pieces_length: u64,
    pub(crate) pieces_capacity: u64,
    pub(crate) report: u64,
}

/// `LongRows`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct LongRows {
    pub(crate) vertices: u64,
    pub(crate) first_piece: u64,
    pub(crate) partial: u64,
    pub(crate) rows: u32,
    pub(crate) pieces: u32,
}

/// `Watch`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct WatchView {
    pub(crate) summary: u64,
    pub(crate) once: u64,
    pub(crate) critical: u64,
    pub(crate) critical_capacity: u64,
    pub(crate) once_initial: u64,
}

/// `SamplingParameters`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct SamplingParameters {
    pub(crate) allowance: f64,
    pub(crate) budget: f64,
    pub(crate) arcs: u64,
    pub(crate) count: u64,
    pub(crate) busy: u64,
    pub(crate) low: u64,
    pub(crate) gap: u64,
    pub(crate) high: u64,
    pub(crate) both: u32,
    pub(crate) over_incoming: u32,
    pub(crate) index: u32,
    pub(crate) pad: u32,
}

/// `Marks`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct Marks {
    pub(crate) floor: f64,
    pub(crate) cutoff: f64,
    pub(crate) whole: f64,
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) t: f64,
    pub(crate) log_most: f64,
    pub(crate) always_from: u64,
    pub(crate) both: u64,
    pub(crate) marked: u64,
}

impl Marks {
    /// `marked` is where the bits of critical vertices go.
    pub(super) fn new(marks: GatherMarks, marked: u64) -> Marks {
        let GatherMarks { floor, cutoff, whole, a, b, t, log_most, always_from, both } = marks;
        Marks { floor, cutoff, whole, a, b, t, log_most, always_from, both: both.into(), marked }
    }
}

/// The most fields that exchange carries.
pub(super) const COLUMNS: usize = 16;

/// `Columns`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct Columns {
    pub(crate) address: [u64; COLUMNS],
    pub(crate) kind: [u32; COLUMNS],
    pub(crate) merge: [u32; COLUMNS],
    pub(crate) count: u32,
    pub(crate) pad: u32,
}

/// `PEERS` of messages.cuh: the most ranks whose devices exchange ghosts.
pub(super) const PEERS: usize = 64;
/// Words behind the report for what each kind of message has sent to each peer.
pub(super) const SENT_WORDS: usize = PEERS;
/// Bytes of the report with them.
pub(super) const REPORT_BYTES: usize = size_of::<Report>() + 2 * SENT_WORDS * 4;

/// `Route`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct RouteView {
    pub(crate) starts: u64,
    pub(crate) vertices: u64,
    pub(crate) boxes: u64,
    pub(crate) peers: u32,
    pub(crate) base: u32,
}

/// `Packed`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct PackedView {
    pub(crate) counts: u64,
    pub(crate) ticket: u64,
    pub(crate) sent: u64,
}

/// `Report`: what operators add up, in words, followed by the lengths of lists.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct Report {
    pub(crate) active: u64,
    pub(crate) arcs: u64,
    pub(crate) residual: [u64; 2],
    pub(crate) carry: [u64; 2],
    pub(crate) least_inverted: u64,
    pub(crate) consumed: u64,
    pub(crate) length: [u32; 12],
}

/// Which length of the report belongs to which list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    QueueA,
    QueueB,
    Offers,
    Woken,
    Renewed,
    Pieces,
    CandidatesA,
    CandidatesB,
    Listed,
}

impl Slot {
    /// As a bit of `framework_clear`.
    pub(super) fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// `HUB` of arcs.cuh: rows from this length on are cut into pieces.
pub(super) const HUB: u64 = 512;
/// `ROW_PIECE` of gather.cuh.
pub(super) const ROW_PIECE: u64 = 4096;
/// `BLOCK` of machine.cuh.
pub(super) const BLOCK: u32 = 256;
/// Bytes of `Piece`.
pub(super) const PIECE_BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// A constant as the kernels spell it.
    fn spelled(source: &str, name: &str) -> u64 {
        let line = source.lines().find_map(|line| line.strip_prefix(&format!("constexpr u32 {name} = ")));
        line.and_then(|rest| rest.trim_end_matches(';').parse().ok()).unwrap_or_else(|| panic!("{name} is a constant"))
    }

    #[test]
    fn constants_are_those_of_the_kernels() {
        assert_eq!(spelled(include_str!("../../../kernels/arcs.cuh"), "HUB"), HUB);
        assert_eq!(spelled(include_str!("../../../kernels/gather.cuh"), "ROW_PIECE"), ROW_PIECE);
        assert_eq!(spelled(include_str!("../../../kernels/machine.cuh"), "BLOCK"), u64::from(BLOCK));
        assert_eq!(spelled(include_str!("../../../kernels/messages.cuh"), "PEERS"), PEERS as u64);
    }
}
