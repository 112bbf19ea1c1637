//! Certificates: after the run, every rank proves its owned part of the answer in code that the supersteps do not use.
//!
//! A plugin's [`postcheck`](crate::fault_tolerance::FaultTolerance::postcheck) opens an [`Audit`] of its input: fresh copies of its
//! neighbours' values, and one parallel pass over the arcs into owned vertices ([`Audit::scan`]). That pass also sums the
//! answer as it was judged (what is gathered later must have that sum) and the arcs as they were read (which must be those
//! that were loaded). Cost: one pass over the arcs, one owner-to-ghost exchange of what is read, few words to all.
//!
//! Nothing read from a field or from a peer is used as an index, a length or a bound unless it was checked. Debug builds check each
//! index besides.

mod row;
mod packed_values;
mod collectives;

pub use collectives::Collectives;
pub use packed_values::{Lookup, Packed, VertexValues};
pub use row::{Row, Rows};

use crate::base::checksum::answer_sum;
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::base::memory::{Buf, Pod};
use crate::base::verdict::Verdict;
use crate::fault_tolerance::{Certificate, CertificateInput};
use crate::field::{Field, FieldSpec, Value};
use crate::field::{State, Values};
use crate::graph::Ids;
use crate::host::{CachePadded, Pool};
use crate::partition::{Part, checksum};
use std::cell::Cell;

/// One rank's view of a finished run, for a certificate.
pub struct Audit<'a> {
    /// This rank's part.
    pub part: &'a Part,
    /// What ranks say to each other.
    pub collectives: Collectives<'a>,
    ids: &'a Ids,
    state: State<'a>,
    pool: &'a Pool,
    read: Cell<Option<Read>>,
}

/// Sums of what a pass over the arcs read.
#[derive(Clone, Copy)]
struct Read {
    answer: u64,
    arcs: u64,
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

/// Vertices whose rows are summed before they are judged: few enough that they stay in the nearest cache.
const BLOCK: u32 = 64;

impl<'a> Audit<'a> {
    /// Of what is before the post-check.
    pub fn of<'s: 'a>(input: &'a mut CertificateInput<'s>) -> Audit<'a> {
        let (part, ids, state, pool) = (input.part, input.ids, input.state, input.pool);
        Audit { part, collectives: Collectives::new(part, input.transport), ids, state, pool, read: Cell::new(None) }
    }

    /// The original ID of a local vertex, for findings.
    pub fn id(&self, v: LocalId) -> i64 {
        self.ids.original(self.part.global(v))
    }

    /// Copies a field's owned values to the ghosts of all peers.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn broadcast_to_ghosts<T: Value>(&mut self, field: Field<T>) -> Result<()> {
        let (state, values) = (self.state, self.state.values(field));
        let put = |ghost, bits| state.copy(field, ghost, T::from_bits(bits));
        self.collectives.send_to_ghosts(T::KIND.bytes(), |v| values.get(v).to_bits(), put)
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

    /// The arcs that a certificate reads.
    pub fn rows(&self) -> Rows<'a> {
        Rows { all: checksum::rows(self.part) }
    }

    /// Runs over all owned vertices, in parallel. For each, `judge` gets its answer, its row, and what this thread adds up; it
    /// says whether the rule holds.
    pub fn scan<T: Value, S: Default + Send>(
        &self,
        answer: Field<T>,
        judge: impl Fn(LocalId, T, Row<'_>, &mut S) -> bool + Sync,
    ) -> Scan<S> {
        #[derive(Default)]
        struct Own<S> {
            state: S,
            arcs: u64,
            answer: u64,
            broken: Option<LocalId>,
        }
        let (part, rows, outgoing) = (self.part, checksum::rows(self.part), self.part.outgoing());
        let values = self.state.values(answer);
        let mut each: Vec<CachePadded<Own<S>>> = (0..self.pool.threads()).map(|_| CachePadded::default()).collect();
        let chunks = part.incoming_chunks();
        self.pool.chunks_with(&mut each, chunks.len() - 1, |own, chunk| {
            let (mut arcs, mut answer, mut broken) = (0u64, 0u64, None);
            for first in (chunks[chunk]..chunks[chunk + 1]).step_by(BLOCK as usize) {
                let end = chunks[chunk + 1].min(first + BLOCK);
                arcs = arcs.wrapping_add(checksum::targets(rows.row_range(LocalId::new(first), LocalId::new(end))));
                for v in (first..end).map(LocalId::new) {
                    let (row, value) = (Row { targets: rows.of(v) }, values.get(v));
                    let holds = judge(v, value, row, &mut own.state);
                    arcs = arcs.wrapping_add(checksum::bounds_of(v, row.len() as u64, outgoing.degree(v)));
                    answer = answer_sum(answer, part.global(v).0, value.to_bits());
                    if !holds && broken.is_none() {
                        broken = Some(v);
                    }
                }
            }
            own.arcs = own.arcs.wrapping_add(arcs);
            own.answer = own.answer.wrapping_add(answer);
            own.broken = own.broken.into_iter().chain(broken).min();
        });
        let (mut broken, mut arcs, mut answer) = (None::<LocalId>, 0u64, 0u64);
        let mut threads = Vec::with_capacity(each.len());
        for CachePadded(own) in each {
            broken = broken.into_iter().chain(own.broken).min();
            (arcs, answer) = (arcs.wrapping_add(own.arcs), answer.wrapping_add(own.answer));
            threads.push(own.state);
        }
        self.read.set(Some(Read { answer, arcs }));
        Scan { broken, threads }
    }

    /// Hands `judge` one vertex again, to say what was found there.
    pub fn again<R>(&self, v: LocalId, judge: impl FnOnce(Row<'_>) -> R) -> R {
        judge(self.rows().of(v))
    }

    /// Hands every owned vertex and its value of a field to `note`, in parallel; what each thread noted.
    pub fn survey<T: Value, S: Default + Send>(
        &self,
        field: Field<T>,
        note: impl Fn(LocalId, T, &mut S) + Sync,
    ) -> Vec<S> {
        let (values, owned) = (self.state.values(field), self.part.owned());
        let mut each: Vec<CachePadded<S>> = (0..self.pool.threads()).map(|_| CachePadded::default()).collect();
        self.pool.chunks_with(&mut each, owned.div_ceil(PIECE), |own, piece| {
            for v in (piece * PIECE..owned.min((piece + 1) * PIECE)).map(|v| LocalId::new(v as u32)) {
                note(v, values.get(v), own);
            }
        });
        each.into_iter().map(|own| own.0).collect()
    }

    /// Computes one value for every owned vertex from a field, in parallel; ghosts get their owners'. And what each thread added up.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn derive<T: Value, S: Default + Send>(
        &mut self,
        field: Field<T>,
        of: impl Fn(LocalId, T, &mut S) -> T + Sync,
    ) -> Result<(VertexValues<T>, Vec<S>)> {
        let (mut derived, noted) = self.derived(field, self.part.owned(), of);
        self.collectives.copy_to_ghosts(&mut derived.values)?;
        Ok((derived, noted))
    }

    /// Computes one value of another kind for every local vertex from a field as it stands, ghosts included.
    pub fn project<T: Value, U: Pod + Copy>(&self, field: Field<T>, of: impl Fn(T) -> U + Sync) -> VertexValues<U> {
        self.derived(field, self.part.locals(), |_, value, (): &mut ()| of(value)).0
    }

    /// The numbers of a field, owned and ghosts, to be read at random.
    pub fn packed(&self, field: Field<u32>) -> Packed<'a> {
        let (values, locals) = (self.state.values(field), self.part.locals());
        let mut each: Vec<CachePadded<u32>> = (0..self.pool.threads()).map(|_| CachePadded(0)).collect();
        self.pool.chunks_with(&mut each, locals.div_ceil(PIECE), |most, piece| {
            let numbers = (piece * PIECE..locals.min((piece + 1) * PIECE)).map(|v| values.get(LocalId::new(v as u32)));
            // The largest one wraps to 0, all others grow by 1.
            *most = numbers.fold(*most, |most, number| most.max(number.wrapping_add(1)));
        });
        match each.iter().map(|most| most.0).max().unwrap_or(0) {
            0..=0xff => Packed::Bytes(self.project(field, |number| number as u8)),
            0x100..=0xffff => Packed::Shorts(self.project(field, |number| number as u16)),
            _ => Packed::Words(values),
        }
    }

    /// A value for each of the first `count` local numbers.
    fn derived<T: Value, U: Pod + Copy, S: Default + Send>(
        &self,
        field: Field<T>,
        count: usize,
        of: impl Fn(LocalId, T, &mut S) -> U + Sync,
    ) -> (VertexValues<U>, Vec<S>) {
        let mut values = Buf::<U>::zeroed(self.part.locals());
        let from = self.state.values(field);
        let mut each: Vec<CachePadded<S>> = (0..self.pool.threads()).map(|_| CachePadded::default()).collect();
        let mut pieces: Vec<&mut [U]> = values[..count].chunks_mut(PIECE).collect();
        self.pool.chunks_over(&mut each, &mut pieces, |own, piece, values| {
            for (i, value) in values.iter_mut().enumerate() {
                let v = LocalId::new((piece * PIECE + i) as u32);
                *value = of(v, from.get(v), own);
            }
        });
        (VertexValues { values }, each.into_iter().map(|own| own.0).collect())
    }

    /// Goes through items of each thread's list in parallel; whether all hold, and the first that does not.
    pub fn each<I: Copy + Send + Sync>(&self, lists: &[Vec<I>], holds: impl Fn(I) -> bool + Sync) -> Option<I> {
        const AT_ONCE: usize = 256;
        let items: Vec<&[I]> = lists.iter().flat_map(|list| list.chunks(AT_ONCE)).collect();
        let mut each: Vec<CachePadded<Option<(usize, I)>>> =
            (0..self.pool.threads()).map(|_| CachePadded(None)).collect();
        self.pool.chunks_with(&mut each, items.len(), |broken, piece| {
            for &item in items[piece].iter().filter(|&&item| !holds(item)).take(1) {
                if broken.as_ref().is_none_or(|(first, _)| piece < *first) {
                    *broken = Some((piece, item));
                }
            }
        });
        each.into_iter().filter_map(|broken| broken.0).min_by_key(|broken| broken.0).map(|broken| broken.1)
    }

    /// The rank's word: `verdict`, unless messages did not fit or the arcs read are not those that were loaded.
    pub fn close(self, verdict: Verdict) -> Certificate {
        let verdict = verdict.and(self.collectives.verdict());
        let Some(read) = self.read.get() else {
            let rule = "a certificate judges the answer";
            let verdict = verdict.and(Verdict::require(false, rule, None, || "it read no arcs".into()));
            return Certificate { verdict, answer_sum: 0, bound: None };
        };
        let verdict = match self.part.arc_sums() {
            Some(loaded) => verdict.and(loaded.compare(read.arcs)),
            None => verdict,
        };
        Certificate { verdict, answer_sum: read.answer, bound: None }
    }
}
