//! Batch scripts that call the same commands on a cluster.

use super::plan::Plan;
use crate::durable;
use crate::measured::{Profile, shell_word};
use crate::people::say;
use clap::{Args, ValueHint};
use framework::algorithm::Registry;
use framework::base::error::{Error, Result};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `experiment slurm`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Slurm {
    /// The plan file
    #[arg(value_name = "PLAN.toml", value_hint = ValueHint::FilePath)]
    plan: PathBuf,
    /// The run folder [default: runs/NAME, where NAME is the name in the plan]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,
    /// Write the scripts to this folder
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    scripts: PathBuf,
    /// The folder of harness_performance and harness_profiling [default: the folder of this program]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    bin_dir: Option<PathBuf>,
    /// The partition to submit to
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// The account to charge
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// The time limit, as sbatch reads it [default: the sum of the plan's timeouts]
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Cores to ask for [default: as many as the largest method of the plan uses]
    #[arg(long, value_name = "N")]
    cpus: Option<u32>,
    /// GPUs to ask for
    #[arg(long, value_name = "N")]
    gpus: Option<u32>,
}

impl Slurm {
    /// Writes `NAME.run.sbatch`, `NAME.report.sbatch` and `NAME.submit.sh`.
    ///
    /// # Errors
    /// When the plan cannot run, or the disk refuses.
    pub(crate) fn run(&self, registry: &Registry) -> Result<ExitCode> {
        let checked = Plan::read(&self.plan, registry)?;
        let plan = &checked.plan;
        let name: String =
            plan.name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
        let threads = |place: usize| checked.method_ranks[place] * plan.methods[place].threads.unwrap_or(1);
        let cpus = self.cpus.unwrap_or_else(|| (0..plan.methods.len()).map(threads).max().unwrap_or(1));
        let calls =
            plan.datasets.len() * plan.algorithms.len() * plan.methods.len() * (plan.repeats + plan.warmups) as usize;
        let minutes = (calls as f64 * plan.timeout_s / 60.0).ceil().max(1.0) as u64 + 1;
        let time = self.time.clone().unwrap_or_else(|| format!("{}:{:02}:00", minutes / 60, minutes % 60));
        let here =
            std::env::current_dir().map_err(|error| Error::Environment(format!("no current folder: {error}")))?;
        let output = here.join(self.output.clone().unwrap_or_else(|| Path::new("runs").join(&name)));
        let program = std::env::current_exe().map_err(|error| Error::Environment(format!("which program? {error}")))?;
        let plan_path =
            fs::canonicalize(&self.plan).map_err(|source| Error::Read { path: self.plan.clone(), source })?;
        let harness = format!("{} experiment", quoted(&program)?);
        let mut head =
            format!("#!/bin/bash\n#SBATCH --job-name=graphalg-{name}\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n");
        for (option, value) in [("partition", &self.partition), ("account", &self.account)] {
            if let Some(value) = value {
                if value.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
                    return Err(Error::usage(format!("--{option} `{value}` has a blank in it")));
                }
                let _ = writeln!(head, "#SBATCH --{option}={value}");
            }
        }
        let mut run = head.clone();
        // Nobody else on the node: a neighbour would be in the times.
        let _ = writeln!(run, "#SBATCH --exclusive\n#SBATCH --cpus-per-task={cpus}\n#SBATCH --time={time}");
        if let Some(gpus) = self.gpus {
            let _ = writeln!(run, "#SBATCH --gres=gpu:{gpus}");
        }
        let bin_dir = match &self.bin_dir {
            Some(folder) => format!(" --bin-dir {}", quoted(&here.join(folder))?),
            None => String::new(),
        };
        // Started again after a time limit or a requeue, it goes on where it was.
        let _ = writeln!(
            run,
            "#SBATCH --requeue\n\nexec {harness} run {} --output {} --resume --retry-failed{bin_dir}",
            quoted(&plan_path)?,
            quoted(&output)?
        );
        let mut report = head;
        let _ = writeln!(report, "#SBATCH --time=0:30:00\n\nset -e\n{harness} collect {}", quoted(&output)?);
        if plan.profile == Profile::Performance {
            let _ = writeln!(report, "{harness} analyze {0}\n{harness} plot {0}", quoted(&output)?);
        }
        let submit = format!(
            "#!/bin/bash\nset -e\ncd \"$(dirname \"$0\")\"\njob=$(sbatch --parsable {name}.run.sbatch)\n\
             sbatch --dependency=afterany:\"${{job%%;*}}\" {name}.report.sbatch\n"
        );
        durable::folder(&self.scripts)?;
        for (ending, text) in [("run.sbatch", run), ("report.sbatch", report), ("submit.sh", submit)] {
            let path = self.scripts.join(format!("{name}.{ending}"));
            durable::replace(&path, text.as_bytes())?;
            say(&format!("wrote    {}", path.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| Error::usage(format!("{}: no UTF-8 path", path.display())))?;
    Ok(shell_word(text))
}
