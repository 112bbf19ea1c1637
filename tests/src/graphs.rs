//! Small graphs on which every law is tried.

use framework::base::checksum::split_mix;

/// Named lists of arcs.
pub fn small() -> Vec<(String, Vec<(i64, i64)>)> {
    let mut graphs: Vec<(String, Vec<(i64, i64)>)> = vec![
        ("empty".into(), vec![]),
        ("one vertex with a loop".into(), vec![(7, 7)]),
        ("one edge".into(), vec![(3, -3)]),
        ("star".into(), (1..300).map(|v| (0, v)).collect()),
        ("star inwards".into(), (1..300).map(|v| (v, 0)).collect()),
        ("path".into(), (0..200).map(|v| (v, v + 1)).collect()),
        ("scrambled path".into(), (0..200).map(|v| (v * 77 % 201, (v + 1) * 77 % 201)).collect()),
        ("ring".into(), (0..130).map(|v| (v, (v + 1) % 130)).collect()),
        ("two components".into(), (0..40).map(|v| (v, (v + 1) % 20 + v / 20 * 20)).collect()),
        ("clique".into(), (0..20).flat_map(|u| (0..20).map(move |v| (u, v))).collect()),
        ("duplicates and loops".into(), vec![(1, 2), (2, 1), (1, 2), (2, 2), (3, 3), (3, 1), (9, 9)]),
        ("sparse ids".into(), vec![(-9_000_000_000, 5), (5, i64::MAX), (i64::MAX, 5), (17, 4_294_967_296)]),
    ];
    for (seed, vertices, arcs) in [(1, 50, 60), (2, 300, 900), (3, 300, 9000), (4, 1000, 1200)] {
        graphs.push((format!("random {vertices} x {arcs}, seed {seed}"), random(seed, vertices, arcs)));
    }
    // A few hubs hold most arcs, as in social graphs.
    graphs.push(("skewed".into(), random(9, 400, 3000).into_iter().map(|(u, v)| (u * u / 400, v * v / 400)).collect()));
    graphs
}

/// Arcs drawn uniformly from a seed.
pub fn random(seed: u64, vertices: u64, arcs: u64) -> Vec<(i64, i64)> {
    let draw = |i: u64| (split_mix(seed << 40 | i) % vertices) as i64;
    (0..arcs).map(|arc| (draw(2 * arc), draw(2 * arc + 1))).collect()
}
