//! Faults on purpose: one strike a run, drawn from a seed, put into the state of a run from outside it.
//!
//! [`struck_trial`] wraps the guard, the transport and the part of a protected run (`run::RunHooks`); the loop, the operators and the
//! plugins hold no hook, and a program that does not call it holds none of this. A strike is put in once, at the first chance at
//! or after its superstep: what is redone is not struck again. Where a strike would make an index of an unchecked access, it stays
//! among the vertices of the part: beyond them lies a memory fault, which stops a process and is no silent error.

mod site;
mod transport;
mod guard;

pub use guard::InjectingGuard;
pub use transport::InjectingTransport;

use crate::algorithm::GraphAlgorithm;
use crate::base::checksum::split_mix;
use crate::base::error::Result;
use crate::base::id::{LocalId, Rank};
use crate::base::probe::Off;
use crate::graph::{Graph, Ids};
use crate::partition::Part;
use crate::protect::ProtectedGuard;
use crate::transport::Transport;
use crate::trial::{Device, RunHooks, Trial, TrialConfig, hooked_trial};
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, MutexGuard};

/// What a strike does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Model {
    /// One bit of a value is flipped.
    Bit1,
    /// Two bits are.
    Bit2,
    /// A value is replaced by any other.
    Random,
    /// A value becomes 0.
    Zero,
    /// The update of a value is lost.
    Stale,
    /// 32 neighbouring values are hit, all in one bit or each by a value of its own.
    Warp32,
    /// A message is lost.
    Drop,
    /// An older message arrives again, instead of the new one.
    Duplicate,
    /// Some bytes of a message change.
    Corrupt,
}

/// What a strike hits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// A declared field, owned or ghost: at rest or as an update leaves it.
    Field,
    /// The active vertices, or the set of those that have joined.
    Frontier,
    /// A ghost's copy of a shared field, or a message to one.
    Ghost,
    /// What a superstep leaves for the checker.
    Summary,
    /// The checker's own result.
    Checker,
    /// The arcs, after they were loaded.
    Graph,
    /// The answer, after the post-check.
    Answer,
}

impl Model {
    /// All of them, by name.
    pub const ALL: [(&'static str, Model); 9] = [
        ("bit1", Model::Bit1),
        ("bit2", Model::Bit2),
        ("random", Model::Random),
        ("zero", Model::Zero),
        ("stale", Model::Stale),
        ("warp32", Model::Warp32),
        ("drop", Model::Drop),
        ("duplicate", Model::Duplicate),
        ("corrupt", Model::Corrupt),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Model::ALL.iter().find(|(_, model)| *model == self).map_or("", |(name, _)| name)
    }

    /// Whether it can hit that, on so many ranks.
    pub fn fits(self, target: Target, ranks: usize) -> bool {
        let is_message = matches!(self, Model::Drop | Model::Duplicate | Model::Corrupt);
        match target {
            Target::Field | Target::Frontier => !is_message,
            Target::Ghost => ranks > 1 && self != Model::Stale,
            Target::Graph | Target::Answer => !is_message && self != Model::Stale,
            Target::Summary | Target::Checker => {
                matches!(self, Model::Bit1 | Model::Bit2 | Model::Random | Model::Zero)
            }
        }
    }
}

impl Target {
    /// All of them, by name.
    pub const ALL: [(&'static str, Target); 7] = [
        ("field", Target::Field),
        ("frontier", Target::Frontier),
        ("ghost", Target::Ghost),
        ("summary", Target::Summary),
        ("checker", Target::Checker),
        ("graph", Target::Graph),
        ("answer", Target::Answer),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Target::ALL.iter().find(|(_, target)| *target == self).map_or("", |(name, _)| name)
    }
}

/// One strike, whole: run twice, it hits the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strike {
    /// The seed that it was drawn from.
    pub seed: u64,
    /// What it does.
    pub model: Model,
    /// To what.
    pub target: Target,
    /// Where.
    pub rank: Rank,
    /// When: the superstep.
    pub iteration: u32,
}

/// What the strikes of a campaign are drawn from.
#[derive(Clone, Debug)]
pub struct Range {
    /// Models and targets that fit each other.
    pub pairs: Vec<(Model, Target)>,
    /// Ranks of the run.
    pub ranks: usize,
    /// Supersteps of a clean run.
    pub iterations: u32,
}

impl Strike {
    /// Draws one; `None` if there is nothing to draw from.
    pub fn draw(seed: u64, range: &Range) -> Option<Strike> {
        let mut rng = Rng::new(seed);
        let &(model, target) = range.pairs.get(rng.below(range.pairs.len() as u64)? as usize)?;
        let rank = Rank(rng.below(range.ranks as u64)? as u32);
        let iteration = rng.below(range.iterations.max(1).into())? as u32;
        Some(Strike { seed, model, target, rank, iteration })
    }

    /// Dice for where exactly it hits, the same each time.
    fn rng(&self) -> Rng {
        Rng::new(split_mix(self.seed ^ 0x5354_5249_4b45))
    }
}

/// What a strike hit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InjectionRecord {
    /// The field, or what it is called.
    pub field: String,
    /// The original ID of the (first) vertex, if it is one's.
    pub vertex: Option<i64>,
    /// The superstep.
    pub iteration: u32,
    /// The (first) bit, if bits were flipped.
    pub bit: Option<u32>,
}

/// Numbers from a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    fn new(seed: u64) -> Rng {
        Rng { state: split_mix(seed) }
    }

    fn word(&mut self) -> u64 {
        self.state = split_mix(self.state);
        self.state
    }

    /// A number below `end`; `None` if there is none.
    fn below(&mut self, end: u64) -> Option<u64> {
        self.word().checked_rem(end)
    }
}

/// A strike under way: shared by the ranks of one trial.
pub(crate) struct FaultInjector<'g> {
    strike: Strike,
    ids: &'g Ids,
    /// Whether arcs are hit where they lie on a device, not in the part.
    on_device: bool,
    /// The superstep that the struck rank is in; MAX before the first.
    now: AtomicU32,
    hit: Mutex<Option<InjectionRecord>>,
}

impl FaultInjector<'_> {
    fn lock(&self) -> MutexGuard<'_, Option<InjectionRecord>> {
        self.hit.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether the strike is still to be put in, here and now.
    fn is_due(&self, rank: Rank, iteration: u32, target: Target) -> bool {
        self.strike.target == target
            && self.strike.rank == rank
            && iteration >= self.strike.iteration
            && self.lock().is_none()
    }

    fn record(&self, field: &str, vertex: Option<i64>, iteration: u32, bit: Option<u32>) {
        *self.lock() = Some(InjectionRecord { field: field.into(), vertex, iteration, bit });
    }

    fn id(&self, part: &Part, v: LocalId) -> Option<i64> {
        Some(self.ids.original(part.global(v)))
    }
}

impl<'g> RunHooks for FaultInjector<'g> {
    type Guard<'r>
        = InjectingGuard<'r, 'g>
    where
        Self: 'r;
    type Transport<'r, T: Transport>
        = InjectingTransport<'r, 'g, T>
    where
        Self: 'r;

    fn part(&self, part: &mut Part, is_again: bool) {
        if self.on_device {
            return; // arcs are struck where they lie there
        }
        // Where the part's rows are the graph's own, its damage lasts until the graph is loaded again.
        let lasts = self.strike.target == Target::Graph
            && self.strike.rank == part.rank()
            && part.is_whole_graph()
            && self.lock().is_some();
        if self.is_due(part.rank(), u32::MAX, Target::Graph) || lasts && !is_again {
            self.strike_arcs(part);
        }
    }

    fn guard<'r>(&'r self, inner: ProtectedGuard<'r>) -> InjectingGuard<'r, 'g> {
        InjectingGuard::new(self, inner)
    }

    fn transport<'r, T: Transport>(&'r self, inner: T) -> InjectingTransport<'r, 'g, T> {
        InjectingTransport::new(self, inner)
    }
}

/// Runs one protected trial with one strike in it, and says what it hit: `None` if there never was a chance.
///
/// # Errors
/// As any trial's.
pub fn struck_trial(
    graph: &Graph,
    plan: &TrialConfig<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    strike: Strike,
) -> (Result<Trial<Off>>, Option<InjectionRecord>) {
    let on_device = matches!(plan.place.device, Device::Accelerators(_));
    let struck =
        FaultInjector { strike, ids: graph.ids(), on_device, now: AtomicU32::new(u32::MAX), hit: Mutex::new(None) };
    let trial = hooked_trial(graph, plan, make, &|_| Off, &struck);
    let hit = struck.lock().take();
    (trial, hit)
}

/// New bits for a value of so many bits; the bit that was flipped, if just some were.
fn changed(model: Model, old: u64, width: u32, rng: &mut Rng) -> (u64, Option<u32>) {
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    let bit = (rng.word() % u64::from(width.max(1))) as u32;
    match model {
        Model::Zero => (0, None),
        Model::Bit1 => (old ^ 1 << bit, Some(bit)),
        Model::Bit2 => {
            let other = (bit + 1 + (rng.word() % u64::from(width.max(2) - 1)) as u32) % width.max(2);
            (old ^ 1 << bit ^ 1 << other, Some(bit))
        }
        _ => {
            let new = rng.word() & mask;
            (if new == old { new ^ 1 << bit } else { new }, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_strike_and_only_pairs_that_fit() {
        let pairs: Vec<_> = Target::ALL
            .iter()
            .flat_map(|&(_, target)| Model::ALL.iter().map(move |&(_, model)| (model, target)))
            .filter(|&(model, target)| model.fits(target, 3))
            .collect();
        let range = Range { pairs: pairs.clone(), ranks: 3, iterations: 7 };
        let mut counts = std::collections::BTreeSet::new();
        for seed in 0..5000 {
            let strike = Strike::draw(seed, &range).expect("there are pairs");
            assert_eq!(Some(strike), Strike::draw(seed, &range));
            assert!(strike.rank.index() < 3 && strike.iteration < 7);
            counts.insert((strike.model, strike.target));
        }
        assert_eq!(counts, pairs.into_iter().collect());
    }

    #[test]
    fn a_changed_value_differs_and_keeps_its_width() {
        let mut rng = Rng::new(3);
        for old in [0u64, 1, 0xffff_ffff, 77] {
            for model in [Model::Bit1, Model::Bit2, Model::Random] {
                for _ in 0..200 {
                    let (new, _) = changed(model, old, 32, &mut rng);
                    assert!(new != old && new <= u64::from(u32::MAX), "{model:?} {old} {new}");
                }
            }
        }
    }
}
