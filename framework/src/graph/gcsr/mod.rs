//! `.gcsr`: a graph as it lies in memory, ready to be mapped.
//!
//! A file is one page of header, then sections that each begin on a page, little-endian, with zeroes between:
//!
//! | section | elements | when |
//! |---|---|---|
//! | offsets | `u64`, n + 1 | always |
//! | targets | `u32`, one an arc | always |
//! | incoming offsets, incoming targets | the same, of the transpose | a directed graph that was stored with them |
//! | ids | `i64`, n, ascending unless there is an order | original IDs that are not one range |
//! | order | `u32`, n: the vertices in ascending ID | a reordered graph |
//! | sums | `u64`, one for each 1 MiB of the sections before, in their order | always |
//!
//! The header holds magic, version, its own checksum, the file's length, flags, counts, facts, name, and per section kind, place,
//! length, and the checksum of its sums ([`header`]). Checksums are XXH3-64: they find damage, not malice. Every byte of a file is
//! compared with a constant, covered by a checksum, or padding that must be 0, so opening a damaged file is an error that names the
//! block ([`check`]). [`Checksums::Trust`] leaves the checksums out: then header, lengths, table, offsets, and that every target is
//! a vertex are checked, so a damaged file is an error or at worst another graph, never a crash. Writing goes to a temporary
//! file in the same folder that is synced and then renamed, so a reader never meets half a file.
//!
//! Cost of opening: one pass over the file, each block by one thread. Nothing is copied from a mapped file.

mod header;
mod check;
mod write;

pub(super) use write::replace_file;

use super::{Csr, Graph, Ids, Incoming};
use crate::base::error::{Error, Result};
use crate::base::memory::{Array, Buf, Pod, map_file};
use check::Check;
use header::{Header, Kind, Place};
use memmap2::Mmap;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The first bytes; the line ends among them are spoilt by transfers in text mode.
pub(super) const MAGIC: [u8; 8] = *b"\x89GCSR\r\n\x1a";
/// Bytes under one checksum.
const BLOCK: usize = 1 << 20;
/// Sections begin at multiples of this.
const PAGE: usize = 4096;
/// What to do about a damaged file.
const MEND: &str = "the file is damaged, convert it again from its source";

#[cfg(target_endian = "big")]
compile_error!(
    "`.gcsr` files are little-endian and mapped as they are; a big-endian machine needs a converting reader"
);

/// A file's bytes, mapped or not.
pub(super) enum Backing<'a> {
    Mapped(&'a Arc<Mmap>),
    Read(&'a [u8]),
}

impl Backing<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Backing::Mapped(map) => map,
            Backing::Read(bytes) => bytes,
        }
    }

    /// The elements of a section, which the header has proved to lie in the file.
    fn array<T: Number>(&self, place: &Place) -> Option<Array<T>> {
        match self {
            Backing::Mapped(map) => Array::mapped(map, place.offset, place.bytes / size_of::<T>()),
            Backing::Read(bytes) => {
                let from = bytes.get(place.range())?.chunks_exact(size_of::<T>());
                let mut buf = Buf::<T>::zeroed(from.len());
                buf.iter_mut().zip(from).for_each(|(to, from)| *to = T::from_bytes(from));
                Some(Array::from(buf))
            }
        }
    }
}

trait Number: Pod {
    fn from_bytes(bytes: &[u8]) -> Self;
}

impl Number for u32 {
    fn from_bytes(bytes: &[u8]) -> u32 {
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }
}

impl Number for u64 {
    fn from_bytes(bytes: &[u8]) -> u64 {
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }
}

impl Number for i64 {
    fn from_bytes(bytes: &[u8]) -> i64 {
        i64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }
}

fn problem(path: &Path, problem: impl Into<String>) -> Error {
    Error::Format { path: path.to_path_buf(), problem: problem.into() }
}

/// Whether the blocks of a file are compared with their checksums when it is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Checksums {
    /// All of them: any damage is an error
    #[default]
    Compare,
    /// None: damage to the arcs may give another graph
    Trust,
}

/// The graph in a file, in the view it was stored in.
pub(super) fn open(path: &Path, backing: &Backing<'_>, checksums: Checksums) -> Result<Graph> {
    let header = Header::read(backing.bytes()).map_err(|text| problem(path, text))?;
    let check = Check::new(&header, backing.bytes(), checksums).map_err(|text| problem(path, text))?;
    let meta = &header.meta;
    let missing = || problem(path, "a section does not lie in the file; the file is damaged, convert it again");
    let damaged = |text: String| problem(path, format!("{text}; {MEND}"));
    let csr = |offsets: Kind, targets: Kind| -> Result<Option<Csr>> {
        let (Some(offsets), Some(targets)) = (header.place(offsets), header.place(targets)) else { return Ok(None) };
        let rows = Csr {
            offsets: backing.array(offsets).ok_or_else(missing)?,
            targets: backing.array(targets).ok_or_else(missing)?,
        };
        let rising = |block| Csr::check_offsets(&rows.offsets, block);
        check.blocks(offsets, &rows.offsets, rising).map_err(damaged)?;
        let vertices = Csr::check_ends(&rows.offsets, rows.targets.len()).map_err(damaged)?;
        let inside = |block: Range<usize>| Csr::check_targets(&rows.targets[block], vertices);
        check.blocks(targets, &rows.targets, inside).map_err(damaged)?;
        Ok(Some(rows))
    };
    let outgoing = csr(Kind::Offsets, Kind::Targets)?.ok_or_else(missing)?;
    let incoming = match csr(Kind::IncomingOffsets, Kind::IncomingTargets)? {
        Some(rows) => Incoming::Rows(rows),
        None if meta.is_symmetric => Incoming::Same,
        None => Incoming::Absent,
    };
    let ids = match header.place(Kind::Ids) {
        None => Ids::Range { first: meta.first_id, len: meta.vertices },
        Some(place) => {
            let ids: Array<i64> = backing.array(place).ok_or_else(missing)?;
            check.blocks(place, &ids, |_| Ok(())).map_err(damaged)?;
            match header.place(Kind::Order) {
                None if ids.par_windows(2).any(|pair| pair[0] >= pair[1]) => {
                    return Err(damaged("the IDs do not ascend".into()));
                }
                None => Ids::ascending(ids),
                Some(place) => {
                    let order = backing.array(place).ok_or_else(missing)?;
                    check.blocks(place, &order, |_| Ok(())).map_err(damaged)?;
                    Ids::reordered(ids, order).map_err(damaged)?
                }
            }
        }
    };
    Graph::from_parts(meta.name.clone(), ids, outgoing, incoming, meta.facts.clone())
}

/// Reads a whole `.gcsr` file and compares every block with its checksum.
///
/// # Errors
/// When the file cannot be read, is no sound `.gcsr`, or a block is damaged; the message names section, block and bytes.
pub fn verify(path: &Path) -> Result<()> {
    let read_error = |source| Error::Read { path: path.to_path_buf(), source };
    let file = std::fs::File::open(path).map_err(read_error)?;
    if file.metadata().map_err(read_error)?.len() == 0 {
        return Err(problem(path, "an empty file, no .gcsr graph"));
    }
    let map = Arc::new(map_file(&file).map_err(read_error)?);
    open(path, &Backing::Mapped(&map), Checksums::Compare).map(drop)
}

impl Graph {
    /// Stores the graph as `.gcsr`, in the view it has. The file appears whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_gcsr(&self, path: &Path) -> Result<()> {
        write::write_graph(self, path)
    }
}

#[cfg(test)]
mod tests;
