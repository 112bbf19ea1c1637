//! Checkpointed runs: what a folder of checkpoints says of its run, and `harness resume`.
//!
//! A run writes `run.json` before anything else: its command line, its folder and what tells its graph from others. A resumed run is
//! that command line again, with a few options replaced, from the newest checkpoint that is whole on every rank.

use crate::cli;
use crate::command::run;
use crate::device::DeviceChoice;
use crate::instrument::Performance;
use crate::people::say;
use crate::protection::CHECKPOINT_INTERVAL;
use crate::whole_file;
use clap::{Args, ValueHint, value_parser};
use framework::algorithm::Registry;
use framework::base::checksum::split_mix;
use framework::base::error::{Error, Result};
use framework::graph::Graph;
use framework::protect::{CheckpointSet, Checkpoints, fingerprint};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

/// What a folder of checkpoints belongs to.
const FILE: &str = "run.json";
const SCHEMA: &str = "graphalg-checkpointed-run";

/// Go on with a run that was broken off, from its newest checkpoint that is whole on every rank
#[derive(Args, Clone, Debug)]
pub(crate) struct Resume {
    /// Folder that --checkpoint-dir named
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Ranks, if others than before
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    ranks: Option<u32>,
    /// Threads of each rank, if others than before
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Device to go on with, if another than before: cpu, cuda, or cuda:0,1 (a GPU for each rank)
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceChoice>,
    /// Graph file, if it lies elsewhere now
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    graph: Option<PathBuf>,
}

/// `run.json`.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Begun {
    schema: String,
    schema_version: u32,
    product_version: String,
    /// Tells this run's checkpoints from others.
    run: String,
    /// Where it was started.
    directory: String,
    /// What it was started with, without the program.
    arguments: Vec<String>,
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
    fn read(folder: &Path) -> Result<Begun> {
        let path = folder.join(FILE);
        let text = fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let begun: Option<Begun> = serde_json::from_slice(&text).ok();
        begun.filter(|begun| begun.schema == SCHEMA && begun.schema_version == 1).ok_or_else(|| Error::Format {
            path,
            problem: "says nothing of a checkpointed run; name the folder that --checkpoint-dir named".into(),
        })
    }

    /// The command line again, with options replaced.
    fn arguments(&self, resume: &Resume) -> Vec<OsString> {
        let replaced = [
            ("--ranks", resume.ranks.map(|ranks| ranks.to_string().into())),
            ("--device", resume.device.as_ref().map(|device| device.to_string().into())),
            ("--threads", resume.threads.map(|threads| threads.to_string().into())),
            ("--graph", resume.graph.as_ref().map(|graph| graph.clone().into_os_string())),
        ];
        let mut arguments = vec![OsString::from("harness")];
        let mut skips = false;
        for (place, argument) in self.arguments.iter().enumerate() {
            if std::mem::take(&mut skips) {
                continue;
            }
            let (name, value) = argument.split_once('=').map_or((argument.as_str(), None), |(n, v)| (n, Some(v)));
            if replaced.iter().any(|(option, new)| name == *option && new.is_some()) {
                skips = value.is_none();
            } else if name == "--method" && (resume.ranks.is_some() || resume.device.is_some()) {
                // It says how many ranks there are, and on what; that the run is protected it must still be told.
                skips = value.is_none();
                let method = value.or(self.arguments.get(place + 1).map(String::as_str)).unwrap_or_default();
                arguments.extend(["--fault-tolerance".into(), "on".into()]);
                let says_ranks = resume.ranks.is_some() || self.arguments.iter().any(|own| own.starts_with("--ranks"));
                if method.starts_with("multi")
                    && !says_ranks
                    && !resume.device.as_ref().is_some_and(DeviceChoice::is_list)
                {
                    arguments.extend(["--ranks".into(), "2".into()]);
                }
                let says_device =
                    resume.device.is_some() || self.arguments.iter().any(|own| own.starts_with("--device"));
                if !says_device {
                    arguments.extend(["--device".into(), if method.contains("_gpu_") { "cuda" } else { "cpu" }.into()]);
                }
            } else {
                arguments.push(argument.into());
            }
        }
        for (option, value) in replaced {
            if let Some(value) = value {
                arguments.extend([option.into(), value]);
            }
        }
        arguments
    }
}

impl Resume {
    /// Runs it.
    ///
    /// # Errors
    /// When there is no run, or it cannot go on.
    pub(crate) fn run(&self, registry: &Registry) -> Result<ExitCode> {
        let absolute = |path: &Path| fs::canonicalize(path).map_err(|source| Error::Read { path: path.into(), source });
        let folder = absolute(&self.folder)?;
        let begun = Begun::read(&folder)?;
        let graph = self.graph.as_deref().map(absolute).transpose()?;
        std::env::set_current_dir(&begun.directory)
            .map_err(|source| Error::Read { path: (&begun.directory).into(), source })?;
        let arguments = begun.arguments(&Resume { graph, ..self.clone() });
        let typed = cli::parse_run(registry, &arguments).map_err(|stop| match stop {
            cli::Stop::Failed(error) => error,
            cli::Stop::Clap(error) => Error::usage(format!(
                "{} holds a command line that this program does not take: {}",
                folder.join(FILE).display(),
                error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ")
            )),
        })?;
        run::run::<Performance>(typed.entry, &typed.options, &typed.matches, &Origin::Resumed(&folder))
    }
}
