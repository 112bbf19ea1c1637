//! Files of traces: known by their content, read as a stream into a [`Recording`].

mod activities;
mod ascend_db;
mod ascend_view;
mod chrome;
mod database;
mod document;
mod nsys;
mod rocprof;

use crate::classify::{Rules, looks_like_a_collective};
use crate::error::{Error, Result};
use crate::json::{self, Count, Failure, Repairs};
use crate::names::Name;
use crate::recording::{Class, Recording};
use document::Document;
use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The kinds of files that are read, for messages.
pub(crate) const KINDS: &str = "Chrome traces (PyTorch, Ascend trace_view.json, harness_profiling), rocprofv3 JSON, and \
                                SQLite exports of Nsight Systems and Ascend; JSON also packed with gzip";

/// How files are read.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// How events are told apart.
    pub rules: Rules,
    /// Keep the calls that launched work: causes of idle time and steps need them. Memory then grows with calls, too.
    pub wants_launches: bool,
    /// Leave damaged events out, with a count, and take what a cut-off file has.
    pub recovers: bool,
}

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
    if head.is_empty() {
        return Err(Error::Unknown { path: path.into(), found: "it is empty".into() });
    }
    let mut recording = if head == b"SQLite format 3\0" {
        database::read(path, options)?
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
    recording.settle();
    warn(&mut recording);
    Ok(recording)
}

fn read_json(source: impl Read, path: &Path, is_packed: bool, options: &Options) -> Result<Recording> {
    let mut document = Document::new(options);
    let repairs = json::read(source, options.recovers, &mut document).map_err(|failure| match failure {
        Failure::Read(source) if is_packed => Error::Packing { path: path.into(), source },
        Failure::Read(source) => Error::Read { path: path.into(), source },
        Failure::Damaged(damage) if damage.offset == 0 && !document.is_text() => {
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

/// Says in words what was left out, mended, or looks wrong.
fn warn(recording: &mut Recording) {
    let mut warnings = std::mem::take(&mut recording.warnings);
    let Repairs { invalid_utf8, control_characters, invalid_escapes, not_numbers, lost_events, cut_off } =
        recording.repairs;
    let mut mended = |count: Count, what: &str| {
        if count.count > 0 {
            warnings.push(format!("{} {what} (first at byte {})", count.count, count.first_at));
        }
    };
    mended(lost_events, "damaged places were left out with the events around them: figures are of what remains");
    mended(cut_off, "cut: the file ends early; figures are of what is there");
    mended(invalid_utf8, "byte sequences in names are no UTF-8 and were replaced");
    mended(control_characters, "control characters in names were kept");
    mended(invalid_escapes, "invalid escapes in names were kept or replaced");
    mended(not_numbers, "values such as NaN were taken for null");
    if recording.devices.iter().all(|device| device.works.is_empty()) {
        warnings.push("no device events: all times are 0; was the profiler asked for device activity?".into());
    }
    for device in &recording.devices {
        let mut dropped = |count: u64, what: &str| {
            if count > 0 {
                warnings.push(format!("device {}: {count} events left out: {what}", device.id));
            }
        };
        dropped(device.dropped_negative, "they end before they begin");
        dropped(device.dropped_zero_stamp, "start and duration are 0, so their times were lost");
        dropped(device.dropped_unreadable, "start or duration is absent or no number");
        if let Some(warning) = covering(device, recording) {
            warnings.push(format!("device {}: {warning}", device.id));
        }
        let mut alike: BTreeMap<Name, u64> = BTreeMap::new();
        for work in device.works.iter().filter(|work| work.class == Class::Computation) {
            *alike.entry(work.name).or_default() += 1;
        }
        alike.retain(|name, _| looks_like_a_collective(recording.names.text(*name)));
        if let Some((name, _)) = alike.iter().max_by_key(|(_, count)| **count) {
            let count: u64 = alike.values().sum();
            warnings.push(format!(
                "device {}: {count} kernels named like collectives count as computation (such as `{}`); \
                 --communication-pattern counts them as communication",
                device.id,
                shortened(recording.names.text(*name), 60)
            ));
        }
    }
    recording.warnings = warnings;
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        text.to_owned()
    } else {
        text.chars().take(most - 1).chain(['\u{2026}']).collect()
    }
}

/// An event that covers several later ones of its own stream: its duration is hardly possible.
fn covering(device: &crate::recording::Device, recording: &Recording) -> Option<String> {
    /// One covered event can be a dependent launch that began early; this many cannot.
    const FEWEST: u64 = 2;
    let mut open: std::collections::HashMap<u32, (usize, u64)> = std::collections::HashMap::new();
    let (mut found, mut worst) = (0_u64, (0, 0_u64));
    for (place, work) in device.works.iter().enumerate() {
        let (outer, covered) = open.entry(work.stream).or_insert((place, 0));
        if *outer == place {
            continue;
        }
        if work.end_ns < device.works[*outer].end_ns && work.end_ns > work.start_ns {
            *covered += 1;
            found += u64::from(*covered == FEWEST);
            if *covered > worst.1 {
                worst = (*outer, *covered);
            }
        } else if work.end_ns >= device.works[*outer].end_ns {
            (*outer, *covered) = (place, 0);
        }
    }
    (found > 0).then(|| {
        let work = &device.works[worst.0];
        format!(
            "{found} events cover several later events of their own stream; `{}` on stream {} lasts {} us and covers {}: \
             durations like that are hardly possible, and the figures take them as they are",
            shortened(recording.names.text(work.name), 60),
            recording.stream(work.stream),
            crate::time::Microseconds(work.interval().length()),
            worst.1
        )
    })
}

#[cfg(test)]
mod tests;
