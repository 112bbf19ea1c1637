//! PageRank: the share of time that a random walk with restart spends at each vertex.
//!
//! ```text
//! rank(v) = (1 - d) / n + d * (sum over u -> v of rank(u) / outdegree(u) + sinks / n)
//! ```
//!
//! where `sinks` is the rank of vertices without arcs out, spread over all vertices, so that the ranks sum to 1. Power
//! iteration in f64 from 1/n; it stops when the ranks moved by at most the tolerance in L1, and then lies within
//! tolerance * d / (1 - d) of the truth. Each sum runs over a row in fixed order, and global sums do not depend on order
//! (`framework::base::sum`), so the ranks are equal bit for bit for any number of threads and ranks.
//! Cost a round: every arc once; `rank / outdegree` is kept instead of the rank, so an arc reads one number.
//! Source: Page, Brin, Motwani, Winograd, "The PageRank Citation Ranking", Stanford 1999.

use crate::fields::{RANK, SHARE, divisor};
use crate::protection::Protection;
use crate::verify::verify;
use framework::algorithm::{GraphAlgorithm, Record};
use framework::answer::{Answer, AnswerSpec, Meaning, Values};
use framework::base::error::Result;
use framework::base::format::grouped;
use framework::base::id::LocalId;
use framework::base::tally::Tally;
use framework::base::verdict::Verdict;
use framework::fault_tolerance::FaultTolerance;
use framework::field::{Bind, Changing, FieldSpec, Frozen};
use framework::graph::{Graph, View};
use framework::op::{Access, GatherOp, GatherResult, Scalars, VertexOp};
use framework::partition::Part;
use framework::step::Layout;
use framework::step::Step;
use serde_json::json;
use std::sync::Arc;

/// Vertices listed in the result record.
const TOP: usize = 10;

/// Power iteration.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Algorithm pagerank")]
pub struct PageRank {
    /// Probability of following an arc, in [0, 1)
    #[arg(long, value_name = "D", default_value_t = 0.85, allow_negative_numbers = true, value_parser = damping)]
    damping: f64,
    /// Stop when the ranks move by at most this in L1
    #[arg(long, value_name = "T", default_value = "1e-10", allow_negative_numbers = true, value_parser = tolerance)]
    tolerance: f64,
    /// Rounds after which the run counts as not converged
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: u32,
}

fn damping(text: &str) -> Result<f64, String> {
    let d = text.parse::<f64>().ok().filter(|d| (0.0..1.0).contains(d));
    d.ok_or_else(|| "the damping is a number from 0 up to, not including, 1".into())
}

fn tolerance(text: &str) -> Result<f64, String> {
    let t = text.parse::<f64>().ok().filter(|t| *t > 0.0 && t.is_finite());
    t.ok_or_else(|| "the tolerance is a number above 0".into())
}

struct Start;
struct Round {
    base: f64,
    damping: f64,
}
struct Whole;

impl VertexOp for Start {
    const KERNEL: &'static str = "pagerank_start";
    type View<'a> = Changing<'a, f64>;
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        bind.changing(SHARE)
    }
    fn vertex<A: Access>(&self, share: Self::View<'_>, part: &Part, v: LocalId) -> bool {
        let degree = part.outgoing().degree(v);
        share.set(v, 1.0 / part.graph_vertices() as f64 / divisor(degree));
        degree == 0
    }
}

impl GatherOp for Round {
    const KERNEL: &'static str = "pagerank_round";
    fn scalars(&self) -> Scalars {
        Scalars::default().real(self.base).real(self.damping)
    }
    type View<'a> = (Frozen<'a, f64>, Changing<'a, f64>);
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        (bind.frozen(SHARE), bind.changing(RANK))
    }
    #[inline(always)]
    fn gather(&self, (share, _): Self::View<'_>, src: LocalId) -> f64 {
        share.get(src)
    }
    #[inline(always)]
    fn prefetch(&self, (share, _): Self::View<'_>, src: LocalId) {
        share.prefetch(src);
    }
    #[inline(always)]
    fn settle(&self, (share, next): Self::View<'_>, v: LocalId, degree: u64, sum: f64) -> GatherResult {
        let divisor = divisor(degree);
        let rank = self.base + self.damping * sum;
        let moved = (rank - share.get(v) * divisor).abs();
        next.set(v, rank / divisor);
        GatherResult { value: rank, moved, carry: (degree == 0).then_some(rank) }
    }
}

impl VertexOp for Whole {
    const KERNEL: &'static str = "pagerank_whole";
    type View<'a> = (Frozen<'a, f64>, Changing<'a, f64>);
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        (bind.frozen(SHARE), bind.changing(RANK))
    }
    fn vertex<A: Access>(&self, (share, rank): Self::View<'_>, part: &Part, v: LocalId) -> bool {
        rank.set(v, share.get(v) * divisor(part.outgoing().degree(v)));
        true
    }
}

impl GraphAlgorithm for PageRank {
    fn view(&self) -> View {
        View::AsGiven { incoming: true }
    }

    fn fields(&self) -> Vec<FieldSpec> {
        vec![SHARE.spec(), RANK.spec()]
    }

    fn answer(&self) -> AnswerSpec {
        AnswerSpec { field: RANK.spec(), column: "rank", meaning: Meaning::Real }
    }

    fn parameters(&self) -> Record {
        Record::from_iter([
            ("damping".into(), json!(self.damping)),
            ("tolerance".into(), json!(self.tolerance)),
            ("max_iterations".into(), json!(self.max_iterations)),
        ])
    }

    fn layout(&self) -> Layout {
        // The change shrinks by d a round, from at most 2.
        let rounds = (self.tolerance / 2.0).ln() / self.damping.max(f64::MIN_POSITIVE).ln();
        Layout::Tiles { pulls: (rounds.max(1.0) as u32).min(self.max_iterations) }
    }

    fn init(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        let sinks = step.count_each(&Start);
        let rank = 1.0 / step.part.graph_vertices().max(1) as f64;
        let carry = std::iter::repeat_n(rank, sinks as usize).collect();
        Ok(Tally { active: step.part.owned() as u64, carry, ..Tally::default() })
    }

    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        let n = step.part.graph_vertices().max(1) as f64;
        let base = (1.0 - self.damping) / n + self.damping * step.total.carry.value() / n;
        let tally = step.pull(&Round { base, damping: self.damping });
        step.swap(SHARE, RANK);
        Ok(tally)
    }

    fn is_done(&self, total: &Tally) -> bool {
        total.residual.value() <= self.tolerance // false for NaN
    }

    fn supersteps_max(&self, _vertices: usize) -> u32 {
        self.max_iterations
    }

    fn finish(&mut self, step: &mut Step<'_>) -> Result<()> {
        step.for_each(&Whole);
        Ok(())
    }

    fn result(&self, graph: &Graph, answer: &Answer, last: &Tally) -> Record {
        let Values::Real(ranks) = &answer.values else { return Record::new() };
        let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
        let by_rank = |a: &u32, b: &u32| ranks[*b as usize].total_cmp(&ranks[*a as usize]).then(a.cmp(b));
        if order.len() > TOP {
            order.select_nth_unstable_by(TOP, by_rank);
            order.truncate(TOP);
        }
        order.sort_unstable_by(by_rank);
        let top: Vec<_> = order.iter().map(|&v| json!([graph.ids().nth(v as usize), ranks[v as usize]])).collect();
        Record::from_iter([
            ("residual".into(), json!(last.residual.value())),
            ("sum".into(), json!(ranks.iter().sum::<f64>())),
            ("top".into(), json!(top)),
        ])
    }

    fn sentence(&self, graph: &Graph, result: &Record) -> String {
        match result["top"][0].as_array().map(Vec::as_slice) {
            Some([vertex, rank]) => format!(
                "of {} vertices {vertex} has the highest rank, {:.6}; the last round moved {:.1e}",
                grouped(graph.vertices() as u64),
                rank.as_f64().unwrap_or(f64::NAN),
                result["residual"].as_f64().unwrap_or(f64::NAN)
            ),
            _ => "the graph has no vertices".into(),
        }
    }

    fn verify(&self, graph: &Graph, answer: &Answer) -> Verdict {
        verify(graph, self.damping, self.tolerance, answer)
    }

    fn protection(&self) -> Option<Arc<dyn FaultTolerance>> {
        Some(Arc::new(Protection { damping: self.damping, tolerance: self.tolerance }))
    }
}
