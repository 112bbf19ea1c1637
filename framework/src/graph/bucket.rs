//! The rows of one bucket: sorted, without repetitions, made in a core's own cache.
//!
//! An entry is one number: the row within its bucket, then the target, then the reverse bit; so the order of numbers is the
//! order wanted. Buckets of long rows are sorted by radix, least digit first, targets in digits of at most 11 bits and the row
//! last; in buckets of short rows the entries are scattered to their rows and each row is sorted by comparisons.
//!
//! Cost: O(entries) by radix, O(entries log row) by comparisons.

use crate::memory::Plain;
use std::ops::Range;

/// Rows of a bucket, as a power of two: its counters and most entries stay in a core's own cache (measured on Zen 4).
const ROW_BITS: u32 = 12;
/// Buckets may be smaller, so that entries fit 32 bits, down to this.
const ROW_BITS_MIN: u32 = 10;
/// With more buckets than this, as a power of two, dealing out would miss the TLB on every arc; buckets grow instead.
const BUCKETS_BITS: u32 = 12;
/// Bits of a radix digit at most: 2,048 counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;
/// Entries a row from which on radix is faster.
const RADIX_FROM: usize = 12;

/// A packed entry.
pub(super) trait Packed: Plain + Copy + Ord + Default {
    fn pack(number: u64) -> Self;
    fn number(self) -> u64;
}

impl Packed for u32 {
    #[inline(always)]
    fn pack(number: u64) -> u32 {
        number as u32
    }
    #[inline(always)]
    fn number(self) -> u64 {
        u64::from(self)
    }
}

impl Packed for u64 {
    #[inline(always)]
    fn pack(number: u64) -> u64 {
        number
    }
    #[inline(always)]
    fn number(self) -> u64 {
        self
    }
}

/// Where row, target and reverse bit lie in an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    row_bits: u32,
    /// Bits of the target and the reverse bit.
    key_bits: u32,
}

impl Layout {
    /// For `rows` rows with targets below `vertices`.
    pub(super) fn of(rows: usize, vertices: usize) -> Layout {
        let bits = |count: usize| usize::BITS - count.saturating_sub(1).leading_zeros();
        let key_bits = bits(vertices) + 1;
        let row_bits = if key_bits + ROW_BITS_MIN <= 32 {
            ROW_BITS.min(32 - key_bits)
        } else {
            ROW_BITS.max(bits(rows).saturating_sub(BUCKETS_BITS))
        };
        Layout { row_bits, key_bits }
    }

    pub(super) fn fits_32_bits(self) -> bool {
        self.row_bits + self.key_bits <= 32
    }

    /// The rows of a bucket.
    pub(super) fn bucket_rows(self) -> usize {
        1 << self.row_bits
    }

    /// The bucket of a row.
    #[inline(always)]
    pub(super) fn bucket(self, row: u32) -> usize {
        (row >> self.row_bits) as usize
    }

    #[inline(always)]
    pub(super) fn pack<P: Packed>(self, row: u32, target: u32, reverse: bool) -> P {
        let row = u64::from(row) & ((1 << self.row_bits) - 1);
        P::pack(row << self.key_bits | u64::from(target) << 1 | u64::from(reverse))
    }

    #[inline(always)]
    fn row<P: Packed>(self, entry: P) -> usize {
        (entry.number() >> self.key_bits) as usize
    }

    #[inline(always)]
    fn target<P: Packed>(self, entry: P) -> u32 {
        ((entry.number() & ((1 << self.key_bits) - 1)) >> 1) as u32
    }
}

/// The finished rows of one bucket.
pub(super) struct Bucket {
    pub(super) rows: usize,
    /// Empty if all rows are.
    pub(super) degrees: Vec<u32>,
    pub(super) targets: Vec<u32>,
    pub(super) counts: Counts,
}

/// What was seen while rows were made.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// Distinct entries, self-loops included whether kept or not.
    pub(super) entries: u64,
    /// Distinct arcs that were listed.
    pub(super) listed: u64,
    /// Distinct self-loops.
    pub(super) self_loops: u64,
    /// The first row and target of which only the reverse was listed.
    pub(super) reverse_only: Option<(u32, u32)>,
}

impl Counts {
    pub(super) fn add(self, other: Counts) -> Counts {
        Counts {
            entries: self.entries + other.entries,
            listed: self.listed + other.listed,
            self_loops: self.self_loops + other.self_loops,
            reverse_only: self.reverse_only.or(other.reverse_only),
        }
    }
}

/// A thread's working space, kept from bucket to bucket.
#[derive(Default)]
pub(super) struct Desk<P> {
    sorted: Vec<P>,
    other: Vec<P>,
    /// Where each row ends in `sorted`.
    ends: Vec<usize>,
    counters: Vec<u32>,
}

impl<P: Packed> Desk<P> {
    /// Makes `rows` rows, the first of which is that of vertex `first`, from the bucket's entries in all pieces.
    pub(super) fn make(&mut self, parts: &[&[P]], layout: Layout, first: u32, rows: usize, simple: bool) -> Bucket {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let mut bucket = Bucket { rows, degrees: Vec::new(), targets: Vec::new(), counts: Counts::default() };
        if total == 0 {
            return bucket;
        }
        if self.sorted.len() < total {
            self.sorted.resize(total, P::default());
        }
        self.ends.clear();
        self.ends.resize(rows, 0);
        if total >= RADIX_FROM * rows && u32::try_from(total).is_ok() {
            self.by_radix(parts, layout, total);
        } else {
            self.by_comparisons(parts, layout);
        }
        bucket.degrees.reserve_exact(rows);
        let (mut kept, mut start) = (0, 0);
        for (v, &end) in (first..).zip(&self.ends) {
            let before = kept;
            kept = keep_distinct(&mut self.sorted, start..end, kept, layout, v, simple, &mut bucket.counts);
            bucket.degrees.push((kept - before) as u32);
            start = end;
        }
        bucket.targets.extend(self.sorted[..kept].iter().map(|&entry| layout.target(entry)));
        bucket
    }

    fn by_comparisons(&mut self, parts: &[&[P]], layout: Layout) {
        for part in parts {
            part.iter().for_each(|&entry| self.ends[layout.row(entry)] += 1);
        }
        begin(&mut self.ends);
        for part in parts {
            for &entry in *part {
                let place = &mut self.ends[layout.row(entry)];
                self.sorted[*place] = entry;
                *place += 1;
            }
        }
        let mut start = 0;
        for &end in &self.ends {
            self.sorted[start..end].sort_unstable();
            start = end;
        }
    }

    fn by_radix(&mut self, parts: &[&[P]], layout: Layout, total: usize) {
        if self.other.len() < total {
            self.other.resize(total, P::default());
        }
        let digits = layout.key_bits.div_ceil(DIGIT_BITS);
        let width = layout.key_bits.div_ceil(digits);
        let size = 1usize << width;
        let digit = |entry: P, place: u32| (entry.number() >> (place * width)) as usize & (size - 1);
        // The last digit may reach into the row's bits; that row bit is then sorted by twice, which does no harm.
        self.counters.clear();
        self.counters.resize(size * digits as usize, 0);
        for part in parts {
            for &entry in *part {
                self.ends[layout.row(entry)] += 1;
                for place in 0..digits {
                    self.counters[place as usize * size + digit(entry, place)] += 1;
                }
            }
        }
        for counters in self.counters.chunks_exact_mut(size) {
            let mut sum = 0;
            for counter in counters {
                sum += std::mem::replace(counter, sum);
            }
        }
        begin(&mut self.ends);
        let (mut from, mut to) = (&mut self.other, &mut self.sorted);
        for place in 0..digits {
            let counters = &mut self.counters[place as usize * size..][..size];
            let put = |entry: P| {
                let next = &mut counters[digit(entry, place)];
                to[*next as usize] = entry;
                *next += 1;
            };
            if place == 0 {
                parts.iter().flat_map(|part| part.iter().copied()).for_each(put);
            } else {
                from[..total].iter().copied().for_each(put);
            }
            std::mem::swap(&mut from, &mut to);
        }
        for &entry in &from[..total] {
            let next = &mut self.ends[layout.row(entry)];
            to[*next] = entry;
            *next += 1;
        }
        if digits % 2 == 1 {
            std::mem::swap(&mut self.sorted, &mut self.other);
        }
    }
}

/// Turns the length of each row into the place where it begins. Filling the rows then moves each place to the row's end.
fn begin(lengths: &mut [usize]) {
    let mut sum = 0;
    for length in lengths {
        sum += std::mem::replace(length, sum);
    }
}

/// Moves the distinct targets of the sorted row of `v` down to `kept`; returns where they end.
#[inline(always)]
fn keep_distinct<P: Packed>(
    entries: &mut [P],
    row: Range<usize>,
    mut kept: usize,
    layout: Layout,
    v: u32,
    simple: bool,
    counts: &mut Counts,
) -> usize {
    let mut last = None;
    for place in row {
        let entry = entries[place];
        let target = layout.target(entry);
        if last == Some(target) {
            continue;
        }
        last = Some(target);
        counts.entries += 1;
        // The listed arc sorts before its reverse, so the first of its kind tells.
        if entry.number() & 1 == 1 {
            counts.reverse_only.get_or_insert((v, target));
        } else {
            counts.listed += 1;
        }
        if target == v {
            counts.self_loops += 1;
            if simple {
                continue;
            }
        }
        entries[kept] = entry;
        kept += 1;
    }
    kept
}
