//! What a plugin says about faults: which updates can be repeated, rules that hold in every sound state, and rules that only a
//! right answer keeps. The framework scores, snapshots, compares, decides and recovers (`protect`).

use crate::device::host::Pool;
use crate::device::host::access::{at, prefetch};
use crate::error::Result;
use crate::field::{Field, FieldSpec, Fields, Value};
use crate::graph::Ids;
use crate::id::LocalId;
use crate::partition::Part;
use crate::transport::Transport;

/// A plugin's whole contribution to protection. It is made after `prepare`, lives beside the run and is shared with the checker, so
/// it holds options only, never state.
pub trait FaultTolerance: Send + Sync {
    /// The algorithm's part of the score of an active vertex. Not asked where no update can be repeated, unless it is
    /// [`Change::Moved`].
    fn change(&self) -> Change {
        Change::Uniform(1.0)
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
    fn trend(&self, _before: Option<&Round>, _now: &Round) -> Verdict {
        Verdict::Sound
    }

    /// Whether every sound run is done by the superstep `last`, after which this one met its limit: then one that is not is corrupt, and
    /// goes back to an older state. False where a limit may cut a sound run short.
    fn converges(&self, _last: &Round) -> bool {
        true
    }

    /// Judges the state of one rank between two supersteps, given an older sound one: pure, on the checker, never on a device.
    /// Values may be anything: check before you index or loop by one.
    fn check(&self, window: &Window<'_>) -> Verdict;

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
    fn postcheck(&self, _scene: &mut Scene<'_>) -> Result<Option<Certificate>> {
        Ok(None)
    }
}

/// The algorithm's part of the score.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// The same for every active vertex.
    Uniform(f64),
    /// How far a gather moved the vertex, over the most that one moved any vertex of any rank in the superstep before.
    Moved,
}

/// Whether the update of a vertex can be repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Redundancy {
    /// It works in place.
    None,
    /// [`FaultTolerance::repeat`] does, reading the arcs into the vertex.
    OverIncoming,
    /// [`FaultTolerance::repeat`] does, reading the arcs out of the vertex.
    OverOutgoing,
}

/// What all ranks agreed on after one superstep.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Round {
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

/// Read access to the fields of one rank: live ones, or those of a snapshot.
#[derive(Clone, Copy)]
pub struct State<'a> {
    fields: &'a Fields,
}

impl<'a> State<'a> {
    pub(crate) fn of(fields: &'a Fields) -> State<'a> {
        State { fields }
    }

    /// Puts a copy of its owner's value at a ghost.
    pub(crate) fn copy<T: Value>(self, field: Field<T>, ghost: LocalId, value: T) {
        T::store(at(self.fields.atoms(field), ghost), value);
    }

    /// Whether the algorithm declared the field.
    pub fn has(self, spec: FieldSpec) -> bool {
        self.fields.specs().iter().any(|own| own.name == spec.name)
    }

    /// A field's values, `[owned + ghosts]`.
    ///
    /// # Panics
    /// If the algorithm did not declare the field: a mistake in the plugin.
    pub fn values<T: Value>(self, field: Field<T>) -> Values<'a, T> {
        Values { atoms: self.fields.atoms(field) }
    }
}

/// The values of one field.
pub struct Values<'a, T: Value> {
    atoms: &'a [T::Atom],
}

impl<T: Value> Clone for Values<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Value> Copy for Values<'_, T> {}

impl<T: Value> Values<'_, T> {
    /// The value at `v`.
    #[inline(always)]
    pub fn get(self, v: LocalId) -> T {
        T::load(at(self.atoms, v))
    }

    /// Asks for the value at `v` to be brought near.
    #[inline(always)]
    pub fn prefetch(self, v: LocalId) {
        prefetch(self.atoms, v.index());
    }
}

/// What [`FaultTolerance::check`] judges: the state of one rank before superstep `index`, and an older sound one.
pub struct Window<'a> {
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
    /// The plugin's own words of the run at this boundary ([`GraphAlgorithm::memory`](crate::algorithm::GraphAlgorithm::memory)).
    pub memory: &'a [u64],
}

/// What [`FaultTolerance::postcheck`] judges and may use.
pub struct Scene<'a> {
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
    /// [`answer_sum`] over the answer of the owned vertices, as the check read it: what is gathered must have the sum of all ranks'.
    pub answer_sum: u64,
    /// What is proved of the answer where it is a number: it lies within so much of the truth, in L1. The same on all ranks.
    pub bound: Option<f64>,
}

/// Adds (vertex, value) pairs up so that any order and grouping gives the same sum: what the certificate read and what is handed out
/// must agree in it. `global` is the vertex's global number, `bits` the value's (4-byte values widened with zeros).
#[inline(always)]
pub fn answer_sum(sum: u64, global: u32, bits: u64) -> u64 {
    sum.wrapping_add(crate::protect::mix(global.into(), bits))
}

/// What a check found.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// Every rule holds.
    Sound,
    /// A rule is broken.
    Corrupt(Finding),
}

/// Which rule is broken, where, by what.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The rule, as a claim that should hold.
    pub rule: String,
    /// The original ID of the first vertex that breaks it, if it is about one.
    pub vertex: Option<i64>,
    /// The value found and, where known, the right one.
    pub evidence: String,
}

impl Verdict {
    /// Sound if the claim holds; else corrupt, with the evidence.
    pub fn require(
        holds: bool,
        rule: impl Into<String>,
        vertex: Option<i64>,
        evidence: impl FnOnce() -> String,
    ) -> Verdict {
        if holds {
            Verdict::Sound
        } else {
            Verdict::Corrupt(Finding { rule: rule.into(), vertex, evidence: evidence() })
        }
    }

    /// This one if it is corrupt, else the other.
    pub fn and(self, other: Verdict) -> Verdict {
        if self.is_sound() { other } else { self }
    }

    /// Whether every rule holds.
    pub fn is_sound(&self) -> bool {
        matches!(self, Verdict::Sound)
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.vertex {
            Some(id) => write!(f, "rule broken: {} (vertex {id}: {})", self.rule, self.evidence),
            None => write!(f, "rule broken: {} ({})", self.rule, self.evidence),
        }
    }
}
