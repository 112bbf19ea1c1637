//! What is made of a run: pairs, plots, equivalence, batch scripts; and runs under a stand-in for nsys.

mod campaign;

use campaign::{COMMIT, Campaign, edit, words};
use std::collections::{BTreeMap, BTreeSet};
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
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 2 * 3 * (8 + 5), "items x repeats x totals with their parts");
    for row in &rows {
        let ms = |key: &str| row[key].parse::<f64>().expect("a number");
        assert!((ms("variant_ms") - ms("baseline_ms") - ms("difference_ms")).abs() < 1e-3, "{row:?}");
        for key in ["baseline_attempt_id", "variant_attempt_id"] {
            assert!(campaign.run.join("raw").join(format!("{}.json", row[key])).exists());
        }
    }
    add_up(&rows);
    assert!(rows.iter().all(|row| row["warning"].contains("fewer than 5 repeats (3)")), "in the table too");
    campaign.experiment("plot", &[], 0);
    let page = fs::read_to_string(campaign.run.join("plots/report.html")).expect("read");
    assert!(page.contains("fewer than 5 repeats (3)") && page.contains("How to read this page"));
    let first = fs::read(campaign.run.join("analysis/summary.csv")).expect("read");
    campaign.experiment("analyze", &[], 0);
    assert_eq!(first, fs::read(campaign.run.join("analysis/summary.csv")).expect("read"), "seeded");
}

/// In every repeat of every pair the parts of a total, with what they leave unexplained, add up to its increment.
#[track_caller]
fn add_up(rows: &[BTreeMap<String, String>]) {
    let mut pairs: BTreeMap<Vec<&str>, (f64, f64, usize)> = BTreeMap::new();
    for row in rows {
        let key = ["pair", "item", "baseline_label", "variant_label", "repeat", "of"].map(|key| row[key].as_str());
        let (total, parts, unexplained) = pairs.entry(key.to_vec()).or_default();
        let ms: f64 = row["difference_ms"].parse().expect("a number");
        *(if row["role"] == "total" { total } else { parts }) += ms;
        *unexplained += usize::from(row["role"] == "unexplained");
    }
    assert!(!pairs.is_empty());
    for (key, (total, parts, unexplained)) in pairs {
        // Each of at most 14 rows was rounded to four decimals.
        assert!((total - parts).abs() < 14.0 * 1e-4, "{key:?}: parts give {parts}, the total {total}");
        assert_eq!(unexplained, 1, "{key:?}");
    }
}

#[test]
fn sides_that_ran_on_different_configurations_are_not_computed_and_a_warning_says_so() {
    for (mode, what) in [
        ("otherkind", "device kind of rank 0: cpu and cuda"),
        ("othername", "device name of rank 0: M and N"),
        ("otherdriver", "driver of rank 0: none and 12.8"),
        ("otheruuid", "device UUID of rank 0: none and GPU-1"),
        ("otherhost", "host of rank 0: node and other"),
        ("otherthreads", "threads of a rank: 1 and 2"),
    ] {
        let campaign = Campaign::new("performance", 1);
        campaign.mode(&format!("{mode} multi_cpu_baseline"));
        campaign.run(&[], 0);
        let said = campaign.experiment("analyze", &[], 0);
        assert!(said.contains("warning: not computed") && said.contains(what) && !said.contains("speed-up"), "{said}");
        for name in ["pairs", "summary"] {
            let table = fs::read_to_string(campaign.run.join(format!("analysis/{name}.csv"))).expect("read");
            assert_eq!(table.lines().count(), 1 + 2, "a row for each item:\n{table}");
            assert!(table.lines().skip(1).all(|row| row.contains(what)), "{table}");
        }
        campaign.experiment("plot", &[], 0);
        let page = fs::read_to_string(campaign.run.join("plots/report.html")).expect("read");
        assert!(page.contains(what), "{mode}: the report says nothing");
        assert!(!campaign.run.join("plots/speedup.png").exists(), "a pair that was not computed is not drawn");
        if mode == "otheruuid" {
            let uuids: Vec<_> = campaign.table("observations.csv").iter().map(|row| row["uuids"].clone()).collect();
            assert_eq!(uuids, ["", "GPU-1", "", "GPU-1"]);
        }
    }
}

#[test]
fn a_second_plot_leaves_no_picture_of_an_earlier_one() {
    let performance = Campaign::new("performance", 1);
    performance.run(&[], 0);
    let profiling = Campaign::new("profiling", 1);
    profiling.run(&[], 0);
    performance.experiment("plot", &["--profiling", profiling.run.to_str().expect("utf-8")], 0);
    let folder = performance.run.join("plots");
    fs::write(folder.join("notes.txt"), "mine").expect("written");
    let names = || -> BTreeSet<String> {
        let entries = fs::read_dir(&folder).expect("listed").map(|entry| entry.expect("an entry").file_name());
        entries.map(|name| name.to_string_lossy().into_owned()).collect()
    };
    assert!(names().contains("idle.dark.png"));
    performance.experiment("plot", &[], 0);
    assert!(names().iter().all(|name| !name.starts_with("idle")), "{:?}", names());
    assert!(names().contains("notes.txt"), "what no plot wrote stays");
}

#[test]
fn every_row_and_series_of_a_plot_is_one_configuration_with_a_name_of_its_own() {
    let campaign = Campaign::new("performance", 1);
    // The methods, algorithms and data sets that are most alike.
    let plan = "name = \"alike\"\nprofile = \"performance\"\nrepeats = 1\ntimeout_s = 20\n\
        [[dataset]]\nfile = \"tiny.txt\"\n[[dataset]]\nfile = \"tiny2.txt\"\n\
        [[algorithm]]\nname = \"kcore\"\nargs = { k = 5 }\n[[algorithm]]\nname = \"kcore\"\nargs = { k = 6 }\n\
        [[method]]\nname = \"single_cpu_baseline\"\n\
        [[method]]\nname = \"single_cpu_baseline\"\nprotection = { certify = \"off\" }\n\
        [[method]]\nname = \"multi_cpu_baseline\"\nranks = 2\n[[method]]\nname = \"multi_cpu_baseline\"\nranks = 3\n\
        [[method]]\nname = \"multi_cpu_baseline\"\nranks = 2\nprotection = { t = 0.3 }\n";
    fs::write(campaign.path("plan.toml"), plan).expect("written");
    fs::write(campaign.path("tiny2.txt"), "1 2\n2 3\n3 1\n3 4\n").expect("written");
    campaign.run(&[], 0);
    campaign.experiment("analyze", &[], 0);
    campaign.experiment("plot", &[], 0);
    for name in ["stages", "speedup", "overhead"] {
        let svg = fs::read_to_string(campaign.run.join(format!("plots/{name}.svg"))).expect("read");
        let shapes = boxes(&svg);
        assert!(shapes.len() > 8, "{name}: {} bars", shapes.len());
        for (place, one) in shapes.iter().enumerate() {
            for other in &shapes[place + 1..] {
                let is_apart = one[0] + one[2] <= other[0] + 0.02
                    || other[0] + other[2] <= one[0] + 0.02
                    || one[1] + one[3] <= other[1] + 0.02
                    || other[1] + other[3] <= one[1] + 0.02;
                assert!(is_apart, "{name}: {one:?} lies on {other:?}");
            }
        }
        // Texts of one place would be drawn over each other.
        let mut places = BTreeSet::new();
        for text in svg.split("<text ").skip(1) {
            let at = text.split_once('>').expect("its end").0;
            let at = at.split_once(" x=").expect("a place").1;
            assert!(places.insert(at.to_owned()), "{name}: two texts at {at}");
        }
    }
    let labels = |name: &str, keys: &[&str]| {
        let mut reader = csv::Reader::from_path(campaign.run.join("plots").join(name)).expect("the numbers");
        let rows = reader.deserialize::<BTreeMap<String, String>>().map(|row| row.expect("a row"));
        let all: Vec<String> =
            rows.map(|row| keys.iter().map(|key| row[*key].as_str()).collect::<Vec<_>>().join("|")).collect();
        let distinct: BTreeSet<_> = all.iter().cloned().collect();
        assert_eq!(all.len(), distinct.len(), "{name}: rows are called alike: {all:#?}");
        assert!(!all.is_empty());
    };
    labels("stages.csv", &["item", "label", "stage"]);
    labels("overhead.csv", &["item", "baseline", "variant", "field"]);
    labels("speedup.csv", &["item", "baseline", "variant", "field"]);
    if let Some(keep) = std::env::var_os("GRAPHALG_KEEP_PLOT") {
        for name in ["stages", "speedup", "overhead"] {
            let to = Path::new(&keep).join(format!("alike-{name}.png"));
            fs::copy(campaign.run.join(format!("plots/{name}.png")), to).expect("copied");
        }
    }
}

/// Bars of a picture: x, y, width and height of its rectangles, the ground apart.
fn boxes(svg: &str) -> Vec<[f64; 4]> {
    let of = |tag: &str, key: &str| -> f64 {
        let (_, rest) = tag.split_once(&format!(" {key}=\"")).expect("an attribute");
        rest.split_once('"').expect("its end").0.parse().expect("a number")
    };
    let tags = svg.split("<rect ").skip(1).map(|tag| format!(" {}", tag.split_once('>').expect("its end").0));
    let bars = tags.filter(|tag| !tag.contains("class=\"ground\""));
    let mut found: Vec<[f64; 4]> = bars.map(|tag| ["x", "y", "width", "height"].map(|key| of(&tag, key))).collect();
    // Dots are bars of a kind, too.
    let dots = svg.split("<circle ").skip(1).map(|tag| format!(" {}", tag.split_once('>').expect("its end").0));
    found.extend(dots.map(|tag| {
        let (x, y, radius) = (of(&tag, "cx"), of(&tag, "cy"), of(&tag, "r"));
        // Half a dot: two values that are nearly equal may touch, but neither hides the other.
        [x - radius / 2.0, y - radius / 2.0, radius, radius]
    }));
    found
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
    assert!(
        idle.contains("multi_cpu_baseline,2,multi_cpu_baseline x2,1,8,2,75.0000"),
        "sums over ranks, then divides:\n{idle}"
    );
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
    let mut pairs = csv::Reader::from_path(folder.path().join("perf/analysis/pairs.csv")).expect("read");
    let rows: Vec<BTreeMap<String, String>> = pairs.deserialize().map(|row| row.expect("a row")).collect();
    for kind in ["scaling", "multi_protection"] {
        add_up(&rows.iter().filter(|row| row["pair"] == kind).cloned().collect::<Vec<_>>());
    }
    harness(&["experiment", "plot", "perf", "--profiling", "prof"], 0);
    assert!(fs::read_to_string(folder.path().join("perf/plots/idle.csv")).expect("read").lines().count() > 50);
    // Of the protected method only: each algorithm on each graph waited for its verdicts.
    let mut latency = csv::Reader::from_path(folder.path().join("perf/plots/latency.csv")).expect("read");
    let rows: Vec<BTreeMap<String, String>> = latency.deserialize().map(|row| row.expect("a row")).collect();
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
        for name in ["stages", "speedup", "overhead", "idle", "latency"] {
            let from = folder.path().join(format!("perf/plots/{name}.png"));
            fs::copy(from, Path::new(&keep).join(format!("{name}.png"))).expect("copied");
        }
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
    assert!(command.starts_with("# NVIDIA Nsight Systems version 2099.1\n# no GPU: a cpu method\ncd "), "{command}");
    assert!(fs::read_to_string(campaign.path("out/base.log")).expect("read").contains("BENCHMARK_RESULT"));
    assert_eq!(fs::read_dir(campaign.path("out/base.trace")).expect("listed").count(), 8);
    // A trace folder is never reused, the rest only by force.
    let forced = with(&["--force", "--", "-k", "5"]);
    assert!(said(nsys(&campaign, true, &forced, 2)).contains("a trace folder is never reused"));
    fs::remove_dir_all(campaign.path("out/base.trace")).expect("removed");
    assert!(said(nsys(&campaign, true, &options, 2)).contains("give --force"));
    nsys(&campaign, true, &forced, 0);
    // From its own folder, with relative paths; repeated from another one.
    fs::remove_dir_all(campaign.path("out")).expect("removed");
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["nsys", "--algorithm", "kcore", "--dataset", "tiny.txt", "--bin-dir", "bin", "--output", "out/base"])
        .args(options.iter().take(4))
        .args(["--", "-k", "5"])
        .current_dir(campaign.path(""))
        .env("PATH", format!("{}:/usr/bin:/bin", campaign.path("tools").display()))
        .output()
        .expect("started");
    words(output, 0);
    fs::remove_dir_all(campaign.path("out/base.trace")).expect("removed");
    fs::create_dir(campaign.path("out/base.trace")).expect("made");
    let repeated = Command::new("sh")
        .arg(campaign.path("out/base.command.txt"))
        .current_dir("/")
        .env("PATH", format!("{}:/usr/bin:/bin", campaign.path("tools").display()))
        .output()
        .expect("started");
    words(repeated, 0);
    assert_eq!(fs::read_dir(campaign.path("out/base.trace")).expect("listed").count(), 8, "the same files again");
    fs::remove_dir_all(campaign.path("out/base.trace")).expect("removed");
    campaign.mode("exit1 multi_cpu_baseline");
    assert!(said(nsys(&campaign, true, &forced, 1)).contains("the program under it failed"));
}
