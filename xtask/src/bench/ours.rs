//! Our engine, run as its users run it: the release `harness`, read through its records.
//!
//! Algorithm time is `algorithm_total_ms`, a PageRank round `main_loop_ms / iterations`; set-up
//! (`single_gpu_setup_ms`) is shown apart. Text loading is the wall time of the whole process less `algorithm_e2e_ms`,
//! so it includes the start of the process; peers report theirs without.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::engine::{Algorithm, Engine, Job, ROUNDS, Sample, with_threads};
use crate::workspace::{Workspace, cargo};

/// The `harness` binary.
pub(crate) struct Harness {
    program: PathBuf,
}

impl Harness {
    /// Builds it.
    ///
    /// # Errors
    /// When the workspace has no such binary, or it does not build.
    pub(crate) fn build(workspace: &Workspace) -> Result<Self> {
        let Some((package, _)) = workspace.targets("bin").into_iter().find(|(_, target)| target == "harness") else {
            bail!("this workspace has no `harness` binary to measure; --without-ours runs the peers alone");
        };
        let status = cargo().args(["build", "--release", "-p", &package, "--bin", "harness"]).status()?;
        ensure!(status.success(), "`harness` does not build; its errors are above");
        Ok(Self { program: workspace.target.join("release/harness") })
    }

    fn run(&self, job: &Job<'_>, further: &[&str]) -> Result<(String, f64)> {
        let mut command = Command::new(&self.program);
        let name = if job.algorithm == Algorithm::Load { "cc" } else { job.algorithm.name() };
        command.args(["--algorithm", name, "--no-output", "--device", "cpu"]);
        command.arg("--graph").arg(job.algorithm.file(job.graph));
        command.args(["--threads", &job.threads.to_string()]).args(further);
        match job.algorithm {
            Algorithm::Bfs => _ = command.args(["--source", &job.source.to_string()]),
            Algorithm::Kcore => _ = command.arg("--all-cores"),
            _ => {}
        }
        let start = Instant::now();
        let out = with_threads(&mut command, job.threads)
            .output()
            .with_context(|| format!("{} does not start", self.program.display()))?;
        let wall_ms = start.elapsed().as_secs_f64() * 1e3;
        let records = String::from_utf8_lossy(&out.stdout).into_owned();
        // 20 rounds of PageRank do not converge, and the harness says so by exit code 1.
        let may_stop_early = job.algorithm == Algorithm::Pagerank && out.status.code() == Some(1);
        if !(out.status.success() || may_stop_early && records.contains("BENCHMARK_TIMING")) {
            bail!("{command:?} failed ({}):\n{}", out.status, String::from_utf8_lossy(&out.stderr));
        }
        Ok((records, wall_ms))
    }
}

impl Engine for Harness {
    fn name(&self) -> &str {
        "ours"
    }

    fn offers(&self, _algorithm: Algorithm, _threads: usize) -> bool {
        true
    }

    fn verify(&mut self, job: &Job<'_>) -> Result<()> {
        let (records, _) = self.run(job, &["--verify"])?;
        let is_verified = results(&records).all(|result| result["verified"] == true) && results(&records).count() > 0;
        ensure!(is_verified, "{} on {}: the answer is not verified:\n{records}", job.algorithm.name(), job.graph.name);
        Ok(())
    }

    fn measure(&mut self, job: &Job<'_>) -> Result<Vec<Sample>> {
        let (rounds, trials) = (ROUNDS.to_string(), (job.trials + 1).to_string());
        let further: &[&str] = match job.algorithm {
            Algorithm::Pagerank => &["--trials", &trials, "--max-iterations", &rounds],
            Algorithm::Load => &[],
            _ => &["--trials", &trials],
        };
        let (records, wall_ms) = self.run(job, further)?;
        let timings: Vec<Value> = tagged("BENCHMARK_TIMING", &records).collect();
        let number = |timing: &Value, key: &str| {
            timing[key].as_f64().with_context(|| format!("a BENCHMARK_TIMING record without `{key}`:\n{timing}"))
        };
        if job.algorithm == Algorithm::Load {
            let timing = timings.first().context("no BENCHMARK_TIMING record")?;
            return Ok(vec![Sample { ms: wall_ms - number(timing, "algorithm_e2e_ms")?, setup_ms: None }]);
        }
        let samples: Vec<Sample> = timings
            .iter()
            .zip(results(&records))
            .skip(1)
            .map(|(timing, result)| {
                let ms = if job.algorithm == Algorithm::Pagerank {
                    let rounds = result["iterations"].as_f64().filter(|&n| n > 0.0).context("no `iterations`")?;
                    number(timing, "main_loop_ms")? / rounds
                } else {
                    number(timing, "algorithm_total_ms")?
                };
                Ok(Sample { ms, setup_ms: Some(number(timing, "single_gpu_setup_ms")?) })
            })
            .collect::<Result<_>>()?;
        ensure!(!samples.is_empty(), "no BENCHMARK_TIMING records in\n{records}");
        Ok(samples)
    }
}

fn results(records: &str) -> impl Iterator<Item = Value> {
    tagged("BENCHMARK_RESULT", records)
}

/// The documents of one tag, in order.
fn tagged<'a>(tag: &'a str, records: &'a str) -> impl Iterator<Item = Value> + 'a {
    let bodies = records.lines().filter_map(move |line| line.strip_prefix(tag)?.strip_prefix(' '));
    bodies.filter_map(|body| serde_json::from_str(body).ok())
}
