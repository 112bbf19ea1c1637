//! The source option: four ways to name a vertex, one way to find it.

use framework::base::checksum::split_mix;
use framework::base::error::{Error, Result};
use framework::base::id::GlobalId;
use framework::graph::Graph;
use std::str::FromStr;

/// How the source was named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// By its original ID.
    Original(i64),
    /// By its place in ascending original ID.
    Index(u64),
    /// Any vertex, drawn from a seed.
    Random(u64),
    /// The vertex with the most arcs out of it; of several, the one with the smallest ID.
    MaxDegree,
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Source, String> {
        let number = |digits: &str, what: &str| {
            digits.parse::<u64>().map_err(|_| format!("`{digits}` is no {what}; give a number from 0"))
        };
        if text == "max-degree" {
            return Ok(Source::MaxDegree);
        }
        if let Some(digits) = text.strip_prefix("index:") {
            return number(digits, "place").map(Source::Index);
        }
        if let Some(digits) = text.strip_prefix("random:") {
            return number(digits, "seed").map(Source::Random);
        }
        text.parse()
            .map(Source::Original)
            .map_err(|_| "a source is an original ID (a number below 2^63), index:N, random:SEED or max-degree".into())
    }
}

impl Source {
    /// The vertex meant; `None` only where the graph has no vertex and none was named.
    ///
    /// # Errors
    /// When the vertex named is not in the graph.
    pub fn find(self, graph: &Graph) -> Result<Option<GlobalId>> {
        let n = graph.vertices() as u64;
        let absent = |name: String| {
            let hint = match graph.ids().iter().next() {
                Some(smallest) => format!(
                    "the smallest ID is {smallest} (index:0), the largest index is {}; max-degree takes the vertex of \
                     largest degree",
                    n - 1
                ),
                None => "the graph has no vertices".into(),
            };
            Error::usage(format!("source {name} is not in the graph `{}`: {hint}", graph.name()))
        };
        match self {
            Source::Original(id) => graph.ids().find(id).map(Some).ok_or_else(|| absent(id.to_string())),
            Source::Index(place) if place < n => Ok(Some(graph.ids().at(place as usize))),
            Source::Index(place) => Err(absent(format!("index:{place}"))),
            Source::Random(seed) => Ok(split_mix(seed).checked_rem(n).map(|place| graph.ids().at(place as usize))),
            Source::MaxDegree => {
                // Of several, `max_by_key` takes the last.
                Ok(graph.ids().vertices().rev().max_by_key(|v| graph.outgoing().degree(v.0)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use framework::graph::View;

    fn check(text: &str, expected: Result<Option<u32>, &str>) {
        let graph = Graph::from_pairs("g", &[(-5, 7), (7, 9), (7, 8)], true, View::AsGiven { incoming: true })
            .expect("a small graph");
        let found = text.parse::<Source>().and_then(|s| s.find(&graph).map_err(|e| e.to_string()));
        match expected {
            Ok(v) => assert_eq!(found, Ok(v.map(GlobalId)), "{text}"),
            Err(part) => assert!(found.as_ref().is_err_and(|e| e.contains(part)), "{text}: {found:?}"),
        }
    }

    #[test]
    fn every_way_to_name_a_vertex_finds_it_or_says_why_not() {
        check("-5", Ok(Some(0)));
        check("9", Ok(Some(3)));
        check("index:2", Ok(Some(2)));
        check("max-degree", Ok(Some(1)));
        check("0", Err("source 0 is not in the graph `g`: the smallest ID is -5 (index:0)"));
        check("index:4", Err("the largest index is 3"));
        check("index:x", Err("`x` is no place"));
        check("9223372036854775808", Err("below 2^63"));
        check("first", Err("max-degree"));
    }
}
