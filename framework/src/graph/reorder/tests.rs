use super::super::View;
use super::*;
use proptest::prelude::*;

const ORDERS: [Order; 3] = [Order::Degree, Order::Hub, Order::Rcm];
const VIEWS: [View; 4] =
    [View::AsGiven { incoming: false }, View::AsGiven { incoming: true }, View::Symmetric, View::Simple];

/// All arcs in original IDs, ascending.
fn arcs(graph: &Graph, csr: &Csr) -> Vec<(i64, i64)> {
    let id = |v: u32| graph.ids().original(GlobalId(v));
    let mut arcs: Vec<_> =
        (0..csr.vertices() as u32).flat_map(|u| csr.row(u).iter().map(move |&v| (id(u), id(v)))).collect();
    arcs.sort_unstable();
    arcs
}

fn assert_same_graph(one: &Graph, two: &Graph) {
    assert!(one.ids().iter().eq(two.ids().iter()));
    assert_eq!(arcs(one, one.outgoing()), arcs(two, two.outgoing()));
    assert_eq!(one.incoming().map(|csr| arcs(one, csr)), two.incoming().map(|csr| arcs(two, csr)));
    assert_eq!((one.name(), one.facts(), one.warnings()), (two.name(), two.facts(), two.warnings()));
    assert_eq!(one.is_symmetric(), two.is_symmetric());
}

fn assert_equal(one: &Graph, two: &Graph) {
    assert_same_graph(one, two);
    assert_eq!(one.ids().ascending_order(), two.ids().ascending_order());
    assert_eq!(one.outgoing().targets()[..], two.outgoing().targets()[..]);
}

/// The original IDs in the new order.
fn check(pairs: &[(i64, i64)], order: Order, expected: &[i64]) {
    let graph = Graph::from_pairs("g", pairs, true, View::AsGiven { incoming: true }).expect("a graph");
    let graph = graph.reordered(order).expect("an order");
    let found: Vec<i64> = (0..graph.vertices() as u32).map(|v| graph.ids().original(GlobalId(v))).collect();
    assert_eq!(found, expected, "{order:?}");
}

#[test]
fn each_order_is_what_its_paper_says() {
    // Out-degrees: 10 has 1, 20 has 3, 30 has 0, 40 has 3, 50 has 1; the mean is 1.6.
    let pairs = [(10, 20), (20, 10), (20, 30), (20, 50), (40, 10), (40, 20), (40, 30), (50, 10)];
    check(&pairs, Order::Degree, &[20, 40, 10, 50, 30]);
    check(&pairs, Order::Hub, &[20, 40, 10, 30, 50]);
    // A scrambled path, and a lonely vertex with a loop: both ends are far; the smaller ID's search finds the other end.
    check(&[(3, 9), (9, 1), (1, 7), (7, 5), (8, 8)], Order::Rcm, &[8, 3, 9, 1, 7, 5]);
    for order in ORDERS {
        check(&[], order, &[]);
        check(&[(4, 4)], order, &[4]);
    }
}

#[test]
fn reverse_cuthill_mckee_gives_a_scrambled_grid_its_small_bandwidth_back() {
    let name = |x: i64, y: i64| (x + 10 * y) * 37 % 101;
    let edges = (0..10).flat_map(|x| (0..10).map(move |y| (x, y)));
    let pairs: Vec<_> = edges
        .flat_map(|(x, y)| [(name(x, y), name((x + 1).min(9), y)), (name(x, y), name(x, (y + 1).min(9)))])
        .collect();
    let graph = Graph::from_pairs("grid", &pairs, false, View::Simple).expect("a graph");
    let bandwidth = |graph: &Graph| {
        let row = |v: u32| graph.outgoing().row(v).iter().map(|&u| u.abs_diff(v)).max().unwrap_or(0);
        (0..graph.vertices() as u32).map(row).max()
    };
    assert!(bandwidth(&graph) > Some(60));
    assert_eq!(bandwidth(&graph.reordered(Order::Rcm).expect("an order")), Some(10));
}

#[test]
fn an_order_that_names_a_vertex_twice_or_not_at_all_is_refused() {
    let graph = Graph::from_pairs("g", &[(1, 2), (2, 3)], true, View::Symmetric).expect("a graph");
    for order in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 2]] {
        let error = graph.renumbered(order).expect_err("no order").to_string();
        assert!(error.contains("names each of the 3 vertices once"), "{error}");
    }
}

proptest! {
    #[test]
    fn a_reordered_graph_is_the_same_graph(
        pairs in prop::collection::vec((-20i64..40, -20i64..40), 0..120),
        stride in prop::sample::select(vec![1i64, 1 << 40]),
        directed: bool,
    ) {
        let pairs: Vec<_> = pairs.into_iter().map(|(u, v)| (u * stride, v * stride)).collect();
        for view in VIEWS {
            let graph = Graph::from_pairs("random", &pairs, directed, view).expect("a graph");
            for order in ORDERS {
                let mut permutation = order.of(&graph);
                let other = graph.reordered(order).expect("an order");
                assert_same_graph(&graph, &other);
                for v in 0..other.vertices() as u32 {
                    prop_assert!(other.outgoing().row(v).is_sorted_by(|a, b| a < b));
                    prop_assert_eq!(other.ids().find(other.ids().original(GlobalId(v))), Some(GlobalId(v)));
                }
                assert_equal(&other.ascending().expect("sound"), &graph);
                // The present numbering leaves no trace.
                let twice = other.reordered(Order::Hub).expect("an order").reordered(order).expect("an order");
                assert_equal(&twice, &other);
                permutation.sort_unstable();
                prop_assert!(permutation.into_iter().eq(0..graph.vertices() as u32));
            }
        }
    }

    #[test]
    fn degrees_fall_and_hubs_come_first(pairs in prop::collection::vec((0i64..30, 0i64..30), 0..200)) {
        let graph = Graph::from_pairs("random", &pairs, true, View::AsGiven { incoming: false }).expect("a graph");
        let degrees = |order: Order| order.of(&graph).into_iter().map(|v| (graph.outgoing().degree(v), v)).collect::<Vec<_>>();
        prop_assert!(degrees(Order::Degree).is_sorted_by(|a, b| a.0 > b.0 || a.0 == b.0 && a.1 < b.1));
        let (n, arcs) = (graph.vertices() as u64, graph.outgoing().arcs() as u64);
        let hubs = degrees(Order::Hub);
        let end = hubs.partition_point(|&(degree, _)| degree * n > arcs);
        prop_assert!(hubs[..end].is_sorted_by(|a, b| a.0 > b.0 || a.0 == b.0 && a.1 < b.1));
        prop_assert!(hubs[end..].iter().all(|&(degree, _)| degree * n <= arcs));
        prop_assert!(hubs[end..].is_sorted_by_key(|&(_, v)| v));
    }
}
