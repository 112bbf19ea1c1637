//! Checkpoints: a run goes on from any of them, on any number of ranks, and gives an equal answer; one that is torn, cut short,
//! flipped or foreign is refused by name and the one before is used.

use framework::graph::Graph;
use framework::protect::{CheckpointSet, Checkpoints, Interval, Protection, fingerprint};
use graphalg_tests::{Case, cases, graphs};
use std::fs;
use std::path::{Path, PathBuf};

fn on_disk(folder: &Path, run: &str, graph: &Graph) -> Checkpoints {
    Checkpoints { folder: folder.into(), every: 1, run: run.into(), graph: fingerprint(graph) }
}

fn protection(checkpoints: &Checkpoints) -> Protection {
    Protection { snapshots: Interval::Every(0), checkpoints: Some(checkpoints.clone()), ..Protection::on() }
}

fn graph(case: &Case, name: &str, arcs: &[(i64, i64)]) -> Graph {
    Graph::from_pairs(name, arcs, true, case.make().expect("options").view()).expect("a small graph")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The newest checkpoint's superstep.
fn newest(folder: &Path) -> Option<String> {
    let name = files(folder).last()?.file_name()?.to_str()?.split('.').next()?.to_owned();
    Some(name)
}

#[test]
fn a_run_goes_on_from_any_checkpoint_on_any_number_of_ranks() {
    let long = ("path", (0..60).map(|v| (v, v + 1)).collect::<Vec<_>>());
    let wide = ("random", graphs::random(3, 400, 900));
    for (name, arcs) in [long, wide] {
        for case in cases() {
            let graph = graph(&case, name, &arcs);
            let plain = case.run(&graph, 1, 1).expect("a run");
            for ranks in [1, 3] {
                let folder = tempfile::tempdir().expect("a folder");
                let checkpoints = on_disk(folder.path(), "this", &graph);
                let protection = protection(&checkpoints);
                let whole = case.run_protected(&graph, (ranks, 1), &protection, None).expect("a run");
                assert_eq!(whole.answer, plain.answer, "{case} on {name}");
                // From the newest, and from the two before it.
                for _ in 0..3 {
                    let (found, refused) = CheckpointSet::find(&checkpoints).expect("a folder");
                    assert_eq!(refused, Vec::<String>::new(), "{case} on {name}");
                    let Some(found) = found else { break };
                    for others in [1, 2, 3, 4] {
                        let off = Protection { checkpoints: None, ..protection.clone() };
                        let what = format!("{case} on {name}: {ranks} to {others} ranks at {}", found.index);
                        let resumed = case.run_protected(&graph, (others, 1), &off, Some(&found));
                        let resumed = resumed.unwrap_or_else(|error| panic!("{what}: {error}"));
                        let detection = resumed.detection.expect("protected");
                        assert!(detection.evidence.is_clean() && detection.recoveries == 0, "{what}: {detection:?}");
                        assert!(resumed.end.is_sound && resumed.end.converged, "{what}");
                        assert_eq!(resumed.answer, plain.answer, "{what}");
                        if others == ranks {
                            assert_eq!(resumed.end.iterations, whole.end.iterations, "{what}");
                        }
                    }
                    let gone = newest(folder.path()).expect("a file");
                    for file in files(folder.path()) {
                        if file.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(&gone)) {
                            fs::remove_file(file).expect("removed");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_broken_checkpoint_is_refused_by_name_and_the_one_before_is_used() {
    let case = Case::new("bfs", &["--source", "0"]);
    let arcs: Vec<_> = (0..60).map(|v| (v, v + 1)).collect();
    let graph = graph(&case, "path", &arcs);
    let folder = tempfile::tempdir().expect("a folder");
    let checkpoints = on_disk(folder.path(), "this", &graph);
    let whole = case.run_protected(&graph, (2, 1), &protection(&checkpoints), None).expect("a run");
    let all = files(folder.path());
    let victim = all.last().expect("a checkpoint").clone();
    let sound = fs::read(&victim).expect("read");
    let (best, _) = CheckpointSet::find(&checkpoints).expect("a folder");
    let best = best.expect("one").index;
    let other = on_disk(folder.path(), "other", &graph);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let foreign = Checkpoints { folder: elsewhere.path().into(), ..other };
    case.run_protected(&graph, (2, 1), &protection(&foreign), None).expect("a run");
    let foreign = fs::read(elsewhere.path().join(victim.file_name().expect("a name"))).expect("the same superstep");
    let flipped = |at: usize| {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        bytes
    };
    for (bytes, words) in [
        (Vec::new(), "is torn"),
        (sound[..20].to_vec(), "is torn"),
        (sound[..sound.len() / 2].to_vec(), "is damaged or torn"),
        (sound[..sound.len() - 1].to_vec(), "is damaged or torn"),
        ([sound.as_slice(), b"more"].concat(), "is damaged or torn"),
        (flipped(0), "is no checkpoint"),
        (flipped(8), "is damaged or torn"),
        (flipped(sound.len() / 2), "is damaged or torn"),
        (flipped(sound.len() - 3), "is damaged or torn"),
        (foreign, "is foreign"),
    ] {
        fs::write(&victim, &bytes).expect("written");
        let (found, refused) = CheckpointSet::find(&checkpoints).expect("a folder");
        let named = refused.iter().any(|line| line.contains(words) && line.contains(victim.to_str().expect("utf-8")));
        assert!(named, "{words}: {refused:?}");
        let found = found.expect("the one before");
        assert_eq!(found.index, best - 1, "{words}");
        let off = Protection { checkpoints: None, ..protection(&checkpoints) };
        let resumed = case.run_protected(&graph, (2, 1), &off, Some(&found)).expect("a run");
        assert_eq!(resumed.answer, whole.answer, "{words}");
    }
    fs::remove_file(&victim).expect("removed");
    let (found, refused) = CheckpointSet::find(&checkpoints).expect("a folder");
    assert_eq!(found.expect("the one before").index, best - 1);
    assert!(
        refused.iter().any(|line| line.contains("is not whole on every rank: 1 of 2 parts are there")),
        "{refused:?}"
    );
}
