//! Writing `.gcsr`: sections one after the other, checksums on the way, the header last, then the file takes its name.

use super::super::{Graph, Ids, Incoming};
use super::header::{HEADER, Header, Kind, Meta, Place};
use super::{BLOCK, PAGE};
use crate::base::error::{Error, Result};
use crate::base::memory::bytes_of;
use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use twox_hash::XxHash3_64;

/// The content of a section.
enum Section<'a> {
    Offsets(Box<dyn Read + 'a>),
    Targets(Box<dyn Read + 'a>),
    IncomingOffsets(Box<dyn Read + 'a>),
    IncomingTargets(Box<dyn Read + 'a>),
    Ids(Box<dyn Read + 'a>),
    Order(Box<dyn Read + 'a>),
}

impl<'a> Section<'a> {
    fn parts(self) -> (Kind, Box<dyn Read + 'a>) {
        match self {
            Section::Offsets(content) => (Kind::Offsets, content),
            Section::Targets(content) => (Kind::Targets, content),
            Section::IncomingOffsets(content) => (Kind::IncomingOffsets, content),
            Section::IncomingTargets(content) => (Kind::IncomingTargets, content),
            Section::Ids(content) => (Kind::Ids, content),
            Section::Order(content) => (Kind::Order, content),
        }
    }
}

/// Puts a new file in the place of `path`: what `fill` writes appears there whole, or the old file stays.
pub(in super::super) fn replace_file(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let write_error = |source| Error::Write { path: path.to_path_buf(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // The user's umask applies, as for any new file.
    builder.prefix(".graphalg-").suffix(".part").permissions(Permissions::from_mode(0o666));
    let mut file = builder.tempfile_in(folder).map_err(write_error)?;
    fill(file.as_file_mut()).map_err(write_error)?;
    file.as_file().sync_all().map_err(write_error)?;
    file.persist(path).map_err(|error| write_error(error.error))?;
    // The new name, too, must outlast a power cut; a file system that cannot sync a folder has no more to give.
    File::open(folder).and_then(|folder| folder.sync_all()).or_else(|error| match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied => Ok(()),
        _ => Err(write_error(error)),
    })
}

/// Writes header and sections; they must come in the order of the format and have the lengths that `meta` asks for.
fn write_sections(file: &mut File, meta: Meta, sections: Vec<Section<'_>>) -> io::Result<()> {
    let mut at = HEADER;
    let mut places = Vec::new();
    let mut all_sums = Vec::new();
    let mut block = vec![0u8; BLOCK];
    file.write_all(&vec![0u8; HEADER])?;
    for section in sections {
        let (kind, mut content) = section.parts();
        at += pad(file, at)?;
        let (offset, first_sum) = (at, all_sums.len());
        loop {
            let len = read_full(&mut content, &mut block)?;
            if len == 0 {
                break;
            }
            file.write_all(&block[..len])?;
            all_sums.extend_from_slice(&XxHash3_64::oneshot(&block[..len]).to_le_bytes());
            at += len;
        }
        places.push(Place { kind, offset, bytes: at - offset, sum: XxHash3_64::oneshot(&all_sums[first_sum..]) });
    }
    at += pad(file, at)?;
    places.push(Place { kind: Kind::Sums, offset: at, bytes: all_sums.len(), sum: XxHash3_64::oneshot(&all_sums) });
    file.write_all(&all_sums)?;
    at += all_sums.len();
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&Header { meta, places }.page(at as u64))
}

fn pad(file: &mut File, at: usize) -> io::Result<usize> {
    let gap = at.next_multiple_of(PAGE) - at;
    file.write_all(&[0; PAGE][..gap])?;
    Ok(gap)
}

/// Fills `block` as far as the content reaches.
fn read_full(content: &mut dyn Read, block: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < block.len() {
        match content.read(&mut block[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// Stores a graph in the view it has.
pub(super) fn write_graph(graph: &Graph, path: &Path) -> Result<()> {
    let outgoing = graph.outgoing();
    let mut sections = vec![
        Section::Offsets(Box::new(bytes_of(outgoing.offsets()))),
        Section::Targets(Box::new(bytes_of(outgoing.targets()))),
    ];
    if let Incoming::Rows(rows) = &graph.incoming {
        sections.push(Section::IncomingOffsets(Box::new(bytes_of(rows.offsets()))));
        sections.push(Section::IncomingTargets(Box::new(bytes_of(rows.targets()))));
    }
    let first_id = match graph.ids() {
        Ids::Range { first, .. } => *first,
        Ids::Listed(ids) => {
            sections.push(Section::Ids(Box::new(bytes_of(ids))));
            0
        }
        Ids::Reordered { ids, order } => {
            sections.push(Section::Ids(Box::new(bytes_of(ids))));
            sections.push(Section::Order(Box::new(bytes_of(order))));
            0
        }
    };
    let meta = Meta {
        name: graph.name().to_string(),
        vertices: graph.vertices(),
        arcs: outgoing.arcs() as u64,
        facts: graph.facts().clone(),
        is_symmetric: graph.is_symmetric(),
        first_id,
    };
    replace_file(path, |file| write_sections(file, meta, sections))
}
