//! Checkpoints: verified snapshots on disk, each rank its part, so that a run goes on after its processes died.
//!
//! A file is written under another name, synced, and moved to its place, so it is there whole or not at all; what the disk does
//! to it later shows in its checksum. All numbers are little-endian. Each rank keeps its three newest files: ranks are never more than
//! one checkpoint apart while the loop goes on, so the newest checkpoint that all ranks have is among them.
//!
//! ```text
//! "GALGCKPT", version u32, length of the head u32, head (JSON), the fields' values, lists of the frontier, XXH3-128 of all before
//! ```

use super::snapshot::Snapshot;
use crate::base::checksum::mix;
use crate::base::error::{Error, Result};
use crate::base::id::LocalId;
use crate::base::memory::bytes_of;
use crate::base::tally::Tally;
use crate::fault_tolerance::SuperstepTotals;
use crate::field::{Column, Kind};
use crate::frontier::FrontierSnapshot;
use crate::graph::Graph;
use crate::partition::Part;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed, xxh3_128};

const MAGIC: &[u8; 8] = b"GALGCKPT";
const VERSION: u32 = 1;
/// Checkpoints that a rank keeps.
const KEPT: usize = 3;
const ENDING: &str = "ckpt";

/// Where a run puts its checkpoints, and what tells them from others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoints {
    /// The folder.
    pub folder: PathBuf,
    /// Supersteps between two.
    pub every: u32,
    /// The run.
    pub run: String,
    /// The graph, by [`fingerprint`].
    pub graph: u64,
}

/// What a file says of itself.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Head {
    run: String,
    graph: u64,
    ranks: u32,
    rank: u32,
    /// The superstep that comes next.
    index: u32,
    /// The first vertex owned, and how many.
    first: u32,
    owned: u32,
    /// The local number of the first ghost, and the length of a field.
    ghost_base: u32,
    locals: u32,
    total: Vec<u8>,
    memory: Vec<u64>,
    sum: u64,
    largest: u64,
    round: Option<[u64; 8]>,
    /// Names and bytes of a value.
    fields: Vec<(String, usize)>,
    /// Lengths of the lists: members, bits, joined, woken, renewed.
    lists: [usize; 5],
    count: u64,
    arcs: u64,
    remaining: u64,
}

/// One rank's state, read back.
#[derive(Debug)]
pub(super) struct RankCheckpoint {
    pub(super) index: u32,
    pub(super) ranks: u32,
    pub(super) first: u32,
    pub(super) owned: u32,
    pub(super) ghost_base: u32,
    pub(super) locals: u32,
    pub(super) total: Tally,
    pub(super) memory: Vec<u64>,
    pub(super) sum: u64,
    pub(super) largest: f64,
    pub(super) round: Option<SuperstepTotals>,
    /// Name and values as bits, by field.
    pub(super) fields: Vec<(String, Vec<u64>)>,
    pub(super) frontier: FrontierSnapshot,
}

/// A number that two graphs share only if they are the same, names of vertices included.
pub fn fingerprint(graph: &Graph) -> u64 {
    let csr = graph.outgoing();
    let arcs = xxh3_64_with_seed(bytes_of(&csr.targets()[..]), xxh3_64_with_seed(bytes_of(&csr.offsets()[..]), 0));
    graph.ids().iter().fold(arcs, |sum, id| mix(sum, id as u64))
}

fn name(index: u32, rank: u32) -> String {
    format!("step-{index:010}.rank-{rank:04}.{ENDING}")
}

/// The superstep and rank of a file's name.
fn parsed(path: &Path) -> Option<(u32, u32)> {
    let rest = path.file_name()?.to_str()?.strip_prefix("step-")?.strip_suffix(".ckpt")?;
    let (index, rank) = rest.split_once(".rank-")?;
    Some((index.parse().ok()?, rank.parse().ok()?))
}

/// The checkpoints in a folder, by superstep and rank.
fn listed(folder: &Path) -> Result<Vec<(u32, u32, PathBuf)>> {
    let failed = |source| Error::Read { path: folder.into(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let Some((index, rank)) = parsed(&path) {
            found.push((index, rank, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

impl Checkpoints {
    /// Writes a snapshot of one rank, then removes what is no longer needed.
    pub(super) fn write(&self, part: &Part, snapshot: &Snapshot) -> Result<()> {
        let (rank, ranks) = (part.rank().0, part.routes().ranks() as u32);
        let path = self.folder.join(name(snapshot.index, rank));
        let failed = |source| Error::Write { path: path.clone(), source };
        let file = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(&self.folder).map_err(failed)?;
        let mut out = Hashing { out: BufWriter::with_capacity(1 << 20, file.as_file()), hash: Xxh3::new() };
        self.fill(&mut out, part, ranks, snapshot).map_err(failed)?;
        let sum = out.hash.digest128();
        out.out.write_all(&sum.to_le_bytes()).and_then(|()| out.out.flush()).map_err(failed)?;
        drop(out);
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        let own: Vec<_> = listed(&self.folder)?.into_iter().filter(|(_, other, _)| *other == rank).collect();
        // Newer ones are from before a restore: they are not of this history.
        let (older, newer): (Vec<_>, Vec<_>) = own.into_iter().partition(|(index, ..)| *index <= snapshot.index);
        let old = older.iter().rev().skip(KEPT).chain(&newer);
        old.for_each(|(.., path)| drop(fs::remove_file(path)));
        Ok(())
    }

    fn fill(&self, out: &mut impl Write, part: &Part, ranks: u32, snapshot: &Snapshot) -> io::Result<()> {
        let frontier = &snapshot.frontier;
        let head = Head {
            run: self.run.clone(),
            graph: self.graph,
            ranks,
            rank: part.rank().0,
            index: snapshot.index,
            first: part.owned_vertices().next().map_or(0, |v| part.global(v).0),
            owned: part.owned() as u32,
            ghost_base: part.ghost_base(),
            locals: part.locals() as u32,
            total: snapshot.total.to_bytes().to_vec(),
            memory: snapshot.memory.clone(),
            sum: snapshot.sum,
            largest: snapshot.largest.to_bits(),
            round: snapshot.round.map(words),
            fields: snapshot.fields.specs().iter().map(|spec| (spec.name.to_owned(), spec.kind.bytes())).collect(),
            lists: [
                frontier.members.len(),
                frontier.bits.len(),
                frontier.visited.len(),
                frontier.activated.len(),
                frontier.updated_ghosts.len(),
            ],
            count: frontier.count,
            arcs: frontier.arcs,
            remaining: frontier.remaining,
        };
        let head = serde_json::to_vec(&head)?;
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(head.len() as u32).to_le_bytes())?;
        out.write_all(&head)?;
        for slot in 0..snapshot.fields.specs().len() {
            match snapshot.fields.column(slot) {
                Column::U32(buf) => {
                    buf.iter().try_for_each(|atom| out.write_all(&atom.load(Relaxed).to_le_bytes()))?;
                }
                Column::F64(buf) => {
                    buf.iter().try_for_each(|atom| out.write_all(&atom.load(Relaxed).to_le_bytes()))?;
                }
            }
        }
        let vertices = |list: &[LocalId], out: &mut dyn Write| {
            list.iter().try_for_each(|v| out.write_all(&v.number().to_le_bytes()))
        };
        let longs = |list: &[u64], out: &mut dyn Write| list.iter().try_for_each(|w| out.write_all(&w.to_le_bytes()));
        vertices(&frontier.members, out)?;
        longs(&frontier.bits, out)?;
        longs(&frontier.visited, out)?;
        vertices(&frontier.activated, out)?;
        vertices(&frontier.updated_ghosts, out)
    }

    /// Reads one file; what is wrong with it, in words.
    fn read(&self, path: &Path, index: u32, rank: u32) -> std::result::Result<RankCheckpoint, String> {
        let bytes = fs::read(path).map_err(|error| format!("cannot be read ({error})"))?;
        let torn = || "is torn: it ends too early".to_owned();
        let (body, sum) = bytes.split_last_chunk::<16>().ok_or_else(torn)?;
        let mut rest = Reader(body);
        if rest.take(8).ok_or_else(torn)? != MAGIC {
            return Err("is no checkpoint".into());
        }
        let version = rest.u32().ok_or_else(torn)?;
        if xxh3_128(body) != u128::from_le_bytes(*sum) {
            return Err("is damaged or torn: its checksum does not fit".into());
        }
        if version != VERSION {
            return Err(format!("has version {version}; this program reads {VERSION}"));
        }
        let len = rest.u32().ok_or_else(torn)?;
        let head: Head = rest
            .take(len as usize)
            .and_then(|text| serde_json::from_slice(text).ok())
            .ok_or_else(|| "has a head that cannot be read".to_owned())?;
        if head.run != self.run || head.graph != self.graph {
            return Err("is foreign: it belongs to another run or graph".into());
        }
        if (head.index, head.rank) != (index, rank) || head.rank >= head.ranks {
            return Err(format!("is foreign: it is of superstep {}, rank {}", head.index, head.rank));
        }
        let misfit = || "contradicts itself: its lengths do not fit".to_owned();
        let saved = head.state(&mut rest).ok_or_else(misfit)?;
        if rest.0.is_empty() { Ok(saved) } else { Err(misfit()) }
    }
}

impl Head {
    fn state(self, rest: &mut Reader<'_>) -> Option<RankCheckpoint> {
        let locals = self.locals as usize;
        let mut fields = Vec::new();
        for (name, bytes) in self.fields {
            let raw = rest.take(locals.checked_mul(bytes)?)?;
            let wide = |value: &[u8]| value.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
            if bytes != Kind::U32.bytes() && bytes != Kind::F64.bytes() {
                return None;
            }
            fields.push((name, raw.chunks_exact(bytes).map(wide).collect()));
        }
        let vertex = |number: u32| (number < self.locals).then(|| LocalId::new(number));
        let [members, bits, visited, activated, updated_ghosts] = self.lists;
        let frontier = FrontierSnapshot {
            members: rest.u32s(members)?.into_iter().map(vertex).collect::<Option<_>>()?,
            bits: rest.u64s(bits)?,
            visited: rest.u64s(visited)?,
            activated: rest.u32s(activated)?.into_iter().map(vertex).collect::<Option<_>>()?,
            updated_ghosts: rest.u32s(updated_ghosts)?.into_iter().map(vertex).collect::<Option<_>>()?,
            count: self.count,
            arcs: self.arcs,
            remaining: self.remaining,
        };
        let fits = self.owned <= self.ghost_base && (self.ghost_base <= self.locals || self.owned == self.locals);
        fits.then_some(())?;
        Some(RankCheckpoint {
            index: self.index,
            ranks: self.ranks,
            first: self.first,
            owned: self.owned,
            ghost_base: self.ghost_base,
            locals: self.locals,
            total: Tally::from_bytes(&self.total)?,
            memory: self.memory,
            sum: self.sum,
            largest: f64::from_bits(self.largest),
            round: self.round.map(round),
            fields,
            frontier,
        })
    }
}

fn words(round: SuperstepTotals) -> [u64; 8] {
    let SuperstepTotals { index, vertices, in_degree_max, consumed, consumed_so_far, active, residual, mass } = round;
    [index.into(), vertices, in_degree_max, consumed, consumed_so_far, active, residual.to_bits(), mass.to_bits()]
}

fn round(
    [index, vertices, in_degree_max, consumed, consumed_so_far, active, residual, mass]: [u64; 8],
) -> SuperstepTotals {
    SuperstepTotals {
        index: index as u32,
        vertices,
        in_degree_max,
        consumed,
        consumed_so_far,
        active,
        residual: f64::from_bits(residual),
        mass: f64::from_bits(mass),
    }
}

/// What a broken-off run left that can be gone on from.
#[derive(Debug)]
pub struct CheckpointSet {
    pub(super) ranks: Vec<RankCheckpoint>,
    /// The superstep that comes next.
    pub index: u32,
}

impl CheckpointSet {
    /// The newest checkpoint of the run that is whole on every rank, none if there is no such; and what was passed over, why.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn find(checkpoints: &Checkpoints) -> Result<(Option<CheckpointSet>, Vec<String>)> {
        let files = listed(&checkpoints.folder)?;
        let mut refused = Vec::new();
        let mut indices: Vec<u32> = files.iter().map(|(index, ..)| *index).collect();
        indices.dedup();
        for index in indices.into_iter().rev() {
            let mut ranks: Vec<RankCheckpoint> = Vec::new();
            for (_, rank, path) in files.iter().filter(|(other, ..)| *other == index) {
                // Parts beyond are of an earlier stretch of the run, on more ranks.
                if ranks.first().is_some_and(|first| *rank >= first.ranks) {
                    break;
                }
                match checkpoints.read(path, index, *rank) {
                    Ok(saved) if *rank as usize == ranks.len() => ranks.push(saved),
                    Ok(_) => {}
                    Err(problem) => refused.push(format!("{} {problem}", path.display())),
                }
            }
            let wanted = ranks.first().map_or(0, |saved| saved.ranks as usize);
            let mut next = 0;
            let is_whole = ranks.len() == wanted
                && wanted > 0
                && ranks.iter().all(|saved| {
                    let follows = saved.ranks as usize == wanted && (saved.owned == 0 || saved.first == next);
                    next += saved.owned;
                    follows
                });
            if is_whole {
                return Ok((Some(CheckpointSet { ranks, index }), refused));
            }
            if !ranks.is_empty() {
                refused.push(format!(
                    "superstep {index} in {} is not whole on every rank: {} of {wanted} parts are there",
                    checkpoints.folder.display(),
                    ranks.len()
                ));
            }
        }
        Ok((None, refused))
    }

    /// Ranks of the run that was broken off.
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }
}

/// Writes through and hashes.
struct Hashing<W> {
    out: W,
    hash: Xxh3,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads from the front of bytes, never beyond them.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }
    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
    fn u32s(&mut self, count: usize) -> Option<Vec<u32>> {
        let raw = self.take(count.checked_mul(4)?)?;
        Some(raw.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect())
    }
    fn u64s(&mut self, count: usize) -> Option<Vec<u64>> {
        let raw = self.take(count.checked_mul(8)?)?;
        Some(raw.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect())
    }
}
