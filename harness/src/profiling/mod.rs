//! The profiling profile: what each rank did in each superstep, kept in memory during the run and written to a folder after it.

mod stage;
mod nvtx;
mod recorder;
mod timeline;
mod files;

pub use recorder::Recorder;
pub use timeline::MARK;

use crate::instrument::Instrument;
use crate::people;
use crate::records::Metadata;
use crate::trace_files::FOLDER_VARIABLE;
use crate::whole_file;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use framework::base::error::{Error, Result};
use framework::base::id::Rank;
use framework::trial::RankReport;
use std::fs;
use std::path::{Path, PathBuf};

/// Records every superstep.
#[derive(Clone, Debug)]
pub struct Profiling {
    folder: PathBuf,
}

/// The options that only this profile has.
#[derive(Args, Clone, Debug)]
struct Options {
    /// Folder for traces, new or empty [default: GRAPHALG_PROFILE_OUTPUT_DIR]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    trace_dir: Option<PathBuf>,
}

impl Instrument for Profiling {
    type Probe = Recorder;
    const PROFILE: &'static str = "profiling";

    fn augment(command: Command) -> Command {
        Options::augment_args(command)
    }

    fn open(matches: &ArgMatches, trials: u32) -> Result<Profiling> {
        let options = Options::from_arg_matches(matches).map_err(|error| Error::usage(error.to_string()))?;
        let variable = || std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let folder = options.trace_dir.or_else(variable).ok_or_else(|| {
            Error::usage(format!(
                "a profiling run needs a folder for its traces; give --trace-dir DIR or set {FOLDER_VARIABLE}"
            ))
        })?;
        if trials > 1 {
            return Err(Error::usage(format!(
                "--trials {trials}: a trace folder holds one trial; run once for each, with a folder of its own"
            )));
        }
        prepare(&folder)?;
        if !nvtx::is_there() {
            people::say(&format!("note     no NVTX ranges: {}; the traces lack nothing", nvtx::ABSENT));
        }
        Ok(Profiling { folder })
    }

    fn probe(&self, _: Rank) -> Recorder {
        Recorder::default()
    }

    fn keep(&self, run: &Metadata, ranks: &[RankReport<Recorder>]) -> Result<()> {
        for (rank, report) in ranks.iter().enumerate() {
            files::write(&self.folder, run, rank as u32, report.timing.is_multi, &report.probe)?;
        }
        people::say(&format!("traces   {} (4 files a rank; times include the recording)", self.folder.display()));
        Ok(())
    }
}

/// Makes the folder if it is not there. Traces of two runs in one folder could be taken for one, so it must be empty.
fn prepare(folder: &Path) -> Result<()> {
    let failed = |source| Error::Write { path: folder.into(), source };
    if folder.exists() && !folder.is_dir() {
        return Err(Error::usage(format!(
            "{}: is no folder; name a new or empty one for the traces",
            folder.display()
        )));
    }
    fs::create_dir_all(folder).map_err(failed)?;
    if let Some(first) = fs::read_dir(folder).map_err(failed)?.next() {
        return Err(Error::usage(format!(
            "{}: a trace folder must be new or empty, and this one holds `{}`; name another one",
            folder.display(),
            first.map_err(failed)?.file_name().display()
        )));
    }
    whole_file::check(folder, folder)
}
