//! One trial: ranks are started, each cuts its part, allocates, runs the loop, and the answer is gathered on rank 0.
//!
//! The clock of a trial starts before anything of it exists and stops when the answer is whole; reading the graph and hashing
//! the answer are outside. A rank that fails or panics takes the others with it: the run ends in an error, never in a hang.

mod placement;
mod report;
mod hooks;
mod gather;
pub mod reload;
mod attempt;
mod certificate_trial;

pub use certificate_trial::{CertificateResult, judge};
pub(crate) use hooks::RunHooks;
pub use placement::{Device, Layouts, Placement};
pub use report::{Costs, RankReport, Trial};

use crate::algorithm::GraphAlgorithm;
use crate::answer::{Answer, AnswerSpec};
use crate::base::error::{Error, Result};
use crate::base::id::Rank;
use crate::base::probe::{Probe, Stage};
use crate::driver::LoopResult;
use crate::driver::clock::Clock;
use crate::graph::Graph;
use crate::host::Pool;
use crate::protect::{CheckpointSet, Detection, Protection};
use crate::transport::{Transport, local};
use attempt::{AttemptOutcome, RankResult, RankRun};
use hooks::NoHooks;
use reload::{CurrentGraph, Reload};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Makes the algorithm, once for each rank.
pub type Make<'m> = dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync + 'm;

/// Where and how a trial runs.
#[derive(Clone, Copy, Debug)]
pub struct TrialConfig<'a> {
    /// Ranks, threads, layouts.
    pub place: Placement<'a>,
    /// How it is protected.
    pub protection: &'a Protection,
    /// What a broken-off run left, to go on from.
    pub resumable: Option<&'a CheckpointSet>,
    /// Where a graph that is damaged in memory comes from again. Without it, a run whose certificate finds damage that cannot be mended
    /// from the graph given ends in an error.
    pub reload: Option<&'a Reload<'a>>,
}

/// Runs one unprotected trial of the algorithm that `make` makes, on every rank, with the probe that `probe` makes.
///
/// # Errors
/// As [`protected_trial`].
pub fn trial<P: Probe>(
    graph: &Graph,
    place: Placement<'_>,
    make: &Make<'_>,
    probe: &(dyn Fn(Rank) -> P + Sync),
) -> Result<Trial<P>> {
    protected_trial(
        graph,
        &TrialConfig { place, protection: &Protection::off(), resumable: None, reload: None },
        make,
        probe,
    )
}

/// Runs one trial of the algorithm that `make` makes, on every rank, with the probe that `probe` makes.
///
/// # Errors
/// The first error of any rank; a panic counts as one.
pub fn protected_trial<P: Probe>(
    graph: &Graph,
    config: &TrialConfig<'_>,
    make: &Make<'_>,
    probe: &(dyn Fn(Rank) -> P + Sync),
) -> Result<Trial<P>> {
    hooked_trial(graph, config, make, probe, &NoHooks)
}

/// As [`protected_trial`], wrapped.
pub(crate) fn hooked_trial<P: Probe, W: RunHooks>(
    graph: &Graph,
    config: &TrialConfig<'_>,
    make: &Make<'_>,
    probe: &(dyn Fn(Rank) -> P + Sync),
    hooks: &W,
) -> Result<Trial<P>> {
    let place = config.place;
    let started = Instant::now();
    let none = Reload::default();
    let config = &TrialConfig { reload: Some(config.reload.unwrap_or(&none)), ..*config };
    let ends = local(place.ranks, place.waiting());
    let mut outcomes: Vec<Result<Outcome<P>>> = if place.ranks == 1 {
        ends.into_iter().map(|end| on_rank(graph, config, make, probe, hooks, end, started)).collect()
    } else {
        std::thread::scope(|scope| {
            let ranks: Vec<_> = ends
                .into_iter()
                .map(|end| scope.spawn(move || on_rank(graph, config, make, probe, hooks, end, started)))
                .collect();
            ranks
                .into_iter()
                .enumerate()
                .map(|(rank, thread)| {
                    thread.join().unwrap_or_else(|panic| Err(panicked(Rank(rank as u32), panic.as_ref())))
                })
                .collect()
        })
    };
    if let Some(first) = first_cause(&outcomes) {
        return Err(outcomes.swap_remove(first).err().expect("first_cause points at an error"));
    }
    let mut ranks = Vec::with_capacity(place.ranks);
    let mut whole = None;
    for outcome in outcomes {
        let outcome = outcome?;
        whole = whole.or(outcome.answer.map(|answer| (outcome.end, answer, outcome.detection)));
        ranks.push(outcome.report);
    }
    let (end, (spec, raw), detection) = whole.expect("rank 0 gathers the answer");
    let again = config.reload.and_then(Reload::latest);
    Ok(Trial { end, answer: Answer::from_raw(&spec, again.as_deref().unwrap_or(graph), &raw), ranks, detection })
}

/// The rank that failed first: one that lost a peer only says so.
fn first_cause<P>(outcomes: &[Result<Outcome<P>>]) -> Option<usize> {
    let failed = |wanted: fn(&Error) -> bool| outcomes.iter().position(|o| o.as_ref().err().is_some_and(wanted));
    failed(|error| !matches!(error, Error::PeerLost { .. })).or_else(|| failed(|_| true))
}

struct Outcome<P> {
    end: LoopResult,
    answer: Option<(AnswerSpec, Vec<u8>)>,
    report: RankReport<P>,
    detection: Option<Detection>,
}

fn on_rank<P: Probe, W: RunHooks>(
    graph: &Graph,
    config: &TrialConfig<'_>,
    make: &Make<'_>,
    probe: &(dyn Fn(Rank) -> P + Sync),
    hooks: &W,
    transport: impl Transport,
    started: Instant,
) -> Result<Outcome<P>> {
    let rank = transport.rank();
    let mut transport = hooks.transport(transport);
    let run = || one_rank(graph, config, make, probe(rank), hooks, &mut transport, started);
    let outcome = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked(rank, panic.as_ref())));
    if let Err(error) = &outcome {
        transport.abandon(&error.to_string());
    }
    outcome
}

fn panicked(rank: Rank, panic: &(dyn std::any::Any + Send)) -> Error {
    let message = panic.downcast_ref::<&str>().map(ToString::to_string);
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
    Error::Panicked { rank, message: message.unwrap_or_else(|| "no message".into()) }
}

fn one_rank<P: Probe, W: RunHooks>(
    graph: &Graph,
    config: &TrialConfig<'_>,
    make: &Make<'_>,
    probe: P,
    hooks: &W,
    transport: &mut dyn Transport,
    started: Instant,
) -> Result<Outcome<P>> {
    let none = Reload::default();
    let (place, is_multi) = (config.place, config.place.ranks > 1);
    let graph = CurrentGraph::new(graph, config.reload.unwrap_or(&none));
    let mut clock = Clock::new(started, is_multi, probe);
    let pool = clock.stage(Stage::Setup, 0, || Pool::new(place.threads, place.waiting()));
    let mut run = RankRun { graph, config, make, hooks, transport, pool, clock };
    let mut past = None;
    let RankResult { end, answer, costs, detection } = loop {
        match run.attempt(past.take())? {
            AttemptOutcome::Finished(result) => break *result,
            AttemptOutcome::Damaged(detection) => past = Some(detection),
        }
    };
    let clock = run.clock;
    let (timing, probe) = clock.finish();
    Ok(Outcome { end, answer, report: RankReport { timing, probe, costs }, detection })
}
