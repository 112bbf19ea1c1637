//! Experiments: a plan becomes attempts and tables, and whatever goes wrong on the way is caught with its reason.

mod campaign;

use campaign::{COMMIT, Campaign, edit, read, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Collects; no attempt but `sound` may reach the measurements, and some reason has the words.
#[track_caller]
fn caught(campaign: &Campaign, sound: usize, reason: &str) {
    campaign.experiment("collect", &[], 1);
    assert_eq!(campaign.table("successful_measurements.csv").len(), sound);
    let attempts = campaign.table("attempts.csv");
    let reasons: Vec<_> = attempts.iter().map(|row| row["reasons"].as_str()).filter(|text| !text.is_empty()).collect();
    assert!(reasons.iter().any(|text| text.contains(reason)), "`{reason}` is not among {reasons:#?}");
    let ids = |name: &str| -> BTreeSet<String> {
        campaign.table(name).into_iter().map(|row| row["attempt_id"].clone()).collect()
    };
    let whole = ids("successful_measurements.csv");
    for name in ["rank_timings.csv", "iteration_activity.csv", "iteration_timings.csv"] {
        assert!(ids(name).is_subset(&whole), "{name} holds an attempt that is not sound");
    }
    assert_eq!(ids("rank_timings.csv"), whole);
}

#[test]
fn a_plan_runs_and_collects_the_same_bytes_every_time() {
    let campaign = Campaign::new("performance", 2);
    let said = campaign.run(&["--dry-run"], 0);
    assert!(said.contains("2 items x (2 methods x 2 repeats + 1 to warm up) = 8 measured calls"), "{said}");
    assert!(!campaign.run.exists(), "a dry run writes nothing");
    campaign.run(&[], 0);
    assert_eq!(campaign.attempts().len(), 12);
    campaign.experiment("collect", &[], 0);
    let tables = |campaign: &Campaign| -> BTreeMap<String, Vec<u8>> {
        let folder =
            fs::read_dir(campaign.run.join("collected")).expect("listed").map(|entry| entry.expect("an entry"));
        folder
            .map(|entry| (entry.file_name().to_string_lossy().into(), fs::read(entry.path()).expect("read")))
            .collect()
    };
    let first = tables(&campaign);
    assert_eq!(first.len(), 6);
    fs::remove_dir_all(campaign.run.join("collected")).expect("removed");
    campaign.experiment("collect", &[], 0);
    assert_eq!(first, tables(&campaign));
    assert_eq!(campaign.table("successful_measurements.csv").len(), 8);
    assert_eq!(campaign.table("rank_timings.csv").len(), 4 + 2 * 4);
    // Methods alternate inside a repeat, and an item is one session.
    let order: Vec<_> = campaign.attempts().iter().map(|path| read(path)["method_index"].as_u64()).collect();
    assert!(order.chunks(2).all(|pair| pair == [Some(0), Some(1)]), "{order:?}");
    let sessions: BTreeSet<_> =
        campaign.attempts().iter().map(|path| read(path)["attempt_session_id"].to_string()).collect();
    assert_eq!(sessions.len(), 2);
    // Nothing is left to do, and an existing run is not run again unasked.
    assert!(campaign.run(&["--resume"], 0).contains("0 attempts started"));
    assert!(campaign.run(&[], 2).contains("give --resume"));
}

#[test]
fn a_plan_that_cannot_run_is_refused_before_anything_starts() {
    let campaign = Campaign::new("performance", 1);
    let check = |from: &str, to: &str, reason: &str| {
        campaign.plan("repeats = 1\ntimeout_s = 5");
        edit(&campaign.path("plan.toml"), from, to);
        let said = campaign.run(&[], 2);
        assert!(said.contains(reason), "`{reason}` is not in {said}");
        assert!(!campaign.run.exists());
    };
    check("single_cpu_baseline", "single_npu_baseline", "this build does not have it (it has single_cpu_baseline");
    check("ranks = 2", "ranks = 1", "contradict each other");
    check("ranks = 2", "device = \"gpu\"", "`gpu` is no device; give auto, cpu, cuda, or cuda:0,1");
    check("ranks = 2", "protection = { proof = true }", "unexpected argument '--proof'");
    check("\"cc\"", "\"ccc\"", "did you mean `cc`");
    check("k = 5", "k = 0", "invalid value '0'");
    check("k = 5", "damping = 0.5", "damping");
    check("repeats = 1", "repeats = 0", "repeats is 0");
    check("repeats = 1", "repeat = 1", "unknown field `repeat`");
    check("timeout_s = 5", "timeout_s = -1", "timeout_s is no time");
    check("tiny.txt", "absent.txt", "absent.txt: cannot read it");
    check("file = \"tiny.txt\"", "name = \"tiny\"", "no data set is called `tiny` (known: cit-HepPh)");
    check("[[dataset]]\nfile = \"tiny.txt\"", "", "no [[dataset]]");
    let said = words(campaign.runner(&["--bin-dir", "/nowhere"]).output().expect("started"), 2);
    assert!(said.contains("cannot be used multiple times"), "{said}");
    campaign.plan("repeats = 1\ntimeout_s = 5");
    fs::remove_file(campaign.path("bin/harness_performance")).expect("removed");
    assert!(campaign.run(&[], 3).contains("cargo build --release --bins"));
}

#[test]
fn a_plan_names_data_sets_of_its_folder() {
    let campaign = Campaign::new("performance", 1);
    edit(
        &campaign.path("plan.toml"),
        "[[dataset]]\nfile = \"tiny.txt\"",
        "dataset_dir = \"sets\"\n[[dataset]]\nname = \"tiny\"",
    );
    fs::create_dir(campaign.path("sets")).expect("made");
    fs::rename(campaign.path("tiny.txt"), campaign.path("sets/tiny.txt")).expect("moved");
    campaign.run(&[], 0);
    campaign.experiment("collect", &[], 0);
    let manifest = read(&campaign.run.join("manifest.json"));
    let path = fs::canonicalize(campaign.path("sets/tiny.txt")).expect("there");
    assert_eq!(manifest["datasets"][0]["argv"][1].as_str(), path.to_str(), "from any folder");
    edit(&campaign.path("plan.toml"), "name = \"tiny\"\n[[algorithm", "name = \"other\"\n[[algorithm");
    let said = campaign.run(&[], 2);
    assert!(said.contains("no data set is called `other` (known: cit-HepPh, tiny)"), "{said}");
}

#[test]
fn a_debug_build_or_a_dirty_tree_is_refused_or_marked() {
    for (is_dirty, build, word) in [(true, "release", "built from a dirty tree"), (false, "debug", "no release build")]
    {
        let campaign = Campaign::new("performance", 1);
        campaign.built(COMMIT, is_dirty, build);
        assert!(campaign.run(&[], 2).contains(word));
        assert!(campaign.run(&["--allow-debug"], 0).contains("marked as no evidence"));
        assert_eq!(read(&campaign.run.join("manifest.json"))["is_evidence"], false);
        assert!(campaign.experiment("collect", &[], 0).contains("no evidence"));
        // A manifest that claims otherwise disqualifies all.
        edit(&campaign.run.join("manifest.json"), "\"is_evidence\": false", "\"is_evidence\": true");
        caught(&campaign, 0, "is_evidence is true for a debug build or a dirty tree");
    }
}

#[test]
fn a_measured_process_that_misbehaves_fails_with_the_reason_and_its_group_is_run_again_whole() {
    for (mode, reason) in [
        ("crash", "process: ended by signal 11"),
        ("exit1", "process: exit status 1"),
        ("hang", "process: killed after 0.6 s"),
        ("half", "stdout: the last line is not finished"),
        ("twice", "BENCHMARK_RESULT comes a second time"),
        ("chatty", "`hello` is no tag of a record"),
        ("lawless", "algorithm_e2e_ms is 0.4"),
        ("otherk", "metadata: k is 6"),
        ("othercommit", "metadata: git_commit is \"1111"),
        ("nowdirty", "metadata: git_dirty is true"),
    ] {
        let campaign = Campaign::new("performance", 2);
        campaign.plan("repeats = 2\ntimeout_s = 0.6");
        campaign.mode(&format!("{mode} multi_cpu_baseline once"));
        if mode == "otherk" {
            // Only kcore was given a k.
            campaign.mode("otherk multi_cpu_baseline");
        }
        campaign.run(&[], 1);
        let before = campaign.attempts().len();
        let failed = if mode == "otherk" { 2 } else { 1 };
        let reason = if mode == "otherk" { "parameters: k is 6, not 5" } else { reason };
        caught(&campaign, 8 - failed, reason);
        campaign.well();
        // Without --retry-failed a failed attempt stays; with it the whole group runs again, in one session.
        campaign.run(&["--resume"], 1);
        assert_eq!(campaign.attempts().len(), before, "{mode}");
        campaign.run(&["--resume", "--retry-failed"], 0);
        assert_eq!(campaign.attempts().len(), before + 2 * failed, "{mode}");
        campaign.experiment("collect", &[], 0);
        assert_eq!(campaign.table("successful_measurements.csv").len(), 8);
        assert_one_session_a_group(&campaign);
    }
}

fn assert_one_session_a_group(campaign: &Campaign) {
    let mut sessions: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    let mut calls = BTreeSet::new();
    for row in campaign.table("successful_measurements.csv") {
        let group = (row["item"].clone(), row["repeat"].clone());
        assert!(calls.insert((group.clone(), row["method"].clone())), "{group:?} holds {} twice", row["method"]);
        sessions.entry(group).or_default().insert(row["attempt_session_id"].clone());
    }
    assert!(sessions.values().all(|sessions| sessions.len() == 1), "{sessions:?}");
}

#[test]
fn an_edited_attempt_is_disqualified() {
    let edits: [(&str, &str, &str); 5] = [
        ("\"algorithm_e2e_ms\": 0.3", "\"algorithm_e2e_ms\": 0.2", "records: they are not what stdout says"),
        ("\\\"algorithm_e2e_ms\\\":0.3", "\\\"algorithm_e2e_ms\\\":0.2", "algorithm_e2e_ms is 0.2"),
        ("\"process_wall_ms\": ", "\"process_wall_ms\": 1", "the seal does not match"),
        ("\"repeat\": 0", "\"repeat\": 1", "are the same call"),
        ("--progress", "--quiet", "argv: it is not the manifest's command"),
    ];
    for (from, to, reason) in edits {
        let campaign = Campaign::new("performance", 2);
        campaign.run(&[], 0);
        // The first measured attempt, which is of a single rank.
        edit(&campaign.attempts()[2], from, to);
        campaign.experiment("collect", &[], 1);
        let attempts = campaign.table("attempts.csv");
        assert!(attempts.iter().any(|row| row["reasons"].contains(reason)), "{reason}: {attempts:#?}");
        let sound: BTreeSet<_> =
            campaign.table("successful_measurements.csv").into_iter().map(|row| row["attempt_id"].clone()).collect();
        let edited = &campaign.attempts()[2];
        let id = edited.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(!sound.contains(&id) || reason.contains("same call"), "{reason}");
        assert!(sound.len() < 8, "{reason}");
    }
    let campaign = Campaign::new("performance", 2);
    campaign.run(&[], 0);
    fs::write(&campaign.attempts()[2], "{").expect("written");
    campaign.experiment("collect", &[], 1);
    assert_eq!(campaign.table("successful_measurements.csv").len(), 7);
    assert!(campaign.table("attempts.csv").iter().any(|row| row["reasons"].contains("no attempt record")));
}

#[test]
fn traces_that_were_changed_swapped_or_cut_disqualify_their_attempt() {
    let campaign = || {
        let campaign = Campaign::new("profiling", 2);
        campaign.run(&[], 0);
        campaign.experiment("collect", &[], 0);
        assert_eq!(campaign.table("iteration_activity.csv").len(), 2 * 2 * (2 + 4));
        assert_eq!(campaign.table("iteration_timings.csv").len(), 2 * 2 * (2 + 6));
        campaign
    };
    let folder = |campaign: &Campaign, place: usize| {
        let path = &campaign.attempts()[place];
        campaign.run.join("raw/profiling").join(path.file_stem().expect("a name"))
    };
    // A digit of elapsed_ms: the hash tells, although the number is a legal one.
    let first = campaign();
    edit(&folder(&first, 2).join("iteration_timings.rank0000.csv"), "graph_update,0.03", "graph_update,0.04");
    caught(&first, 7, "iteration_timings.rank0000.csv was changed");
    // A row removed, a file removed, a file added.
    let third = campaign();
    edit(&folder(&third, 2).join("iteration_activity.rank0000.csv"), "1,4,4,1,4,0,3,75.0000,0,0\n", "");
    fs::remove_file(folder(&third, 3).join("trace_summary.rank0001.json")).expect("removed");
    fs::write(folder(&third, 4).join("iteration_activity.rank0007.csv"), "").expect("written");
    caught(&third, 5, "trace_summary.rank0001.json is gone");
    caught(&third, 5, "iteration_activity.rank0007.csv was added");
    // What the collector disqualifies, the runner runs again when asked.
    third.run(&["--resume"], 1);
    third.run(&["--resume", "--retry-failed"], 0);
    third.experiment("collect", &[], 0);
    // Dropped records are never padded.
    let fourth = Campaign::new("profiling", 1);
    fourth.mode("dropped single_cpu_baseline");
    assert!(fourth.run(&[], 1).contains("dropped records are never padded"));
    caught(&fourth, 2, "dropped_activity_records is 1");
}

#[test]
fn two_traces_of_different_attempts_that_were_swapped_are_told_apart() {
    let campaign = Campaign::new("profiling", 1);
    campaign.run(&[], 0);
    let attempts = campaign.attempts();
    let folder = |place: usize| campaign.run.join("raw/profiling").join(attempts[place].file_stem().expect("a name"));
    // cc against kcore, both single: same shape, another identity.
    let (one, other, aside) = (folder(2), folder(6), campaign.path("aside"));
    for (from, to) in [(&one, &aside), (&other, &one), (&aside, &other)] {
        fs::rename(from, to).expect("renamed");
    }
    caught(&campaign, 2, "was changed");
}

#[test]
fn a_manifest_that_was_edited_disqualifies_all_and_stops_the_runner() {
    for (from, to, reason) in [
        ("\"repeats\": 2", "\"repeats\": 1", "planned_calls_per_item is 4, but the plan gives 2"),
        ("\"kernel\": \"", "\"kernel\": \"9", "it is not the one this attempt was made for"),
        ("\"planned_calls\": 8", "\"planned_calls\": 9", "planned_calls is 9, but the plan gives 8"),
    ] {
        let campaign = Campaign::new("performance", 2);
        campaign.run(&[], 0);
        edit(&campaign.run.join("manifest.json"), from, to);
        caught(&campaign, 0, reason);
        assert!(campaign.run(&["--resume"], 2).contains("a manifest is never rewritten"));
    }
}

#[test]
fn a_run_folder_of_another_plan_binary_commit_or_graph_is_refused() {
    let check = |change: &dyn Fn(&Campaign), reason: &str| {
        let campaign = Campaign::new("performance", 1);
        campaign.run(&[], 0);
        let manifest = fs::read(campaign.run.join("manifest.json")).expect("read");
        change(&campaign);
        let said = campaign.run(&["--resume", "--allow-debug"], 2);
        assert!(said.contains(reason), "`{reason}` is not in {said}");
        assert_eq!(manifest, fs::read(campaign.run.join("manifest.json")).expect("read"), "never rewritten");
    };
    check(&|campaign| campaign.plan("repeats = 3\ntimeout_s = 20"), "repeats: 1 there, 3 now");
    check(&|campaign| edit(&campaign.path("bin/harness_performance"), "# A measured", "# Another"), "binary.sha256");
    check(&|campaign| campaign.built("1111111111111111111111111111111111111111", false, "release"), "build.git_commit");
    check(&|campaign| campaign.built(COMMIT, true, "release"), "build.git_dirty: false there, true now");
    check(&|campaign| edit(&campaign.path("tiny.txt"), "3 4", "3 5"), "datasets[0].sha256");
}

#[test]
fn a_runner_killed_at_any_moment_loses_at_most_the_attempt_in_flight() {
    let (mut kills, mut round) = (0_u64, 0_u64);
    while kills < 50 {
        let campaign = Campaign::new("performance", 6);
        let mut filed = 0;
        let mut is_done = false;
        while !is_done && kills < 50 {
            let options: &[&str] = if campaign.run.join("manifest.json").exists() { &["--resume"] } else { &[] };
            let mut runner = campaign.runner(options).stderr(Stdio::null()).spawn().expect("started");
            // Moments without a pattern, the same in every run of this test.
            round += 1;
            let moment = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            std::thread::sleep(Duration::from_millis(30 + moment % 250));
            is_done = runner.try_wait().expect("waited").is_some_and(|status| status.success());
            if !is_done {
                runner.kill().expect("killed");
                runner.wait().expect("waited");
                kills += 1;
            }
            if campaign.run.join("raw").exists() {
                let now = campaign.attempts().len(); // every file with an attempt's name reads whole
                assert!(now >= filed, "an attempt was lost");
                filed = now;
            }
        }
        campaign.run(if campaign.run.join("manifest.json").exists() { &["--resume"] } else { &[] }, 0);
        campaign.experiment("collect", &[], 0);
        assert_eq!(campaign.table("successful_measurements.csv").len(), 24);
        assert_one_session_a_group(&campaign);
        let sequences: Vec<_> = campaign.attempts().iter().map(|path| read(path)["sequence"].as_u64()).collect();
        assert!(sequences.iter().enumerate().all(|(place, sequence)| *sequence == Some(place as u64)), "{sequences:?}");
        let left =
            fs::read_dir(campaign.run.join("raw")).expect("listed").map(|entry| entry.expect("an entry").file_name());
        assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with('.')), "unfinished files stay");
    }
}

#[test]
fn a_second_runner_on_one_run_folder_is_refused() {
    let campaign = Campaign::new("performance", 1);
    campaign.mode("hang single_cpu_baseline");
    let mut first = campaign.runner(&[]).stderr(Stdio::null()).spawn().expect("started");
    while !campaign.run.join("runner.lock").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(100));
    let said = campaign.run(&["--resume"], 3);
    first.kill().expect("killed");
    first.wait().expect("waited");
    assert!(said.contains("another runner works on this run folder"), "{said}");
}

#[test]
fn a_full_disk_ends_the_run_with_what_was_filed_and_resumes_with_room() {
    let campaign = Campaign::new("performance", 6);
    fs::create_dir(&campaign.run).expect("made");
    let mount = |options: &str| {
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&campaign.run).output();
        status.is_ok_and(|output| output.status.success())
    };
    if !mount("size=120k") {
        use std::io::Write;
        let line = "\nnot run: a_full_disk_ends_the_run: needs root (to mount a small tmpfs)\n";
        std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
        return;
    }
    let said = campaign.runner(&[]).output().expect("started");
    let filed = campaign.attempts().len();
    let is_larger = mount("remount,size=8m");
    let resumed = campaign.runner(&["--resume"]).output().expect("started");
    let collected =
        Command::new(env!("CARGO_BIN_EXE_harness")).args(["experiment", "collect"]).arg(&campaign.run).output();
    let rows = campaign.table("successful_measurements.csv").len();
    assert!(Command::new("umount").arg(&campaign.run).status().expect("started").success());
    assert!(is_larger && filed < 28, "{filed} attempts fitted");
    assert!(words(said, 3).contains("cannot write it; check the folder, its permissions and the free space"));
    words(resumed, 0);
    words(collected.expect("started"), 0);
    assert_eq!(rows, 24);
}
