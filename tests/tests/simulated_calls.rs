//! What the loop asks of the driver on simulated GPUs: ceilings on the calls of one superstep, by plugin, on one device and on several.
//! More calls than these are a loss on a GPU, where each costs microseconds; fewer are a reason to lower the ceiling.

use framework::base::id::Rank;
use framework::base::probe::{Activity, Probe, Stage};
use framework::cuda::Gpus;
use framework::graph::Graph;
use framework::trial::{Device, Placement};
use graphalg_tests::simulated::{calls, devices_for};
use graphalg_tests::{Case, graphs};
use kernels_host::CALLS;
use std::time::Duration;

type Counts = [u64; CALLS.len()];

/// Looks at the driver's counts when a superstep begins, and after agreement.
#[derive(Default)]
struct Counting {
    began: Option<Counts>,
    most: Counts,
}

impl Counting {
    fn close(&mut self) {
        let (Some(began), Some(now)) = (self.began.take(), calls()) else { return };
        for (most, (now, began)) in self.most.iter_mut().zip(now.iter().zip(began)) {
            *most = (*most).max(now - began);
        }
    }
}

impl Probe for Counting {
    fn span(&mut self, stage: Stage, _: u32, _: Duration, _: Duration) {
        if stage == Stage::Agree {
            self.close();
        }
    }
    fn superstep(&mut self, _: u32) {
        self.began = calls();
    }
    fn activity(&mut self, _: u32, _: Activity) {}
}

/// The most calls of any superstep of any rank on all small graphs, in the order of [`CALLS`]; `None` without a simulated driver.
fn most_calls(test: &str, case: &Case, ranks: usize, by_transport: bool) -> Option<Counts> {
    let devices = devices_for(test)?;
    let mut most = Counts::default();
    for (name, arcs) in graphs::small() {
        let mut algorithm = case.make().expect("the test's own options");
        let graph = Graph::from_pairs(&name, &arcs, false, algorithm.view()).expect("a small graph");
        if algorithm.prepare(&graph).is_err() {
            continue;
        }
        let mut gpus = Gpus::new(devices.clone(), case.kernels());
        if by_transport {
            gpus = gpus.with_ghosts_by_transport();
        }
        let place = Placement { device: Device::Accelerators(&gpus), ..Placement::new(ranks, 1) };
        let trial = case.run_probed(&graph, place, &|_: Rank| Counting::default()).expect("a sound run");
        for rank in trial.ranks {
            most.iter_mut().zip(rank.probe.most).for_each(|(most, now)| *most = (*most).max(now));
        }
    }
    Some(most)
}

#[test]
fn a_superstep_asks_the_driver_for_no_more_than_this() {
    let test = "a_superstep_asks_the_driver_for_no_more_than_this";
    if devices_for(test).is_none() || calls().is_none() {
        return; // said by `devices_for`; a real driver does not count
    }
    let mut table = String::new();
    for (name, options) in
        [("bfs", &[][..]), ("cc", &[]), ("kcore", &["-k", "3"]), ("kcore", &["--all-cores"]), ("pagerank", &[])]
    {
        let case = Case::new(name, options);
        for (ranks, by_transport) in [(1, false), (2, false), (4, false), (4, true)] {
            let most = most_calls(test, &case, ranks, by_transport).expect("there are devices");
            let counts: Vec<String> = CALLS.iter().zip(most).map(|(what, count)| format!("{count} {what}")).collect();
            let way = if by_transport { ", through the host" } else { "" };
            table += &format!("{case} on {ranks}{way}: {}\n", counts.join(", "));
            let [_, down, up, _, all_device, _, _, allocations, peer] = most;
            if !by_transport {
                // cc looks at a sample of labels in two supersteps of a run.
                let (looks, names) = if name == "cc" { (1, 2) } else { (0, 0) };
                let reports = if ranks == 1 { 1 } else { 2 };
                assert!(down <= reports + looks, "{case} on {ranks}: {down} copies to the host");
                assert!(up <= names, "{case} on {ranks}: {up} copies from the host");
                assert_eq!((all_device, allocations, peer), (0, 0, 0), "{case} on {ranks}");
            }
        }
    }
    insta::assert_snapshot!("driver_calls", table);
}
