//! Some pairs of numbers, in 32 bits each as long as they fit.

/// Some arcs, in the narrower of two spellings.
#[derive(Debug)]
pub(super) enum Piece {
    /// Every number fits 32 bits; with a number that has each bit that one of them has, and is so at least as large.
    Narrow(Vec<(u32, u32)>, u32),
    /// Any IDs.
    Wide(Vec<(i64, i64)>),
}

impl Piece {
    /// A bound of all numbers in it, if they are narrow.
    pub(super) fn bits(&self) -> Option<u32> {
        match self {
            Piece::Narrow(_, bits) => Some(*bits),
            Piece::Wide(_) => None,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Piece::Narrow(pairs, _) => pairs.len(),
            Piece::Wide(pairs) => pairs.len(),
        }
    }
}

impl Piece {
    /// The largest number on either side.
    pub(super) fn largest(&self) -> Option<[i64; 2]> {
        let larger = |a: [i64; 2], b: [i64; 2]| [a[0].max(b[0]), a[1].max(b[1])];
        match self {
            Piece::Narrow(pairs, _) => pairs.iter().map(|&(u, v)| [u.into(), v.into()]).reduce(larger),
            Piece::Wide(pairs) => pairs.iter().map(|&(u, v)| [u, v]).reduce(larger),
        }
    }

    /// The smallest number of all.
    pub(super) fn smallest(&self) -> Option<i64> {
        match self {
            Piece::Narrow(pairs, _) => pairs.iter().map(|&(u, v)| u.min(v).into()).min(),
            Piece::Wide(pairs) => pairs.iter().map(|&(u, v)| u.min(v)).min(),
        }
    }

    /// The same pairs with `by` added to the second of each; `None` where that does not fit.
    pub(super) fn with_second_moved(self, by: i64) -> Option<Piece> {
        let mut moved = Pairs::with_capacity(self.len());
        match self {
            Piece::Narrow(pairs, _) => {
                for (u, v) in pairs {
                    moved.push(u.into(), i64::from(v).checked_add(by)?);
                }
            }
            Piece::Wide(pairs) => {
                for (u, v) in pairs {
                    moved.push(u, v.checked_add(by)?);
                }
            }
        }
        Some(moved.finish())
    }
}

/// Arcs between any IDs, in 32 bits each as long as they fit.
#[derive(Default)]
pub(super) struct Pairs {
    narrow: Vec<(u32, u32)>,
    /// All bits of all IDs.
    bits: i64,
    wide: Vec<(i64, i64)>,
}

impl Pairs {
    pub(super) fn with_capacity(capacity: usize) -> Pairs {
        Pairs { narrow: Vec::with_capacity(capacity), bits: 0, wide: Vec::new() }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, u: i64, v: i64) {
        self.bits |= u | v;
        if (u | v) as u64 >> 32 == 0 && self.wide.is_empty() {
            self.narrow.push((u as u32, v as u32));
        } else {
            self.push_wide(u, v);
        }
    }

    #[cold]
    fn push_wide(&mut self, u: i64, v: i64) {
        if self.wide.is_empty() {
            let narrow = std::mem::take(&mut self.narrow);
            self.wide = narrow.into_iter().map(|(u, v)| (u.into(), v.into())).collect();
        }
        self.wide.push((u, v));
    }

    pub(super) fn finish(mut self) -> Piece {
        if self.wide.is_empty() {
            self.narrow.shrink_to_fit();
            Piece::Narrow(self.narrow, self.bits as u32)
        } else {
            self.wide.shrink_to_fit();
            Piece::Wide(self.wide)
        }
    }
}
