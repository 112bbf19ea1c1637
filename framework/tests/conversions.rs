//! What is written reads back as it was; a conversion on disk gives the bytes of one in memory.

use framework::graph::{
    Conversion, Direction, Format, Graph, Input, LoadOptions, Order, View, convert, load, verify, write_graph,
};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

const AS_GIVEN: View = View::AsGiven { incoming: true };

fn options(view: View) -> LoadOptions {
    LoadOptions { view, ..LoadOptions::default() }
}

fn within(memory: Option<u64>) -> Conversion {
    Conversion { memory, reorder: None }
}

fn arcs_of(graph: &Graph) -> Vec<(i64, i64)> {
    let ids: Vec<i64> = graph.ids().iter().collect();
    (0..graph.vertices() as u32)
        .flat_map(|u| graph.outgoing().row(u).iter().map(|&v| (u, v)).collect::<Vec<_>>())
        .map(|(u, v)| (ids[u as usize], ids[v as usize]))
        .collect()
}

/// Writes the graph as `ending` and reads it back.
fn through(graph: &Graph, ending: &str, direction: Direction) -> Graph {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("graph{ending}"));
    write_graph(graph, &path).expect("written");
    load(&Input::Path(path), &LoadOptions { direction, ..options(AS_GIVEN) }).expect("read back")
}

fn check(pairs: &[(i64, i64)], directed: bool) {
    let graph = Graph::from_pairs("graph", pairs, directed, AS_GIVEN).expect("a graph");
    for ending in [".txt", ".txt.gz", ".gcsr"] {
        let back = through(&graph, ending, Direction::Auto);
        assert_eq!(arcs_of(&back), arcs_of(&graph), "{ending}");
        assert!(back.ids().iter().eq(graph.ids().iter()), "{ending}");
        assert_eq!((back.name(), back.facts().directed), ("graph", directed), "{ending}");
        assert!(back.warnings().is_empty(), "{ending}: {:?}", back.warnings());
    }
    let direction = if directed { Direction::Directed } else { Direction::Undirected };
    assert_eq!(arcs_of(&through(&graph, ".el", direction)), arcs_of(&graph));
    let back = through(&graph, ".mtx", Direction::Auto);
    let place = |id: i64| graph.ids().find(id).map(|v| i64::from(v.0) + 1).expect("an ID");
    let renumbered: Vec<_> = arcs_of(&graph).into_iter().map(|(u, v)| (place(u), place(v))).collect();
    assert_eq!((arcs_of(&back), back.vertices()), (renumbered, graph.vertices()));
}

/// Converts with and without a budget and compares the bytes.
fn check_on_disk(text: &[u8], view: View, ending: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("list.txt.gz");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, text).expect("in memory");
    fs::write(&source, packer.finish().expect("in memory")).expect("written");
    let to = |name: &str, memory| {
        let path = folder.path().join(format!("{name}{ending}"));
        let done = convert(&Input::Path(source.clone()), &options(view), &path, within(memory)).expect("converted");
        (fs::read(path).expect("written"), done)
    };
    let (one, two) = (to("in-memory", None), to("on-disk", Some(16 << 20)));
    assert_eq!(one.1, two.1);
    assert!(one.0 == two.0, "{view:?} {ending}: the bytes differ");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 3, "temporary files are left");
}

#[test]
fn a_list_larger_than_the_budget_becomes_the_same_bytes_on_disk() {
    let mut text = b"# Nodes: 7 Edges: 5\n".to_vec();
    let mut state = 1u64;
    for i in 0..900_000u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // A hub, negative IDs in the second half, repeated lines.
        let u = if i % 5 == 0 { 17 } else { (state >> 40) % 60_000 * 7 } as i64;
        let v = ((state >> 20) % 60_000 * 7) as i64 - if i > 450_000 { 1_000 } else { 0 };
        text.extend_from_slice(format!("{u}\t{v}\n").as_bytes());
    }
    for view in [View::AsGiven { incoming: false }, AS_GIVEN, View::Symmetric, View::Simple] {
        check_on_disk(&text, view, ".gcsr");
    }
    check_on_disk(&text, View::AsGiven { incoming: false }, ".txt");
    let undirected = [b"# Undirected graph: x\n".to_vec(), text].concat();
    check_on_disk(&undirected, View::Symmetric, ".mtx");
    check_on_disk(b"", View::Symmetric, ".gcsr");
}

#[test]
fn a_stored_graph_serves_other_views_and_both_directions() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("list.txt");
    fs::write(&source, "5 9\n9 5\n5 5\n9 -3\n9 -3\n").expect("written");
    let stored = folder.path().join("list.gcsr");
    convert(&Input::Path(source.clone()), &options(View::AsGiven { incoming: false }), &stored, within(None))
        .expect("stored");
    verify(&stored).expect("sound");
    for direction in [Direction::Auto, Direction::Directed, Direction::Undirected] {
        for view in [View::AsGiven { incoming: false }, AS_GIVEN, View::Symmetric, View::Simple] {
            let from = |path: &Path| {
                let options = LoadOptions { format: Format::Auto, direction, view, ..LoadOptions::default() };
                load(&Input::Path(path.to_path_buf()), &options).expect("a graph")
            };
            let (text, mapped) = (from(&source), from(&stored));
            assert_eq!(arcs_of(&text), arcs_of(&mapped), "{direction:?} {view:?}");
            assert_eq!(text.facts(), mapped.facts(), "{direction:?} {view:?}");
            assert_eq!(text.name(), mapped.name());
        }
    }
}

#[test]
fn a_reordered_graph_converts_back_to_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("list.txt"), "5 9\n9 5\n5 5\n9 -3\n9 -3\n9 70\n70 71\n-40 9\n").expect("written");
    let to = |from: &str, name: &str, how| {
        convert(&Input::Path(at(from)), &options(AS_GIVEN), &at(name), how).expect("converted");
        fs::read(at(name)).expect("written")
    };
    for ending in ["txt", "el", "mtx", "gcsr"] {
        let plain = to("list.txt", &format!("list.{ending}"), within(None));
        for order in [Order::Degree, Order::Hub, Order::Rcm] {
            let how = Conversion { memory: None, reorder: Some(order) };
            let stored = to("list.txt", "list.other.gcsr", how);
            verify(&at("list.other.gcsr")).expect("sound");
            assert_eq!(to("list.other.gcsr", "list.copy.gcsr", within(None)), stored, "a copy keeps the order");
            assert_eq!(to("list.txt", "list.other.gcsr", Conversion { memory: Some(64 << 20), ..how }), stored);
            fs::rename(at("list.other.gcsr"), at("list.gcsr")).expect("renamed");
            let back = to("list.gcsr", &format!("back.{ending}"), within(None));
            assert!(ending == "gcsr" || back == plain, "{order:?} {ending}");
        }
    }
}

#[test]
fn an_order_needs_a_file_that_can_hold_it_and_memory() {
    let arcs: String = (0..1 << 19).map(|i| format!("{i} {}\n", i * 7 % 1001)).collect();
    let input = Input::Embedded { name: "x", bytes: arcs.leak().as_bytes(), file_name: "x.txt" };
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, memory| {
        let how = Conversion { memory, reorder: Some(Order::Rcm) };
        convert(&input, &options(AS_GIVEN), &folder.path().join(name), how).expect_err("refused").to_string()
    };
    assert!(refused("x.txt", None).contains("a text lists original IDs and cannot hold an order of vertices"));
    assert!(refused("x.mtx.gz", None).contains("write a .gcsr file"));
    let error = refused("x.gcsr", Some(26 << 20));
    assert!(error.contains("--reorder numbers the graph in memory and may need"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn outputs_and_budgets_that_cannot_be_are_refused_before_the_work() {
    let input = Input::Embedded { name: "x", bytes: b"0 1\n", file_name: "x.txt" };
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, memory| {
        let error = convert(&input, &LoadOptions::default(), &folder.path().join(name), within(memory));
        error.expect_err("refused").to_string()
    };
    assert!(refused("x.sg", None).contains("cannot write this format; use .gcsr, .txt"));
    assert!(refused("x.gcsr.gz", None).contains("cannot write this format"));
    assert!(refused("x.txt.xz", None).contains("cannot write .xz"));
    assert!(refused("x.gcsr", Some(1 << 20)).contains("give at least 16 MiB"));
    assert!(refused("no/such/folder.gcsr", None).contains("cannot write it"));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn what_a_text_cannot_hold_is_said() {
    let graph = Graph::from_pairs_within("x", 0, 4, &[(0, 1)], false, View::Symmetric).expect("a graph");
    let folder = tempfile::tempdir().expect("a folder");
    let warnings = |name: &str| write_graph(&graph, &folder.path().join(name)).expect("written").warnings;
    assert_eq!(warnings("x.txt"), ["2 vertices without edges are lost: an edge list names only the ends of edges"]);
    assert_eq!(warnings("x.mtx"), ["a .mtx file has no IDs: vertices are renumbered 1 to 4, in ascending ID"]);
    assert_eq!(warnings("x.gcsr"), [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn writing_then_reading_is_identity_in_every_format(
        pairs in prop::collection::vec((-15i64..40, -15i64..40), 0..60),
        stride in prop::sample::select(vec![1i64, 10_000, 1 << 45]),
        directed: bool,
    ) {
        let pairs: Vec<_> = pairs.into_iter().map(|(u, v)| (u * stride, v * stride)).collect();
        check(&pairs, directed);
    }
}
