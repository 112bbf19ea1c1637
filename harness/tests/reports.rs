//! What is made of a run: pairs, plots, equivalence, batch scripts; and runs under a stand-in for nsys.

mod campaign;

use campaign::{COMMIT, Campaign, edit, words};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn pairs_have_differences_intervals_and_the_attempts_behind_them() {
    let campaign = Campaign::new("performance", 3);
    campaign.run(&[], 0);
    let said = campaign.experiment("analyze", &[], 0);
    assert!(said.contains("multi_cpu_baseline x2 vs single_cpu_baseline") && said.contains("speed-up"), "{said}");
    assert!(said.contains("fewer than 5 repeats"), "{said}");
    let mut reader = csv::Reader::from_path(campaign.run.join("analysis/pairs.csv")).expect("the table");
    let rows: Vec<std::collections::BTreeMap<String, String>> =
        reader.deserialize().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 2 * 3 * 7, "items x repeats x fields");
    for row in &rows {
        let ms = |key: &str| row[key].parse::<f64>().expect("a number");
        assert!((ms("variant_ms") - ms("baseline_ms") - ms("difference_ms")).abs() < 1e-3, "{row:?}");
        for key in ["baseline_attempt_id", "variant_attempt_id"] {
            assert!(campaign.run.join("raw").join(format!("{}.json", row[key])).exists());
        }
    }
    let first = fs::read(campaign.run.join("analysis/summary.csv")).expect("read");
    campaign.experiment("analyze", &[], 0);
    assert_eq!(first, fs::read(campaign.run.join("analysis/summary.csv")).expect("read"), "seeded");
}

#[test]
fn answers_that_are_not_equal_make_no_pair() {
    let campaign = Campaign::new("performance", 2);
    campaign.mode("otherhash multi_cpu_baseline");
    campaign.run(&[], 0);
    assert!(campaign.experiment("analyze", &[], 1).contains("REFUSED repeat 0: the answers are not equal"));
}

#[test]
fn a_run_is_drawn_in_both_themes_with_its_numbers_and_one_page() {
    let campaign = Campaign::new("performance", 2);
    campaign.run(&[], 0);
    campaign.experiment("plot", &[], 0);
    let folder = campaign.run.join("plots");
    for name in ["stages", "speedup", "overhead"] {
        for ending in ["svg", "dark.svg", "png", "dark.png", "csv"] {
            let length = fs::metadata(folder.join(format!("{name}.{ending}"))).expect("there").len();
            assert!(length > 300, "{name}.{ending}: {length} bytes");
        }
    }
    let page = fs::read_to_string(folder.join("report.html")).expect("read");
    assert!(!page.contains("src=") && !page.contains("href="), "the page needs nothing else");
    for path in campaign.attempts() {
        assert!(page.contains(&*path.file_stem().expect("a name").to_string_lossy()), "every attempt is named");
    }
}

#[test]
fn profiling_runs_are_refused_with_the_reason_and_show_idle_vertices_beside_their_performance_run() {
    let profiling = Campaign::new("profiling", 1);
    profiling.run(&[], 0);
    for command in ["analyze", "plot"] {
        assert!(profiling.experiment(command, &[], 2).contains("recording every superstep disturbs the times"));
    }
    let performance = Campaign::new("performance", 1);
    performance.run(&[], 0);
    let other = profiling.run.to_str().expect("utf-8");
    assert!(performance.experiment("check-equivalence", &[other], 0).contains("4 configurations: answers"));
    performance.experiment("plot", &["--profiling", other], 0);
    let idle = fs::read_to_string(performance.run.join("plots/idle.csv")).expect("read");
    assert!(idle.contains("multi_cpu_baseline,2,1,8,2,75.0000"), "sums over ranks, then divides:\n{idle}");
    assert!(
        performance
            .experiment("check-equivalence", &[performance.run.to_str().expect("utf-8")], 2)
            .contains("no profiling run")
    );
}

#[test]
fn equivalence_tells_a_difference_from_runs_that_cannot_be_compared() {
    let performance = Campaign::new("performance", 1);
    performance.run(&[], 0);
    let check = |prepare: &dyn Fn(&Campaign), code: i32, reason: &str| {
        let profiling = Campaign::new("profiling", 1);
        prepare(&profiling);
        profiling.runner(&["--allow-debug"]).output().expect("started");
        let said = performance.experiment("check-equivalence", &[profiling.run.to_str().expect("utf-8")], code);
        assert!(said.contains(reason), "`{reason}` is not in {said}");
    };
    check(&|profiling| profiling.mode("otherhash multi_cpu_baseline"), 1, "result_hash is");
    check(
        &|profiling| profiling.built("1111111111111111111111111111111111111111", false, "release"),
        2,
        "git_commit is",
    );
    check(&|profiling| profiling.built(COMMIT, true, "release"), 2, "git_dirty is");
    check(&|profiling| profiling.built(COMMIT, false, "debug"), 2, "build_profile is");
    check(&|profiling| edit(&profiling.path("plan.toml"), "k = 5", "k = 4"), 2, "different algorithms or methods");
    check(&|profiling| profiling.mode("crash multi_cpu_baseline"), 2, "no sound measurement in both");
}

#[test]
fn the_programs_of_this_build_go_all_the_way_from_a_plan_to_a_report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let harness = |arguments: &[&str], code: i32| {
        let started = Command::new(env!("CARGO_BIN_EXE_harness")).args(arguments).current_dir(folder.path()).output();
        words(started.expect("started"), code)
    };
    let sample = include_str!("../../docs/experiments.md");
    let (_, plan) = sample.split_once("```toml\n").expect("a plan");
    let (plan, _) = plan.split_once("```").expect("its end");
    let plan = plan.replace("repeats = 5", "repeats = 1").replace("graphs/wiki-Vote.txt", "wiki-Vote.txt");
    let plan = plan + "\n[[method]]\nname = \"multi_cpu_fault_tolerant\"\nranks = 2\nthreads = 1\n";
    fs::write(folder.path().join("wiki-Vote.txt"), "1 2\n2 3\n3 1\n3 4\n").expect("written");
    for (profile, run) in [("performance", "perf"), ("profiling", "prof")] {
        fs::write(folder.path().join(format!("{run}.toml")), plan.replace("performance", profile)).expect("written");
        harness(&["experiment", "run", &format!("{run}.toml"), "--output", run, "--allow-debug"], 0);
        let said = harness(&["experiment", "collect", run], 0);
        assert!(said.contains("24 of 24 planned calls measured"), "{said}");
    }
    harness(&["experiment", "check-equivalence", "perf", "prof"], 0);
    harness(&["experiment", "analyze", "perf"], 0);
    harness(&["experiment", "plot", "perf", "--profiling", "prof"], 0);
    assert!(fs::read_to_string(folder.path().join("perf/plots/idle.csv")).expect("read").lines().count() > 50);
    // Of the protected method only: each algorithm on each graph waited for its verdicts.
    let mut latency = csv::Reader::from_path(folder.path().join("perf/plots/latency.csv")).expect("read");
    let rows: Vec<std::collections::BTreeMap<String, String>> =
        latency.deserialize().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 8);
    for row in &rows {
        let number = |key: &str| row[key].parse::<f64>().expect("a number");
        assert_eq!(row["method"], "multi_cpu_fault_tolerant");
        assert!(number("verdicts") >= 2.0 && number("median_ms") > 0.0, "{row:?}");
        assert!(number("median_ms") <= number("p95_ms") && number("p95_ms") <= number("worst_ms"), "{row:?}");
        assert!(number("validation_mean_ms") <= number("worst_ms"), "the checker's work is inside: {row:?}");
    }
    let page = fs::read_to_string(folder.path().join("perf/plots/report.html")).expect("read");
    assert!(page.contains("Detection latency"));
    if let Some(keep) = std::env::var_os("GRAPHALG_KEEP_PLOT") {
        fs::copy(folder.path().join("perf/plots/latency.png"), keep).expect("copied");
    }
}

#[test]
fn batch_scripts_call_the_same_commands() {
    let campaign = Campaign::new("performance", 1);
    let scripts = campaign.path("jobs of mine");
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["experiment", "slurm"])
        .arg(campaign.path("plan.toml"))
        .arg("--output")
        .arg(&campaign.run)
        .arg("--scripts")
        .arg(&scripts)
        .arg("--bin-dir")
        .arg(campaign.path("bin"))
        .args(["--partition", "batch"])
        .output()
        .expect("started");
    words(output, 0);
    let text = fs::read_to_string(scripts.join("tiny.run.sbatch")).expect("read");
    for line in
        ["#SBATCH --partition=batch", "#SBATCH --exclusive", "#SBATCH --cpus-per-task=2", "#SBATCH --time=0:04:00"]
    {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    for script in ["tiny.run.sbatch", "tiny.report.sbatch"] {
        let output = Command::new("bash").arg(scripts.join(script)).output().expect("started");
        words(output, 0);
    }
    assert!(campaign.run.join("plots/report.html").exists());
    // The submit script with a stand-in for sbatch.
    let stand_in = campaign.path("sbatch");
    program(&stand_in, "#!/bin/sh\necho \"$@\" >> \"$0.log\"\necho '42;cluster'\n");
    let path = format!("{}:{}", campaign.path("").display(), std::env::var("PATH").expect("a PATH"));
    words(Command::new("bash").arg(scripts.join("tiny.submit.sh")).env("PATH", path).output().expect("started"), 0);
    let asked = fs::read_to_string(campaign.path("sbatch.log")).expect("read");
    assert_eq!(asked, "--parsable tiny.run.sbatch\n--dependency=afterany:42 tiny.report.sbatch\n");
}

fn program(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
}

const NSYS: &str = r#"#!/bin/sh
# A stand-in: says what it can trace, and runs the program.
if [ "$1" = --version ]; then echo "NVIDIA Nsight Systems version 2099.1"; exit; fi
if [ "$2" = --help ]; then echo "--trace= Possible values are 'cuda', 'nvtx', 'osrt', 'mpi', 'none'. --mpi-impl="; exit; fi
shift
while [ $# -gt 0 ]; do
    case $1 in
    --output=*) touch "${1#--output=}.nsys-rep" ;;
    --*) echo "option $1" ;;
    *) break ;;
    esac
    shift
done
exec "$@"
"#;

/// Runs `harness nsys` with a PATH that has the stand-in, or nothing.
#[track_caller]
fn nsys(campaign: &Campaign, has_nsys: bool, options: &[&str], code: i32) -> (String, String) {
    let folder = campaign.path("tools");
    fs::create_dir_all(&folder).expect("made");
    if has_nsys {
        program(&folder.join("nsys"), NSYS);
    }
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .arg("nsys")
        .args(["--algorithm", "kcore", "--dataset", "cit-HepPh"])
        .arg("--bin-dir")
        .arg(campaign.path("bin"))
        .arg("--output")
        .arg(campaign.path("out/base"))
        .args(options)
        .env(
            "PATH",
            if has_nsys { format!("{}:/usr/bin:/bin", folder.display()) } else { folder.display().to_string() },
        )
        .env_remove("CUDA_VISIBLE_DEVICES")
        .output()
        .expect("started");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    (out, words(output, code))
}

#[test]
fn a_run_under_nsys_is_refused_dry_or_run_with_the_whole_command() {
    let campaign = Campaign::new("profiling", 1);
    let multi = ["--method", "multi_cpu_baseline", "--ranks", "2"];
    let with = |more: &[&'static str]| [&multi[..], more].concat();
    let said = |(_, err): (String, String)| err;
    assert!(said(nsys(&campaign, false, &with(&["--", "-k", "5"]), 3)).contains("put nsys on PATH"));
    assert!(
        said(nsys(&campaign, true, &["--method", "single_cpu_baseline", "--ranks", "2"], 2))
            .contains("single methods need --ranks 1")
    );
    assert!(
        said(nsys(&campaign, true, &["--method", "multi_gpu_baseline", "--ranks", "2", "--", "-k", "5"], 3))
            .contains("2 ranks need 2 GPUs")
    );
    assert!(
        said(nsys(&campaign, true, &with(&["--gpus", "0,1", "--", "-k", "5"]), 2)).contains("--gpus has no effect")
    );
    assert!(said(nsys(&campaign, true, &with(&["--", "-k", "0"]), 2)).contains("invalid value '0'"));
    let nccl = with(&["--trace-communication", "--nccl-trace", "api,group,gpu", "--", "-k", "5"]);
    assert!(said(nsys(&campaign, true, &nccl, 3)).contains("cannot trace `nccl`"));
    let (line, _) = nsys(
        &campaign,
        true,
        &with(&["--dry-run", "--trace-communication", "--mpi-impl", "openmpi", "--", "-k", "5"]),
        0,
    );
    for part in [
        "CUDA_MODULE_LOADING=EAGER",
        "base.trace nsys profile --trace=cuda,nvtx,osrt,mpi --sample=none --cpuctxsw=process-tree --mpi-impl=openmpi",
        "harness_profiling --algorithm kcore --method multi_cpu_baseline --ranks 2 --dataset cit-HepPh --progress off -k 5",
    ] {
        assert!(line.contains(part), "`{part}` is not in {line}");
    }
    assert!(!campaign.path("out").exists(), "a dry run writes nothing");

    let options = with(&["--", "-k", "5"]);
    assert!(said(nsys(&campaign, true, &options, 0)).contains("never evidence of speed"));
    let command = fs::read_to_string(campaign.path("out/base.command.txt")).expect("read");
    assert!(command.starts_with("# NVIDIA Nsight Systems version 2099.1\n# no GPU: a cpu method\n"), "{command}");
    assert!(fs::read_to_string(campaign.path("out/base.log")).expect("read").contains("BENCHMARK_RESULT"));
    assert_eq!(fs::read_dir(campaign.path("out/base.trace")).expect("listed").count(), 8);
    // A trace folder is never reused, the rest only by force.
    let forced = with(&["--force", "--", "-k", "5"]);
    assert!(said(nsys(&campaign, true, &forced, 2)).contains("a trace folder is never reused"));
    fs::remove_dir_all(campaign.path("out/base.trace")).expect("removed");
    assert!(said(nsys(&campaign, true, &options, 2)).contains("give --force"));
    nsys(&campaign, true, &forced, 0);
    fs::remove_dir_all(campaign.path("out/base.trace")).expect("removed");
    campaign.mode("exit1 multi_cpu_baseline");
    assert!(said(nsys(&campaign, true, &forced, 1)).contains("the program under it failed"));
}
