//! The serial check: the bucket peel, one vertex of smallest remaining degree after the other.
//! Source: Batagelj, Zaversnik, "An O(m) Algorithm for Cores Decomposition of Networks", 2003.

use framework::answer::{Answer, Values};
use framework::base::verdict::Verdict;
use framework::graph::Graph;

/// Compares the answer with a plain peel.
pub(crate) fn verify(graph: &Graph, k: Option<u32>, answer: &Answer) -> Verdict {
    let cores = graph.ids().by_id(cores(graph));
    let (found, right): (Vec<u32>, Vec<u32>) = match (&answer.values, k) {
        (Values::Count(found), None) => (found.clone(), cores),
        (Values::Flag(found), Some(k)) => (
            found.iter().map(|&member| u32::from(member)).collect(),
            cores.into_iter().map(|core| u32::from(core >= k)).collect(),
        ),
        _ => {
            return Verdict::require(false, "the answer is core numbers, or membership for one k", None, || {
                format!("{:?}", answer.column)
            });
        }
    };
    if found.len() != right.len() {
        return Verdict::require(false, "every vertex has an answer", None, || {
            format!("{} for {} vertices", found.len(), right.len())
        });
    }
    match (0..right.len()).find(|&v| found[v] != right[v]) {
        None => Verdict::Sound,
        Some(v) => {
            let id = graph.ids().nth(v);
            Verdict::require(false, "a vertex is in the k-core if k of its neighbours are", Some(id), || {
                format!("found {}, right is {}", found[v], right[v])
            })
        }
    }
}

fn cores(graph: &Graph) -> Vec<u32> {
    let rows = graph.outgoing();
    let n = graph.vertices();
    let mut degree: Vec<usize> = (0..n as u32).map(|v| rows.degree(v) as usize).collect();
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); degree.iter().max().map_or(0, |most| most + 1)];
    for v in 0..n as u32 {
        buckets[degree[v as usize]].push(v);
    }
    let mut core = vec![None; n];
    let mut level = 0;
    while level < buckets.len() {
        let Some(v) = buckets[level].pop() else {
            level += 1;
            continue;
        };
        if core[v as usize].is_some() {
            continue;
        }
        core[v as usize] = Some(level as u32);
        for &u in rows.row(v) {
            if core[u as usize].is_none() && degree[u as usize] > level {
                degree[u as usize] -= 1;
                buckets[degree[u as usize]].push(u);
            }
        }
    }
    core.into_iter().map(|core| core.unwrap_or(0)).collect()
}
