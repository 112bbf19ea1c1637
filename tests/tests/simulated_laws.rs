//! Laws of the cuda device, on simulated GPUs: the answer is that of the cpu device, on one device and on several.

use framework::algorithm::GraphAlgorithm;
use framework::base::verdict::Verdict;
use framework::cuda::{DeviceInfo, Gpus};
use framework::graph::Graph;
use framework::trial::{Costs, Device, Placement};
use graphalg_tests::simulated::{assert_same, devices_for};
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

#[test]
fn the_answer_is_that_of_the_cpu_device_on_any_number_of_devices() {
    let Some(devices) = devices_for("the_answer_is_that_of_the_cpu_device_on_any_number_of_devices") else { return };
    on_all(|case, algorithm, graph, what| {
        let on_cpu = case.run(graph, 1, 1).expect(what);
        let places = if case.name() == "pagerank" { &PLACES_FOR_MANY_ROUNDS[..] } else { &PLACES };
        for &(ranks, count) in places {
            let what = format!("{what}, {ranks} ranks on {count} devices");
            let gpus = gpus(case, &devices, count);
            let place = Placement { device: Device::Accelerators(&gpus), ..Placement::new(ranks, 1) };
            let trial = case.run_at(graph, place).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(trial.end.converged, "{what}");
            assert_same(&on_cpu.answer, &trial.answer, &what);
            if let Verdict::Corrupt(finding) = algorithm.verify(graph, &trial.answer) {
                panic!("{what}: {finding}");
            }
        }
    });
}

/// Runs on threads and on devices, ghosts over the transport or not, and compares what each rank sent.
fn compare_sent(test: &str, by_transport: bool, compare: impl Fn(&Costs, &Costs, &str)) {
    let Some(devices) = devices_for(test) else { return };
    on_all(|case, _, graph, what| {
        // What cc contracts in a part depends on the order of threads, and so does which vertices then change.
        let ranks_tried: &[usize] = if case.name() == "cc" { &[] } else { &[2, 3] };
        for &ranks in ranks_tried {
            let on_cpu = case.run(graph, ranks, 1).expect(what);
            let mut gpus = gpus(case, &devices, ranks);
            if by_transport {
                gpus = gpus.with_ghosts_by_transport();
            }
            let place = Placement { device: Device::Accelerators(&gpus), ..Placement::new(ranks, 1) };
            let on_gpu = case.run_at(graph, place).expect(what);
            assert_eq!(on_cpu.end.iterations, on_gpu.end.iterations, "{what}");
            assert_same(&on_cpu.answer, &on_gpu.answer, what);
            for (cpu, gpu) in on_cpu.ranks.iter().zip(&on_gpu.ranks) {
                compare(&cpu.costs, &gpu.costs, &format!("{what}, {ranks} ranks"));
            }
        }
    });
}

#[test]
fn ranks_on_devices_send_what_ranks_on_threads_send_over_the_transport() {
    let test = "ranks_on_devices_send_what_ranks_on_threads_send_over_the_transport";
    compare_sent(test, true, |cpu, gpu, what| {
        assert_eq!(cpu.exchange_bytes, gpu.exchange_bytes, "{what}");
        assert_eq!(cpu.exchange_messages, gpu.exchange_messages, "{what}");
        assert_eq!((cpu.carrier, gpu.carrier), (None, Some("through host memory")), "{what}");
    });
}

#[test]
fn devices_send_the_same_values_with_longer_names() {
    compare_sent("devices_send_the_same_values_with_longer_names", false, |cpu, gpu, what| {
        assert_eq!(cpu.exchange_messages, gpu.exchange_messages, "{what}");
        assert!(
            gpu.carrier.is_some_and(|carrier| carrier.starts_with("device to device")),
            "{what}: {:?}",
            gpu.carrier
        );
        // A message on threads is a byte and entries of 4 bytes and more, named by no more than 4; on devices 16 bytes and such entries.
        let least = cpu.exchange_bytes + 15 * cpu.exchange_messages;
        assert!((least..=least + cpu.exchange_bytes).contains(&gpu.exchange_bytes), "{what}: {gpu:?} for {cpu:?}");
        assert_eq!(gpu.exchange_bytes % 4, 0, "{what}");
    });
}
