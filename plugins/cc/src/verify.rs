//! The serial check: a flood from each vertex in ascending ID, which meets the smallest vertex of a component first.

use framework::answer::{Answer, Values};
use framework::base::verdict::Verdict;
use framework::graph::Graph;

/// Compares the answer with a plain flood.
pub(crate) fn verify(graph: &Graph, answer: &Answer) -> Verdict {
    let right = labels(graph);
    let Values::Vertex(labels) = &answer.values else {
        return Verdict::require(false, "the answer of cc is labels", None, || format!("{:?}", answer.column));
    };
    if labels.len() != right.len() {
        return Verdict::require(false, "every vertex has a label", None, || {
            format!("{} labels for {} vertices", labels.len(), right.len())
        });
    }
    match (0..right.len()).find(|&v| labels[v] != right[v]) {
        None => Verdict::Sound,
        Some(v) => {
            let id = graph.ids().nth(v);
            Verdict::require(false, "a label is the smallest ID of its component", Some(id), || {
                format!("found {}, right is {}", labels[v], right[v])
            })
        }
    }
}

fn labels(graph: &Graph) -> Vec<i64> {
    let mut labels = vec![None; graph.vertices()];
    let mut stack = Vec::new();
    for vertex in graph.ids().vertices() {
        let first = vertex.0;
        if labels[first as usize].is_some() {
            continue;
        }
        let name = graph.ids().original(vertex);
        labels[first as usize] = Some(name);
        stack.push(first);
        while let Some(u) = stack.pop() {
            for &v in graph.outgoing().row(u) {
                if labels[v as usize].is_none() {
                    labels[v as usize] = Some(name);
                    stack.push(v);
                }
            }
        }
    }
    graph.ids().by_id(labels).into_iter().flatten().collect()
}
