//! The one pass that proves a file sound: each block is compared with its checksum and held to the rules of its section while it
//! lies in a core's cache, so that the file is read from memory once. Blocks are dealt to all threads; the first wrong one in the
//! order of the file is the one reported.

use super::header::{HEADER, Header, Kind, Place};
use super::{BLOCK, Checksums};
use crate::base::memory::{Pod, bytes_of};
use rayon::prelude::*;
use std::ops::Range;
use twox_hash::XxHash3_64;

/// What the blocks of a file are compared with.
pub(super) struct Check<'a> {
    /// The checksums of all blocks, and the sections to which they belong in turn; `None` when none are compared.
    sums: Option<(&'a [u8], &'a [Place])>,
}

impl<'a> Check<'a> {
    /// The checksums of the file, which are checked themselves, as are the zeroes between sections. The error is a sentence
    /// without the path.
    pub(super) fn new(header: &'a Header, bytes: &'a [u8], checksums: Checksums) -> Result<Check<'a>, String> {
        if checksums == Checksums::Trust {
            return Ok(Check { sums: None });
        }
        let sums = header.place(Kind::Sums).and_then(|place| bytes.get(place.range()));
        let check = Check { sums: Some((sums.ok_or("the checksums are missing")?, &header.places)) };
        let mut gap = HEADER;
        let mut blocks = 0;
        for place in &header.places {
            if let Some(at) = bytes[gap..place.offset].iter().position(|&byte| byte != 0) {
                return Err(format!("byte {} between sections is not 0; {}", gap + at, super::MEND));
            }
            gap = place.offset + place.bytes;
            if place.kind == Kind::Sums {
                continue;
            }
            let own = check.of(place).ok_or("checksums are missing")?;
            if XxHash3_64::oneshot(own) != place.sum {
                return Err(format!("the checksums of section `{}` are damaged; {}", place.kind.name(), super::MEND));
            }
            blocks += own.len();
        }
        match check.sums {
            Some((sums, _)) if sums.len() != blocks => {
                Err(format!("there are more checksums than blocks; {}", super::MEND))
            }
            _ => Ok(check),
        }
    }

    /// The checksums of a section.
    fn of(&self, place: &Place) -> Option<&'a [u8]> {
        let (sums, places) = self.sums?;
        let of = |place: &Place| 8 * place.bytes.div_ceil(BLOCK);
        let before: usize = places.iter().take_while(|other| other.offset < place.offset).map(of).sum();
        sums.get(before..before + of(place))
    }

    /// Compares the elements of a section with their checksums, if that is wanted, and holds each block of them to `rule`.
    pub(super) fn blocks<T: Pod>(
        &self,
        place: &Place,
        elements: &[T],
        rule: impl Fn(Range<usize>) -> Result<(), String> + Sync,
    ) -> Result<(), String> {
        let sums = self.of(place);
        let step = BLOCK / size_of::<T>();
        let wrong = |block: usize| {
            let range = block * step..(block * step + step).min(elements.len());
            // The rule first: a plain scan brings the block into the cache faster than the hash would (measured).
            let broken = rule(range.clone()).err();
            let is_as_written = sums.is_none_or(|sums| {
                XxHash3_64::oneshot(bytes_of(&elements[range])).to_le_bytes() == sums[8 * block..8 * block + 8]
            });
            if is_as_written {
                return broken;
            }
            let start = place.offset + block * BLOCK;
            let end = (start + BLOCK).min(place.offset + place.bytes) - 1;
            let section = place.kind.name();
            Some(format!("block {block} of section `{section}` (bytes {start} to {end}) does not match its checksum"))
        };
        match (0..elements.len().div_ceil(step)).into_par_iter().find_map_first(wrong) {
            None => Ok(()),
            Some(problem) => Err(problem),
        }
    }
}
