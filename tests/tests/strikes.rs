//! A strike that keeps a run from ending: what is not done where every sound run is goes back to an older state, as an answer does
//! whose certificate fails.

use framework::algorithm::{GraphAlgorithm, Record};
use framework::answer::{Answer, AnswerSpec, Meaning, Values};
use framework::base::error::Result;
use framework::base::id::{LocalId, Rank};
use framework::base::probe::Off;
use framework::base::tally::Tally;
use framework::base::verdict::Verdict;
use framework::fault_injection::{InjectionRecord, Model, Strike, Target, struck_trial};
use framework::fault_tolerance::{CheckInput, FaultTolerance, SuperstepTotals};
use framework::field::{Bind, Changing, Field, FieldSpec, Share};
use framework::graph::{Graph, View};
use framework::op::{Access, VertexOp};
use framework::partition::Part;
use framework::protect::{Certified, Interval, Protection, Recovery};
use framework::step::Step;
use framework::trial::{Placement, Trial, TrialConfig};
use std::sync::Arc;

const ROUNDS: u32 = 6;
const LEFT: Field<u32> = Field::<u32>::new("left", Share::Private, ROUNDS);

/// Every vertex counts down to zero. A counter that was set high does not get there in time, and no rule of a superstep sees it.
#[derive(Clone, Copy)]
struct Countdown {
    /// Whether the plugin says that every sound run ends in time.
    promises: bool,
}

struct Less;

impl VertexOp for Less {
    type View<'a> = Changing<'a, u32>;
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        bind.changing(LEFT)
    }
    fn vertex<A: Access>(&self, left: Self::View<'_>, _: &Part, v: LocalId) -> bool {
        left.set(v, left.get(v).saturating_sub(1));
        left.get(v) > 0
    }
}

impl FaultTolerance for Countdown {
    fn check(&self, _: &CheckInput<'_>) -> Verdict {
        Verdict::Sound
    }
    fn converges(&self, last: &SuperstepTotals) -> bool {
        self.promises && last.index + 1 >= ROUNDS
    }
}

impl GraphAlgorithm for Countdown {
    fn view(&self) -> View {
        View::Symmetric
    }
    fn fields(&self) -> Vec<FieldSpec> {
        vec![LEFT.spec()]
    }
    fn answer(&self) -> AnswerSpec {
        AnswerSpec { field: LEFT.spec(), column: "left", meaning: Meaning::Count }
    }
    fn parameters(&self) -> Record {
        Record::new()
    }
    fn init(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        Ok(Tally::active(step.part.owned() as u64))
    }
    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        Ok(Tally::active(step.count_each(&Less)))
    }
    fn supersteps_max(&self, _: usize) -> u32 {
        ROUNDS + 3
    }
    fn result(&self, _: &Graph, _: &Answer, _: &Tally) -> Record {
        Record::new()
    }
    fn sentence(&self, _: &Graph, _: &Record) -> String {
        String::new()
    }
    fn verify(&self, _: &Graph, answer: &Answer) -> Verdict {
        let is_zero = matches!(&answer.values, Values::Count(left) if left.iter().all(|&left| left == 0));
        Verdict::require(is_zero, "all are down", None, || format!("{:?}", answer.values))
    }
    fn protection(&self) -> Option<Arc<dyn FaultTolerance>> {
        Some(Arc::new(*self))
    }
}

fn strike(
    promises: bool,
    ranks: usize,
    protection: &Protection,
    strike: Strike,
) -> (Trial<Off>, Option<InjectionRecord>) {
    let ring: Vec<(i64, i64)> = (0..200).map(|v| (v, (v + 1) % 200)).collect();
    let graph = Graph::from_pairs("ring", &ring, false, View::Symmetric).expect("a small graph");
    let make = move || Ok(Box::new(Countdown { promises }) as Box<dyn GraphAlgorithm>);
    let plan = TrialConfig { place: Placement::new(ranks, 1), protection, resumable: None, reload: None };
    let (trial, hit) = struck_trial(&graph, &plan, &make, strike);
    (trial.expect("it runs"), hit)
}

/// Strikes that set a counter to some large number before the last superstep: this plugin has no certificate that would see it later.
fn strikes(ranks: usize) -> impl Iterator<Item = Strike> {
    let one = move |seed: u64| Strike {
        seed,
        model: Model::Random,
        target: Target::Field,
        rank: Rank((seed % ranks as u64) as u32),
        iteration: (seed % u64::from(ROUNDS - 1)) as u32,
    };
    (0..24).map(one)
}

#[test]
fn a_run_that_a_strike_keeps_from_ending_goes_back_and_ends() {
    for ranks in [1, 3] {
        for snapshots in [Interval::Every(0), Interval::Every(2)] {
            let protection = Protection { snapshots, ..Protection::on() };
            let mut redone = 0;
            for one in strikes(ranks) {
                let what = format!("{one:?} on {ranks} ranks, {snapshots:?}");
                let (trial, hit) = strike(true, ranks, &protection, one);
                assert_eq!(hit.expect("a field is there").field, "left", "{what}");
                assert!(trial.end.converged && trial.end.is_sound, "{what}: {:?}", trial.end);
                assert_eq!(trial.answer.values, Values::Count(vec![0; 200]), "{what}");
                let detection = trial.detection.expect("a protected run");
                assert_eq!(detection.certificate, Certified::NotRun, "{what}: it has none");
                let Some(refuted) = &detection.refuted else {
                    assert_eq!((ranks, detection.recoveries), (3, 0), "{what}: only a ghost's counter does not count");
                    continue;
                };
                redone += 1;
                assert_eq!(refuted.rule, "a sound run is done before its limit", "{what}");
                assert!(detection.recoveries >= 1 && detection.iterations_redone > 0, "{what}: {detection:?}");
            }
            assert!(redone > 12, "{redone} on {ranks} ranks");
        }
    }
}

#[test]
fn without_recovery_or_the_promise_such_a_run_ends_unfinished_and_is_not_redone() {
    let off = Protection { recovery: Recovery::Off, attempts: 0, ..Protection::on() };
    for one in strikes(1) {
        let (trial, _) = strike(true, 1, &off, one);
        assert!(!trial.end.converged && !trial.end.is_sound, "{one:?}: {:?}", trial.end);
        let (trial, _) = strike(false, 1, &Protection::on(), one);
        let detection = trial.detection.expect("a protected run");
        assert!(!trial.end.converged, "{one:?}");
        assert_eq!((detection.recoveries, detection.refuted), (0, None), "{one:?}");
    }
}
