//! Breadth-first search: the fewest edges between a source and every vertex.
//!
//! Level-synchronous. Superstep `s` gives level `s + 1` to every vertex that an arc from level `s` leads to and that has none: by
//! pushing along the frontier's arcs or by pulling into vertices that have not joined, whichever is cheaper. Ghosts carry offers
//! to their owner, the smaller level wins, and copies of what changed go back, so that a pull sees the whole frontier.
//! Cost: every arc at most once out of the frontier and, when pulling, at most once into each vertex that has not joined; each
//! ghost is offered and copied at most once in a run.
//! Sources: Beamer, Asanovic, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012; Merrill, Garland, Grimshaw,
//! "Scalable GPU Graph Traversal", PPoPP 2012.

use crate::fields::{LEVEL, UNREACHED};
use crate::protection::Protection;
use crate::source::Source;
use crate::verify::verify;
use framework::algorithm::{GraphAlgorithm, Record};
use framework::answer::{Answer, AnswerSpec, Meaning, Values};
use framework::base::error::Result;
use framework::base::format::grouped;
use framework::base::id::{GlobalId, LocalId};
use framework::base::tally::Tally;
use framework::base::verdict::Verdict;
use framework::fault_tolerance::FaultTolerance;
use framework::field::{Bind, Changing, FieldSpec};
use framework::graph::{Graph, View};
use framework::op::{Scalars, VisitOp};
use framework::step::Step;
use serde_json::json;
use std::sync::Arc;

/// Breadth-first search from one source.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Algorithm bfs")]
pub struct Bfs {
    /// Source: an original ID, index:N, random:SEED or max-degree
    #[arg(short, long, value_name = "SOURCE", default_value = "max-degree", allow_hyphen_values = true)]
    source: Source,
    #[arg(skip)]
    start: Option<GlobalId>,
    #[arg(skip)]
    start_id: Option<i64>,
}

/// Gives a level to a vertex that joins.
struct Reach {
    level: u32,
}

impl VisitOp for Reach {
    const KERNEL: &'static str = "bfs_reach";
    fn scalars(&self) -> Scalars {
        Scalars::default().number(self.level)
    }
    type View<'a> = Changing<'a, u32>;
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        bind.changing(LEVEL)
    }
    #[inline(always)]
    fn visit(&self, level: Self::View<'_>, dst: LocalId) {
        level.set(dst, self.level);
    }
}

impl GraphAlgorithm for Bfs {
    fn view(&self) -> View {
        View::AsGiven { incoming: true }
    }

    fn fields(&self) -> Vec<FieldSpec> {
        vec![LEVEL.spec()]
    }

    fn answer(&self) -> AnswerSpec {
        AnswerSpec { field: LEVEL.spec(), column: "level", meaning: Meaning::Count }
    }

    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        self.start = self.source.find(graph)?;
        self.start_id = self.start.map(|start| graph.ids().original(start));
        Ok(())
    }

    fn parameters(&self) -> Record {
        Record::from_iter([("source".into(), json!(self.start_id))])
    }

    fn init(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        if let Some(source) = self.start.and_then(|start| step.part.local(start)) {
            step.set(LEVEL, source, 0);
            step.activate(source);
        }
        Ok(step.tally())
    }

    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        Ok(step.push_or_pull(&Reach { level: step.index + 1 }))
    }

    fn result(&self, _graph: &Graph, answer: &Answer, _last: &Tally) -> Record {
        let Values::Count(levels) = &answer.values else { return Record::new() };
        let reached = levels.iter().filter(|&&level| level != UNREACHED);
        Record::from_iter([
            ("source".into(), json!(self.start_id)),
            ("reached".into(), json!(reached.clone().count())),
            ("max_level".into(), json!(reached.max())),
        ])
    }

    fn sentence(&self, graph: &Graph, result: &Record) -> String {
        let (Some(source), Some(reached)) = (self.start_id, result["reached"].as_u64()) else {
            return "the graph has no vertices".into();
        };
        let (reached, n) = (grouped(reached), grouped(graph.vertices() as u64));
        format!("source {source} reaches {reached} of {n} vertices, the farthest at level {}", result["max_level"])
    }

    fn verify(&self, graph: &Graph, answer: &Answer) -> Verdict {
        verify(graph, self.start, answer)
    }

    fn protection(&self) -> Option<Arc<dyn FaultTolerance>> {
        Some(Arc::new(Protection { source: self.start }))
    }
}
