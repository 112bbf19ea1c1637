//! Graphs larger than memory: an edge list becomes rows by a distribution sort on disk.
//!
//! The list is read block by block and spilled; the IDs that occur are gathered and numbered; then every pair is dealt to one of
//! at most 256 files by the range of its row, ranges chosen from the degrees so that a file fits the budget; then each file is
//! built in memory by the very code that builds whole graphs ([`rows_of`]) and its rows are appended to files that
//! are mapped in the end. So the graph, and all that is written from it, equals that of a build in memory, byte for byte.
//!
//! Memory: 24 bytes a vertex, and the budget's rest for blocks and one file's rows; arcs live on disk only (8 to 16 bytes a
//! listed pair, 8 an entry, 4 an arc, in nameless temporary files that vanish with the process).
//! Source: the distribution sort of Aggarwal, Vitter, "The Input/Output Complexity of Sorting", CACM 1988.

use super::arcs::Arcs;
use super::bucket::Counts;
use super::build::{Kind, VertexPairs, facts};
use super::load::{LoadOptions, in_file};
use super::numbering::{Numbering, number_listed};
use super::piece::Piece;
use super::progress::Progress;
use super::read::ParsedEdges;
use super::read::dialect::Dialect;
use super::read::edge_list::Part;
use super::rows::{ArcSelection, Entries, EntrySink, EntryStream, Span, rows_of};
use super::source::Input;
use super::text::{Blocks, Text, after_lines};
use super::{Csr, Graph, Incoming, View};
use crate::base::error::{Error, Result};
use crate::base::memory::{Array, Pod, bytes_of, map_file};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The smallest budget, in bytes; below it blocks would be too small to be worth their overhead.
pub(super) const MEMORY_MIN: u64 = 16 << 20;
/// Files open at a time; usual limits allow 1,024.
const FILES_MAX: usize = 256;
/// Bytes of memory an entry takes while its rows are built: read, dealt, sorted, done.
const ENTRY_BYTES: u64 = 8 + 8 + 8 + 4 + 4;

/// Builds the graph of an edge list with its temporary files in `folder`.
pub(super) fn build(input: &Input, list: List<'_>, options: &LoadOptions, memory: u64, folder: &Path) -> Result<Graph> {
    let disk = Disk { folder: folder.to_path_buf() };
    let mut listing = ParsedEdges::plain(Arcs::listed(Vec::new()), Kind::Directed);
    let dialect = list.dialect.clone();
    let mut spill = Spill::read(input, list, &disk, &mut listing)?;
    listing.describe(&dialect, input.path());
    let kind = options.direction.apply(listing.kind);
    let ids = std::mem::take(&mut spill.ids);
    let vertices = ids.len() as u64;
    if 24 * vertices > memory / 2 {
        return Err(Error::usage(format!(
            "{vertices} vertices take {} MiB besides their arcs; give --memory at least twice that",
            (24 * vertices) >> 20
        )));
    }
    let (ids, numbering) = number_listed(ids).map_err(|error| in_file(input, error))?;
    let as_given = matches!(options.view, View::AsGiven { .. });
    let deal = if kind == Kind::Directed && as_given { ArcSelection::Out } else { ArcSelection::Both };
    let sort = Sort { disk: &disk, vertices: ids.len(), numbering: &numbering, memory };
    let (outgoing, counts) = sort.rows(&mut spill, deal, options.view == View::Simple)?;
    let facts = facts(kind, spill.listed, counts, &ids)?;
    let incoming = match (deal, options.view) {
        (ArcSelection::Out, View::AsGiven { incoming: true }) => {
            Incoming::Rows(sort.rows(&mut spill, ArcSelection::In, false)?.0)
        }
        (ArcSelection::Out, _) => Incoming::Absent,
        _ => Incoming::Same,
    };
    let mut graph = Graph::from_parts(input.graph_name(), ids, outgoing, incoming, facts)?;
    listing.warnings.into_iter().for_each(|warning| graph.warn(warning));
    listing.claims.check(input.path(), &mut graph);
    Ok(graph)
}

/// A list in blocks, how it is written, and where its content begins in the first block.
pub(super) struct List<'a> {
    pub(super) blocks: Blocks<'a>,
    pub(super) dialect: Dialect,
    pub(super) start: usize,
}

/// Where temporary files go.
struct Disk {
    folder: PathBuf,
}

impl Disk {
    fn error(&self, source: io::Error) -> Error {
        Error::Write { path: self.folder.clone(), source }
    }

    fn file(&self) -> Result<File> {
        tempfile::tempfile_in(&self.folder).map_err(|source| self.error(source))
    }

    /// The content of a file as an array.
    fn mapped<T: Pod>(&self, file: &File) -> Result<Array<T>> {
        let bytes = file.metadata().map_err(|source| self.error(source))?.len() as usize;
        if bytes == 0 {
            return Ok(Array::from(crate::base::memory::Buf::zeroed(0)));
        }
        let map = Arc::new(map_file(file).map_err(|source| self.error(source))?);
        Array::mapped(&map, 0, bytes / size_of::<T>())
            .ok_or_else(|| self.error(io::Error::other("a temporary file has another length than was written")))
    }
}

/// The pairs of the list on disk, and what is known of them.
struct Spill {
    file: File,
    /// Runs of pairs in the order of the file: how many, and whether each takes 16 bytes or 8.
    runs: Vec<(usize, bool)>,
    ids: Vec<i64>,
    listed: u64,
}

impl Spill {
    /// Spills the pairs; what comments say goes into `listing`.
    fn read(input: &Input, list: List<'_>, disk: &Disk, listing: &mut ParsedEdges) -> Result<Spill> {
        let mut spill = Spill { file: disk.file()?, runs: Vec::new(), ids: Vec::new(), listed: 0 };
        let List { mut blocks, mut dialect, mut start } = list;
        let mut lines = 0;
        loop {
            let block = blocks.next_block()?;
            if block.is_empty() {
                return Ok(spill);
            }
            let text = Text { path: input.path(), bytes: &block, start: 0, progress: Progress::default() };
            let parts = text.each_piece(start.min(block.len()), |piece| Part::of(&block, piece, &dialect));
            for part in parts.map_err(|error| after_lines(error, lines))? {
                if part.is_undirected {
                    listing.kind = Kind::Undirected;
                }
                listing.claims = listing.claims.or(part.claims);
                let piece = part.pairs.finish();
                spill.add(&piece).map_err(|source| disk.error(source))?;
            }
            lines += block.iter().filter(|&&byte| byte == b'\n').count() as u64;
            (start, dialect) = (0, dialect.beyond_first());
        }
    }

    fn add(&mut self, piece: &Piece) -> io::Result<()> {
        let mut new: Vec<i64>;
        match piece {
            Piece::Narrow(pairs, _) => {
                new = pairs.iter().flat_map(|&(u, v)| [u.into(), v.into()]).collect();
                let numbers: Vec<u32> = pairs.iter().flat_map(|&(u, v)| [u, v]).collect();
                self.file.write_all(bytes_of(&numbers))?;
            }
            Piece::Wide(pairs) => {
                new = pairs.iter().flat_map(|&(u, v)| [u, v]).collect();
                self.file.write_all(bytes_of(&new))?;
            }
        }
        self.runs.push((piece.len(), matches!(piece, Piece::Wide(_))));
        self.listed += piece.len() as u64;
        new.par_sort_unstable();
        new.dedup();
        new.retain(|id| self.ids.binary_search(id).is_err());
        if !new.is_empty() {
            self.ids.append(&mut new);
            self.ids.sort(); // two ascending runs: a merge
        }
        Ok(())
    }

    /// Goes through all pieces again.
    fn each(&mut self, disk: &Disk, mut take: impl FnMut(Piece) -> Result<()>) -> Result<()> {
        self.file.seek(SeekFrom::Start(0)).map_err(|source| disk.error(source))?;
        for &(len, is_wide) in &self.runs {
            let mut bytes = vec![0u8; len * if is_wide { 16 } else { 8 }];
            self.file.read_exact(&mut bytes).map_err(|source| disk.error(source))?;
            let piece = if is_wide {
                let number = |half: &[u8]| i64::from_ne_bytes(half.try_into().expect("eight bytes"));
                Piece::Wide(bytes.chunks_exact(16).map(|pair| (number(&pair[..8]), number(&pair[8..]))).collect())
            } else {
                let number = |half: &[u8]| u32::from_ne_bytes(half.try_into().expect("four bytes"));
                let pairs = bytes.chunks_exact(8).map(|pair| (number(&pair[..4]), number(&pair[4..]))).collect();
                Piece::Narrow(pairs, u32::MAX)
            };
            take(piece)?;
        }
        Ok(())
    }
}

/// A distribution sort of the pairs into rows.
struct Sort<'a> {
    disk: &'a Disk,
    vertices: usize,
    numbering: &'a Numbering,
    memory: u64,
}

/// Entries as they lie in a file: the row within its range, the target, the reverse bit, as in memory.
struct StoredEntries(Vec<u64>);

impl Entries for StoredEntries {
    fn each(&self, taker: &mut impl EntrySink) {
        self.0.iter().for_each(|entry| taker.take((entry >> 33) as u32, (entry >> 1) as u32, entry & 1 == 1));
    }
}

/// Counts the entries of each row.
struct Degrees<'a>(&'a mut [u64]);

impl EntrySink for Degrees<'_> {
    fn take(&mut self, row: u32, _: u32, _: bool) {
        self.0[row as usize] += 1;
    }
}

/// Deals entries out to files by range of rows.
struct Ranges<'a> {
    starts: &'a [usize],
    files: &'a mut [BufWriter<File>],
    outcome: io::Result<()>,
}

impl EntrySink for Ranges<'_> {
    fn take(&mut self, row: u32, target: u32, reverse: bool) {
        let range = self.starts.partition_point(|&start| start <= row as usize) - 1;
        let row = u64::from(row) - self.starts[range] as u64;
        let entry = row << 33 | u64::from(target) << 1 | u64::from(reverse);
        if let Err(error) = self.files[range].write_all(&entry.to_ne_bytes()) {
            self.outcome = Err(error);
        }
    }
}

impl Sort<'_> {
    fn rows(&self, spill: &mut Spill, deal: ArcSelection, simple: bool) -> Result<(Csr, Counts)> {
        let dealing = |piece: Piece| EntryStream { feed: VertexPairs(self.numbering.renumber(piece)), deal };
        let mut degrees = vec![0u64; self.vertices];
        spill.each(self.disk, |piece| {
            dealing(piece).each(&mut Degrees(&mut degrees));
            Ok(())
        })?;
        let starts = self.ranges(&degrees);
        drop(degrees);
        let mut files =
            starts[1..].iter().map(|_| Ok(BufWriter::new(self.disk.file()?))).collect::<Result<Vec<_>>>()?;
        let write_error = |source| self.disk.error(source);
        spill.each(self.disk, |piece| {
            let mut ranges = Ranges { starts: &starts, files: &mut files, outcome: Ok(()) };
            dealing(piece).each(&mut ranges);
            ranges.outcome.map_err(write_error)
        })?;
        let mut counts = Counts::default();
        let (offsets, targets) = (self.disk.file()?, self.disk.file()?);
        let (mut offsets_out, mut targets_out) = (BufWriter::new(&offsets), BufWriter::new(&targets));
        offsets_out.write_all(&0u64.to_le_bytes()).map_err(write_error)?;
        let mut before = 0u64;
        for (file, range) in files.into_iter().zip(starts.windows(2)) {
            let file = file.into_inner().map_err(|error| self.disk.error(error.into_error()))?;
            let span = Span { first: range[0] as u32, rows: range[1] - range[0], vertices: self.vertices };
            let mut made = rows_of(span, self.entries(file)?, simple);
            counts = counts.add(made.counts);
            made.offsets.iter_mut().for_each(|offset| *offset += before);
            before += made.targets.len() as u64;
            offsets_out.write_all(bytes_of(&made.offsets[1..])).map_err(write_error)?;
            targets_out.write_all(bytes_of(&made.targets)).map_err(write_error)?;
        }
        offsets_out.flush().map_err(write_error)?;
        targets_out.flush().map_err(write_error)?;
        drop((offsets_out, targets_out));
        let csr = Csr::new(self.disk.mapped(&offsets)?, self.disk.mapped(&targets)?);
        Ok((csr.map_err(|problem| Error::Environment(format!("temporary files: {problem}")))?, counts))
    }

    /// The first rows of ranges whose entries fit the budget, and the end; a row is never split.
    fn ranges(&self, degrees: &[u64]) -> Vec<usize> {
        let total: u64 = degrees.iter().sum();
        let goal = (self.memory / 2 / ENTRY_BYTES).max(total / (FILES_MAX as u64 - 1)).max(1);
        let mut starts = vec![0];
        let mut held = 0;
        for (row, &degree) in degrees.iter().enumerate() {
            if held > 0 && held + degree > goal && starts.len() < FILES_MAX {
                starts.push(row);
                held = 0;
            }
            held += degree;
        }
        starts.push(degrees.len());
        starts
    }

    /// The entries of one file, in pieces.
    fn entries(&self, mut file: File) -> Result<Vec<StoredEntries>> {
        let read_error = |source| self.disk.error(source);
        file.seek(SeekFrom::Start(0)).map_err(read_error)?;
        let bytes = file.metadata().map_err(read_error)?.len() as usize;
        let mut left = bytes / 8;
        let mut pieces = Vec::new();
        let mut block = Vec::new();
        while left > 0 {
            let len = left.min(1 << 18);
            block.resize(8 * len, 0);
            file.read_exact(&mut block).map_err(read_error)?;
            let number = |eight: &[u8]| u64::from_ne_bytes(eight.try_into().expect("eight bytes"));
            pieces.push(StoredEntries(block.chunks_exact(8).map(number).collect()));
            left -= len;
        }
        Ok(pieces)
    }
}
