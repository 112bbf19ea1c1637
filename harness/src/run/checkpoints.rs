//! Checkpointed runs: what a folder of checkpoints says of its run.
//!
//! A run writes `run.json` before anything else: its command line, its folder and what tells its graph from others.

use crate::options::CHECKPOINT_INTERVAL;
use crate::people::say;
use crate::whole_file;
use framework::base::checksum::split_mix;
use framework::base::error::{Error, Result};
use framework::graph::Graph;
use framework::protect::{CheckpointSet, Checkpoints, fingerprint};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

/// What a folder of checkpoints belongs to.
pub(crate) const FILE: &str = "run.json";
const SCHEMA: &str = "graphalg-checkpointed-run";

/// `run.json`.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begun {
    schema: String,
    schema_version: u32,
    product_version: String,
    /// Tells this run's checkpoints from others.
    run: String,
    /// Where it was started.
    pub(crate) directory: String,
    /// What it was started with, without the program.
    pub(crate) arguments: Vec<String>,
    /// Tells its graph from others.
    graph: u64,
}

/// Where a run that is asked for checkpoints puts them.
pub(crate) enum Origin<'a> {
    /// It begins, with these arguments.
    New(&'a [OsString]),
    /// It goes on in this folder.
    Resumed(&'a Path),
}

/// The checkpoints of a run, and what there is to go on from.
///
/// # Errors
/// When the folder belongs to another run or graph, or cannot be written.
pub(crate) fn open(
    origin: &Origin<'_>,
    folder: &Path,
    every: Option<u32>,
    graph: &Graph,
) -> Result<(Checkpoints, Option<CheckpointSet>)> {
    let every = every.unwrap_or(CHECKPOINT_INTERVAL);
    let number = fingerprint(graph);
    match origin {
        Origin::New(arguments) => {
            let run = begin(folder, arguments, number)?;
            Ok((Checkpoints { folder: folder.into(), every, run, graph: number }, None))
        }
        Origin::Resumed(folder) => {
            let begun = Begun::read(folder)?;
            if begun.graph != number {
                return Err(Error::usage(format!(
                    "{} is not the graph of the run in {}; give the same one with --graph",
                    graph.name(),
                    folder.display()
                )));
            }
            let checkpoints = Checkpoints { folder: folder.into(), every, run: begun.run, graph: number };
            let (found, refused) = CheckpointSet::find(&checkpoints)?;
            refused.iter().for_each(|line| say(&format!("refused  {line}")));
            match &found {
                Some(found) => {
                    say(&format!("resume   from superstep {}, written by {} ranks", found.index, found.ranks()))
                }
                None => say("resume   no checkpoint is whole on every rank: the run starts over"),
            }
            Ok((checkpoints, found))
        }
    }
}

fn begin(folder: &Path, arguments: &[OsString], graph: u64) -> Result<String> {
    let failed = |source| Error::Write { path: folder.into(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    if let Some(first) = fs::read_dir(folder).map_err(failed)?.next() {
        return Err(Error::usage(format!(
            "{}: a folder for checkpoints must be new or empty, and this one holds `{}`; go on with its run by `harness \
             resume`, or name another folder",
            folder.display(),
            first.map_err(failed)?.file_name().display()
        )));
    }
    let text = |argument: &OsString| {
        argument.to_str().map(str::to_owned).ok_or_else(|| {
            Error::usage(format!("{}: is no UTF-8 text, so a resumed run could not repeat it", argument.display()))
        })
    };
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seed = since.as_nanos() as u64 ^ u64::from(std::process::id()) << 48;
    let begun = Begun {
        schema: SCHEMA.into(),
        schema_version: 1,
        product_version: env!("CARGO_PKG_VERSION").into(),
        run: format!("{:016x}{:016x}", split_mix(seed), split_mix(!seed)),
        directory: std::env::current_dir().map_err(failed)?.to_string_lossy().into_owned(),
        arguments: arguments.iter().map(text).collect::<Result<_>>()?,
        graph,
    };
    whole_file::write(&folder.join(FILE), |out| {
        serde_json::to_writer_pretty(&mut *out, &begun)?;
        writeln!(out)
    })?;
    Ok(begun.run)
}

impl Begun {
    /// Reads `run.json` of a folder.
    ///
    /// # Errors
    /// When there is none, or it is another file.
    pub(crate) fn read(folder: &Path) -> Result<Begun> {
        let path = folder.join(FILE);
        let text = fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let begun: Option<Begun> = serde_json::from_slice(&text).ok();
        begun.filter(|begun| begun.schema == SCHEMA && begun.schema_version == 1).ok_or_else(|| Error::Format {
            path,
            problem: "is not the description of a checkpointed run; name the folder that --checkpoint-dir named".into(),
        })
    }
}
