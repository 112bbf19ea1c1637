//! k-core: the largest set of vertices that have k neighbours each inside it; or the largest k for every vertex.
//!
//! Peeling in waves on the simple undirected graph. A level `k` starts by selecting the vertices whose remaining degree is `k`; each
//! wave removes the frontier, lowers its neighbours, and those that fall to `k` are the next wave. A degree never falls
//! below the level at which its vertex leaves, so it ends as the core number. For one threshold a single level is peeled, and
//! what keeps a higher degree is the core. Ghosts count the losses of their vertex and hand them to the owner.
//! Cost: every arc once, plus one pass over the vertices left for each level that has any.
//! Sources: Seidman, "Network Structure and Minimum Degree", Social Networks 1983; Dasari, Ranjan, Zubair, "ParK", Big Data 2014;
//! Kabir, Madduri, "Parallel k-Core Decomposition on Multicore Platforms", IPDPSW 2017.

use crate::fields::{DEGREE, LOSS, STEP};
use crate::protection::Protection;
use crate::verify::verify;
use framework::algorithm::{GraphAlgorithm, Record};
use framework::answer::{Answer, AnswerSpec, Meaning, Values};
use framework::base::error::Result;
use framework::base::format::grouped;
use framework::base::id::LocalId;
use framework::base::sum::Sum;
use framework::base::tally::Tally;
use framework::base::verdict::Verdict;
use framework::fault_tolerance::FaultTolerance;
use framework::field::{Bind, Changing, FieldSpec};
use framework::graph::{Graph, View};
use framework::op::{Access, EdgeOp, Scalars, SelectOp, VertexOp};
use framework::partition::Part;
use framework::step::Step;
use serde_json::json;
use std::sync::Arc;

/// Peeling by degree.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Algorithm kcore")]
#[group(required = true, multiple = false)]
pub struct KCore {
    /// Threshold of one core, at least 1
    #[arg(short, long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    k: Option<u32>,
    /// The core number of every vertex
    #[arg(long)]
    all_cores: bool,
    /// The degree being peeled.
    #[arg(skip)]
    level: u32,
    /// Whether any rank had vertices at that degree.
    #[arg(skip)]
    is_peeled: bool,
    /// Whether [`STEP`] is kept.
    #[arg(skip)]
    keeps: bool,
}

struct Count;
struct ByDegree;
/// A vertex that leaves at `level` lowers its neighbours.
struct Peel {
    level: u32,
    /// This superstep, if it is kept.
    step: Option<u32>,
}
/// What peers removed counts like what was removed here.
struct Lose {
    level: u32,
}
/// In the core or not.
struct Member {
    k: u32,
}

macro_rules! degree_and_loss {
    () => {
        type View<'a> = (Changing<'a, u32>, Changing<'a, u32>);
        #[inline(always)]
        fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
            (bind.changing(DEGREE), bind.changing(LOSS))
        }
    };
}

impl VertexOp for Count {
    const KERNEL: &'static str = "kcore_count";
    degree_and_loss!();
    #[inline(always)]
    fn vertex<A: Access>(&self, (degree, _): Self::View<'_>, part: &Part, v: LocalId) -> bool {
        degree.set(v, part.outgoing().degree(v) as u32);
        true
    }
}

impl SelectOp for ByDegree {
    const KERNEL: &'static str = "kcore_by_degree";
    type View<'a> = Changing<'a, u32>;
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        bind.changing(DEGREE)
    }
    #[inline(always)]
    fn key(&self, degree: Self::View<'_>, v: LocalId) -> u32 {
        degree.get(v)
    }
}

impl EdgeOp for Peel {
    const KERNEL: &'static str = "kcore_peel";
    fn kernel(&self) -> &'static str {
        if self.step.is_some() { "kcore_kept_peel" } else { Self::KERNEL }
    }
    fn scalars(&self) -> Scalars {
        Scalars::default().number(self.level).number(self.step.unwrap_or_default())
    }
    type View<'a> = (Changing<'a, u32>, Changing<'a, u32>, Option<(Changing<'a, u32>, u32)>);
    #[inline(always)]
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        (bind.changing(DEGREE), bind.changing(LOSS), self.step.map(|now| (bind.changing(STEP), now)))
    }
    #[inline(always)]
    fn leave(&self, (_, _, kept): Self::View<'_>, src: LocalId) {
        if let Some((step, now)) = kept {
            step.set(src, now);
        }
    }
    #[inline(always)]
    fn edge<A: Access>(&self, (degree, ..): Self::View<'_>, dst: LocalId) -> bool {
        if A::IS_SEQUENTIAL {
            // Whether a neighbour is still there cannot be predicted, so nothing branches on it.
            let was = degree.get(dst);
            degree.set(dst, was - u32::from(was > self.level));
            return was == self.level + 1;
        }
        if degree.get(dst) <= self.level {
            return false;
        }
        let was = degree.sub::<A>(dst, 1);
        if was <= self.level {
            degree.add::<A>(dst, 1); // another thread was faster: the degree stays at the level
        }
        was == self.level + 1
    }
    #[inline(always)]
    fn offer<A: Access>(&self, (_, loss, _): Self::View<'_>, dst: LocalId) -> bool {
        loss.add::<A>(dst, 1) == 0
    }
}

impl VertexOp for Lose {
    const KERNEL: &'static str = "kcore_lose";
    fn scalars(&self) -> Scalars {
        Scalars::default().number(self.level)
    }
    degree_and_loss!();
    fn vertex<A: Access>(&self, (degree, loss): Self::View<'_>, _: &Part, v: LocalId) -> bool {
        let was = degree.get(v);
        let now = was.saturating_sub(loss.get(v)).max(self.level).min(was);
        loss.set(v, 0);
        degree.set(v, now);
        was > self.level && now == self.level
    }
}

impl VertexOp for Member {
    const KERNEL: &'static str = "kcore_member";
    fn scalars(&self) -> Scalars {
        Scalars::default().number(self.k)
    }
    degree_and_loss!();
    #[inline(always)]
    fn vertex<A: Access>(&self, (degree, _): Self::View<'_>, _: &Part, v: LocalId) -> bool {
        degree.set(v, u32::from(degree.get(v) >= self.k));
        true
    }
}

impl GraphAlgorithm for KCore {
    fn view(&self) -> View {
        View::Simple
    }

    fn fields(&self) -> Vec<FieldSpec> {
        let mut fields = vec![DEGREE.spec(), LOSS.spec()];
        fields.extend(self.keeps.then_some(STEP.spec()));
        fields
    }

    fn enable_certificate_fields(&mut self) {
        self.keeps = true;
    }

    fn answer(&self) -> AnswerSpec {
        let meaning = if self.all_cores { Meaning::Count } else { Meaning::Flag };
        AnswerSpec { field: DEGREE.spec(), column: "core", meaning }
    }

    fn parameters(&self) -> Record {
        Record::from_iter([("k".into(), json!(self.k)), ("all_cores".into(), json!(self.all_cores))])
    }

    fn init(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        step.for_each(&Count);
        Ok(Tally { least: 0, ..Tally::default() })
    }

    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        step.filter_changed(&Lose { level: self.level });
        self.is_peeled |= step.total.carry.value() > 0.0;
        let (mut carry, mut least) = (Sum::default(), step.total.least);
        let tally = if step.total.active == 0 {
            let (chosen, tally) = self.select_and_peel(step);
            least = chosen.least;
            if chosen.active > 0 {
                carry.add(1.0);
            }
            self.is_peeled = false;
            tally
        } else {
            step.push(&self.peel(step.index))
        };
        Ok(Tally { least, carry, ..tally })
    }

    fn is_done(&self, total: &Tally) -> bool {
        total.active == 0 && (total.least == Tally::NONE || self.k.is_some())
    }

    fn finish(&mut self, step: &mut Step<'_>) -> Result<()> {
        if let Some(k) = self.k {
            step.for_each(&Member { k });
        }
        Ok(())
    }

    fn result(&self, graph: &Graph, answer: &Answer, _last: &Tally) -> Record {
        match &answer.values {
            Values::Flag(member) => {
                let member = graph.ids().by_number(member);
                let inside = |v: &u32| member[*v as usize] == 1;
                let row = |v: u32| graph.outgoing().row(v).iter().filter(|u| inside(u)).count() as u64;
                let arcs: u64 = (0..member.len() as u32).filter(inside).map(row).sum();
                Record::from_iter([
                    ("k".into(), json!(self.k)),
                    ("core_vertices".into(), json!(member.iter().filter(|&&m| m == 1).count())),
                    ("core_edges".into(), json!(arcs / 2)),
                ])
            }
            Values::Count(cores) => {
                let most = cores.iter().max().copied().unwrap_or(0);
                Record::from_iter([
                    ("max_core".into(), json!(most)),
                    ("max_core_vertices".into(), json!(cores.iter().filter(|&&core| core == most).count())),
                ])
            }
            _ => Record::new(),
        }
    }

    fn sentence(&self, graph: &Graph, result: &Record) -> String {
        let number = |key: &str| grouped(result[key].as_u64().unwrap_or_default());
        let n = grouped(graph.vertices() as u64);
        match self.k {
            Some(k) => {
                format!(
                    "the {k}-core has {} of {n} vertices and {} edges",
                    number("core_vertices"),
                    number("core_edges")
                )
            }
            None => format!(
                "the largest core number is {}; {} of {n} vertices have it",
                number("max_core"),
                number("max_core_vertices")
            ),
        }
    }

    fn verify(&self, graph: &Graph, answer: &Answer) -> Verdict {
        verify(graph, self.k, answer)
    }

    fn save(&self) -> Vec<u64> {
        vec![self.level.into(), self.is_peeled.into()]
    }

    fn restore(&mut self, memory: &[u64]) {
        if let [level, is_peeled] = *memory {
            self.level = u32::try_from(level).unwrap_or(u32::MAX);
            self.is_peeled = is_peeled != 0;
        }
    }

    fn protection(&self) -> Option<Arc<dyn FaultTolerance>> {
        Some(Arc::new(Protection { k: self.k }))
    }
}

impl KCore {
    /// The rule of the level, which keeps when a vertex left if that is wanted.
    fn peel(&self, now: u32) -> Peel {
        Peel { level: self.level, step: self.keeps.then_some(now) }
    }

    /// The next level: its vertices become the frontier, and leave. Only what all ranks agreed on decides the level.
    fn select_and_peel(&mut self, step: &mut Step<'_>) -> (Tally, Tally) {
        self.level = match self.k {
            Some(k) => k - 1,
            None if step.index == 0 => 0,
            // Peeling may have brought vertices down to just above the level.
            None if self.is_peeled => self.level + 1,
            None => u32::try_from(step.total.least).unwrap_or(u32::MAX),
        };
        if self.k.is_some() {
            step.for_each(&Floor { level: self.level });
        }
        step.select_then_push(&ByDegree, self.level, &self.peel(step.index))
    }
}

/// For one threshold all that is below it leaves at once.
struct Floor {
    level: u32,
}

impl VertexOp for Floor {
    const KERNEL: &'static str = "kcore_floor";
    fn scalars(&self) -> Scalars {
        Scalars::default().number(self.level)
    }
    degree_and_loss!();
    #[inline(always)]
    fn vertex<A: Access>(&self, (degree, _): Self::View<'_>, _: &Part, v: LocalId) -> bool {
        let low = degree.get(v) < self.level;
        if low {
            degree.set(v, self.level);
        }
        low
    }
}
