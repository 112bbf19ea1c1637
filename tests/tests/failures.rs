//! What a run does when a plugin fails: the error says where and what, on any number of ranks, and nothing hangs.

use clap::{ArgMatches, Command};
use framework::algorithm::{GraphAlgorithm, Record, Registration, Registry};
use framework::answer::{Answer, AnswerSpec, Meaning, Values};
use framework::base::error::{Class, Error, Result};
use framework::base::id::{LocalId, Rank};
use framework::base::probe::Off;
use framework::base::tally::Tally;
use framework::base::verdict::Verdict;
use framework::field::{Bind, Changing, Field, FieldSpec, Merge, Share};
use framework::graph::{Graph, View};
use framework::op::{Access, VertexOp};
use framework::partition::Part;
use framework::step::Step;
use framework::trial::{Placement, Trial, trial};
use std::sync::mpsc;
use std::time::Duration;

/// Far longer than any run here takes; shorter than the patience of a test runner.
const PATIENCE: Duration = Duration::from_secs(60);

const VALUE: Field<u32> = Field::<u32>::new("value", Share::Both(Merge::Min), 9);

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    /// Nothing does, and it is never done either.
    Never,
    Panics,
    PanicsInAnOperator,
    Errs,
    /// Declares a field twice.
    TwoFields,
    /// Uses a field that it did not declare.
    UnknownField,
}

/// In which call.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Call {
    Prepare,
    Init,
    Superstep(u32),
    Finish,
}

/// A plugin that does nothing but fail.
#[derive(Clone, Debug)]
struct Faulty {
    fault: Fault,
    call: Call,
    rank: u32,
    supersteps_max: Option<u32>,
}

struct FaultInjector;

impl VertexOp for FaultInjector {
    type View<'a> = Changing<'a, u32>;
    fn bind<'a>(&self, bind: &Bind<'a>) -> Self::View<'a> {
        bind.changing(VALUE)
    }
    fn vertex<A: Access>(&self, value: Self::View<'_>, part: &Part, v: LocalId) -> bool {
        assert!(v.index() + 1 < part.owned(), "struck in an operator, value {}", value.get(v));
        true
    }
}

impl Faulty {
    fn here(&self, call: Call, step: &mut Step<'_>) -> Result<Tally> {
        let rank = step.part.rank();
        if self.call == call && rank == Rank(self.rank) {
            match self.fault {
                Fault::Panics => panic!("struck in {call:?}"),
                Fault::PanicsInAnOperator => step.for_each(&FaultInjector),
                Fault::Errs => return Err(Error::Environment(format!("no luck in {call:?}"))),
                Fault::UnknownField => {
                    step.set(
                        Field::<u32>::new("absent", Share::Private, 0),
                        step.part.owned_vertices().next().expect("a vertex"),
                        1,
                    );
                }
                Fault::Never | Fault::TwoFields => {}
            }
        }
        Ok(Tally::active(1))
    }
}

impl GraphAlgorithm for Faulty {
    fn view(&self) -> View {
        View::Symmetric
    }
    fn fields(&self) -> Vec<FieldSpec> {
        vec![VALUE.spec(); if self.fault == Fault::TwoFields { 2 } else { 1 }]
    }
    fn answer(&self) -> AnswerSpec {
        AnswerSpec { field: VALUE.spec(), column: "value", meaning: Meaning::Count }
    }
    fn prepare(&mut self, _: &Graph) -> Result<()> {
        match (self.call, self.fault) {
            (Call::Prepare, Fault::Errs) => Err(Error::usage("no luck in Prepare")),
            (Call::Prepare, Fault::Panics) => panic!("struck in Prepare"),
            _ => Ok(()),
        }
    }
    fn parameters(&self) -> Record {
        Record::new()
    }
    fn init(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        self.here(Call::Init, step)
    }
    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        let index = step.index;
        step.mark_all_dirty();
        self.here(Call::Superstep(index), step)
    }
    fn supersteps_max(&self, vertices: usize) -> u32 {
        self.supersteps_max.unwrap_or(vertices as u32 * 2 + 64)
    }
    fn finish(&mut self, step: &mut Step<'_>) -> Result<()> {
        self.here(Call::Finish, step).map(drop)
    }
    fn result(&self, _: &Graph, _: &Answer, _: &Tally) -> Record {
        Record::new()
    }
    fn sentence(&self, _: &Graph, _: &Record) -> String {
        String::new()
    }
    fn verify(&self, _: &Graph, _: &Answer) -> Verdict {
        Verdict::Sound
    }
}

/// Runs it on a ring of 200 vertices; a run that does not end is a failure, not a hang.
fn run(algorithm: Faulty, ranks: usize, threads: usize) -> Result<Trial<Off>> {
    let (sender, receiver) = mpsc::channel();
    let what = format!("{algorithm:?} at {ranks}x{threads}");
    std::thread::spawn(move || {
        let ring: Vec<(i64, i64)> = (0..200).map(|v| (v, (v + 1) % 200)).collect();
        let graph = Graph::from_pairs("ring", &ring, false, View::Symmetric).expect("a small graph");
        let make = || Ok(Box::new(algorithm.clone()) as Box<dyn GraphAlgorithm>);
        // The receiver has given up only where the test has failed already.
        let _ = sender.send(trial(&graph, Placement::new(ranks, threads), &make, &|_| Off));
    });
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what} does not end"))
}

fn faulty(fault: Fault, call: Call, rank: usize) -> Faulty {
    Faulty { fault, call, rank: rank as u32, supersteps_max: Some(5) }
}

/// Every rank of one to four fails in turn, on one thread and on two.
fn on_each_rank(mut law: impl FnMut(usize, usize, usize)) {
    for ranks in 1..=4 {
        for rank in 0..ranks {
            for threads in [1, 2] {
                law(ranks, threads, rank);
            }
        }
    }
}

#[test]
fn a_panic_is_an_error_that_names_rank_and_message() {
    for call in [Call::Init, Call::Superstep(0), Call::Superstep(3), Call::Finish] {
        on_each_rank(|ranks, threads, rank| {
            let error = run(faulty(Fault::Panics, call, rank), ranks, threads).expect_err("it panics");
            let text = format!("the algorithm panicked on rank {rank}: struck in {call:?}");
            assert_eq!(error.to_string(), text, "{ranks}x{threads}");
            assert_eq!(error.class(), Class::Answer);
        });
    }
}

#[test]
fn a_panic_inside_a_parallel_operator_is_one_too() {
    on_each_rank(|ranks, threads, rank| {
        let error =
            run(faulty(Fault::PanicsInAnOperator, Call::Superstep(2), rank), ranks, threads).expect_err("it panics");
        let text = format!("the algorithm panicked on rank {rank}: struck in an operator, value 9");
        assert_eq!(error.to_string(), text, "{ranks}x{threads}");
    });
}

#[test]
fn an_error_of_one_rank_is_the_error_of_the_run() {
    for call in [Call::Init, Call::Superstep(0), Call::Superstep(4), Call::Finish] {
        on_each_rank(|ranks, threads, rank| {
            let error = run(faulty(Fault::Errs, call, rank), ranks, threads).expect_err("it fails");
            assert_eq!(error.to_string(), format!("no luck in {call:?}"), "{ranks}x{threads}");
            assert_eq!(error.class(), Class::Environment);
        });
    }
}

#[test]
fn a_failure_before_anything_is_allocated_is_reported_once() {
    for ranks in 1..=4 {
        let error = run(faulty(Fault::Errs, Call::Prepare, 0), ranks, 1).expect_err("it fails");
        assert_eq!(error.to_string(), "no luck in Prepare");
        let error = run(faulty(Fault::Panics, Call::Prepare, 0), ranks, 1).expect_err("it panics");
        assert!(error.to_string().ends_with(": struck in Prepare"), "{error}");
    }
}

#[test]
fn a_run_that_is_never_done_stops_at_its_limit_and_says_so() {
    for ranks in 1..=4 {
        for limit in [0, 1, 7] {
            let algorithm = Faulty { supersteps_max: Some(limit), ..faulty(Fault::Never, Call::Init, 0) };
            let trial = run(algorithm, ranks, 1).expect("it runs");
            assert_eq!((trial.end.converged, trial.end.iterations), (false, limit), "{ranks} ranks");
            assert_eq!(trial.answer.values, Values::Count(vec![9; 200]));
        }
        let algorithm = Faulty { supersteps_max: None, ..faulty(Fault::Never, Call::Init, 0) };
        let trial = run(algorithm, ranks, 1).expect("it runs");
        assert_eq!((trial.end.converged, trial.end.iterations), (false, 464), "{ranks} ranks");
    }
}

#[test]
fn mistakes_with_fields_are_named() {
    for ranks in 1..=4 {
        let error = run(faulty(Fault::TwoFields, Call::Init, 0), ranks, 1).expect_err("one name twice");
        assert_eq!(error.to_string(), "two fields are called `value`; give each its own name");
        let error = run(faulty(Fault::UnknownField, Call::Superstep(1), ranks - 1), ranks, 1).expect_err("undeclared");
        assert!(error.to_string().ends_with("field `absent` is used but not declared in fields()"), "{error}");
    }
}

fn unchanged(command: Command) -> Command {
    command
}

fn never(_: &ArgMatches) -> Result<Box<dyn GraphAlgorithm>, clap::Error> {
    Ok(Box::new(faulty(Fault::Never, Call::Init, 0)))
}

static ONE: Registration =
    Registration { name: "walk", summary: "one", augment: unchanged, make: never, kernels: None };
static OTHER: Registration =
    Registration { name: "walk", summary: "another", augment: unchanged, make: never, kernels: None };
static THIRD: Registration =
    Registration { name: "colour", summary: "a third", augment: unchanged, make: never, kernels: None };

#[test]
fn two_algorithms_of_one_name_are_refused() {
    let error = Registry::of([&ONE, &THIRD, &OTHER]).err().expect("one name twice");
    assert_eq!(error.to_string(), "two plugins register the algorithm `walk`; rename one or leave one out");
    assert_eq!(error.class(), Class::Usage);
    let registry = Registry::of([&ONE, &THIRD]).expect("two names");
    assert_eq!(registry.iter().map(|entry| entry.name).collect::<Vec<_>>(), ["colour", "walk"]);
}

#[test]
fn an_unknown_name_gets_the_nearest_known_one() {
    // Names of this crate, so that the plugins are linked in.
    assert!(!graphalg_tests::cases().is_empty());
    let registry = Registry::linked().expect("no two plugins have one name");
    let known = "(known: bfs, cc, kcore, pagerank)";
    for (name, nearest) in [
        ("bsf", "bfs"),
        ("BFS", "bfs"),
        ("k-core", "kcore"),
        ("page_rank", "pagerank"),
        ("pagernak", "pagerank"),
        ("c", "cc"),
    ] {
        let error = registry.find(name).err().expect("no such algorithm");
        assert_eq!(error.to_string(), format!("no algorithm is called `{name}`; did you mean `{nearest}`? {known}"));
        assert_eq!(error.class(), Class::Usage);
    }
    let error = registry.find("betweenness").err().expect("no such algorithm");
    assert_eq!(error.to_string(), format!("no algorithm is called `betweenness` {known}"));
}
