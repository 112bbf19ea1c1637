//! The rows of one bucket: sorted, without repetitions, made in a core's own cache.
//!
//! An entry is one number: the row within its bucket, then the target, then the reverse bit. Entries are scattered to their
//! rows, listed ones and reverse ones apart. Most files are sorted, and then both halves of most rows are. Otherwise
//! buckets of long rows are sorted by radix, least digit first, targets in digits of at most 11 bits, the row last, and short
//! rows by comparisons. The halves are merged into the finished row, each target once.
//!
//! Cost: O(entries) for sorted input and by radix, O(entries log row) by comparisons.

use crate::base::memory::Pod;

/// Rows of a bucket, as a power of two: its counters and most entries stay in a core's own cache (measured on Zen 4).
const ROW_BITS: u32 = 12;
/// Buckets may be smaller, so that entries fit 32 bits, down to this.
const ROW_BITS_MIN: u32 = 10;
/// With more buckets than this, as a power of two, dealing out would miss the TLB on every arc; buckets grow instead.
const BUCKETS_BITS: u32 = 12;
/// Bits of a radix digit at most: 2,048 counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;
/// Entries a row from which on radix is faster than comparisons.
const RADIX_FROM: usize = 12;
/// A packed entry.
pub(super) trait Packed: Pod + Copy + Ord + Default {
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

    /// The half of a row that an entry belongs to: twice the row, plus one for reverse entries.
    #[inline(always)]
    fn half<P: Packed>(self, entry: P) -> usize {
        let number = entry.number();
        (number >> self.key_bits << 1 | number & 1) as usize
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
pub(super) struct SortScratch<P> {
    sorted: Vec<P>,
    other: Vec<P>,
    /// Where each half of a row ends in `sorted`.
    ends: Vec<usize>,
    targets: Vec<u32>,
}

impl<P: Packed> SortScratch<P> {
    /// Makes `rows` rows, the first of which is that of vertex `first`, from the bucket's entries in all pieces.
    pub(super) fn make(&mut self, parts: &[&[P]], layout: Layout, first: u32, rows: usize, simple: bool) -> Bucket {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let mut bucket = Bucket { rows, degrees: Vec::new(), targets: Vec::new(), counts: Counts::default() };
        if total == 0 {
            return bucket;
        }
        if self.sorted.len() < total {
            self.sorted.resize(total, P::default());
            self.targets.resize(total, 0);
        }
        self.ends.clear();
        self.ends.resize(2 * rows, 0);
        let descents = self.scatter(parts, layout);
        if descents > 2 * rows && total >= RADIX_FROM * rows && u32::try_from(total).is_ok() {
            self.by_radix(layout, total);
        } else {
            let mut start = 0;
            for &end in &self.ends {
                self.sorted[start..end].sort_unstable();
                start = end;
            }
        }
        bucket.degrees.reserve_exact(rows);
        let (mut kept, mut start) = (0, 0);
        for (v, ends) in (first..).zip(self.ends.chunks_exact(2)) {
            let row = Row { v, listed: &self.sorted[start..ends[0]], reverse: &self.sorted[ends[0]..ends[1]] };
            let len = row.merge(layout, &mut self.targets[kept..], simple, &mut bucket.counts);
            bucket.degrees.push(len as u32);
            kept += len;
            start = ends[1];
        }
        bucket.targets.extend_from_slice(&self.targets[..kept]);
        bucket
    }

    /// Puts the entries into their halves, in the order in which they come; returns how often an entry is smaller than the
    /// one before it.
    fn scatter(&mut self, parts: &[&[P]], layout: Layout) -> usize {
        let (sorted, ends) = (&mut self.sorted[..], &mut self.ends[..]);
        for part in parts {
            part.iter().for_each(|&entry| ends[layout.half(entry)] += 1);
        }
        let mut total = 0;
        for end in ends.iter_mut() {
            total += std::mem::replace(end, total);
        }
        // Each beginning moves to its half's end.
        for part in parts {
            for &entry in *part {
                let place = &mut ends[layout.half(entry)];
                sorted[*place] = entry;
                *place += 1;
            }
        }
        sorted[..total].windows(2).filter(|pair| pair[1] < pair[0]).count()
    }

    fn by_radix(&mut self, layout: Layout, total: usize) {
        if self.other.len() < total {
            self.other.resize(total, P::default());
        }
        // A constant number of digits lets the compiler unroll the counting.
        match (layout.key_bits - 1).div_ceil(DIGIT_BITS) {
            0 | 1 => self.by_digits::<1>(layout, total),
            2 => self.by_digits::<2>(layout, total),
            _ => self.by_digits::<3>(layout, total), // 32 bits at most
        }
    }

    fn by_digits<const DIGITS: usize>(&mut self, layout: Layout, total: usize) {
        let width = (layout.key_bits - 1).div_ceil(DIGITS as u32);
        // The last digit may reach into the row's bits; a row bit is then sorted by twice, which does no harm.
        let digit =
            |entry: P, place: usize| (entry.number() >> (1 + place as u32 * width)) as usize & ((1 << width) - 1);
        let mut counters = [[0u32; 1 << DIGIT_BITS]; DIGITS];
        for &entry in &self.sorted[..total] {
            for (place, counters) in counters.iter_mut().enumerate() {
                counters[digit(entry, place) % (1 << DIGIT_BITS)] += 1;
            }
        }
        for counters in &mut counters {
            let mut sum = 0;
            for counter in counters {
                sum += std::mem::replace(counter, sum);
            }
        }
        let (mut from, mut to) = (&mut self.sorted[..total], &mut self.other[..total]);
        for (place, counters) in counters.iter_mut().enumerate() {
            for &entry in &from[..] {
                let next = &mut counters[digit(entry, place) % (1 << DIGIT_BITS)];
                to[*next as usize] = entry;
                *next += 1;
            }
            std::mem::swap(&mut from, &mut to);
        }
        // Filled from the back, each half's end moves to its beginning, which is the end of the half before.
        for &entry in from.iter().rev() {
            let end = &mut self.ends[layout.half(entry)];
            *end -= 1;
            to[*end] = entry;
        }
        self.ends.rotate_left(1);
        if let Some(last) = self.ends.last_mut() {
            *last = total;
        }
        if DIGITS.is_multiple_of(2) {
            std::mem::swap(&mut self.sorted, &mut self.other);
        }
    }
}

/// The two halves of one row, each ascending.
struct Row<'a, P> {
    v: u32,
    listed: &'a [P],
    reverse: &'a [P],
}

impl<P: Packed> Row<'_, P> {
    /// Writes each target once, ascending; returns how many.
    #[inline(always)]
    fn merge(&self, layout: Layout, targets: &mut [u32], simple: bool, counts: &mut Counts) -> usize {
        let (mut left, mut right, mut kept) = (0, 0, 0);
        let mut last = None;
        loop {
            let listed = self.listed.get(left).map(|&entry| layout.target(entry));
            let reverse = self.reverse.get(right).map(|&entry| layout.target(entry));
            let target = match (listed, reverse) {
                (None, None) => return kept,
                (Some(target), None) | (None, Some(target)) => target,
                (Some(listed), Some(reverse)) => listed.min(reverse),
            };
            left += usize::from(listed == Some(target));
            right += usize::from(reverse == Some(target));
            if last == Some(target) {
                continue;
            }
            last = Some(target);
            counts.entries += 1;
            if listed == Some(target) {
                counts.listed += 1;
            } else {
                counts.reverse_only.get_or_insert((self.v, target));
            }
            if target == self.v {
                counts.self_loops += 1;
                if simple {
                    continue;
                }
            }
            targets[kept] = target;
            kept += 1;
        }
    }
}
