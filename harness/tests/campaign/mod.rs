//! A run folder of its own, measured by a small script that misbehaves on request.
#![allow(dead_code)] // each test file uses a part

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const COMMIT: &str = "0000000000000000000000000000000000000000";

/// A folder with a plan, measured programs and a run.
pub(crate) struct Campaign {
    folder: tempfile::TempDir,
    pub(crate) run: PathBuf,
    profile: &'static str,
}

impl Campaign {
    /// Of 2 items, 2 methods, so many repeats.
    pub(crate) fn new(profile: &'static str, repeats: u32) -> Campaign {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("bin")).expect("made");
        for name in ["harness_performance", "harness_profiling"] {
            let path = folder.path().join("bin").join(name);
            fs::write(&path, include_str!("../measured/program.sh")).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
        }
        fs::write(folder.path().join("tiny.txt"), "1 2\n2 3\n3 1\n3 4\n").expect("written");
        let campaign = Campaign { run: folder.path().join("run"), folder, profile };
        campaign.plan(&format!("repeats = {repeats}\nwarmups = 1\ntimeout_s = 20"));
        campaign.built(COMMIT, false, "release");
        campaign
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the plan with this head.
    pub(crate) fn plan(&self, head: &str) {
        let plan = format!(
            "name = \"tiny\"\nprofile = \"{}\"\n{head}\n\
             [[dataset]]\nfile = \"tiny.txt\"\n\
             [[algorithm]]\nname = \"cc\"\n[[algorithm]]\nname = \"kcore\"\nargs = {{ k = 5 }}\n\
             [[method]]\nname = \"single_cpu_baseline\"\n[[method]]\nname = \"multi_cpu_baseline\"\nranks = 2\n",
            self.profile
        );
        fs::write(self.path("plan.toml"), plan).expect("written");
    }

    /// What the measured programs say that they were built from.
    pub(crate) fn built(&self, commit: &str, is_dirty: bool, build: &str) {
        let profile = self.profile;
        fs::write(self.path("bin/says"), format!("{profile} {commit} {is_dirty} {build}\n")).expect("written");
        let facts = format!(
            "{{\"product_version\":\"0.1.0\",\"git_commit\":\"{commit}\",\"git_dirty\":{is_dirty},\"source_sha256\":\"ab\",\
             \"build_profile\":\"{build}\",\"features\":[],\"instrumentation_profile\":\"{profile}\"}}\n"
        );
        fs::write(self.path("bin/facts.json"), facts).expect("written");
    }

    /// How the measured programs misbehave.
    pub(crate) fn mode(&self, mode: &str) {
        fs::write(self.path("bin/mode"), format!("{mode}\n")).expect("written");
    }

    pub(crate) fn well(&self) {
        let _ = fs::remove_file(self.path("bin/mode"));
    }

    pub(crate) fn runner(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
        command.args(["experiment", "run"]).arg(self.path("plan.toml")).arg("--output").arg(&self.run);
        command.arg("--bin-dir").arg(self.path("bin")).args(options).env("COLUMNS", "100");
        command
    }

    /// Runs the plan.
    #[track_caller]
    pub(crate) fn run(&self, options: &[&str], code: i32) -> String {
        words(self.runner(options).output().expect("started"), code)
    }

    /// Runs another subcommand of `experiment` on the run folder.
    #[track_caller]
    pub(crate) fn experiment(&self, command: &str, options: &[&str], code: i32) -> String {
        let mut started = Command::new(env!("CARGO_BIN_EXE_harness"));
        started.args(["experiment", command]).arg(&self.run).args(options);
        words(started.output().expect("started"), code)
    }

    pub(crate) fn attempts(&self) -> Vec<PathBuf> {
        let mut found: Vec<(u64, PathBuf)> = fs::read_dir(self.run.join("raw"))
            .expect("listed")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .map(|path| (read(&path)["sequence"].as_u64().expect("a number"), path))
            .collect();
        found.sort();
        found.into_iter().map(|(_, path)| path).collect()
    }

    pub(crate) fn table(&self, name: &str) -> Vec<BTreeMap<String, String>> {
        let path = self.run.join("collected").join(name);
        let mut reader = csv::Reader::from_path(path).expect("the table");
        reader.deserialize().map(|row| row.expect("a row")).collect()
    }
}

pub(crate) fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("readable")).expect("JSON")
}

/// Replaces text of a file that has it.
pub(crate) fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("readable");
    assert!(text.contains(from), "{}: no `{from}`", path.display());
    fs::write(path, text.replacen(from, to, 1)).expect("written");
}

#[track_caller]
pub(crate) fn words(output: Output, code: i32) -> String {
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{err}");
    assert!(!err.contains("panicked"), "{err}");
    err
}
