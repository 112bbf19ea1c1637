//! Files of traces are known by what is in them, and are read as a stream into a [`Recording`]. Each kind has a reader of its own.

// From the lowest floor up.
mod options;
mod warnings;
mod activities;
mod database;
mod nsys;
mod ascend_db;
mod ascend_view;
mod event;
mod pairs;
mod chrome;
mod rocprof;
mod document;

pub use options::Options;

use crate::error::{Error, Result};
use crate::json::{self, Failure};
use crate::recording::Recording;
use database::Database;
use document::Document;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use warnings::warn;

/// Reads a trace.
///
/// # Errors
/// When the file cannot be read, is damaged, or is of no known kind.
pub fn read(path: &Path, options: &Options) -> Result<Recording> {
    let failed = |source| Error::Read { path: path.into(), source };
    let mut file = File::open(path).map_err(failed)?;
    let mut head = [0; 16];
    let mut length = 0;
    while length < head.len() {
        match file.read(&mut head[length..]).map_err(failed)? {
            0 => break,
            more => length += more,
        }
    }
    let head = &head[..length];
    if head.is_empty() || head == json::MARK {
        return Err(Error::Unknown { path: path.into(), found: "it is empty".into() });
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(Error::Unknown { path: path.into(), found: "it is UTF-16 text; save it as UTF-8".into() });
    }
    let mut recording = if head == b"SQLite format 3\0" {
        read_database(path, options)?
    } else {
        let whole = io::Cursor::new(head.to_vec()).chain(file);
        if head.starts_with(&[0x1f, 0x8b]) {
            let unpacked = MultiGzDecoder::new(io::BufReader::with_capacity(64 << 10, whole));
            read_json(unpacked, path, true, options)?
        } else {
            read_json(whole, path, false, options)?
        }
    };
    if recording.rank.is_none() {
        recording.rank = path.file_name().and_then(|name| rank_in_name(&name.to_string_lossy()));
    }
    recording.finish();
    warn(&mut recording);
    Ok(recording)
}

fn read_database(path: &Path, options: &Options) -> Result<Recording> {
    type Reader = fn(&Database, &Options, &mut Recording) -> rusqlite::Result<()>;
    let failed = |source| Error::Database { path: path.into(), source };
    let database = database::open(path).map_err(failed)?;
    let reader: Reader = if database.has_any("CUPTI_ACTIVITY_KIND_") || database.has("META_DATA_EXPORT") {
        nsys::read
    } else if ["TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "CANN_API", "RANK_DEVICE_MAP"]
        .iter()
        .any(|table| database.has(table))
    {
        ascend_db::read
    } else {
        let found = "it is an SQLite database without tables of Nsight Systems or Ascend".into();
        return Err(Error::Unknown { path: path.into(), found });
    };
    let mut recording = Recording::default();
    reader(&database, options, &mut recording).map_err(failed)?;
    Ok(recording)
}

fn read_json(source: impl Read, path: &Path, is_packed: bool, options: &Options) -> Result<Recording> {
    let mut document = Document::new(options);
    let repairs = json::read(source, options.recovers, &mut document).map_err(|failure| match failure {
        Failure::Read(source) if is_packed => Error::Packing { path: path.into(), source },
        Failure::Read(source) => Error::Read { path: path.into(), source },
        Failure::Damaged(damage) if damage.offset < 4 && !document.is_text() => {
            Error::Unknown { path: path.into(), found: "it is neither JSON nor SQLite".into() }
        }
        Failure::Damaged(damage) => Error::Damaged {
            path: path.into(),
            text: if is_packed { "unpacked text" } else { "file" },
            offset: damage.offset,
            what: damage.what,
        },
    })?;
    let mut recording = document.finish().map_err(|found| Error::Unknown { path: path.into(), found })?;
    recording.repairs = repairs;
    Ok(recording)
}

/// The number after `rank` (with a `-` or `_` between, or none) in a file's name, or at the end of an Ascend database's.
fn rank_in_name(name: &str) -> Option<i64> {
    let lower = name.to_ascii_lowercase();
    let number = |text: &str| {
        let digits = &text[..text.bytes().take_while(u8::is_ascii_digit).count()];
        digits.parse::<i64>().ok()
    };
    if let Some(rank) = lower.strip_prefix("ascend_pytorch_profiler_").and_then(number) {
        return Some(rank);
    }
    lower.match_indices("rank").find_map(|(at, word)| {
        let rest = &lower[at + word.len()..];
        number(rest.strip_prefix(['-', '_']).unwrap_or(rest))
    })
}

#[cfg(test)]
mod tests;
