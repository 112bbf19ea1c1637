//! Runs that are killed at random moments and resumed, on other numbers of ranks and, where there is a (simulated) cuda device that
//! guards runs, on that one too, until they end: always with an answer equal to that of a run that nobody killed. The campaign kills more
//! often, until every kind of moment was hit: `cargo xtask campaign kills`.

mod program;

use framework::base::checksum::split_mix;
use program::{command, harness, new_folder};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Kills of each algorithm in the short form.
const KILLS: u64 = 3;
/// Names the number of the long one.
const VARIABLE: &str = "GRAPHALG_KILLS";
/// Names one algorithm of the list, where not all are wanted.
const ONLY: &str = "GRAPHALG_KILLS_OF";
/// For kinds of moments that were never hit, at most so many times the kills are drawn.
const PATIENCE: u64 = 20;
/// A run that was killed so often without an end is a hang.
const KILLS_IN_A_ROW: u64 = 1000;

const ALGORITHMS: [(&str, &[&str]); 5] = [
    ("bfs", &["--algorithm", "bfs"]),
    ("cc", &["--algorithm", "cc"]),
    ("kcore", &["--algorithm", "kcore", "-k", "5"]),
    ("all cores", &["--algorithm", "kcore", "--all-cores"]),
    ("pagerank", &["--algorithm", "pagerank"]),
];

/// When kills hit.
#[derive(Default, Debug)]
struct Hits {
    before_the_first: u64,
    between: u64,
    during_a_write: u64,
    after_the_end: u64,
}

fn result(out: &[u8]) -> Option<Value> {
    let line = String::from_utf8_lossy(out);
    let line = line.lines().find_map(|line| line.strip_prefix("BENCHMARK_RESULT "))?.to_owned();
    serde_json::from_str(&line).ok()
}

fn start(arguments: &[&str]) -> Child {
    command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("harness starts")
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect()
}

impl Hits {
    fn is_each_kind_hit(&self) -> bool {
        [self.before_the_first, self.between, self.during_a_write, self.after_the_end].iter().all(|&hits| hits > 0)
    }
}

/// The same answer: its hash, or for ranks of pagerank on another device their sums, within the bound of timing schema v9.
fn is_equal(found: &Value, clean: &Value) -> bool {
    let sums =
        |result: &Value| -> Option<Vec<f64>> { result["check_sums"].as_array()?.iter().map(Value::as_f64).collect() };
    if found["result_hash"] == clean["result_hash"] {
        return true;
    }
    // Two times tolerance * d / (1 - d) at the defaults.
    let bound = 2.0 * 1e-10 * 0.85 / 0.15;
    let (Some(found), Some(clean)) = (sums(found), sums(clean)) else { return false };
    found.len() == clean.len() && found.iter().zip(&clean).all(|(a, b)| (a - b).abs() <= bound)
}

/// What a run on the simulated device needs, if the program guards runs there.
fn other_device(cache: &Path) -> Option<Vec<(&'static str, std::ffi::OsString)>> {
    let not_run = |needs: &str| {
        let line = format!("\nnot run: kills resumed on the other device: needs {needs}\n");
        std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    };
    let Some(folder) = kernels_host::folder() else {
        not_run(kernels_host::NEEDS);
        return None;
    };
    let mut path = folder.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("LD_LIBRARY_PATH").filter(|rest| !rest.is_empty()) {
        path.push(":");
        path.push(rest);
    }
    let variables =
        vec![("LD_LIBRARY_PATH", path), ("GRAPHALG_CACHE_DIR", cache.into()), ("GRAPHALG_SIM_DEVICES", "4".into())];
    let help = harness(&["resume", "--help"]);
    let probe = command(&["--algorithm", "bfs", "--fault-tolerance", "on", "--device", "cuda"])
        .envs(variables.clone())
        .output();
    if !String::from_utf8_lossy(&help.stdout).contains("--device") || !probe.expect("harness starts").status.success() {
        not_run("a cuda device that guards runs");
        return None;
    }
    Some(variables)
}

/// How long a run takes alone, until its first checkpoint and in all.
fn alone(line: &str, folder: &Path) -> (Duration, Duration, Option<Value>) {
    let begin = Instant::now();
    let mut child = start(&line.split('\u{1f}').collect::<Vec<_>>());
    let mut first = None;
    while child.try_wait().expect("a child").is_none() {
        if first.is_none() && names(folder).iter().any(|name| name.ends_with(".ckpt")) {
            first = Some(begin.elapsed());
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    let wall = begin.elapsed();
    (first.unwrap_or(wall), wall, result(&child.wait_with_output().expect("a child").stdout))
}

/// Kills the child after this long; its result, if it was faster.
fn kill(mut child: Child, after: Duration, folder: &Path, hits: &mut Hits) -> Option<(Option<i32>, Vec<u8>, Vec<u8>)> {
    std::thread::sleep(after);
    if child.try_wait().expect("a child").is_none() {
        child.kill().expect("SIGKILL");
    }
    let output = child.wait_with_output().expect("a child");
    if output.status.code().is_some() {
        hits.after_the_end += 1;
        return Some((output.status.code(), output.stdout, output.stderr));
    }
    let names = names(folder);
    let is_written = names.iter().any(|name| name.ends_with(".ckpt"));
    let is_unfinished = names.iter().any(|name| name.starts_with(".unfinished-"));
    match (is_written, is_unfinished) {
        (_, true) => hits.during_a_write += 1,
        (false, false) => hits.before_the_first += 1,
        (true, false) => hits.between += 1,
    }
    None
}

#[test]
fn a_killed_run_goes_on_and_gives_the_answer_of_one_that_was_not() {
    let long: Option<u64> = std::env::var(VARIABLE).ok().map(|kills| kills.parse().expect("a number of kills"));
    let kills = long.unwrap_or(KILLS);
    let only = std::env::var(ONLY).ok();
    assert!(only.as_ref().is_none_or(|only| ALGORITHMS.iter().any(|(name, _)| name == only)), "{ONLY}: {only:?}");
    let cache = tempfile::tempdir().expect("a folder");
    let other = other_device(cache.path());
    let seed = 7;
    for (name, options) in ALGORITHMS.into_iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
        let options = [options, &["--threads", "1", "--checkpoint-interval", "1", "--device", "cpu"]].concat();
        let protected = ["--fault-tolerance", "on", "--checkpoint-dir"];
        let whole = |ranks: &str, folder: &Path| {
            let folder = folder.to_str().expect("utf-8");
            [options.as_slice(), &["--ranks", ranks], &protected, &[folder]].concat().join("\u{1f}")
        };
        let folder = new_folder();
        let (first, wall, clean) = alone(&whole("2", &folder), &folder);
        let clean = clean.expect("a clean run");
        std::fs::remove_dir_all(&folder).expect("removed");
        let (mut hits, mut done, mut runs, mut resumed) = (Hits::default(), 0, 0, [0u64; 5]);
        // Beyond the kills that were asked for, only kinds of moments that were never hit are waited for.
        let is_over = |hits: &Hits, done: u64| {
            done >= kills && (long.is_none() || hits.is_each_kind_hit() || done >= PATIENCE * kills)
        };
        while !is_over(&hits, done) {
            let folder = new_folder();
            let line = whole("2", &folder);
            let mut child = start(&line.split('\u{1f}').collect::<Vec<_>>());
            runs += 1;
            let mut ended = None;
            for attempt in 0..KILLS_IN_A_ROW {
                let draw = split_mix(seed << 32 | runs << 16 | attempt);
                let is_early = done >= kills && hits.before_the_first == 0 && attempt == 0;
                done += 1;
                // Kills of a run come ever later, so that it ends.
                let most = if is_early { first } else { wall.mul_f64(1.1 + attempt as f64 / 20.0) };
                let after = most.mul_f64((draw % 10_000) as f64 / 1e4);
                ended = kill(child, after, &folder, &mut hits);
                if ended.is_some() {
                    break;
                }
                child = if folder.join("run.json").is_file() {
                    let ranks = 1 + (draw >> 32) % 4;
                    let text = ranks.to_string();
                    let line = ["resume", folder.to_str().expect("utf-8"), "--ranks", &text, "--threads", "1"];
                    match other.as_ref().filter(|_| (draw >> 40).is_multiple_of(2)) {
                        Some(variables) => {
                            resumed[4] += 1;
                            let mut command = command(&[&line[..], &["--device", "cuda"]].concat());
                            command.envs(variables.clone()).stdout(Stdio::piped()).stderr(Stdio::piped());
                            command.spawn().expect("harness starts")
                        }
                        None => {
                            resumed[ranks as usize - 1] += 1;
                            start(&line)
                        }
                    }
                } else {
                    // Killed before it wrote what it is: it starts anew.
                    let _ = std::fs::remove_dir_all(&folder);
                    start(&whole("2", &folder).split('\u{1f}').collect::<Vec<_>>())
                };
            }
            let (code, out, err) = ended.expect("it ends");
            let err = String::from_utf8_lossy(&err);
            assert_eq!(code, Some(0), "{name}, run {runs}: {err}");
            let found = result(&out).expect("a result");
            assert!(is_equal(&found, &clean), "{name}, run {runs}: {found} is not {clean}: {err}");
            std::fs::remove_dir_all(&folder).expect("removed");
        }
        if long.is_some() {
            assert!(hits.is_each_kind_hit(), "{name}: {hits:?} in {done} kills");
        }
        let Hits { before_the_first, between, during_a_write, after_the_end } = hits;
        let [one, two, three, four, cuda] = resumed;
        let line = format!(
            "\n| algorithm | runs | kills | a run alone, ms | before the first checkpoint | between two | during a write | after the end | \
             resumed on 1, 2, 3, 4 ranks; cuda |\n\
             | {name} | {runs} | {} | {:.0} | {before_the_first} | {between} | {during_a_write} | {after_the_end} | \
             {one}, {two}, {three}, {four}; {cuda} |\nall answers equal\n",
            done - after_the_end,
            wall.as_secs_f64() * 1e3,
        );
        std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    }
}
