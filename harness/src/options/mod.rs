//! The options of a run, as typed, and what they mean by themselves.

mod method;
mod device;
mod protection;
mod reading;

pub(crate) use device::DeviceChoice;
pub(crate) use method::Method;
pub(crate) use protection::{CHECKPOINT_INTERVAL, ProtectionArgs, without_effect};
pub(crate) use reading::Reading;

use clap::{Args, ValueEnum, ValueHint, value_parser};
use framework::base::error::{Error, Result};
use framework::protect::Protection;
use std::path::PathBuf;

/// The choice on which the other options depend.
#[derive(Args, Clone, Debug)]
pub(crate) struct Chosen {
    /// The algorithm to run; `harness list` shows all of them with their options
    #[arg(long, value_name = "NAME", help_heading = "Algorithm")]
    pub(crate) algorithm: Option<String>,
}

/// Everything of a run but the algorithm and its own options.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// Read the graph from this file, which may be packed; - reads standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Graph")]
    pub(crate) graph: Option<PathBuf>,
    /// Take the data set of this name [default: cit-HepPh, which is inside the program]
    #[arg(long, value_name = "NAME", conflicts_with = "graph", help_heading = "Graph")]
    pub(crate) dataset: Option<String>,
    /// Look for --dataset in this folder, too: a file there is called by its name without endings
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "dataset", help_heading = "Graph")]
    pub(crate) dataset_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Device to run on: auto, cpu, cuda, or cuda:0,1 (a GPU for each rank)
    #[arg(long, value_name = "DEVICE", default_value_t, help_heading = "Run")]
    pub(crate) device: DeviceChoice,
    /// Number of threads of each rank [default: the cores of this machine divided by the ranks]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=4096), help_heading = "Run")]
    pub(crate) threads: Option<u32>,
    /// Number of ranks [default: 1; 2 with a multi method; one for each GPU that --device lists]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024), help_heading = "Run")]
    pub(crate) ranks: Option<u32>,
    /// How ranks send messages to each other
    #[arg(long, value_enum, default_value_t, help_heading = "Run")]
    pub(crate) transport: Transport,
    /// Set ranks, device and protection at once, by the name that records have
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Run")]
    pub(crate) method: Option<Method>,
    /// Which layouts of the arcs may be built in memory
    #[arg(long, value_enum, default_value_t, help_heading = "Run")]
    pub(crate) layout: LayoutChoice,
    /// How often the run is repeated and measured inside this process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..), help_heading = "Run")]
    pub(crate) trials: u32,
    /// How often it is run before that, without being reported
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Run")]
    pub(crate) warmup: u32,
    /// Compare each answer with that of a plain serial computation
    #[arg(long, help_heading = "Run")]
    pub(crate) verify: bool,
    /// Also say on stderr which devices were passed over, and why
    #[arg(long, help_heading = "Run")]
    pub(crate) verbose: bool,
    /// Show a progress bar on stderr
    #[arg(long, value_enum, default_value_t, help_heading = "Run")]
    pub(crate) progress: Progress,

    #[command(flatten)]
    pub(crate) protection: ProtectionArgs,

    /// Write the answer of every vertex to this file: .csv, or .bin for binary
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Write no answer of every vertex, as happens without --output, too
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
    /// The one that fits the ranks and devices
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
    /// Only if stderr is a terminal
    #[default]
    Auto,
    /// Always
    On,
    /// Never
    Off,
}
