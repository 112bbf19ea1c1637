//! Certificates: after the run, every rank proves its owned part of the answer in code that the supersteps do not use.
//!
//! A plugin's [`postcheck`](crate::fault::FaultTolerance::postcheck) gets an [`Audit`]: read-only fields, fresh copies of its
//! neighbours' values, and one parallel pass over the arcs into owned vertices ([`Audit::scan`]). That pass also sums the
//! answer as it was judged (what is gathered later must have that sum) and the arcs as they were read (which must be those
//! that were loaded). Cost: one pass over the arcs, one owner-to-ghost exchange of what is read, one small reduction.
//!
//! Sums are additive over vertices and weighted by vertex, modulo 2^64: one changed value always shows; several escape with
//! a chance of about 2^-64. Nothing read from a field or from a peer is used as an index, a length or a bound unless checked.

mod sums;
mod talk;

pub use sums::{ArcSums, answer_sum};
pub use talk::Talk;

use crate::device::host::access::{at, prefetch};
use crate::device::host::{Line, Pool};
use crate::error::Result;
use crate::fault::{FaultTolerance, Verdict};
use crate::field::{Field, FieldSpec, Frozen, Held, Value};
use crate::graph::Ids;
use crate::id::LocalId;
use crate::memory::{Buf, Plain};
use crate::partition::{Part, Rows};
use crate::step::Step;
use crate::transport::Transport;
use std::cell::Cell;
use std::time::Duration;

/// What all ranks agreed on about an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Certificate {
    /// Whether the answer is proved right; the first rank's finding if not.
    pub verdict: Verdict,
    /// The sum of the answer that was judged, over all ranks; see [`answer_sum`].
    pub answer_sum: u64,
    /// Time spent in communication.
    pub talked: Duration,
}

/// Judges the answer in `step`. `arcs` are the sums that were made when the part was loaded. Collective: every rank calls it.
///
/// # Errors
/// When a peer is lost. A wrong answer is no error, it is the verdict.
pub fn certify(
    protection: &dyn FaultTolerance,
    ids: &Ids,
    step: &mut Step<'_>,
    transport: &mut dyn Transport,
    arcs: &ArcSums,
) -> Result<Certificate> {
    let mut audit = Audit::new(ids, step, transport);
    let verdict = protection.postcheck(&mut audit)?;
    let (read, answer) = (audit.arcs_read.get(), audit.answer_sum.get());
    let degrees = sums::degrees(audit.part, audit.pool);
    let verdict = verdict
        .and(Verdict::require(read == Some(arcs.rows), "arcs are those that were loaded", None, || match read {
            Some(read) => format!("their sum is {read:016x}, it was {:016x}", arcs.rows),
            None => "the plugin's certificate reads none".into(),
        }))
        .and(Verdict::require(degrees == arcs.degrees, "degrees are those that were loaded", None, || {
            format!("their sum is {degrees:016x}, it was {:016x}", arcs.degrees)
        }));
    let (verdict, answer_sum) = audit.talk.settle(verdict, answer)?;
    Ok(Certificate { verdict, answer_sum, talked: audit.talk.talked() })
}

/// One rank's view of a finished run, for a certificate.
pub struct Audit<'a> {
    /// This rank's part.
    pub part: &'a Part,
    /// What ranks say to each other.
    pub talk: Talk<'a>,
    pool: &'a Pool,
    ids: &'a Ids,
    fields: Held<'a>,
    answer_sum: Cell<u64>,
    arcs_read: Cell<Option<u64>>,
}

/// What a pass over the arcs found.
pub struct Scan<S> {
    /// The smallest owned vertex that broke the rule.
    pub broken: Option<LocalId>,
    /// What each thread added up.
    pub threads: Vec<S>,
}

/// How many arcs ahead a value is asked for.
const AHEAD: usize = 64;

#[derive(Default)]
struct Own<S> {
    state: S,
    arcs: u64,
    answer: u64,
    broken: Option<LocalId>,
}

impl<'a> Audit<'a> {
    pub(crate) fn new(ids: &'a Ids, step: &'a mut Step<'_>, transport: &'a mut dyn Transport) -> Audit<'a> {
        let (part, pool) = (step.part, step.pool);
        let (talk, fields) = (Talk::new(part, transport), Held::new(&mut step.fields));
        Audit { part, talk, pool, ids, fields, answer_sum: Cell::new(0), arcs_read: Cell::new(None) }
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
        let values = self.fields.frozen(field);
        let seen = self.talk.sent(|v| values.get(v).to_bits());
        self.talk.to_ghosts(T::KIND.bytes(), seen, |ghost, bits| self.fields.set(field, ghost, T::from_bits(bits)))
    }

    /// A field as it stands, owned and ghosts.
    ///
    /// # Panics
    /// If the algorithm did not declare it: a mistake in the plugin.
    pub fn read<T: Value>(&self, field: Field<T>) -> Frozen<'_, T> {
        self.fields.frozen(field)
    }

    /// Whether the run kept this field.
    pub fn keeps(&self, spec: FieldSpec) -> bool {
        self.fields.has(spec)
    }

    /// The arcs that a certificate reads: into each vertex, or out of it where the view has no others.
    pub fn rows(&self) -> &'a Rows {
        sums::rows(self.part)
    }

    /// Runs over all owned vertices, in parallel. For each, `judge` gets its answer, its row, and what this thread adds up; it
    /// says whether the rule holds. `warm` asks for what `judge` will read of a neighbour to be brought near.
    pub fn scan<T: Value, S: Default + Send>(
        &self,
        answer: Field<T>,
        warm: impl Fn(LocalId) + Sync,
        judge: impl Fn(LocalId, T, &[LocalId], &mut S) -> bool + Sync,
    ) -> Scan<S> {
        let (part, rows) = (self.part, self.rows());
        let values = self.fields.frozen(answer);
        let mut each: Vec<Line<Own<S>>> = (0..self.pool.threads()).map(|_| Line::default()).collect();
        let chunks = part.incoming_chunks();
        self.pool.chunks_with(&mut each, chunks.len() - 1, |own, chunk| {
            for v in (chunks[chunk]..chunks[chunk + 1]).map(LocalId::new) {
                let row = rows.of(v);
                let ahead = &rows.targets()[(rows.begin(v, 0) as usize + AHEAD).min(rows.targets().len())..];
                ahead.iter().take(row.len()).for_each(|&later| warm(later));
                own.arcs = own.arcs.wrapping_add(sums::row(v, row));
                let value = values.get(v);
                own.answer = own.answer.wrapping_add(sums::value(part.global(v), value.to_bits()));
                if !judge(v, value, row, &mut own.state) {
                    own.broken = Some(own.broken.map_or(v, |first| first.min(v)));
                }
            }
        });
        let (mut broken, mut arcs, mut sum) = (None::<LocalId>, 0u64, 0u64);
        let mut threads = Vec::with_capacity(each.len());
        for Line(own) in each {
            broken = broken.into_iter().chain(own.broken).min();
            (arcs, sum) = (arcs.wrapping_add(own.arcs), sum.wrapping_add(own.answer));
            threads.push(own.state);
        }
        self.arcs_read.set(Some(arcs));
        self.answer_sum.set(sum);
        Scan { broken, threads }
    }

    /// Computes one value for every owned vertex from a field, in parallel; ghosts get their owners'.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn derive<T: Value>(
        &mut self,
        field: Field<T>,
        of: impl Fn(LocalId, T) -> T + Sync,
    ) -> Result<Derived<T>> {
        const PIECE: usize = 1 << 14;
        let mut values = Buf::<T>::zeroed(self.part.locals());
        let from = self.fields.frozen(field);
        let mut none: Vec<Line<()>> = (0..self.pool.threads()).map(|_| Line(())).collect();
        let mut pieces: Vec<&mut [T]> = values[..self.part.owned()].chunks_mut(PIECE).collect();
        self.pool.chunks_over(&mut none, &mut pieces, |(), piece, values| {
            for (i, value) in values.iter_mut().enumerate() {
                let v = LocalId::new((piece * PIECE + i) as u32);
                *value = of(v, from.get(v));
            }
        });
        let seen = self.talk.sent(|v| values[v.index()].to_bits());
        self.talk.to_ghosts(T::KIND.bytes(), seen, |ghost, bits| values[ghost.index()] = T::from_bits(bits))?;
        Ok(Derived { values })
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
