//! Peers that are programs of their own, built by the user elsewhere: GAPBS (`GAPBS_DIR`) and GBBS (`GBBS_DIR`).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::engine::{Algorithm, Engine, Job, ROUNDS, Sample, numbers_after, with_threads};

/// GAPBS: `bfs`, `cc`, `pr` of the folder. PageRank there is f32, in place, and drops what sinks hold.
pub(crate) struct Gapbs {
    pub(crate) folder: PathBuf,
}

impl Engine for Gapbs {
    fn name(&self) -> &str {
        "GAPBS"
    }

    fn offers(&self, algorithm: Algorithm, _threads: usize) -> bool {
        algorithm != Algorithm::Kcore
    }

    fn measure(&mut self, job: &Job<'_>) -> Result<Vec<Sample>> {
        let program = match job.algorithm {
            Algorithm::Bfs => "bfs",
            Algorithm::Pagerank => "pr",
            _ => "cc",
        };
        let mut command = Command::new(self.folder.join(program));
        command.arg("-f").arg(job.algorithm.file(job.graph));
        match job.algorithm {
            Algorithm::Bfs => command.arg("-r").arg(job.source.to_string()),
            Algorithm::Pagerank => command.args(["-i", &ROUNDS.to_string(), "-t", "0"]),
            Algorithm::Load => command.arg("-s"),
            _ => &mut command,
        };
        let is_load = job.algorithm == Algorithm::Load;
        let repeats = if is_load { 1 } else { job.trials + 1 };
        let out = output(with_threads(command.arg("-n").arg(repeats.to_string()), job.threads))?;
        if is_load {
            let parts = numbers_after("Read Time:", &out).chain(numbers_after("Build Time:", &out));
            let seconds: f64 = parts.sum::<Result<f64>>()?;
            return Ok(vec![Sample { ms: seconds * 1e3, setup_ms: None }]);
        }
        let rounds = if job.algorithm == Algorithm::Pagerank { ROUNDS as f64 } else { 1.0 };
        samples("Trial Time:", &out, rounds)
    }
}

/// GBBS: all core numbers by Julienne's buckets.
pub(crate) struct Gbbs {
    kcore: PathBuf,
}

impl Gbbs {
    /// Looks for the built k-core program where make, bazel or a hand leaves it.
    ///
    /// # Errors
    /// When the folder holds none.
    pub(crate) fn find(folder: &Path) -> Result<Self> {
        let places =
            ["KCore", "benchmarks/KCore/JulienneDBS17/KCore", "bazel-bin/benchmarks/KCore/JulienneDBS17/KCore_main"];
        let found = places.iter().map(|place| folder.join(place)).find(|path| path.is_file());
        let kcore =
            found.with_context(|| format!("GBBS_DIR={}: none of {} is there", folder.display(), places.join(", ")))?;
        Ok(Self { kcore })
    }
}

impl Engine for Gbbs {
    fn name(&self) -> &str {
        "GBBS"
    }

    fn offers(&self, algorithm: Algorithm, _threads: usize) -> bool {
        algorithm == Algorithm::Kcore
    }

    fn measure(&mut self, job: &Job<'_>) -> Result<Vec<Sample>> {
        let mut command = Command::new(&self.kcore);
        command.args(["-s", "-rounds", &(job.trials + 1).to_string()]).arg(&job.graph.adjacency);
        samples("Running Time:", &output(with_threads(&mut command, job.threads))?, 1.0)
    }
}

/// Seconds behind a label to milliseconds, the first repeat dropped.
fn samples(label: &str, text: &str, rounds: f64) -> Result<Vec<Sample>> {
    let seconds = numbers_after(label, text).skip(1);
    let samples: Vec<Sample> =
        seconds.map(|s| Ok(Sample { ms: s? * 1e3 / rounds, setup_ms: None })).collect::<Result<_>>()?;
    if samples.is_empty() {
        bail!("no `{label}` line in the output:\n{text}");
    }
    Ok(samples)
}

fn output(command: &mut Command) -> Result<String> {
    let shown = command.get_program().to_owned();
    let out = command.output().with_context(|| format!("{} does not start", shown.display()))?;
    if !out.status.success() {
        bail!("{command:?} failed ({}):\n{}", out.status, String::from_utf8_lossy(&out.stderr));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}
