use super::super::{Order, View};
use super::*;
use proptest::prelude::*;
use std::fs;

fn sample(directed: bool, view: View) -> Graph {
    let pairs: Vec<(i64, i64)> = (0..3_000).map(|i| (i * i % 977 * 5, i * 31 % 1_009 * 5 - 60)).collect();
    Graph::from_pairs("sample", &pairs, directed, view).expect("few vertices")
}

/// The sample in the order of the file, or reordered.
fn either(is_reordered: bool, view: View) -> Graph {
    let graph = sample(true, view);
    if is_reordered { graph.reordered(Order::Degree).expect("an order") } else { graph }
}

fn stored(graph: &Graph) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sample.gcsr");
    graph.write_gcsr(&path).expect("written");
    verify(&path).expect("sound");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "no temporary file is left");
    fs::read(&path).expect("readable")
}

fn read(bytes: &[u8]) -> Result<Graph> {
    open(Path::new("sample.gcsr"), &Backing::Read(bytes))
}

fn assert_same(one: &Graph, two: &Graph) {
    assert_eq!((one.name(), one.facts()), (two.name(), two.facts()));
    let by_number = |graph: &Graph| {
        let ids = graph.ids();
        (0..ids.len() as u32).map(|v| ids.original(crate::base::id::GlobalId(v))).collect::<Vec<_>>()
    };
    assert_eq!(by_number(one), by_number(two));
    assert_eq!(one.ids().ascending_order(), two.ids().ascending_order());
    assert_eq!(one.outgoing().offsets()[..], two.outgoing().offsets()[..]);
    assert_eq!(one.outgoing().targets()[..], two.outgoing().targets()[..]);
    assert_eq!(one.is_symmetric(), two.is_symmetric());
    let targets = |graph: &Graph| graph.incoming().map(|rows| rows.targets()[..].to_vec());
    assert_eq!(targets(one), targets(two));
}

#[test]
fn every_view_reads_back_as_it_was_written_and_a_mapped_file_is_not_copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sample.gcsr");
    for directed in [false, true] {
        for view in [View::AsGiven { incoming: false }, View::AsGiven { incoming: true }, View::Symmetric, View::Simple]
        {
            let graph = sample(directed, view);
            graph.write_gcsr(&path).expect("written");
            let map = Arc::new(crate::base::memory::map_file(&fs::File::open(&path).expect("a file")).expect("mapped"));
            let mapped = open(&path, &Backing::Mapped(&map)).expect("a graph");
            assert_same(&graph, &mapped);
            assert_same(&graph, &read(&map).expect("a graph"));
            let Ok(again) = mapped.with_view(view) else { panic!("the view it was stored in") };
            assert!(again.outgoing().targets().is_mapped() && again.outgoing().offsets().is_mapped());
        }
    }
    let empty = Graph::from_pairs("", &[], true, View::Symmetric).expect("no vertices");
    assert_same(&empty, &read(&stored(&empty)).expect("a graph"));
}

#[test]
fn a_reordered_graph_keeps_its_order_and_other_programs_are_told() {
    for view in [View::AsGiven { incoming: true }, View::Simple] {
        for order in [Order::Degree, Order::Hub, Order::Rcm] {
            let graph = sample(true, view).reordered(order).expect("an order");
            let bytes = stored(&graph);
            assert_same(&graph, &read(&bytes).expect("a graph"));
            assert_eq!(bytes[8], 2, "the version");
            let plain = graph.ascending().expect("sound");
            assert_eq!(stored(&plain), stored(&sample(true, view)));
            assert_eq!(stored(&plain)[8], 1, "the version of a file without order is the one of old programs");
        }
    }
}

#[test]
fn an_order_that_does_not_fit_the_ids_is_refused() {
    let whole = stored(&either(true, View::Symmetric));
    let place = header::Header::read(&whole).expect("sound").place(Kind::Order).expect("an order").clone();
    let check = |second: u32, words: &str| {
        let mut bytes = whole.clone();
        bytes[place.offset + 4..place.offset + 8].copy_from_slice(&second.to_le_bytes());
        let error = read(&bytes).expect_err("no order").to_string();
        assert!(error.contains(words) && error.contains("damaged"), "{error}");
    };
    let first = u32::from_le_bytes(whole[place.offset..place.offset + 4].try_into().expect("four bytes"));
    check(first, "do not ascend along their order");
    check(u32::MAX, "which is no vertex");
    // An order without the version that has one, and the other way round.
    for (graph, version) in [(&either(true, View::Simple), 1u8), (&either(false, View::Simple), 2)] {
        let mut bytes = stored(graph);
        bytes[8] = version;
        let error = read(&bytes).expect_err("contradicts itself").to_string();
        assert!(error.contains("does not go with these sections"), "{error}");
    }
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let bytes = stored(&sample(true, View::AsGiven { incoming: true }));
    for cut in (0..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
        assert!(read(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(read(&longer).is_err());
    assert!(read(&bytes[..bytes.len() - 1]).expect_err("cut").to_string().contains("truncated"));
}

#[test]
fn a_damaged_block_is_named() {
    let mut bytes = stored(&sample(false, View::Symmetric));
    let place = header::Header::read(&bytes).expect("sound").place(Kind::Targets).expect("targets").clone();
    bytes[place.offset + 9] ^= 1;
    let error = verify_bytes(Path::new("x.gcsr"), &bytes).expect_err("damaged").to_string();
    let (start, end) = (place.offset, place.offset + place.bytes - 1);
    assert_eq!(
        error,
        format!(
            "x.gcsr: block 0 of section `targets` (bytes {start} to {end}) is damaged; convert the file again from its source"
        )
    );
}

proptest! {
    #[test]
    fn any_flipped_byte_is_found_by_verify_and_never_crashes_opening(at in 0usize..1 << 20, flip in 1u8.., reordered: bool) {
        let mut bytes = stored(&either(reordered, View::AsGiven { incoming: true }));
        let at = at % bytes.len();
        bytes[at] ^= flip;
        prop_assert!(verify_bytes(Path::new("x"), &bytes).is_err(), "byte {at} of {}", bytes.len());
        if let Ok(graph) = read(&bytes) {
            for v in 0..graph.vertices() as u32 {
                prop_assert!(graph.outgoing().row(v).iter().all(|&u| (u as usize) < graph.vertices()));
            }
        }
    }

    #[test]
    fn a_header_with_any_numbers_and_a_fitting_checksum_never_crashes(
        changes in prop::collection::vec((24usize..800, any::<u8>()), 1..6),
        reordered: bool,
    ) {
        let mut bytes = stored(&either(reordered, View::AsGiven { incoming: false }));
        for (at, value) in changes {
            bytes[at] = value;
        }
        let sum = xxh3_64(&bytes[24..HEADER]);
        bytes[16..24].copy_from_slice(&sum.to_le_bytes());
        let _ = read(&bytes);
        let _ = verify_bytes(Path::new("x"), &bytes);
    }
}
