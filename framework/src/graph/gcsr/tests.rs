use super::super::{Order, View};
use super::header::HEADER;
use super::*;
use proptest::prelude::*;
use std::fs;
use xxhash_rust::xxh3::xxh3_64;

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
    open(Path::new("sample.gcsr"), &Backing::Read(bytes), Checksums::Compare)
}

fn read_trusted(bytes: &[u8]) -> Result<Graph> {
    open(Path::new("sample.gcsr"), &Backing::Read(bytes), Checksums::Trust)
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
            let map = Arc::new(map_file(&fs::File::open(&path).expect("a file")).expect("mapped"));
            let mapped = open(&path, &Backing::Mapped(&map), Checksums::Compare).expect("a graph");
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
    let place = Header::read(&whole).expect("sound").place(Kind::Order).expect("an order").clone();
    let check = |second: u32, words: &str| {
        let mut bytes = whole.clone();
        bytes[place.offset + 4..place.offset + 8].copy_from_slice(&second.to_le_bytes());
        assert!(read(&bytes).expect_err("damaged").to_string().contains("section `order`"));
        let error = read_trusted(&bytes).expect_err("no order").to_string();
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

/// Graphs whose files together have every section, both versions, both directions, and blocks beyond the first.
fn files() -> Vec<Vec<u8>> {
    let incoming = View::AsGiven { incoming: true };
    let dense = Graph::from_pairs("dense", &[(0, 1), (1, 2), (2, 2)], true, incoming).expect("a graph");
    let large: Vec<(i64, i64)> = (0..270_000).map(|i| (i % 517, i / 517)).collect();
    let large = Graph::from_pairs("large", &large, true, View::AsGiven { incoming: false }).expect("a graph");
    let empty = Graph::from_pairs("", &[], true, View::Symmetric).expect("no vertices");
    let mut files: Vec<_> =
        [&sample(true, incoming), &sample(false, View::Simple), &either(true, incoming), &dense, &empty]
            .map(stored)
            .into();
    files.push(stored(&large));
    files
}

/// Every part of a file, each by its name: magic, version and so on, every section, and the zeroes before it.
fn parts(bytes: &[u8]) -> Vec<(String, Range<usize>)> {
    let header = Header::read(bytes).expect("sound");
    let fixed = [("magic", 0..8), ("version", 8..12), ("length", 12..16), ("checksum", 16..24), ("facts", 24..104)];
    let rest = [("name", 104..360), ("unused", 360..512), ("table", 512..736), ("unused", 736..4096)];
    let mut parts: Vec<_> = fixed.into_iter().chain(rest).map(|(name, range)| (name.to_owned(), range)).collect();
    let mut end = 4096;
    for place in &header.places {
        parts.push((format!("before {}", place.kind.name()), end..place.offset));
        parts.push((place.kind.name().to_owned(), place.range()));
        end = place.range().end;
    }
    assert_eq!(end, bytes.len());
    parts.retain(|(_, range)| !range.is_empty());
    parts
}

#[test]
fn ten_thousand_flipped_bits_are_each_refused_whatever_they_hit() {
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut hit = std::collections::BTreeMap::<String, u32>::new();
    let mut files = files();
    let kinds: Vec<_> = files.iter().map(|bytes| parts(bytes)).collect();
    let large = files.len() - 1; // slower to read, so fewer
    let mut flips = 0;
    while flips < 10_000 {
        let file = if flips % 50 == 0 { large } else { random() % large };
        let (name, range) = &kinds[file][random() % kinds[file].len()];
        let (at, bit) = (range.start + random() % range.len(), random() % 8);
        let bytes = &mut files[file];
        bytes[at] ^= 1 << bit;
        let outcome = read(bytes);
        assert!(outcome.is_err(), "file {file}: bit {bit} of byte {at} ({name}) is not missed");
        assert_eq!(outcome.err().map(|error| error.class()), Some(crate::base::error::Class::Usage));
        if let Ok(graph) = read_trusted(bytes) {
            let n = graph.vertices();
            assert!(graph.outgoing().targets().iter().all(|&v| (v as usize) < n), "{name}");
        }
        bytes[at] ^= 1 << bit;
        *hit.entry(name.clone()).or_default() += 1;
        flips += 1;
    }
    for bytes in &files {
        read(bytes).expect("whole again");
    }
    let kinds = ["offsets", "targets", "incoming offsets", "incoming targets", "ids", "order", "sums", "before sums"];
    assert!(kinds.iter().all(|kind| hit[*kind] >= 50), "{hit:?}");
}

#[test]
fn damage_to_a_block_beyond_the_first_is_found_there() {
    let mut bytes = files().pop().expect("the large one");
    let place = Header::read(&bytes).expect("sound").place(Kind::Targets).expect("targets").clone();
    assert!(place.bytes > BLOCK);
    let last = place.range().end - 1;
    bytes[last] ^= 1;
    let error = read(&bytes).expect_err("damaged").to_string();
    assert!(error.contains("block 1 of section `targets`"), "{error}");
}

#[test]
fn a_file_cut_at_any_boundary_or_with_anything_after_it_is_refused() {
    for bytes in files() {
        for (name, range) in parts(&bytes) {
            for cut in [range.start, range.start + 1, range.end - 1, range.end] {
                let outcome = read(&bytes[..cut.min(bytes.len())]);
                assert_eq!(outcome.is_ok(), cut == bytes.len(), "cut at {cut}, {name}");
                assert!(cut == bytes.len() || read_trusted(&bytes[..cut]).is_err(), "cut at {cut}, {name}");
            }
        }
        for after in [&b"\0"[..], b"x", &[0; 4096], &bytes] {
            let error = read(&[&bytes[..], after].concat()).expect_err("longer").to_string();
            assert!(error.contains("something was appended"), "{error}");
        }
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
    let place = Header::read(&bytes).expect("sound").place(Kind::Targets).expect("targets").clone();
    bytes[place.offset + 9] ^= 1;
    let error = read(&bytes).expect_err("damaged").to_string();
    let (start, end) = (place.offset, place.offset + place.bytes - 1);
    assert_eq!(
        error,
        format!(
            "sample.gcsr: block 0 of section `targets` (bytes {start} to {end}) does not match its checksum; the file is \
             damaged, convert it again from its source"
        )
    );
}

proptest! {
    #[test]
    fn any_changed_byte_is_found_and_never_crashes_opening(at in 0usize..1 << 20, flip in 1u8.., reordered: bool) {
        let mut bytes = stored(&either(reordered, View::AsGiven { incoming: true }));
        let at = at % bytes.len();
        bytes[at] ^= flip;
        prop_assert!(read(&bytes).is_err(), "byte {at} of {}", bytes.len());
        if let Ok(graph) = read_trusted(&bytes) {
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
        let _ = read_trusted(&bytes);
    }
}
