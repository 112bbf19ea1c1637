//! Runs that are killed at random moments and resumed, on other numbers of ranks too, until they end: always with the answer of a
//! run that nobody killed. The campaign kills more often: `cargo xtask campaign kills`.

mod program;

use framework::answer::split_mix;
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
    let kills = std::env::var(VARIABLE).ok().map_or(KILLS, |kills| kills.parse().expect("a number of kills"));
    let seed = 7;
    for (name, options) in ALGORITHMS {
        let options = [options, &["--threads", "1", "--checkpoint-interval", "1"]].concat();
        let protected = ["--fault-tolerance", "on", "--checkpoint-dir"];
        let whole = |ranks: &str, folder: &Path| {
            let folder = folder.to_str().expect("utf-8");
            [options.as_slice(), &["--ranks", ranks], &protected, &[folder]].concat().join("\u{1f}")
        };
        let begin = Instant::now();
        let clean = harness(&whole("2", &new_folder()).split('\u{1f}').collect::<Vec<_>>());
        let wall = begin.elapsed();
        let clean = result(&clean.stdout).expect("a clean run");
        let (mut hits, mut done, mut runs) = (Hits::default(), 0, 0);
        while done < kills {
            let folder = new_folder();
            let line = whole("2", &folder);
            let mut child = start(&line.split('\u{1f}').collect::<Vec<_>>());
            runs += 1;
            let mut ended = None;
            for attempt in 0..KILLS_IN_A_ROW {
                let draw = split_mix(seed << 32 | runs << 16 | attempt);
                done += 1;
                // Kills of a run come ever later, so that it ends.
                let most = wall.as_secs_f64() * (1.1 + attempt as f64 / 20.0);
                let after = Duration::from_secs_f64(most * (draw % 10_000) as f64 / 1e4);
                ended = kill(child, after, &folder, &mut hits);
                if ended.is_some() {
                    break;
                }
                child = if folder.join("run.json").is_file() {
                    let ranks = (1 + (draw >> 32) % 3).to_string();
                    start(&["resume", folder.to_str().expect("utf-8"), "--ranks", &ranks, "--threads", "1"])
                } else {
                    // Killed before it wrote what it is: it starts anew.
                    let _ = std::fs::remove_dir_all(&folder);
                    start(&line.split('\u{1f}').collect::<Vec<_>>())
                };
            }
            let (code, out, err) = ended.expect("it ends");
            assert_eq!(code, Some(0), "{name}, run {runs}: {}", String::from_utf8_lossy(&err));
            let found = result(&out).expect("a result");
            assert_eq!(
                found["result_hash"],
                clean["result_hash"],
                "{name}, run {runs}: {}",
                String::from_utf8_lossy(&err)
            );
            std::fs::remove_dir_all(&folder).expect("removed");
        }
        let killed = done - hits.after_the_end;
        let line = format!(
            "\nkills {name}: {killed} kills of {runs} runs ({:.0} ms each alone): {} before the first checkpoint, {} between, {} \
             during a write; {} came after the end; all answers equal\n",
            wall.as_secs_f64() * 1e3,
            hits.before_the_first,
            hits.between,
            hits.during_a_write,
            hits.after_the_end
        );
        std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    }
}
