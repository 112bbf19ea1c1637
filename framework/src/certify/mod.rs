//! Certificates: after the run, every rank proves its owned part of the answer in code that the supersteps do not use.
//!
//! A plugin's [`postcheck`](crate::fault::FaultTolerance::postcheck) opens an [`Audit`] of its scene: fresh copies of its
//! neighbours' values, and one parallel pass over the arcs into owned vertices ([`Audit::scan`]). That pass also sums the
//! answer as it was judged (what is gathered later must have that sum) and the arcs as they were read (which must be those
//! that were loaded). Cost: one pass over the arcs, one owner-to-ghost exchange of what is read, few words to all.
//!
//! Nothing read from a field or from a peer is used as an index, a length or a bound unless it was checked. Debug builds check each
//! index besides.

mod arcs;
mod judge;
mod talk;

pub use arcs::ArcSums;
pub use judge::{Judged, judge};
pub use talk::Talk;

use crate::device::host::access::{at, prefetch};
use crate::device::host::{Line, Pool};
use crate::error::Result;
use crate::fault::{Certificate, Scene, State, Values, Verdict, answer_sum};
use crate::field::{Field, FieldSpec, Value};
use crate::graph::Ids;
use crate::id::LocalId;
use crate::memory::{Buf, Plain};
use crate::partition::{Part, Rows};
use std::cell::Cell;

/// One rank's view of a finished run, for a certificate.
pub struct Audit<'a> {
    /// This rank's part.
    pub part: &'a Part,
    /// What ranks say to each other.
    pub talk: Talk<'a>,
    ids: &'a Ids,
    state: State<'a>,
    pool: &'a Pool,
    read: Cell<Option<Read>>,
}

/// Sums of what a pass over the arcs read.
#[derive(Clone, Copy)]
struct Read {
    answer: u64,
    arcs: ArcSums,
}

/// What a pass over the arcs found.
pub struct Scan<S> {
    /// The smallest owned vertex that broke the rule.
    pub broken: Option<LocalId>,
    /// What each thread added up.
    pub threads: Vec<S>,
}

/// Vertices that a thread derives at once.
const PIECE: usize = 1 << 14;

/// The arcs of one vertex, as [`Audit::scan`] hands them out. Reading them adds them to the sum of arcs, so a judge reads each row
/// whole, once.
pub struct Row<'a> {
    targets: &'a [LocalId],
    sum: &'a Cell<u64>,
}

impl Row<'_> {
    /// Folds over the neighbours.
    #[inline(always)]
    pub fn fold<A>(&self, start: A, mut f: impl FnMut(A, LocalId) -> A) -> A {
        let (mut value, mut sums) = (start, [0u64; 4]);
        let (fours, rest) = self.targets.as_chunks::<4>();
        for four in fours {
            for (sum, &u) in sums.iter_mut().zip(four) {
                value = f(value, u);
                *sum = sum.wrapping_add(arcs::target(u));
            }
        }
        for (sum, &u) in sums.iter_mut().zip(rest) {
            value = f(value, u);
            *sum = sum.wrapping_add(arcs::target(u));
        }
        self.sum.set(sums.iter().fold(0, |sum, part| sum.wrapping_add(*part)));
        value
    }

    /// How many neighbours.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The first neighbour.
    #[inline(always)]
    pub fn first(&self) -> Option<LocalId> {
        self.targets.first().copied()
    }

    /// Whether `u` is a neighbour.
    pub fn contains(&self, u: LocalId) -> bool {
        self.targets.contains(&u)
    }
}

impl<'a> Audit<'a> {
    /// Of what is before the post-check.
    pub fn of<'s: 'a>(scene: &'a mut Scene<'s>) -> Audit<'a> {
        let (part, ids, state, pool) = (scene.part, scene.ids, scene.state, scene.pool);
        Audit { part, talk: Talk::new(part, scene.transport), ids, state, pool, read: Cell::new(None) }
    }

    /// The original ID of a local vertex, for findings.
    pub fn id(&self, v: LocalId) -> i64 {
        self.ids.original(self.part.global(v))
    }

    /// Copies a field's owned values to the ghosts of all peers.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn renew<T: Value>(&mut self, field: Field<T>) -> Result<()> {
        let (state, values) = (self.state, self.state.values(field));
        let put = |ghost, bits| state.copy(field, ghost, T::from_bits(bits));
        self.talk.send_to_ghosts(T::KIND.bytes(), |v| values.get(v).to_bits(), put)
    }

    /// A field as it stands, owned and ghosts.
    ///
    /// # Panics
    /// If the algorithm did not declare it: a mistake in the plugin.
    pub fn values<T: Value>(&self, field: Field<T>) -> Values<'a, T> {
        self.state.values(field)
    }

    /// Whether the run kept this field.
    pub fn has(&self, spec: FieldSpec) -> bool {
        self.state.has(spec)
    }

    /// The arcs that a certificate reads: into each vertex, or out of it where the view has no others.
    pub fn rows(&self) -> &'a Rows {
        arcs::rows(self.part)
    }

    /// Runs over all owned vertices, in parallel. For each, `judge` gets its answer, its row, and what this thread adds up; it
    /// says whether the rule holds.
    pub fn scan<T: Value, S: Default + Send>(
        &self,
        answer: Field<T>,
        judge: impl Fn(LocalId, T, &Row<'_>, &mut S) -> bool + Sync,
    ) -> Scan<S> {
        #[derive(Default)]
        struct Own<S> {
            state: S,
            arcs: u64,
            answer: u64,
            broken: Option<LocalId>,
        }
        let (part, rows, outgoing) = (self.part, self.rows(), self.part.outgoing());
        let values = self.state.values(answer);
        let mut each: Vec<Line<Own<S>>> = (0..self.pool.threads()).map(|_| Line::default()).collect();
        let chunks = part.incoming_chunks();
        self.pool.chunks_with(&mut each, chunks.len() - 1, |own, chunk| {
            let (mut arcs, mut answer, mut broken, sum) = (0u64, 0u64, None, Cell::new(0));
            for v in (chunks[chunk]..chunks[chunk + 1]).map(LocalId::new) {
                let (row, value) = (Row { targets: rows.of(v), sum: &sum }, values.get(v));
                sum.set(0);
                let holds = judge(v, value, &row, &mut own.state);
                arcs = arcs.wrapping_add(arcs::row(v, sum.get(), (row.len(), outgoing.degree(v))));
                answer = answer_sum(answer, part.global(v).0, value.to_bits());
                if !holds && broken.is_none() {
                    broken = Some(v);
                }
            }
            own.arcs = own.arcs.wrapping_add(arcs);
            own.answer = own.answer.wrapping_add(answer);
            own.broken = own.broken.into_iter().chain(broken).min();
        });
        let (mut broken, mut arcs, mut answer) = (None::<LocalId>, 0u64, 0u64);
        let mut threads = Vec::with_capacity(each.len());
        for Line(own) in each {
            broken = broken.into_iter().chain(own.broken).min();
            (arcs, answer) = (arcs.wrapping_add(own.arcs), answer.wrapping_add(own.answer));
            threads.push(own.state);
        }
        self.read.set(Some(Read { answer, arcs: ArcSums { arcs } }));
        Scan { broken, threads }
    }

    /// Hands `judge` one vertex again, to say what was found there.
    pub fn again<R>(&self, v: LocalId, judge: impl FnOnce(&Row<'_>) -> R) -> R {
        judge(&Row { targets: self.rows().of(v), sum: &Cell::new(0) })
    }

    /// Hands every owned vertex and its value of a field to `note`, in parallel; what each thread noted.
    pub fn survey<T: Value, S: Default + Send>(
        &self,
        field: Field<T>,
        note: impl Fn(LocalId, T, &mut S) + Sync,
    ) -> Vec<S> {
        let (values, owned) = (self.state.values(field), self.part.owned());
        let mut each: Vec<Line<S>> = (0..self.pool.threads()).map(|_| Line::default()).collect();
        self.pool.chunks_with(&mut each, owned.div_ceil(PIECE), |own, piece| {
            for v in (piece * PIECE..owned.min((piece + 1) * PIECE)).map(|v| LocalId::new(v as u32)) {
                note(v, values.get(v), own);
            }
        });
        each.into_iter().map(|own| own.0).collect()
    }

    /// Computes one value for every owned vertex from a field, in parallel; ghosts get their owners'.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn derive<T: Value>(&mut self, field: Field<T>, of: impl Fn(LocalId, T) -> T + Sync) -> Result<Derived<T>> {
        let mut values = Buf::<T>::zeroed(self.part.locals());
        let from = self.state.values(field);
        let mut none: Vec<Line<()>> = (0..self.pool.threads()).map(|_| Line(())).collect();
        let mut pieces: Vec<&mut [T]> = values[..self.part.owned()].chunks_mut(PIECE).collect();
        self.pool.chunks_over(&mut none, &mut pieces, |(), piece, values| {
            for (i, value) in values.iter_mut().enumerate() {
                let v = LocalId::new((piece * PIECE + i) as u32);
                *value = of(v, from.get(v));
            }
        });
        self.talk.copy_to_ghosts(&mut values)?;
        Ok(Derived { values })
    }

    /// The rank's word: `verdict`, unless messages did not fit or the arcs read are not those that were loaded.
    pub fn close(self, verdict: Verdict) -> Certificate {
        let verdict = verdict.and(self.talk.verdict());
        let Some(read) = self.read.get() else {
            let rule = "a certificate judges the answer";
            let verdict = verdict.and(Verdict::require(false, rule, None, || "it read no arcs".into()));
            return Certificate { verdict, answer_sum: 0 };
        };
        let verdict = match self.part.arc_sums() {
            Some(loaded) => verdict.and(loaded.compare(read.arcs)),
            None => verdict,
        };
        Certificate { verdict, answer_sum: read.answer }
    }
}

/// A value for every local vertex, computed for a certificate.
pub struct Derived<T: Plain> {
    values: Buf<T>,
}

impl<T: Value> Derived<T> {
    /// The value at `v`.
    #[inline(always)]
    pub fn get(&self, v: LocalId) -> T {
        *at(&self.values, v)
    }

    /// Asks for the value at `v` to be brought near.
    #[inline(always)]
    pub fn prefetch(&self, v: LocalId) {
        prefetch(&self.values, v.index());
    }
}
