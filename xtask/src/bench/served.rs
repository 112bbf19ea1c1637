//! Peers whose graph takes long to load: one process a graph and thread count, asked over a pipe, so that measurements
//! still alternate. The Rust `graph` crate (`xtask/peers/graph-crate`) and, through `xtask/peers/served.py`, NetworKit
//! and igraph when the Python on PATH can import them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::engine::{Algorithm, Engine, Job, Sample, with_threads};
use crate::workspace::{Workspace, cargo, program};

/// A peer behind a pipe.
pub(crate) struct Served {
    name: &'static str,
    algorithms: &'static [Algorithm],
    is_serial: bool,
    command: Vec<PathBuf>,
    takes_threads: bool,
    running: Option<Process>,
}

struct Process {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    file: PathBuf,
    threads: usize,
}

impl Served {
    /// Builds the program around the `graph` crate, in a target folder of its own.
    ///
    /// # Errors
    /// When it does not build (a first build fetches the crate).
    pub(crate) fn graph_crate(workspace: &Workspace) -> Result<Self> {
        let manifest = workspace.root.join("xtask/peers/graph-crate/Cargo.toml");
        let target = workspace.target.join("peers");
        let mut build = cargo();
        build.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]).arg(&manifest);
        ensure!(build.arg("--target-dir").arg(&target).status()?.success(), "the `graph` crate's peer does not build");
        Ok(Self {
            name: "graph crate",
            algorithms: &[Algorithm::Pagerank, Algorithm::Cc],
            is_serial: false,
            command: vec![target.join("release/graph-crate-peer")],
            takes_threads: false,
            running: None,
        })
    }

    /// NetworKit, when Python can import it.
    pub(crate) fn networkit(workspace: &Workspace) -> Option<Self> {
        const OFFERS: &[Algorithm] = &[Algorithm::Bfs, Algorithm::Pagerank, Algorithm::Cc, Algorithm::Kcore];
        Self::python(workspace, "NetworKit", "networkit", OFFERS, false)
    }

    /// igraph, when Python can import it; serial, and its PageRank has no rounds.
    pub(crate) fn igraph(workspace: &Workspace) -> Option<Self> {
        Self::python(workspace, "igraph", "igraph", &[Algorithm::Bfs, Algorithm::Cc, Algorithm::Kcore], true)
    }

    fn python(
        workspace: &Workspace,
        name: &'static str,
        module: &str,
        algorithms: &'static [Algorithm],
        is_serial: bool,
    ) -> Option<Self> {
        let python = program("python3")?;
        let mut import = Command::new(&python);
        import.args(["-c", &format!("import numpy, {module}")]).stderr(Stdio::null());
        if !import.status().is_ok_and(|status| status.success()) {
            return None;
        }
        let command = vec![python, workspace.root.join("xtask/peers/served.py"), module.into()];
        Some(Self { name, algorithms, is_serial, command, takes_threads: true, running: None })
    }

    /// The process that has this file loaded; another one is ended first.
    fn load(&mut self, file: &Path, threads: usize) -> Result<&mut Process> {
        if self.running.as_ref().is_some_and(|p| p.file != file || p.threads != threads) {
            self.running = None;
        }
        if self.running.is_none() {
            let (program, arguments) = self.command.split_first().context("a peer without a command")?;
            let mut command = Command::new(program);
            command.args(arguments).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
            if self.takes_threads {
                command.arg(threads.to_string());
            }
            // It waits between requests while others are measured: its threads must sleep, not spin.
            let mut child = with_threads(&mut command, threads).env("OMP_WAIT_POLICY", "passive").spawn()?;
            let requests = child.stdin.take().context("stdin was asked for")?;
            let answers = BufReader::new(child.stdout.take().context("stdout was asked for")?);
            let mut process = Process { child, requests, answers, file: file.into(), threads };
            let ready = process.answer()?;
            ensure!(ready.starts_with("ready"), "{}: expected `ready`, got `{ready}`", self.name);
            self.running = Some(process);
        }
        self.running.as_mut().context("a process was just started")
    }
}

impl Process {
    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A peer that is already gone is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Engine for Served {
    fn name(&self) -> &str {
        self.name
    }

    fn offers(&self, algorithm: Algorithm, threads: usize) -> bool {
        self.algorithms.contains(&algorithm) && (threads == 1 || !self.is_serial)
    }

    fn prepare(&mut self, job: &Job<'_>) -> Result<()> {
        self.load(job.algorithm.file(job.graph), job.threads).map(|_| ())
    }

    fn measure(&mut self, job: &Job<'_>) -> Result<Vec<Sample>> {
        let name = self.name;
        let process = self.load(job.algorithm.file(job.graph), job.threads)?;
        writeln!(process.requests, "{} {} {}", job.algorithm.name(), job.source, job.trials + 1)?;
        let answer = process.answer()?;
        let Some(times) = answer.strip_prefix("ms ") else { bail!("{name} answered `{answer}`") };
        let sample = |word: &str| Ok(Sample { ms: word.parse()?, setup_ms: None });
        times.split_whitespace().skip(1).map(sample).collect()
    }

    fn process(&self) -> Option<u32> {
        self.running.as_ref().map(|process| process.child.id())
    }
}
