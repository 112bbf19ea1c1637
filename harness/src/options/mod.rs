//! The options of a run, as typed, and what they mean by themselves.

mod method;
mod device;
mod protection;
mod reading;

pub(crate) use device::DeviceChoice;
pub(crate) use method::Method;
pub(crate) use protection::{CHECKPOINT_INTERVAL, ProtectionArgs};
pub(crate) use reading::Reading;

use clap::{Args, ValueEnum, ValueHint, value_parser};
use framework::base::error::{Error, Result};
use framework::protect::Protection;
use std::path::PathBuf;

/// The choice on which the other options depend.
#[derive(Args, Clone, Debug)]
pub(crate) struct Chosen {
    /// The algorithm; `harness list` shows all with their options
    #[arg(long, value_name = "NAME", help_heading = "Algorithm")]
    pub(crate) algorithm: Option<String>,
}

/// Everything of a run but the algorithm and its own options.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// Graph file, packed or not; - reads standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Graph")]
    pub(crate) graph: Option<PathBuf>,
    /// Graph by name [default: cit-HepPh, which is inside the program]
    #[arg(long, value_name = "NAME", conflicts_with = "graph", help_heading = "Graph")]
    pub(crate) dataset: Option<String>,
    /// Folder of further data sets
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "dataset", help_heading = "Graph")]
    pub(crate) dataset_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Device to run on: auto, cpu, cuda, or cuda:0,1 (a GPU for each rank)
    #[arg(long, value_name = "DEVICE", default_value_t, help_heading = "Run")]
    pub(crate) device: DeviceChoice,
    /// Threads of each rank [default: cores / ranks]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=4096), help_heading = "Run")]
    pub(crate) threads: Option<u32>,
    /// Ranks [default: 1; 2 with a multi method; one for each GPU listed]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024), help_heading = "Run")]
    pub(crate) ranks: Option<u32>,
    /// How ranks reach each other
    #[arg(long, value_enum, default_value_t, help_heading = "Run")]
    pub(crate) transport: Transport,
    /// Ranks, device and protection in one word
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Run")]
    pub(crate) method: Option<Method>,
    /// Layouts of the arcs that may be built
    #[arg(long, value_enum, default_value_t, help_heading = "Run")]
    pub(crate) layout: LayoutChoice,
    /// Measured repetitions inside this process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..), help_heading = "Run")]
    pub(crate) trials: u32,
    /// Repetitions before them that are not reported
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Run")]
    pub(crate) warmup: u32,
    /// Compare each answer with a plain serial computation
    #[arg(long, help_heading = "Run")]
    pub(crate) verify: bool,
    /// Progress bar on stderr
    #[arg(long, value_enum, default_value_t, help_heading = "Run")]
    pub(crate) progress: Progress,

    #[command(flatten)]
    pub(crate) protection: ProtectionArgs,

    /// Write the answer to a file: .csv, or .bin for binary
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Write no answer (as without --output)
    #[arg(short, long, conflicts_with = "output", help_heading = "Output")]
    pub(crate) no_output: bool,
}

impl RunArgs {
    /// How the run is protected.
    ///
    /// # Errors
    /// When options contradict each other or would have no effect.
    pub(crate) fn protection(&self) -> Result<Protection> {
        let protection = self.protection.resolve(self.method)?;
        let asked = match (self.method.filter(|method| method.is_protected()), protection.is_on, protection.certify) {
            (Some(method), ..) => format!("--method {}", method.name()),
            (None, true, _) => "--fault-tolerance on".into(),
            (None, false, true) => "--certify on".into(),
            (None, false, false) => return Ok(protection),
        };
        if self.reading.trust_file {
            return Err(Error::usage(format!(
                "--trust-file and {asked} contradict each other: an answer that is proved over a damaged file is wrong all the same; \
                 leave one out"
            )));
        }
        Ok(protection)
    }
}

/// How ranks reach each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Transport {
    /// The one that fits
    #[default]
    Auto,
    /// Ranks are threads of this process
    Local,
}

/// Which layouts of the arcs may be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum LayoutChoice {
    /// What the algorithm asks for, where it pays back within the run
    #[default]
    Auto,
    /// Sorted rows only: less memory, slower rounds
    Rows,
}

/// Whether to show a bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Progress {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    On,
    /// Never
    Off,
}
