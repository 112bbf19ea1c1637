//! `harness resume`: the command line of a checkpointed run again, with a few options replaced, from the newest checkpoint that is
//! whole on every rank.

use crate::command_line::{Stop, parse_run};
use crate::instrument::Performance;
use crate::options::DeviceChoice;
use crate::run;
use crate::run::checkpoints::{Begun, FILE, Origin};
use clap::{Args, ValueHint, value_parser};
use framework::algorithm::Registry;
use framework::base::error::{Error, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Continue a run that was interrupted, from its newest checkpoint that is whole on every rank
#[derive(Args, Clone, Debug)]
pub(crate) struct Resume {
    /// The folder of checkpoints that --checkpoint-dir named when the run began
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Continue on this number of ranks instead of the one before
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    ranks: Option<u32>,
    /// Continue with this number of threads of each rank instead of the one before
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Continue on this device instead of the one before: cpu, cuda, or cuda:0,1 (a GPU for each rank)
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceChoice>,
    /// Read the graph from this file, if it is no longer where it was
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    graph: Option<PathBuf>,
}

/// The command line of a run again, with options replaced.
fn arguments(begun: &Begun, resume: &Resume) -> Vec<OsString> {
    let replaced = [
        ("--ranks", resume.ranks.map(|ranks| ranks.to_string().into())),
        ("--device", resume.device.as_ref().map(|device| device.to_string().into())),
        ("--threads", resume.threads.map(|threads| threads.to_string().into())),
        ("--graph", resume.graph.as_ref().map(|graph| graph.clone().into_os_string())),
    ];
    let mut arguments = vec![OsString::from("harness")];
    let mut skips = false;
    for (place, argument) in begun.arguments.iter().enumerate() {
        if std::mem::take(&mut skips) {
            continue;
        }
        let (name, value) = argument.split_once('=').map_or((argument.as_str(), None), |(n, v)| (n, Some(v)));
        if replaced.iter().any(|(option, new)| name == *option && new.is_some()) {
            skips = value.is_none();
        } else if name == "--method" && (resume.ranks.is_some() || resume.device.is_some()) {
            // It says how many ranks there are, and on what; that the run is protected it must still be told.
            skips = value.is_none();
            let method = value.or(begun.arguments.get(place + 1).map(String::as_str)).unwrap_or_default();
            arguments.extend(["--fault-tolerance".into(), "on".into()]);
            let says_ranks = resume.ranks.is_some() || begun.arguments.iter().any(|own| own.starts_with("--ranks"));
            if method.starts_with("multi") && !says_ranks && !resume.device.as_ref().is_some_and(DeviceChoice::is_list)
            {
                arguments.extend(["--ranks".into(), "2".into()]);
            }
            let says_device = resume.device.is_some() || begun.arguments.iter().any(|own| own.starts_with("--device"));
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
        let arguments = arguments(&begun, &Resume { graph, ..self.clone() });
        let typed = parse_run(registry, &arguments).map_err(|stop| match stop {
            Stop::Failed(error) => error,
            Stop::Clap(error) => Error::usage(format!(
                "{} holds a command line that this program does not take: {}",
                folder.join(FILE).display(),
                error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ")
            )),
        })?;
        run::run::<Performance>(typed.entry, &typed.options, &typed.matches, &Origin::Resumed(&folder))
    }
}
