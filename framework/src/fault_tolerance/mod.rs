//! What a plugin says about faults: which updates can be repeated, rules that hold in every sound state, and rules that only a
//! right answer keeps. The framework scores, snapshots, compares, decides and recovers (`protect`).

use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::base::verdict::Verdict;
use crate::field::Field;
use crate::field::State;
use crate::graph::Ids;
use crate::host::Pool;
use crate::partition::Part;
use crate::transport::Transport;

/// A plugin's whole contribution to protection. It is made after `prepare`, lives beside the run and is shared with the checker, so
/// it holds options only, never state.
pub trait FaultTolerance: Send + Sync {
    /// The algorithm's part of the score of an active vertex: something that differs between vertices that are active together, so
    /// that it ranks them. `numbers` are those of the rule that is about to consume their frontier ([`EdgeOp::scalars`],
    /// [`VisitOp::scalars`](crate::op::VisitOp::scalars)), none before a gather.
    ///
    /// [`EdgeOp::scalars`]: crate::op::EdgeOp::scalars
    fn change(&self, _numbers: &[u64]) -> Change {
        Change::None
    }

    /// Whether, and how, the update of an active vertex can be repeated.
    fn redundancy(&self) -> Redundancy {
        Redundancy::None
    }

    /// Repeats the updates that made `vertices` active, from values that are frozen at the boundary before superstep `index`;
    /// hands each vertex that differs to `differs`. Vertices are owned and in the frontier. Runs on several threads, each with
    /// vertices of its own, before the update of that superstep.
    fn repeat(
        &self,
        _part: &Part,
        _now: State<'_>,
        _index: u32,
        _vertices: &[LocalId],
        _differs: &mut dyn FnMut(LocalId),
    ) {
    }

    /// The field that changes only where a vertex is visited ([`VisitOp`](crate::op::VisitOp)) or an offer is taken, once in a run,
    /// away from its initial value: the operator keeps its checksum, and another value in it is a finding.
    fn set_once(&self) -> Option<Field<u32>> {
        None
    }

    /// The least sound value that a gather may settle on; what lies below is a finding. `vertices` is the size of the graph.
    fn floor(&self, _vertices: usize) -> Option<f64> {
        None
    }

    /// Judges what all ranks agreed on after a superstep, against the superstep before; cheap, on the checker.
    fn trend(&self, _before: Option<&SuperstepTotals>, _now: &SuperstepTotals) -> Verdict {
        Verdict::Sound
    }

    /// Whether every sound run is done by the superstep `last`, after which this one met its limit: then one that is not is corrupt, and
    /// goes back to an older state. False where a limit may cut a sound run short.
    fn converges(&self, _last: &SuperstepTotals) -> bool {
        true
    }

    /// Judges the state of one rank between two supersteps, given an older sound one: pure, on the checker, never on a device.
    /// Values may be anything: check before you index or loop by one.
    fn check(&self, input: &CheckInput<'_>) -> Verdict;

    /// Whether there is a certificate: [`FaultTolerance::postcheck`].
    fn certifies(&self) -> bool {
        false
    }

    /// Judges this rank's part of the answer by rules that only the right one keeps (a certificate), in code that the supersteps do
    /// not use. All ranks call it together. A finding on any rank condemns the answer on all. `None`, on all ranks alike: there is
    /// no certificate.
    ///
    /// # Errors
    /// When a peer is lost.
    fn postcheck(&self, _scene: &mut CertificateInput<'_>) -> Result<Option<Certificate>> {
        Ok(None)
    }
}

/// The algorithm's part of the score, in [0, 1]. `deg` counts arcs in and out, or neighbours where arcs have no direction. None of
/// these depends on the number of ranks or on the timing of threads. A constant is not among them: it would rank nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Nothing is scored: no update can be repeated.
    None,
    /// `1 - 1 / max(1, deg)`: of a vertex that a neighbour brought in, the share of its neighbours that it may be the first to reach,
    /// which are all but that one.
    Onward,
    /// `min(deg, k) / max(deg, k, 1)`: how near the degree is to this one.
    Near(u64),
    /// How far a gather moved the vertex, over the most that one moved any vertex of any rank in the superstep before; at most 1, and 0
    /// where that is 0.
    Moved,
}

impl Change {
    /// Of a vertex with that degree, where that is all it depends on; else 0.
    pub(crate) fn of_degree(self, degree: u64) -> f64 {
        match self {
            Change::None | Change::Moved => 0.0,
            Change::Onward => 1.0 - 1.0 / degree.max(1) as f64,
            Change::Near(k) => degree.min(k) as f64 / degree.max(k).max(1) as f64,
        }
    }

    /// The degree up to which it rises; beyond it falls like one over the degree.
    pub(crate) fn peak(self) -> u64 {
        match self {
            Change::None | Change::Moved | Change::Onward => u64::MAX,
            Change::Near(k) => k,
        }
    }
}

/// Whether the update of a vertex can be repeated.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Redundancy {
    /// It works in place.
    #[default]
    None,
    /// [`FaultTolerance::repeat`] does, reading the arcs into the vertex.
    OverIncoming,
    /// [`FaultTolerance::repeat`] does, reading the arcs out of the vertex.
    OverOutgoing,
    /// The operator that gathers ([`GatherOp`](crate::op::GatherOp)) does so by itself: it sums the row of the vertex again and settles
    /// again, later in the same superstep. All vertices are active then, so the budget alone bounds how many.
    OfGathers,
}

impl Redundancy {
    /// As records have it.
    pub fn name(self) -> &'static str {
        match self {
            Redundancy::None => "none",
            Redundancy::OverIncoming | Redundancy::OverOutgoing => "idle_lanes",
            Redundancy::OfGathers => "budget",
        }
    }
}

/// What all ranks agreed on after one superstep.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SuperstepTotals {
    /// The superstep, from 0.
    pub index: u32,
    /// Vertices of the graph.
    pub vertices: u64,
    /// The most arcs into one vertex.
    pub in_degree_max: u64,
    /// Vertices in the frontiers that it consumed.
    pub consumed: u64,
    /// The same of all supersteps up to it.
    pub consumed_so_far: u64,
    /// The agreed tally: vertices active next, how far values moved.
    pub active: u64,
    /// The residual of the agreed tally.
    pub residual: f64,
    /// The sum of the values that gathers settled on.
    pub mass: f64,
}

/// What [`FaultTolerance::check`] judges: the state of one rank before superstep `index`, and an older sound one.
pub struct CheckInput<'a> {
    /// The rank's part.
    pub part: &'a Part,
    /// The original IDs, for findings.
    pub ids: &'a Ids,
    /// The state.
    pub now: State<'a>,
    /// The superstep that comes next.
    pub index: u32,
    /// The older state and its superstep; `None` when only the start is known.
    pub before: Option<(State<'a>, u32)>,
    /// The plugin's own words of the run at this boundary ([`GraphAlgorithm::save`](crate::algorithm::GraphAlgorithm::save)).
    pub memory: &'a [u64],
}

/// What [`FaultTolerance::postcheck`] judges and may use.
pub struct CertificateInput<'a> {
    /// The rank's part.
    pub part: &'a Part,
    /// The original IDs, for findings.
    pub ids: &'a Ids,
    /// Every declared field, after `finish`. Ghosts hold what the last exchange left there.
    pub state: State<'a>,
    /// The way to the peers; its time is counted as communication of the post-check.
    pub transport: &'a mut dyn Transport,
    /// The rank's threads.
    pub pool: &'a Pool,
    /// Supersteps of the run.
    pub supersteps: u32,
}

/// What a post-check says of one rank's part of the answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Certificate {
    /// Whether the rules hold.
    pub verdict: Verdict,
    /// [`answer_sum`](crate::base::checksum::answer_sum) over the answer of the owned vertices, as the check read it: what is gathered must have the sum of all ranks'.
    pub answer_sum: u64,
    /// What is proved of the answer where it is a number: it lies within so much of the truth, in L1. The same on all ranks.
    pub bound: Option<f64>,
}
