//! The cuda device from the command line, on simulated GPUs, and everything that can be wrong with a GPU.

mod program;
mod ranges;

use program::command;
use std::path::Path;
use std::process::{Command, Output};

/// `harness` with the simulated driver found first, its kernel cache in `cache`.
fn simulated(arguments: &[&str], cache: &Path) -> Option<Command> {
    let Some(folder) = kernels_host::folder() else {
        use std::io::Write;
        let line = format!("\nnot run: the cuda device from the command line: needs {}\n", kernels_host::NEEDS);
        std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
        return None;
    };
    let mut command = command(arguments);
    let mut path = folder.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("LD_LIBRARY_PATH").filter(|rest| !rest.is_empty()) {
        path.push(":");
        path.push(rest);
    }
    command.env("LD_LIBRARY_PATH", path).env("GRAPHALG_CACHE_DIR", cache);
    Some(command)
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let ran = Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }

    /// The value of a key of a record, as JSON.
    fn value(&self, tag: &str, key: &str) -> serde_json::Value {
        let line = self
            .out
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{tag} ")))
            .unwrap_or_else(|| panic!("{}", self.err));
        let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        record[key].clone()
    }

    #[track_caller]
    fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in\n{}", self.err);
        }
        assert!(self.out.lines().all(|line| line.starts_with("BENCHMARK_")), "stdout holds\n{}", self.out);
    }
}

fn run(mut command: Command, variables: &[(&str, &str)]) -> Ran {
    Ran::of(command.envs(variables.iter().copied()).output().expect("harness starts"))
}

const BFS: [&str; 4] = ["--algorithm", "bfs", "--device", "cuda"];

#[test]
fn runs_on_gpus_have_the_answers_of_the_cpu_and_say_that_they_are_simulated() {
    let cache = tempfile::tempdir().expect("a folder");
    for algorithm in
        [&["bfs"][..], &["cc"], &["kcore", "-k", "5"], &["kcore", "--all-cores"], &["pagerank", "--tolerance", "1e-4"]]
    {
        let arguments =
            |device: &'static str| [&["--algorithm"], algorithm, &["--verify", "--device", device]].concat();
        let cpu = run(command(&arguments("cpu")), &[]);
        for device in ["cuda", "cuda:1", "cuda:2,0"] {
            let Some(command) = simulated(&arguments(device), cache.path()) else { return };
            let gpu = run(command, &[("GRAPHALG_SIM_DEVICES", "3")]);
            assert_eq!(gpu.code, Some(0), "{algorithm:?} on {device}: {}", gpu.err);
            let ranks = if device == "cuda:2,0" { 2 } else { 1 };
            assert_eq!(gpu.value("BENCHMARK_METADATA", "ranks"), ranks);
            let method = if ranks == 1 { "single_gpu_baseline" } else { "multi_gpu_baseline" };
            assert_eq!(gpu.value("BENCHMARK_METADATA", "method"), method);
            for record in gpu.value("BENCHMARK_METADATA", "devices").as_array().expect("a list") {
                assert_eq!(record["kind"], "simulated");
                assert!(record["name"].as_str().is_some_and(|name| name.starts_with("simulated device")), "{record}");
                assert_eq!(record["driver"], "13.0");
            }
            assert!(gpu.err.contains("simulated device"), "{}", gpu.err);
            assert_eq!(gpu.value("BENCHMARK_RESULT", "verified"), true, "{}", gpu.err);
            if algorithm[0] != "pagerank" {
                let hash = |ran: &Ran| ran.value("BENCHMARK_RESULT", "result_hash");
                assert_eq!(hash(&cpu), hash(&gpu), "{algorithm:?} on {device}");
            }
            for field in ["gpu_compute_ms", "graph_update_ms", "main_loop_ms"] {
                let name = if ranks == 1 {
                    field.to_owned()
                } else {
                    format!("rank_{}_max_ms", field.trim_end_matches("_ms"))
                };
                assert!(
                    gpu.value("BENCHMARK_TIMING", &name).as_f64().is_some_and(|ms| ms > 0.0),
                    "{name}: {}",
                    gpu.out
                );
            }
        }
    }
}

#[test]
fn auto_never_takes_a_simulated_device() {
    let cache = tempfile::tempdir().expect("a folder");
    let Some(command) = simulated(&["--algorithm", "cc", "--verbose"], cache.path()) else { return };
    let ran = run(command, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.value("BENCHMARK_METADATA", "devices")[0]["kind"], "cpu");
    assert!(ran.err.contains("passed over") && ran.err.contains("simulated"), "{}", ran.err);
}

#[test]
fn the_list_shows_the_devices() {
    let cache = tempfile::tempdir().expect("a folder");
    let Some(mut command) = simulated(&["list"], cache.path()) else { return };
    let output = command.env("GRAPHALG_SIM_DEVICES", "2").output().expect("harness starts");
    let text = String::from_utf8_lossy(&output.stdout);
    for words in ["cuda:0", "cuda:1", "simulated device 1", "compute capability 9.0", "CUDA 13.0"] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn no_driver_is_an_error_not_a_panic() {
    let mut nothing = command(&BFS);
    nothing.env("LD_LIBRARY_PATH", "");
    let ran = run(nothing, &[]);
    if ran.code == Some(0) {
        return; // this machine has a GPU
    }
    ran.fails(3, &["libcuda.so", "--device cpu"]);
}

#[test]
fn a_plan_that_asks_for_a_gpu_where_none_passes_its_probe_ends_before_its_first_attempt() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = |method: &str| {
        let text = format!(
            "name = \"gpu\"\nprofile = \"performance\"\nrepeats = 1\ntimeout_s = 60\n[[dataset]]\nname = \"cit-HepPh\"\n\
             [[algorithm]]\nname = \"cc\"\n[[method]]\nname = \"single_cpu_baseline\"\n[[method]]\n{method}\n"
        );
        std::fs::write(folder.path().join("plan.toml"), text).expect("written");
    };
    let runner = |options: &[&str], variables: &[(&str, &str)]| {
        let line = [&["experiment", "run", "plan.toml", "--output", "run", "--allow-debug"], options].concat();
        let mut command = simulated(&line, folder.path())?;
        command.current_dir(folder.path());
        Some(run(command, variables))
    };
    for method in ["name = \"single_gpu_baseline\"", "name = \"multi_gpu_baseline\"\nranks = 2\ndevice = \"cuda:0,1\""]
    {
        plan(method);
        // Nobody has to have a GPU to look at a plan.
        let Some(ran) = runner(&["--dry-run"], &[("GRAPHALG_SIM_DEVICES", "0")]) else { return };
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let ran = runner(&[], &[("GRAPHALG_SIM_DEVICES", "0")]).expect("simulated");
        ran.fails(3, &["finds no device"]);
        assert!(!folder.path().join("run").exists(), "nothing was started or written");
    }
    let ran = runner(&[], &[("GRAPHALG_SIM_DEVICES", "1")]).expect("simulated");
    ran.fails(3, &["there is no cuda:1"]);
    let ran = runner(&[], &[("GRAPHALG_SIM_DEVICES", "2")]).expect("simulated");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(folder.path().join("run/raw").exists());
}

#[test]
fn a_driver_too_old_says_both_versions() {
    let cache = tempfile::tempdir().expect("a folder");
    let Some(command) = simulated(&BFS, cache.path()) else { return };
    run(command, &[("GRAPHALG_SIM_DRIVER", "12040")]).fails(3, &["12.4", "12.8", "too old"]);
}

#[test]
fn no_device_behind_the_driver_is_said() {
    let cache = tempfile::tempdir().expect("a folder");
    let Some(command) = simulated(&BFS, cache.path()) else { return };
    run(command, &[("GRAPHALG_SIM_DEVICES", "0")]).fails(3, &["finds no device", "nvidia-smi"]);
}

#[test]
fn an_index_out_of_range_names_what_is_there() {
    let cache = tempfile::tempdir().expect("a folder");
    let Some(command) = simulated(&["--algorithm", "bfs", "--device", "cuda:0,7"], cache.path()) else { return };
    run(command, &[("GRAPHALG_SIM_DEVICES", "2")]).fails(3, &["cuda:7", "cuda:0, cuda:1"]);
}

#[test]
fn a_graph_too_large_is_refused_before_anything_is_allocated() {
    let cache = tempfile::tempdir().expect("a folder");
    let Some(command) = simulated(&BFS, cache.path()) else { return };
    run(command, &[("GRAPHALG_SIM_MEMORY", "1000000")]).fails(3, &["needs", "976.6 KiB", "--ranks 2"]);
}

#[test]
fn a_graph_too_large_for_one_device_fits_two() {
    let cache = tempfile::tempdir().expect("a folder");
    let sizes = [("--ranks", "1", Some(3)), ("--ranks", "2", Some(0))];
    for (option, ranks, code) in sizes {
        let arguments = ["--algorithm", "bfs", "--device", "cuda", option, ranks];
        let Some(command) = simulated(&arguments, cache.path()) else { return };
        let ran = run(command, &[("GRAPHALG_SIM_MEMORY", "3800000"), ("GRAPHALG_SIM_DEVICES", "2")]);
        assert_eq!(ran.code, code, "{ranks} ranks: {}", ran.err);
    }
}

#[test]
fn a_device_lost_in_the_run_ends_it_on_every_rank() {
    let cache = tempfile::tempdir().expect("a folder");
    for (ranks, fault) in [("1", "9"), ("1", "2"), ("3", "40")] {
        let arguments = ["--algorithm", "cc", "--device", "cuda", "--ranks", ranks];
        let Some(command) = simulated(&arguments, cache.path()) else { return };
        run(command, &[("GRAPHALG_SIM_FAULT_AT", fault)])
            .fails(3, &["cuda:0 (simulated device 0)", "CUDA_ERROR_ILLEGAL_ADDRESS", "the device is lost"]);
    }
}

#[test]
fn a_cache_that_cannot_be_written_or_holds_garbage_costs_no_run() {
    let folder = tempfile::tempdir().expect("a folder");
    // A file stands where the folder should be: even root cannot write there.
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").expect("written");
    let Some(command) = simulated(&BFS, &file) else { return };
    let ran = run(command, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let compiles = ran.err.contains("cannot be kept");
    let cache = folder.path().join("cache");
    for round in 0..3 {
        let Some(command) = simulated(&BFS, &cache) else { return };
        let ran = run(command, &[]);
        assert_eq!(ran.code, Some(0), "round {round}: {}", ran.err);
        assert!(!ran.err.contains("cannot be kept"), "{}", ran.err);
        // Without NVRTC the embedded PTX serves, and nothing is kept.
        let kept = std::fs::read_dir(cache.join("kernels")).map_or(0, Iterator::count);
        assert_eq!(kept, if compiles { 2 } else { 0 }, "round {round}");
        for file in std::fs::read_dir(cache.join("kernels")).into_iter().flatten() {
            std::fs::write(file.expect("a file").path(), "garbage").expect("written");
        }
    }
}

#[test]
fn options_that_contradict_each_other_are_refused_by_name() {
    let cases: [(&[&str], &[&str]); 5] = [
        (&["--device", "cpu", "--method", "single_gpu_baseline"], &["--method single_gpu_baseline", "--device cpu"]),
        (&["--device", "cuda", "--method", "multi_cpu_baseline"], &["--method multi_cpu_baseline", "--device cuda"]),
        (&["--device", "gpu"], &["`gpu` is no device", "cuda:0,1"]),
        (&["--device", "cuda:0,0"], &["twice"]),
        (&["--device", "cuda:0,1", "--ranks", "1"], &["lists 2 GPUs", "--ranks 2"]),
    ];
    let cache = tempfile::tempdir().expect("a folder");
    for (options, words) in cases {
        let arguments = [&["--algorithm", "bfs"], options].concat();
        let Some(command) = simulated(&arguments, cache.path()) else { return };
        run(command, &[("GRAPHALG_SIM_DEVICES", "2")]).fails(2, words);
    }
}

/// Graphs on which every kernel has something to do: a hub with both kinds of arcs and a long tail (which ends a stretch of pulls),
/// a sparse one, and a dense one.
fn graphs() -> Vec<std::path::PathBuf> {
    let star: String = (1..6000).map(|v| format!("0 {v}\n{v} 0\n{v} {}\n", (v * 7) % 6000)).collect();
    let tail: String = (5999..6100).map(|v| format!("{v} {}\n", v + 1)).collect();
    let sparse: String = (0..900).map(|v| format!("{v} {}\n", (v * 37 + 11) % 1000)).collect();
    let dense: String = (0..3000).map(|i| format!("{} {}\n", i % 100, (i * 7 + i / 100) % 100)).collect();
    let graphs = [("star.txt", star + &tail), ("sparse.txt", sparse), ("dense.txt", dense)];
    graphs.iter().map(|(name, text)| program::file(name, text.as_bytes())).collect()
}

const ALGORITHMS: [&[&str]; 5] = [
    &["bfs", "-s", "index:1"],
    &["cc"],
    &["kcore", "-k", "3"],
    &["kcore", "--all-cores"],
    &["pagerank", "--tolerance", "1e-2"],
];

#[test]
fn shuffled_schedules_agree_and_no_kernel_is_left_out() {
    let cache = tempfile::tempdir().expect("a folder");
    let launches = cache.path().join("launches");
    for (graph, algorithm) in graphs().iter().flat_map(|graph| ALGORITHMS.map(|algorithm| (graph, algorithm))) {
        let mut hashes = std::collections::BTreeSet::new();
        for (seed, workers, ranks, protection) in [
            ("0", "1", "1", &[][..]),
            ("1", "2", "1", &["--certify", "on"]),
            ("2", "2", "3", &[]),
            ("3", "2", "1", &["--fault-tolerance", "on", "--redundancy-budget", "1"]),
            ("4", "1", "1", &["--fault-tolerance", "on", "--certify", "off"]),
            ("5", "2", "3", &["--fault-tolerance", "on", "--snapshot-interval", "1"]),
        ] {
            let graph = graph.to_str().expect("UTF-8");
            let fixed = &["--graph", graph, "--device", "cuda", "--ranks", ranks, "--verify"];
            let arguments = [&["--algorithm"], algorithm, fixed, protection].concat();
            let Some(mut command) = simulated(&arguments, cache.path()) else { return };
            command.env("GRAPHALG_SIM_LAUNCHES", &launches);
            let ran = run(
                command,
                &[("GRAPHALG_SIM_SEED", seed), ("GRAPHALG_SIM_WORKERS", workers), ("GRAPHALG_SIM_DEVICES", "2")],
            );
            assert_eq!(ran.code, Some(0), "{arguments:?}, seed {seed}: {}", ran.err);
            assert!(!ran.err.contains("ALARM") && !ran.err.contains("REFUTED"), "{arguments:?}: {}", ran.err);
            hashes.insert(ran.value("BENCHMARK_RESULT", "result_hash").to_string());
        }
        assert_eq!(hashes.len(), 1, "{algorithm:?} on {}: {hashes:?}", graph.display());
    }
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for line in std::fs::read_to_string(&launches).expect("counts").lines() {
        let (kernel, count) = line.split_once(' ').expect("a kernel and a count");
        *counts.entry(kernel.to_owned()).or_default() += count.parse::<u64>().expect("a number");
    }
    counts.retain(|kernel, count| !kernel.starts_with("selftest_") && *count == 0);
    // What is measured with, what no run of these algorithms needs (a float field that starts elsewhere than at 0), and what takes ghosts
    // through the host, which tests/tests/simulated_laws.rs runs.
    let by_transport = ["framework_list_marked", "framework_merge", "framework_or_bits"];
    counts.retain(|kernel, _| !by_transport.contains(&kernel.as_str()));
    let idle: Vec<_> = counts.into_keys().collect();
    assert_eq!(idle, ["framework_copy", "framework_fill_u64"], "kernels that no run launched");
}

#[test]
fn ghosts_travel_right_whatever_reaches_what_and_however_late_streams_run() {
    let cache = tempfile::tempdir().expect("a folder");
    for (graph, algorithm) in graphs().iter().flat_map(|graph| ALGORITHMS.map(|algorithm| (graph, algorithm))) {
        let mut hashes = std::collections::BTreeSet::new();
        for (reach, lazy, said) in [
            ("0", "1", "device to device by copies of the driver"),
            ("1", "1", "device to device"),
            ("2", "1", "device to device, some by copies of the driver"),
            ("2", "0", "device to device, some by copies of the driver"),
        ] {
            let graph = graph.to_str().expect("UTF-8");
            let rest = ["--graph", graph, "--device", "cuda", "--ranks", "4", "--verify"];
            let arguments = [&["--algorithm"], algorithm, &rest].concat();
            let Some(command) = simulated(&arguments, cache.path()) else { return };
            let ran = run(
                command,
                &[("GRAPHALG_SIM_PEER", reach), ("GRAPHALG_SIM_LAZY", lazy), ("GRAPHALG_SIM_DEVICES", "4")],
            );
            assert_eq!(ran.code, Some(0), "{arguments:?}, {said}: {}", ran.err);
            assert!(ran.err.contains(&format!("messages, {said}\n")) || !ran.err.contains("messages, "), "{}", ran.err);
            assert!(ran.err.contains("messages, device"), "{}", ran.err);
            hashes.insert(ran.value("BENCHMARK_RESULT", "result_hash").to_string());
            let exchange = ran.value("BENCHMARK_TIMING", "rank_nccl_exchange_max_ms");
            assert!(exchange.as_f64().is_some_and(|ms| ms > 0.0), "{exchange}: {}", ran.out);
        }
        assert_eq!(hashes.len(), 1, "{algorithm:?} on {}: {hashes:?}", graph.display());
    }
}

#[test]
fn the_memory_that_is_asked_for_is_enough_and_is_used() {
    let cache = tempfile::tempdir().expect("a folder");
    let peak = cache.path().join("peak");
    for (graph, algorithm) in graphs().iter().flat_map(|graph| ALGORITHMS.map(|algorithm| (graph, algorithm))) {
        for (ranks, reach, protection) in [("1", "1", "off"), ("2", "1", "off"), ("2", "0", "off"), ("2", "1", "on")] {
            let graph = graph.to_str().expect("UTF-8");
            let rest = ["--graph", graph, "--device", "cuda", "--ranks", ranks, "--fault-tolerance", protection];
            let arguments = [&["--algorithm"], algorithm, &rest].concat();
            let with = |memory: u64| -> Option<Ran> {
                let mut command = simulated(&arguments, cache.path())?;
                command.env("GRAPHALG_SIM_PEAK", &peak);
                let memory = memory.to_string();
                Some(run(
                    command,
                    &[("GRAPHALG_SIM_MEMORY", &memory), ("GRAPHALG_SIM_PEER", reach), ("GRAPHALG_SIM_DEVICES", "2")],
                ))
            };
            // Each refusal says what one rank needs; the largest need is what all fit into.
            let mut need = 1;
            let ran = loop {
                let Some(ran) = with(need) else { return };
                if ran.code == Some(0) {
                    break ran;
                }
                ran.fails(3, &["needs", "bytes), and"]);
                let said = ran.err.split('(').find_map(|rest| rest.split_once(" bytes), and")).expect("a number").0;
                let said: u64 = said.replace([',', '\u{202f}', ' '], "").parse().expect("a number");
                assert!(said > need, "{arguments:?} got {need} bytes: {}", ran.err);
                need = said;
            };
            let used: Vec<u64> = std::fs::read_to_string(&peak)
                .expect("the driver wrote it")
                .lines()
                .filter_map(|line| line.split_once(' ')?.1.parse().ok())
                .collect();
            let most = used.iter().copied().max().expect("a device");
            // What is counted and may stay unused: the buffers of single values.
            assert!(most <= need && most + 16_384 >= need, "{arguments:?}: {most} of {need} used; {}", ran.err);
        }
    }
}

#[test]
fn a_driver_too_old_for_the_embedded_ptx_says_which_one_it_needs() {
    let cache = tempfile::tempdir().expect("a folder");
    let Some(mut command) = simulated(&BFS, cache.path()) else { return };
    command.env("LD_LIBRARY_PATH", kernels_host::folder().expect("it was built")); // no NVRTC
    run(command, &[("GRAPHALG_SIM_DRIVER", "12080")])
        .fails(3, &["version 8.8", "needs a driver for CUDA 12.9", "supports CUDA 12.8", "--device cpu"]);
}

#[test]
fn address_sanitizer_finds_nothing_in_any_kernel_and_would_find_something() {
    let Some(folder) = kernels_host::folder_with_address_sanitizer() else { return };
    let output = Command::new("g++").arg("-print-file-name=libasan.so").output().expect("g++ built the library");
    let runtime = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let cache = tempfile::tempdir().expect("a folder");
    let sanitized = |arguments: &[&str]| {
        let mut command = simulated(arguments, cache.path()).expect("the plain library was built too");
        let beside = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        command.env("LD_LIBRARY_PATH", format!("{}:{beside}", folder.display()));
        command.env("LD_PRELOAD", &runtime).env("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=0:exitcode=99");
        command.env("GRAPHALG_SIM_DEVICES", "2");
        command
    };
    for (graph, algorithm) in graphs().iter().flat_map(|graph| ALGORITHMS.map(|algorithm| (graph, algorithm))) {
        for (ranks, protection) in [
            ("1", &[][..]),
            ("2", &[]),
            ("2", &["--fault-tolerance", "on", "--redundancy-budget", "1", "--snapshot-interval", "2"]),
        ] {
            let graph = graph.to_str().expect("UTF-8");
            let fixed = &["--graph", graph, "--device", "cuda", "--ranks", ranks];
            let arguments = [&["--algorithm"], algorithm, fixed, protection].concat();
            let ran = run(sanitized(&arguments), &[]);
            assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
            assert!(!ran.err.contains("AddressSanitizer"), "{arguments:?}: {}", ran.err);
        }
    }
    // No strike leads a kernel out of its memory.
    for (algorithm, options) in STRUCK {
        let graph = strikable();
        let graph = graph.to_str().expect("UTF-8");
        let fixed = ["--algorithm", algorithm, "--graph", graph, "--ranks", "2", "--device", "cuda", "--strikes", "40"];
        let clean = ["--clean-runs", "1", "--", "--undirected"];
        let ran = run(sanitized(&[&["inject"], &fixed[..], &clean, options].concat()), &[]);
        assert!(!ran.err.contains("AddressSanitizer"), "{algorithm}: {}", ran.err);
        assert_eq!(ran.code, Some(0), "{algorithm}: {}", ran.err);
    }
    // A field of the embedded graph's 34,546 vertices.
    let ran = run(sanitized(&["--algorithm", "bfs", "--device", "cuda"]), &[("GRAPHALG_SIM_SHORT", "138184")]);
    assert_eq!(ran.code, Some(99), "{}", ran.err);
    assert!(ran.err.contains("heap-buffer-overflow") && ran.err.contains("framework_fill_u32"), "{}", ran.err);
}

/// Algorithms, with options, that are struck.
const STRUCK: [(&str, &[&str]); 5] = [
    ("bfs", &[]),
    ("cc", &[]),
    ("kcore", &["-k", "3"]),
    ("kcore", &["--all-cores"]),
    ("pagerank", &["--tolerance", "1e-4"]),
];

/// Two dense spots, a path between them, and a pair apart.
fn strikable() -> std::path::PathBuf {
    let spot = |base: i32| (0..12).flat_map(move |u| (0..u).map(move |v| format!("{} {}\n", base + u, base + v)));
    let mut text: String = spot(0).chain(spot(60)).collect();
    (11..60).for_each(|v| text += &format!("{v} {}\n", v + 1));
    program::file("strikable.txt", (text + "200 201\n").as_bytes())
}

#[test]
fn strikes_on_simulated_devices_are_labelled_and_never_silent() {
    let cache = tempfile::tempdir().expect("a folder");
    let graph = strikable();
    let graph = graph.to_str().expect("UTF-8");
    for (algorithm, options) in STRUCK {
        for ranks in ["1", "3"] {
            let fixed = ["inject", "--algorithm", algorithm, "--graph", graph, "--ranks", ranks, "--device", "cuda"];
            let number = ["--strikes", "60", "--clean-runs", "3", "--", "--undirected"];
            let Some(mut command) = simulated(&[&fixed[..], &number, options].concat(), cache.path()) else { return };
            let output = command.env("GRAPHALG_SIM_DEVICES", "2").output().expect("harness starts");
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.code(), Some(0), "{algorithm} on {ranks} ranks: {err}");
            let line = out.strip_prefix("INJECT_SUMMARY ").expect("a summary");
            let summary: serde_json::Value = serde_json::from_str(line.trim_end()).expect("JSON");
            for none in ["silent", "panics", "timeouts", "false_alarms"] {
                assert_eq!(summary[none], 0, "{algorithm} on {ranks} ranks: {err}");
            }
            assert!(summary["detected_recovered"].as_u64() > Some(5), "{algorithm} on {ranks} ranks: {err}");
            assert_eq!(summary["device"], "simulated");
            assert!(err.contains("simulated device"), "{err}");
        }
    }
}

#[test]
fn a_run_of_one_device_goes_on_on_the_other() {
    let cache = tempfile::tempdir().expect("a folder");
    for algorithm in [&["bfs"][..], &["kcore", "--all-cores"], &["pagerank", "--tolerance", "1e-3"]] {
        for (first, second, ranks) in [("cuda", "cpu", "1"), ("cpu", "cuda", "2"), ("cuda", "cuda:1,0", "2")] {
            let folder = cache.path().join(format!("{}-{first}-{second}", algorithm.concat()));
            let folder = folder.to_str().expect("UTF-8");
            let protected = ["--fault-tolerance", "on", "--device", first, "--checkpoint-dir", folder];
            let fixed = [&protected[..], &["--checkpoint-interval", "2"]].concat();
            let Some(command) = simulated(&[&["--algorithm"], algorithm, &fixed].concat(), cache.path()) else {
                return;
            };
            let whole = run(command, &[("GRAPHALG_SIM_DEVICES", "2")]);
            assert_eq!(whole.code, Some(0), "{algorithm:?} on {first}: {}", whole.err);
            let again = ["resume", folder, "--device", second, "--ranks", ranks];
            let resumed = run(simulated(&again, cache.path()).expect("as before"), &[("GRAPHALG_SIM_DEVICES", "2")]);
            assert_eq!(resumed.code, Some(0), "{algorithm:?} on {second}: {}", resumed.err);
            assert!(resumed.err.contains("resume   from superstep"), "{}", resumed.err);
            let method = format!(
                "{}_{}_fault_tolerant",
                if ranks == "1" { "single" } else { "multi" },
                if second == "cpu" { "cpu" } else { "gpu" }
            );
            assert_eq!(resumed.value("BENCHMARK_METADATA", "method"), method);
            assert_eq!(resumed.value("BENCHMARK_DETECTION", "certificate"), "held", "{}", resumed.err);
            if algorithm[0] != "pagerank" {
                let hash = |ran: &Ran| ran.value("BENCHMARK_RESULT", "result_hash");
                assert_eq!(hash(&whole), hash(&resumed), "{algorithm:?} from {first} to {second}");
            }
        }
    }
}

#[test]
fn a_profile_of_a_protected_run_says_what_was_marked_and_done_again() {
    let cache = tempfile::tempdir().expect("a folder");
    let traces = cache.path().join("traces");
    let arguments = ["--algorithm", "bfs", "--device", "cuda", "--fault-tolerance", "on", "--redundancy-budget", "0.3"];
    let Some(plain) = simulated(&arguments, cache.path()) else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness_profiling"));
    command.args(plain.get_args()).envs(plain.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.env("GRAPHALG_PROFILE_OUTPUT_DIR", &traces);
    let ran = run(command, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.value("BENCHMARK_METADATA", "method"), "single_gpu_fault_tolerant");
    let field = |name: &str| ran.value("BENCHMARK_TIMING", name).as_f64().expect("ms");
    let mut rows = csv::Reader::from_path(traces.join("iteration_timings.rank0000.csv")).expect("timings");
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("a row")).collect();
    for stage in
        ["score_and_mark", "tolerance_graph_update", "tolerance_gpu_bookkeeping", "d2h_summary", "cpu_validation"]
    {
        let of_stage = rows.iter().filter(|row| row.iter().any(|field| field == stage));
        let sum: f64 = of_stage.map(|row| row.iter().next_back().expect("ms").parse::<f64>().expect("ms")).sum();
        let whole = field(&format!("{stage}_ms"));
        assert!(
            whole > 0.0 && (sum - whole).abs() <= 0.001,
            "{stage}: rows add up to {sum} ms, the record says {whole}"
        );
    }
    let mut activity = csv::Reader::from_path(traces.join("iteration_activity.rank0000.csv")).expect("activity");
    let columns = activity.headers().expect("a header").clone();
    let place = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let (active, critical, assigned) =
        (place("active_vertices"), place("critical_vertices"), place("redundant_tasks_assigned"));
    let mut sums = (0, 0);
    for row in activity.records().map(|row| row.expect("a row")) {
        let number = |place: usize| row[place].parse::<u64>().expect("a number");
        assert!(number(assigned) <= number(critical) && number(critical) <= number(active), "{row:?}");
        sums = (sums.0 + number(critical), sums.1 + number(assigned));
    }
    assert!(sums.0 > 20_000 && sums.1 > 1_000, "{sums:?}");
}

#[test]
fn a_profile_of_a_gpu_adds_up_and_names_its_stages_for_nvtx() {
    let cache = tempfile::tempdir().expect("a folder");
    let (log, traces) = (cache.path().join("ranges"), cache.path().join("traces"));
    let Some(plain) = simulated(&["--algorithm", "bfs", "--device", "cuda"], cache.path()) else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness_profiling"));
    command.args(plain.get_args()).envs(plain.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let simulated = kernels_host::folder().expect("found before").display();
    command.env("LD_LIBRARY_PATH", format!("{}:{simulated}", ranges::stand_in().display()));
    command.env("NVTX_LOG", &log).env("GRAPHALG_PROFILE_OUTPUT_DIR", &traces);
    let ran = run(command, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut rows = csv::Reader::from_path(traces.join("iteration_timings.rank0000.csv")).expect("timings");
    let updates =
        rows.records().map(|row| row.expect("a row")).filter(|row| row.iter().any(|field| field == "graph_update"));
    let sum: f64 = updates.map(|row| row.iter().next_back().expect("a last column").parse::<f64>().expect("ms")).sum();
    let field = ran.value("BENCHMARK_TIMING", "graph_update_ms").as_f64().expect("ms");
    assert!((sum - field).abs() <= 0.001, "rows add up to {sum} ms, the record says {field}");
    let mut activity = csv::Reader::from_path(traces.join("iteration_activity.rank0000.csv")).expect("activity");
    let columns = activity.headers().expect("a header").clone();
    let place = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let (launched, tail, work) = (place("launched_threads"), place("tail_threads"), place("work_vertices"));
    for row in activity.records().map(|row| row.expect("a row")) {
        let number = |place: usize| row[place].parse::<u64>().expect("a number");
        assert_eq!((number(work), number(launched), number(tail)), (34_546, 34_560, 14));
    }
    let (ended, _) = ranges::ended(&std::fs::read_to_string(log).expect("ranges"));
    let count = |name: &str| ended.values().flatten().filter(|(_, own, _)| own == name).count();
    let supersteps = ran.value("BENCHMARK_RESULT", "iterations").as_u64().expect("a number") as usize;
    assert_eq!(count("graph_update"), supersteps + 1, "each superstep, and finish");
    assert_eq!((count("single_gpu_setup"), count("final_result_copy")), (5, 1));
}
