//! Real graphs up to cit-HepPh on one to four simulated GPUs: the answers of the cpu device, by hash for BFS, CC and k-core.

use framework::answer::Values;
use framework::cuda::Gpus;
use framework::graph::{Direction, Graph, Input, LoadOptions, load};
use framework::trial::{Device, Placement};
use graphalg_tests::Case;
use graphalg_tests::needs::real_graphs;
use graphalg_tests::simulated::devices_for;
use std::path::Path;

/// Options, and the numbers of devices that they run on.
const CASES: [(&str, &[&str], &[usize]); 5] = [
    ("bfs", &[], &[1, 2, 3, 4]),
    ("cc", &[], &[1, 2, 3, 4]),
    ("kcore", &["-k", "5"], &[1, 2, 3, 4]),
    ("kcore", &["--all-cores"], &[1, 2]),
    ("pagerank", &["--tolerance", "1e-3"], &[1, 3]),
];

macro_rules! real_graphs {
    ($($test:ident: $file:literal,)*) => {$(
        #[test]
        fn $test() {
            let test = concat!("simulated_graphs::", stringify!($test));
            if let Some(folder) = real_graphs(test) {
                check(test, &folder.join($file));
            }
        }
    )*};
}

real_graphs! {
    karate: "karate.mtx",
    polblogs: "polblogs.graph",
    email_eu_core: "email-Eu-core.txt.gz",
    ca_grqc: "ca-GrQc.txt",
    facebook_combined: "facebook_combined.txt.gz",
    wiki_vote: "wiki-Vote.txt",
    p2p_gnutella31: "p2p-Gnutella31.txt.gz",
    cit_hepph: "cit-HepPh.txt.gz",
}

fn check(test: &str, path: &Path) {
    let Some(devices) = devices_for(test) else { return };
    for (name, options, counts) in CASES {
        let case = Case::new(name, options);
        let mut algorithm = case.make().expect("options");
        let load_options = LoadOptions { direction: Direction::Auto, view: algorithm.view(), ..LoadOptions::default() };
        let graph: Graph = load(&Input::Path(path.into()), &load_options).expect("a real graph");
        algorithm.prepare(&graph).expect("a source");
        let on_cpu = case.run(&graph, 1, 2).expect("the cpu device").answer;
        for &count in counts {
            let what = format!("{case} on {}, {count} devices", path.display());
            let gpus = Gpus::new(devices[..count.min(devices.len())].to_vec(), case.kernels());
            let place = Placement { device: Device::Accelerators(&gpus), ..Placement::new(count, 1) };
            let trial = case.run_at(&graph, place).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(trial.end.converged, "{what}");
            match (&on_cpu.values, &trial.answer.values) {
                (Values::Real(a), Values::Real(b)) => {
                    let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
                    assert!(distance <= 2.0 * 1e-3 * 0.85 / 0.15, "{what}: {distance:e} apart");
                }
                _ => assert_eq!(on_cpu.hash(), trial.answer.hash(), "{what}"),
            }
        }
    }
}
