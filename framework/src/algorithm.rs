//! What a plugin writes: an algorithm as a vertex program in supersteps, and how it is registered.

use crate::answer::{Answer, AnswerSpec};
use crate::base::error::{Error, Result};
use crate::base::tally::Tally;
use crate::base::verdict::Verdict;
use crate::device::Kernels;
use crate::fault_tolerance::FaultTolerance;
use crate::field::FieldSpec;
use crate::graph::{Graph, View};
use crate::step::{Layout, Step};
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
    fn enable_certificate_fields(&mut self) {}

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
    fn save(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Takes back what [`GraphAlgorithm::save`] gave. Words may come from a file: bad ones must do no more harm than a wrong answer.
    fn restore(&mut self, _memory: &[u64]) {}

    /// Whether fields mean the same on another number of ranks (they hold no local numbers). If not, a run resumed on another
    /// number starts over.
    fn is_portable(&self) -> bool {
        true
    }
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
