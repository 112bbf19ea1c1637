//! The serial check: a queue, one vertex after the other, and a comparison level by level.

use crate::fields::UNREACHED;
use framework::answer::{Answer, Values};
use framework::base::id::GlobalId;
use framework::base::verdict::Verdict;
use framework::graph::Graph;
use std::collections::VecDeque;

/// Compares the answer with a plain search from `start`.
pub(crate) fn verify(graph: &Graph, start: Option<GlobalId>, answer: &Answer) -> Verdict {
    let right = graph.ids().by_id(levels(graph, start));
    let Values::Count(levels) = &answer.values else {
        return Verdict::require(false, "the answer of bfs is levels", None, || format!("{:?}", answer.column));
    };
    if levels.len() != right.len() {
        return Verdict::require(false, "every vertex has a level", None, || {
            format!("{} levels for {} vertices", levels.len(), right.len())
        });
    }
    match (0..right.len()).find(|&v| levels[v] != right[v]) {
        None => Verdict::Sound,
        Some(v) => {
            let id = graph.ids().nth(v);
            Verdict::require(false, "a level is the fewest edges from the source", Some(id), || {
                format!("found {}, right is {}", levels[v] as i32, right[v] as i32)
            })
        }
    }
}

fn levels(graph: &Graph, start: Option<GlobalId>) -> Vec<u32> {
    let mut levels = vec![UNREACHED; graph.vertices()];
    let mut queue = VecDeque::new();
    if let Some(start) = start {
        levels[start.0 as usize] = 0;
        queue.push_back(start.0);
    }
    while let Some(u) = queue.pop_front() {
        for &v in graph.outgoing().row(u) {
            if levels[v as usize] == UNREACHED {
                levels[v as usize] = levels[u as usize] + 1;
                queue.push_back(v);
            }
        }
    }
    levels
}
