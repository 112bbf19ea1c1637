//! One trial: ranks are started, each cuts its part, allocates, runs the loop, and the answer is gathered on rank 0.
//!
//! The clock of a trial starts before anything of it exists and stops when the answer is whole; reading the graph and hashing
//! the answer are outside. A rank that fails or panics takes the others with it: the run ends in an error, never in a hang.

use crate::algorithm::{GraphAlgorithm, Layout};
use crate::answer::{Answer, AnswerSpec};
use crate::device::cuda::Gpus;
use crate::device::host::{Pool, Waiting, cores};
use crate::driver::{End, drive};
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::field::Kind;
use crate::graph::Graph;
use crate::guard::Unguarded;
use crate::id::Rank;
use crate::partition::Part;
use crate::probe::{Probe, Stage};
use crate::step::Step;
use crate::timing::{Clock, Timing};
use crate::transport::{Transport, local};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Where a run happens.
#[derive(Clone, Copy, Debug)]
pub struct Place<'d> {
    /// Ranks, at least 1.
    pub ranks: usize,
    /// Threads of each rank, at least 1.
    pub threads: usize,
    /// Which layouts of the arcs may be built.
    pub layouts: Layouts,
    /// What runs the operators.
    pub device: Device<'d>,
}

/// What runs the operators.
#[derive(Clone, Copy, Default, Debug)]
pub enum Device<'d> {
    /// Threads of this machine.
    #[default]
    Cpu,
    /// GPUs, dealt to the ranks in order.
    Cuda(&'d Gpus),
}

/// Which layouts of the arcs a run may build.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layouts {
    /// Those that the algorithm asks for and that pay back within the run.
    #[default]
    AsAsked,
    /// None beyond the sorted rows.
    RowsOnly,
}

impl<'d> Place<'d> {
    /// Ranks of so many threads, with the layouts that algorithms ask for.
    pub fn new(ranks: usize, threads: usize) -> Place<'d> {
        Place { ranks, threads, layouts: Layouts::AsAsked, device: Device::Cpu }
    }

    fn waiting(self) -> Waiting {
        // Spinning threads that share a core hold each other up.
        if self.ranks * self.threads <= cores() { Waiting::Spin } else { Waiting::Park }
    }
}

/// What one trial yields.
#[derive(Debug)]
pub struct Trial<P> {
    /// How it ended, as agreed by all ranks.
    pub end: End,
    /// The answer of all ranks.
    pub answer: Answer,
    /// By rank.
    pub ranks: Vec<RankReport<P>>,
}

/// What one rank says of its run.
#[derive(Debug)]
pub struct RankReport<P> {
    /// The accumulators.
    pub timing: Timing,
    /// What was seen.
    pub probe: P,
    /// Bytes and costs.
    pub costs: Costs,
}

/// What a rank's run cost beside time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Costs {
    /// Vertices owned.
    pub owned: u64,
    /// Ghosts held.
    pub ghosts: u64,
    /// Bytes of fields.
    pub field_bytes: u64,
    /// Bytes of rows that the partition added to the graph's own.
    pub part_bytes: u64,
    /// Bytes of layouts beyond the rows.
    pub layout_bytes: u64,
    /// Payload bytes sent in the superstep loop.
    pub exchange_bytes: u64,
    /// Messages sent in the superstep loop.
    pub exchange_messages: u64,
}

/// Runs one trial of the algorithm that `make` makes, on every rank, with the probe that `probe` makes.
///
/// # Errors
/// The first error of any rank; a panic counts as one.
pub fn trial<P: Probe>(
    graph: &Graph,
    place: Place<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    probe: &(dyn Fn(Rank) -> P + Sync),
) -> Result<Trial<P>> {
    let started = Instant::now();
    let ends = local(place.ranks, place.waiting());
    let mut outcomes: Vec<Result<Outcome<P>>> = if place.ranks == 1 {
        ends.into_iter().map(|end| guarded(graph, place, make, probe, end, started)).collect()
    } else {
        std::thread::scope(|scope| {
            let ranks: Vec<_> = ends
                .into_iter()
                .map(|end| scope.spawn(move || guarded(graph, place, make, probe, end, started)))
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
        whole = whole.or(outcome.answer.map(|answer| (outcome.end, answer)));
        ranks.push(outcome.report);
    }
    let (end, (spec, raw)) = whole.expect("rank 0 gathers the answer");
    Ok(Trial { end, answer: Answer::from_raw(&spec, graph, &raw), ranks })
}

/// The rank that failed first: one that lost a peer only says so.
fn first_cause<P>(outcomes: &[Result<Outcome<P>>]) -> Option<usize> {
    let failed = |wanted: fn(&Error) -> bool| outcomes.iter().position(|o| o.as_ref().err().is_some_and(wanted));
    failed(|error| !matches!(error, Error::PeerLost { .. })).or_else(|| failed(|_| true))
}

struct Outcome<P> {
    end: End,
    answer: Option<(AnswerSpec, Vec<u8>)>,
    report: RankReport<P>,
}

fn guarded<P: Probe>(
    graph: &Graph,
    place: Place<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    probe: &(dyn Fn(Rank) -> P + Sync),
    mut transport: impl Transport,
    started: Instant,
) -> Result<Outcome<P>> {
    let rank = transport.rank();
    let outcome = catch_unwind(AssertUnwindSafe(|| one_rank(graph, place, make, probe(rank), &mut transport, started)))
        .unwrap_or_else(|panic| Err(panicked(rank, panic.as_ref())));
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

fn one_rank<P: Probe>(
    graph: &Graph,
    place: Place<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    probe: P,
    transport: &mut dyn Transport,
    started: Instant,
) -> Result<Outcome<P>> {
    let mut clock = Clock::new(started, place.ranks > 1, probe);
    let pool = clock.stage(Stage::Setup, 0, || Pool::new(place.threads, place.waiting()));
    let (mut algorithm, part) = clock.stage(Stage::Setup, 0, || -> Result<_> {
        let mut algorithm = make()?;
        algorithm.prepare(graph)?;
        Ok((algorithm, Part::cut(graph, transport, &pool)?))
    })?;
    let (mut step, start) = clock.stage(Stage::Setup, 0, || -> Result<_> {
        let layout = match place.layouts {
            Layouts::AsAsked => algorithm.layout(),
            Layouts::RowsOnly => Layout::Rows,
        };
        let mut step = match place.device {
            Device::Cpu => Step::new(&part, &pool, algorithm.fields(), layout)?,
            Device::Cuda(gpus) => Step::on_device(&part, &pool, algorithm.fields(), gpus)?,
        };
        let start = algorithm.init(&mut step)?;
        step.end_update()?;
        Ok((step, start))
    })?;
    let mut exchange = Exchange::new(transport);
    clock.stage(Stage::InitialExchange, 0, || exchange.run_initial(&mut step))?;
    (exchange.bytes_sent, exchange.messages_sent) = (0, 0);

    let end = drive(algorithm.as_mut(), &mut step, &mut exchange, &mut Unguarded, &mut clock, &start)?;

    let spec = algorithm.answer();
    let answer = clock.stage(Stage::FinalResult, 0, || gather(&mut step, &spec, exchange.transport()))?;
    let answer = answer.map(|raw| (spec, raw));
    let costs = Costs {
        owned: part.owned() as u64,
        ghosts: part.ghosts() as u64,
        field_bytes: step.field_bytes() as u64,
        part_bytes: part.bytes() as u64,
        layout_bytes: step.layout_bytes() as u64,
        exchange_bytes: exchange.bytes_sent,
        exchange_messages: exchange.messages_sent,
    };
    let (timing, probe) = clock.finish();
    Ok(Outcome { end, answer, report: RankReport { timing, probe, costs } })
}

/// The owned values of the answer field from all ranks, in global order, on rank 0.
fn gather(step: &mut Step<'_>, spec: &AnswerSpec, transport: &mut dyn Transport) -> Result<Option<Vec<u8>>> {
    let mine = step.raw_owned(spec.field)?;
    if transport.ranks() == 1 {
        return Ok(Some(mine));
    }
    let mut outgoing = vec![Vec::new(); transport.ranks()];
    let mut incoming = outgoing.clone();
    outgoing[0] = mine;
    transport.exchange(&mut outgoing, &mut incoming)?;
    if transport.rank() != Rank(0) {
        return Ok(None);
    }
    let bytes = match spec.field.kind {
        Kind::U32 => 4,
        Kind::F64 => 8,
    };
    let whole = incoming.concat();
    if whole.len() != step.part.graph_vertices() * bytes {
        return Err(Error::Environment(format!(
            "the ranks gathered {} bytes of the answer, {} belong to it; run again, and report it if it repeats",
            whole.len(),
            step.part.graph_vertices() * bytes
        )));
    }
    Ok(Some(whole))
}
