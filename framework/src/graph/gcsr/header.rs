//! The first page of a `.gcsr` file.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | magic |
//! | 8..12 | version: 1, or 2 if there is an order section, so that a program that knows none says so |
//! | 12..16 | bytes of the header, 4096 |
//! | 16..24 | checksum of bytes 24..4096 |
//! | 24..32 | bytes of the file |
//! | 32..36 | flags: 1 directed, 2 rows hold both directions |
//! | 36..40 | number of sections |
//! | 40..88 | vertices; arcs in the rows; facts: arcs, duplicates, self-loops, listed |
//! | 88..96 | first ID, if the IDs are one range |
//! | 96..100, 104..360 | length of the name, name |
//! | 512.. | sections, 32 bytes each: kind `u32`, 0 `u32`, offset, bytes, checksum of its block checksums |

use super::super::{Facts, Graph};
use super::{MAGIC, PAGE};
use std::ops::Range;
use twox_hash::XxHash3_64;

/// Bytes of the header.
pub(super) const HEADER: usize = PAGE;
/// Version of files without an order section, and of those with one.
const PLAIN: u32 = 1;
const ORDERED: u32 = 2;
const DIRECTED: u32 = 1;
const SYMMETRIC: u32 = 2;
const NAME: Range<usize> = 104..360;
const TABLE: usize = 512;
const ENTRY: usize = 32;

/// What a section holds; the numbers are those in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Kind {
    Offsets = 1,
    Targets = 2,
    IncomingOffsets = 3,
    IncomingTargets = 4,
    Ids = 5,
    Order = 7,
    Sums = 6,
}

impl Kind {
    /// All, in the order of the file.
    const ALL: [Kind; 7] = [
        Kind::Offsets,
        Kind::Targets,
        Kind::IncomingOffsets,
        Kind::IncomingTargets,
        Kind::Ids,
        Kind::Order,
        Kind::Sums,
    ];

    /// The place in [`Kind::ALL`].
    fn place(self) -> Option<usize> {
        Kind::ALL.iter().position(|&kind| kind == self)
    }

    /// As messages call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Offsets => "offsets",
            Kind::Targets => "targets",
            Kind::IncomingOffsets => "incoming offsets",
            Kind::IncomingTargets => "incoming targets",
            Kind::Ids => "ids",
            Kind::Order => "order",
            Kind::Sums => "sums",
        }
    }
}

/// Where a section lies.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) offset: usize,
    pub(super) bytes: usize,
    /// Checksum of the section's block checksums.
    pub(super) sum: u64,
}

impl Place {
    pub(super) fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes
    }
}

/// What the header says of the graph.
#[derive(Clone, Debug)]
pub(super) struct Meta {
    pub(super) name: String,
    pub(super) vertices: usize,
    pub(super) arcs: u64,
    pub(super) facts: Facts,
    pub(super) is_symmetric: bool,
    pub(super) first_id: i64,
}

/// A header that was found sound: all sections lie in the file, one after the other, and have the lengths the counts ask for.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) meta: Meta,
    pub(super) places: Vec<Place>,
}

impl Header {
    pub(super) fn place(&self, kind: Kind) -> Option<&Place> {
        self.places.iter().find(|place| place.kind == kind)
    }

    /// The page for a file of `file_bytes`.
    pub(super) fn page(&self, file_bytes: u64) -> Vec<u8> {
        let meta = &self.meta;
        let mut page = vec![0u8; HEADER];
        let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &MAGIC);
        let version = if self.place(Kind::Order).is_some() { ORDERED } else { PLAIN };
        put(8, &version.to_le_bytes());
        put(12, &(HEADER as u32).to_le_bytes());
        put(24, &file_bytes.to_le_bytes());
        let flags = if meta.facts.directed { DIRECTED } else { 0 } | if meta.is_symmetric { SYMMETRIC } else { 0 };
        put(32, &flags.to_le_bytes());
        put(36, &(self.places.len() as u32).to_le_bytes());
        let facts = &meta.facts;
        let counts =
            [meta.vertices as u64, meta.arcs, facts.arcs, facts.duplicate_arcs, facts.self_loops, facts.listed];
        for (place, count) in counts.into_iter().enumerate() {
            put(40 + 8 * place, &count.to_le_bytes());
        }
        put(88, &meta.first_id.to_le_bytes());
        let name = cut_name(&meta.name);
        put(96, &(name.len() as u32).to_le_bytes());
        put(NAME.start, name.as_bytes());
        for (entry, place) in self.places.iter().enumerate() {
            let at = TABLE + ENTRY * entry;
            put(at, &(place.kind as u32).to_le_bytes());
            put(at + 8, &(place.offset as u64).to_le_bytes());
            put(at + 16, &(place.bytes as u64).to_le_bytes());
            put(at + 24, &place.sum.to_le_bytes());
        }
        let sum = XxHash3_64::oneshot(&page[24..]);
        page[16..24].copy_from_slice(&sum.to_le_bytes());
        page
    }

    /// The header of a file, checked. The error is a sentence without the path.
    pub(super) fn read(bytes: &[u8]) -> Result<Header, String> {
        if !bytes.starts_with(&MAGIC) {
            return Err(
                "no .gcsr file: its first bytes are others; check --format, or convert it with `graph convert`".into(),
            );
        }
        let truncated =
            |needed: u64| format!("the file is truncated: {} bytes of {needed}; copy or convert it again", bytes.len());
        let Some(page) = bytes.get(..HEADER) else { return Err(truncated(HEADER as u64)) };
        let word = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(page[at..at + 8].try_into().expect("eight bytes"));
        if ![PLAIN, ORDERED].contains(&word(8)) || word(12) != HEADER as u32 {
            return Err(format!(
                "version {} of the .gcsr format; this program reads versions {PLAIN} and {ORDERED}, so convert the file again",
                word(8)
            ));
        }
        if XxHash3_64::oneshot(&page[24..]) != long(16) {
            return Err(
                "the header is damaged: its checksum does not fit; convert the file again from its source".into()
            );
        }
        if (bytes.len() as u64) < long(24) {
            return Err(truncated(long(24)));
        }
        if bytes.len() as u64 > long(24) {
            return Err(format!("{} bytes, but the header says {}; something was appended", bytes.len(), long(24)));
        }
        let (flags, sections) = (word(32), word(36) as usize);
        let vertices = long(40);
        if vertices > Graph::VERTICES_MAX as u64 || flags > 3 || sections > Kind::ALL.len() {
            return Err("the header contradicts itself: counts or flags out of range".into());
        }
        let name = page.get(NAME.start..NAME.start + word(96).min(256) as usize).unwrap_or_default();
        let meta = Meta {
            name: String::from_utf8_lossy(name).into_owned(),
            vertices: vertices as usize,
            arcs: long(48),
            facts: Facts {
                directed: flags & DIRECTED != 0,
                arcs: long(56),
                duplicate_arcs: long(64),
                self_loops: long(72),
                listed: long(80),
            },
            is_symmetric: flags & SYMMETRIC != 0,
            first_id: long(88) as i64,
        };
        let mut header = Header { meta, places: Vec::new() };
        let mut end = HEADER as u64;
        for entry in 0..sections {
            let at = TABLE + ENTRY * entry;
            let (offset, length) = (long(at + 8), long(at + 16));
            let kind = Kind::ALL.into_iter().find(|&kind| kind as u32 == word(at));
            let rises = |kind: &Kind| header.places.last().is_none_or(|last| last.kind.place() < kind.place());
            let Some(kind) = kind.filter(rises) else {
                return Err(format!("section {entry} is of unknown kind {} or out of order", word(at)));
            };
            let fits = offset == end.next_multiple_of(PAGE as u64)
                && offset.checked_add(length).is_some_and(|end| end <= bytes.len() as u64);
            if !fits || header.wanted(kind).is_some_and(|wanted| u128::from(length) != wanted) {
                return Err(format!("section `{}` lies at {offset} with {length} bytes, which cannot be", kind.name()));
            }
            end = offset + length;
            header.places.push(Place { kind, offset: offset as usize, bytes: length as usize, sum: long(at + 24) });
        }
        if (word(8) == ORDERED) != header.place(Kind::Order).is_some() {
            return Err(format!("version {} of the format does not go with these sections", word(8)));
        }
        header.check_complete(end, bytes.len() as u64)?;
        Ok(header)
    }

    /// The bytes that the counts ask for.
    fn wanted(&self, kind: Kind) -> Option<u128> {
        let vertices = self.meta.vertices as u128;
        match kind {
            Kind::Offsets | Kind::IncomingOffsets => Some(8 * (vertices + 1)),
            Kind::Targets | Kind::IncomingTargets => Some(4 * u128::from(self.meta.arcs)),
            Kind::Ids => Some(8 * vertices),
            Kind::Order => Some(4 * vertices),
            Kind::Sums => None,
        }
    }

    fn check_complete(&self, end: u64, file: u64) -> Result<(), String> {
        let has = |kind| self.place(kind).is_some();
        let incoming = [has(Kind::IncomingOffsets), has(Kind::IncomingTargets)];
        let halves = incoming[0] != incoming[1] || (has(Kind::Order) && !has(Kind::Ids));
        if !has(Kind::Offsets) || !has(Kind::Targets) || !has(Kind::Sums) || halves {
            return Err("a section is missing; convert the file again from its source".into());
        }
        let meta = &self.meta;
        let last_id = meta.first_id.checked_add(meta.vertices as i64);
        if end != file || (incoming[0] && meta.is_symmetric) || (!has(Kind::Ids) && last_id.is_none()) {
            return Err("the header contradicts itself; convert the file again from its source".into());
        }
        Ok(())
    }
}

/// At most 256 bytes of a name, cut between characters.
fn cut_name(name: &str) -> &str {
    let mut end = name.len().min(NAME.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
