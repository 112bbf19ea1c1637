//! What a plugin writes: an algorithm as a vertex program in supersteps, and how it is registered.

use crate::answer::{Answer, AnswerSpec};
use crate::device::cuda::Kernels;
use crate::error::{Error, Result};
use crate::fault::{FaultTolerance, Verdict};
use crate::field::FieldSpec;
use crate::graph::{Graph, View};
use crate::step::Step;
use crate::sum::Sum;
use clap::{ArgMatches, Command, FromArgMatches};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Named values of a run, in a fixed order: parameters, or the keys an algorithm adds to its result record.
pub type Record = Map<String, Value>;

/// An algorithm. It computes locally: it never talks to a peer, a clock, a device or a file. The driver exchanges ghosts, adds
/// up the tallies of all ranks, and asks `is_done` with the sum.
///
/// One value runs on each rank; all are made from the same options and see the same agreed tallies, so what they derive from
/// those (the level being peeled, the round) is equal everywhere.
pub trait GraphAlgorithm: Send {
    /// Which arcs it works on.
    fn view(&self) -> View;

    /// Every per-vertex array, with its sharing rule.
    fn fields(&self) -> Vec<FieldSpec>;

    /// Which field is the answer, and what its numbers mean.
    fn answer(&self) -> AnswerSpec;

    /// Turns options into facts of this graph (a source vertex, say), before anything is allocated.
    ///
    /// # Errors
    /// A usage error when an option does not fit the graph.
    fn prepare(&mut self, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// All options after defaults, as the records show them.
    fn parameters(&self) -> Record;

    /// Layouts it asks the device for beyond the rows, see [`Layout`].
    fn layout(&self) -> Layout {
        Layout::Rows
    }

    /// Called before [`GraphAlgorithm::fields`] in runs whose answer will be certified: from here on it declares and keeps what its
    /// certificate needs. Other runs neither have those fields nor write them.
    fn keep_evidence(&mut self) {}

    /// Puts the first state in place. Fields hold their initial values already. The tally, agreed by all ranks, is what the
    /// first superstep finds in `step.total`.
    ///
    /// # Errors
    /// Whatever an operator reports.
    fn init(&mut self, step: &mut Step<'_>) -> Result<Tally>;

    /// One round on one rank.
    ///
    /// # Errors
    /// Whatever an operator reports.
    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally>;

    /// Whether the agreed tally of all ranks ends the run.
    fn is_done(&self, total: &Tally) -> bool {
        total.active == 0
    }

    /// Supersteps after which a run that is not done counts as not converged. The default stops runs that corrupt state keeps
    /// from ending: no algorithm here needs more than two rounds a vertex.
    fn supersteps_max(&self, vertices: usize) -> u32 {
        u32::try_from(vertices.saturating_mul(2).saturating_add(64)).unwrap_or(u32::MAX)
    }

    /// Turns the last state into the answer field.
    ///
    /// # Errors
    /// Whatever an operator reports.
    fn finish(&mut self, _step: &mut Step<'_>) -> Result<()> {
        Ok(())
    }

    /// The algorithm's own keys of the result record, from the gathered answer and the last agreed tally.
    fn result(&self, graph: &Graph, answer: &Answer, last: &Tally) -> Record;

    /// The result in one sentence, for people.
    fn sentence(&self, graph: &Graph, result: &Record) -> String;

    /// Compares the answer with a plain serial computation that shares no code with the supersteps.
    fn verify(&self, graph: &Graph, answer: &Answer) -> Verdict;

    /// How the run is guarded, if the plugin says how. Called after `prepare`; it holds options and facts of the graph, no state.
    fn protection(&self) -> Option<Arc<dyn FaultTolerance>> {
        None
    }

    /// What it keeps between supersteps outside its fields, as words that are equal on all ranks: part of every snapshot.
    fn memory(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Takes back what [`GraphAlgorithm::memory`] gave. Words may come from a file: bad ones must do no more harm than a wrong answer.
    fn recall(&mut self, _memory: &[u64]) {}

    /// Whether fields mean the same on another number of ranks (they hold no local numbers). If not, a run resumed on another
    /// number starts over.
    fn is_portable(&self) -> bool {
        true
    }
}

/// What one superstep adds up on one rank; [`Tally::merge`] gives the tally of all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tally {
    /// Vertices that the next superstep will work on. Summed.
    pub active: u64,
    /// Arcs out of them. Summed.
    pub arcs: u64,
    /// How far values moved. Summed, in any order with the same result.
    pub residual: Sum,
    /// Handed to the next superstep (PageRank: the rank held by sinks). Summed, in any order with the same result.
    pub carry: Sum,
    /// The least of some key (k-core: the smallest degree left); [`Tally::NONE`] when there is none. The smallest wins.
    pub least: u64,
}

impl Tally {
    /// No key at all.
    pub const NONE: u64 = u64::MAX;

    /// A tally of `active` vertices and nothing else.
    pub fn active(active: u64) -> Tally {
        Tally { active, ..Tally::default() }
    }

    /// Adds another rank's tally.
    pub fn merge(&mut self, other: &Tally) {
        self.active += other.active;
        self.arcs += other.arcs;
        self.residual.merge(other.residual);
        self.carry.merge(other.carry);
        self.least = self.least.min(other.least);
    }

    /// Length of [`Tally::to_bytes`].
    pub(crate) const BYTES: usize = 56;

    pub(crate) fn to_bytes(self) -> [u8; Tally::BYTES] {
        let [a, b] = self.residual.to_bits();
        let [c, d] = self.carry.to_bits();
        let mut bytes = [0; 56];
        for (slot, word) in bytes.chunks_exact_mut(8).zip([self.active, self.arcs, a, b, c, d, self.least]) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Tally> {
        let whole = Some(bytes).filter(|bytes| bytes.len() % 8 == 0)?;
        let words: Vec<u64> =
            whole.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
        let [active, arcs, a, b, c, d, least] = words[..] else { return None };
        Some(Tally { active, arcs, residual: Sum::from_bits([a, b]), carry: Sum::from_bits([c, d]), least })
    }
}

impl Default for Tally {
    fn default() -> Self {
        Tally { active: 0, arcs: 0, residual: Sum::default(), carry: Sum::default(), least: Tally::NONE }
    }
}

/// A layout of the arcs that an algorithm can ask for beyond the sorted rows. It is built in set-up, only where it pays back within
/// the run, and its bytes are reported apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Sorted rows only.
    Rows,
    /// Tiles for pulls that will be repeated about this many times.
    Tiles {
        /// Pulls expected.
        pulls: u32,
    },
}

/// One registered algorithm: plain data and constructors, so that it can stand in a static and behind `dlopen`.
pub struct Registration {
    /// What `--algorithm` takes.
    pub name: &'static str,
    /// One line for `harness list`.
    pub summary: &'static str,
    /// Adds the plugin's options to a command.
    pub augment: fn(Command) -> Command,
    /// Makes the algorithm from parsed options.
    pub make: fn(&ArgMatches) -> Result<Box<dyn GraphAlgorithm>, clap::Error>,
    /// Its rules for the cuda device, if it can run there.
    pub kernels: Option<Kernels>,
}

inventory::collect!(Registration);

impl Registration {
    /// Registers `A`, whose options are its fields.
    pub const fn new<A: GraphAlgorithm + clap::Args + 'static>(
        name: &'static str,
        summary: &'static str,
    ) -> Registration {
        fn make<A: GraphAlgorithm + clap::Args + 'static>(
            matches: &ArgMatches,
        ) -> Result<Box<dyn GraphAlgorithm>, clap::Error> {
            Ok(Box::new(<A as FromArgMatches>::from_arg_matches(matches)?))
        }
        Registration { name, summary, augment: A::augment_args, make: make::<A>, kernels: None }
    }

    /// The same with rules for the cuda device: the plugin's file in kernels/ and the PTX made from it.
    #[must_use]
    pub const fn with_kernels(mut self, source: &'static str, ptx: &'static str) -> Registration {
        self.kernels = Some(Kernels { name: self.name, source, ptx });
        self
    }
}

/// All algorithms, sorted by name: those linked in and, later, those loaded.
pub struct Registry {
    entries: Vec<&'static Registration>,
}

impl Registry {
    /// The algorithms linked into this program.
    ///
    /// # Errors
    /// When two have one name.
    pub fn linked() -> Result<Registry> {
        Registry::of(inventory::iter::<Registration>)
    }

    /// A registry of the given algorithms.
    ///
    /// # Errors
    /// When two have one name.
    pub fn of(entries: impl IntoIterator<Item = &'static Registration>) -> Result<Registry> {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|entry| entry.name);
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(Error::usage(format!(
                "two plugins register the algorithm `{}`; rename one or leave one out",
                pair[0].name
            )));
        }
        Ok(Registry { entries })
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &'static Registration> + '_ {
        self.entries.iter().copied()
    }

    /// The one with this name.
    ///
    /// # Errors
    /// A usage error that lists the known ones and the nearest spelling.
    pub fn find(&self, name: &str) -> Result<&'static Registration> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.name == name) {
            return Ok(entry);
        }
        let known: Vec<_> = self.entries.iter().map(|entry| entry.name).collect();
        let nearest = known
            .iter()
            .map(|known| (strsim::damerau_levenshtein(&name.to_lowercase(), known), known))
            .min()
            .filter(|(distance, known)| *distance <= known.len().div_ceil(2))
            .map(|(_, known)| format!("; did you mean `{known}`?"))
            .unwrap_or_default();
        Err(Error::usage(format!("no algorithm is called `{name}`{nearest} (known: {})", known.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tallies() -> impl Strategy<Value = Tally> {
        let sum = || prop::collection::vec(-0.01f64..0.01, 0..9).prop_map(|terms| terms.into_iter().collect::<Sum>());
        (0u64..1 << 60, 0u64..1 << 60, sum(), sum(), any::<u64>())
            .prop_map(|(active, arcs, residual, carry, least)| Tally { active, arcs, residual, carry, least })
    }

    fn merged(mut left: Tally, right: Tally) -> Tally {
        left.merge(&right);
        left
    }

    proptest! {
        #[test]
        fn tallies_merge_in_any_order_and_survive_the_wire(a in tallies(), b in tallies(), c in tallies()) {
            prop_assert_eq!(merged(a, b), merged(b, a));
            prop_assert_eq!(merged(merged(a, b), c), merged(a, merged(b, c)));
            prop_assert_eq!(merged(a, Tally::default()), a);
            prop_assert_eq!(Tally::from_bytes(&a.to_bytes()), Some(a));
        }

        #[test]
        fn bytes_of_another_length_are_no_tally(bytes in prop::collection::vec(any::<u8>(), 0..130)) {
            prop_assert_eq!(Tally::from_bytes(&bytes).is_some(), bytes.len() == 56);
        }
    }
}
