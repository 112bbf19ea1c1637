//! Faults on purpose: one strike a run, drawn from a seed, put into the state of a run from outside it.
//!
//! [`struck_trial`] wraps the guard, the transport and the part of a protected run (`run::Wrapping`); the loop, the operators and the
//! plugins hold no hook, and a program that does not call it holds none of this. A strike is put in once, at the first chance at
//! or after its superstep: what is redone is not struck again. Where a strike would make an index of an unchecked access, it stays
//! among the vertices of the part: beyond them lies a memory fault, which stops a process and is no silent error.

mod site;
mod transport;
mod guard;

pub use guard::Striking;
pub use transport::StruckTransport;

use crate::algorithm::GraphAlgorithm;
use crate::base::checksum::split_mix;
use crate::base::error::Result;
use crate::base::id::{LocalId, Rank};
use crate::base::probe::Off;
use crate::graph::{Graph, Ids};
use crate::partition::Part;
use crate::protect::Guarded;
use crate::transport::Transport;
use crate::trial::{Device, Plan, Trial, Wrapping, wrapped_trial};
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
        let mut dice = Dice::new(seed);
        let &(model, target) = range.pairs.get(dice.below(range.pairs.len() as u64)? as usize)?;
        let rank = Rank(dice.below(range.ranks as u64)? as u32);
        let iteration = dice.below(range.iterations.max(1).into())? as u32;
        Some(Strike { seed, model, target, rank, iteration })
    }

    /// Dice for where exactly it hits, the same each time.
    fn dice(&self) -> Dice {
        Dice::new(split_mix(self.seed ^ 0x5354_5249_4b45))
    }
}

/// What a strike hit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hit {
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
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice { state: split_mix(seed) }
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
pub(crate) struct Struck<'g> {
    strike: Strike,
    ids: &'g Ids,
    /// Whether arcs are hit where they lie on a device, not in the part.
    on_device: bool,
    /// The superstep that the struck rank is in; MAX before the first.
    now: AtomicU32,
    hit: Mutex<Option<Hit>>,
}

impl Struck<'_> {
    fn lock(&self) -> MutexGuard<'_, Option<Hit>> {
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
        *self.lock() = Some(Hit { field: field.into(), vertex, iteration, bit });
    }

    fn id(&self, part: &Part, v: LocalId) -> Option<i64> {
        Some(self.ids.original(part.global(v)))
    }
}

impl<'g> Wrapping for Struck<'g> {
    type Guard<'r>
        = Striking<'r, 'g>
    where
        Self: 'r;
    type Transport<'r, T: Transport>
        = StruckTransport<'r, 'g, T>
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

    fn guard<'r>(&'r self, inner: Guarded<'r>) -> Striking<'r, 'g> {
        Striking::new(self, inner)
    }

    fn transport<'r, T: Transport>(&'r self, inner: T) -> StruckTransport<'r, 'g, T> {
        StruckTransport::new(self, inner)
    }
}

/// Runs one protected trial with one strike in it, and says what it hit: `None` if there never was a chance.
///
/// # Errors
/// As any trial's.
pub fn struck_trial(
    graph: &Graph,
    plan: &Plan<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    strike: Strike,
) -> (Result<Trial<Off>>, Option<Hit>) {
    let on_device = matches!(plan.place.device, Device::Accelerators(_));
    let struck = Struck { strike, ids: graph.ids(), on_device, now: AtomicU32::new(u32::MAX), hit: Mutex::new(None) };
    let trial = wrapped_trial(graph, plan, make, &|_| Off, &struck);
    let hit = struck.lock().take();
    (trial, hit)
}

/// New bits for a value of so many bits; the bit that was flipped, if just some were.
fn changed(model: Model, old: u64, width: u32, dice: &mut Dice) -> (u64, Option<u32>) {
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    let bit = (dice.word() % u64::from(width.max(1))) as u32;
    match model {
        Model::Zero => (0, None),
        Model::Bit1 => (old ^ 1 << bit, Some(bit)),
        Model::Bit2 => {
            let other = (bit + 1 + (dice.word() % u64::from(width.max(2) - 1)) as u32) % width.max(2);
            (old ^ 1 << bit ^ 1 << other, Some(bit))
        }
        _ => {
            let new = dice.word() & mask;
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
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..5000 {
            let strike = Strike::draw(seed, &range).expect("there are pairs");
            assert_eq!(Some(strike), Strike::draw(seed, &range));
            assert!(strike.rank.index() < 3 && strike.iteration < 7);
            seen.insert((strike.model, strike.target));
        }
        assert_eq!(seen, pairs.into_iter().collect());
    }

    #[test]
    fn a_changed_value_differs_and_keeps_its_width() {
        let mut dice = Dice::new(3);
        for old in [0u64, 1, 0xffff_ffff, 77] {
            for model in [Model::Bit1, Model::Bit2, Model::Random] {
                for _ in 0..200 {
                    let (new, _) = changed(model, old, 32, &mut dice);
                    assert!(new != old && new <= u64::from(u32::MAX), "{model:?} {old} {new}");
                }
            }
        }
    }
}
