//! Laws of the cuda device, on simulated GPUs: the answer is that of the cpu device, on one device and on several.

use framework::algorithm::GraphAlgorithm;
use framework::answer::{Answer, Values};
use framework::device::cuda::{DeviceInfo, Gpus};
use framework::fault::Verdict;
use framework::graph::Graph;
use framework::run::{Device, Place};
use graphalg_tests::simulated::devices_for;
use graphalg_tests::{Case, cases, graphs};

/// Ranks and devices.
const PLACES: [(usize, usize); 6] = [(1, 1), (2, 2), (3, 3), (4, 4), (3, 2), (4, 1)];
/// For PageRank, which runs a hundred rounds.
const PLACES_FOR_MANY_ROUNDS: [(usize, usize); 2] = [(1, 1), (4, 3)];

fn on_all(mut law: impl FnMut(&Case, &dyn GraphAlgorithm, &Graph, &str)) {
    for (name, arcs) in graphs::small() {
        for directed in [true, false] {
            for case in cases() {
                let mut algorithm = case.make().expect("the law's own options");
                let graph = Graph::from_pairs(&name, &arcs, directed, algorithm.view()).expect("a small graph");
                if algorithm.prepare(&graph).is_ok() {
                    law(&case, algorithm.as_ref(), &graph, &format!("{case} on {name}, directed: {directed}"));
                }
            }
        }
    }
}

fn gpus(case: &Case, devices: &[DeviceInfo], count: usize) -> Gpus {
    Gpus::new(devices[..count.min(devices.len())].to_vec(), case.kernels())
}

/// Equal by hash, or, for reals, within the distance that two sound answers may have.
fn assert_same(on_cpu: &Answer, on_gpu: &Answer, what: &str) {
    match (&on_cpu.values, &on_gpu.values) {
        (Values::Real(a), Values::Real(b)) => {
            let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
            assert!(a.len() == b.len() && distance <= 2.0 * 1e-10 * 0.85 / 0.15, "{what}: {distance:e} apart");
        }
        _ => assert_eq!(on_cpu.hash(), on_gpu.hash(), "{what}"),
    }
}

#[test]
fn the_answer_is_that_of_the_cpu_device_on_any_number_of_devices() {
    let Some(devices) = devices_for("the_answer_is_that_of_the_cpu_device_on_any_number_of_devices") else { return };
    on_all(|case, algorithm, graph, what| {
        let on_cpu = case.run(graph, 1, 1).expect(what);
        let places = if case.name() == "pagerank" { &PLACES_FOR_MANY_ROUNDS[..] } else { &PLACES };
        for &(ranks, count) in places {
            let what = format!("{what}, {ranks} ranks on {count} devices");
            let gpus = gpus(case, &devices, count);
            let place = Place { device: Device::Cuda(&gpus), ..Place::new(ranks, 1) };
            let trial = case.run_at(graph, place).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(trial.end.converged, "{what}");
            assert_same(&on_cpu.answer, &trial.answer, &what);
            if let Verdict::Corrupt(finding) = algorithm.verify(graph, &trial.answer) {
                panic!("{what}: {finding}");
            }
        }
    });
}

#[test]
fn ranks_on_devices_send_what_ranks_on_threads_send() {
    let Some(devices) = devices_for("ranks_on_devices_send_what_ranks_on_threads_send") else { return };
    on_all(|case, _, graph, what| {
        // What cc contracts in a part depends on the order of threads, and so does which vertices then change.
        let ranks_tried: &[usize] = if case.name() == "cc" { &[] } else { &[2, 3] };
        for &ranks in ranks_tried {
            let on_cpu = case.run(graph, ranks, 1).expect(what);
            let gpus = gpus(case, &devices, ranks);
            let place = Place { device: Device::Cuda(&gpus), ..Place::new(ranks, 1) };
            let on_gpu = case.run_at(graph, place).expect(what);
            assert_eq!(on_cpu.end.iterations, on_gpu.end.iterations, "{what}");
            for (cpu, gpu) in on_cpu.ranks.iter().zip(&on_gpu.ranks) {
                assert_eq!(cpu.costs.exchange_bytes, gpu.costs.exchange_bytes, "{what}, {ranks} ranks");
                assert_eq!(cpu.costs.exchange_messages, gpu.costs.exchange_messages, "{what}, {ranks} ranks");
            }
        }
    });
}
