//! One trial: ranks are started, each cuts its part, allocates, runs the loop, and the answer is gathered on rank 0.
//!
//! The clock of a trial starts before anything of it exists and stops when the answer is whole; reading the graph and hashing
//! the answer are outside. A rank that fails or panics takes the others with it: the run ends in an error, never in a hang.

use crate::algorithm::{GraphAlgorithm, Layout, Tally};
use crate::answer::{Answer, AnswerSpec};
use crate::device::cuda::Gpus;
use crate::device::host::{Pool, Waiting, cores};
use crate::driver::{End, drive};
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::fault::{Redundancy, answer_sum};
use crate::field::Kind;
use crate::graph::{Graph, View};
use crate::guard::{Guard, Next, Unguarded};
use crate::id::Rank;
use crate::partition::Part;
use crate::probe::{Probe, Stage};
use crate::protect::{Certifying, Detection, Guarded, Protection, Resumable, Setting};
use crate::reload::{Held, Reload};
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

    pub(crate) fn waiting(self) -> Waiting {
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
    /// What protection says, if the run was protected or its answer certified.
    pub detection: Option<Detection>,
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
    /// How ghosts travelled, where ranks have devices.
    pub carrier: Option<&'static str>,
}

/// Where and how a trial runs.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Ranks, threads, layouts.
    pub place: Place<'a>,
    /// How it is protected.
    pub protection: &'a Protection,
    /// What a broken-off run left, to go on from.
    pub resumable: Option<&'a Resumable>,
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
    place: Place<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    probe: &(dyn Fn(Rank) -> P + Sync),
) -> Result<Trial<P>> {
    protected_trial(graph, &Plan { place, protection: &Protection::off(), resumable: None, reload: None }, make, probe)
}

/// Runs one trial of the algorithm that `make` makes, on every rank, with the probe that `probe` makes.
///
/// # Errors
/// The first error of any rank; a panic counts as one.
pub fn protected_trial<P: Probe>(
    graph: &Graph,
    plan: &Plan<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    probe: &(dyn Fn(Rank) -> P + Sync),
) -> Result<Trial<P>> {
    wrapped_trial(graph, plan, make, probe, &Bare)
}

/// What stands between a run and its guard, transport and part. [`Bare`] is nothing at all.
pub(crate) trait Wrapping: Sync {
    /// The guard of a protected run, wrapped.
    type Guard<'r>: Guard + Into<Guarded<'r>>
    where
        Self: 'r;
    /// A transport, wrapped.
    type Transport<'r, T: Transport>: Transport
    where
        Self: 'r;
    /// Sees the part before the run, cut from the graph as given or as loaded again.
    fn part(&self, part: &mut Part, is_again: bool);
    /// Wraps a guard.
    fn guard<'r>(&'r self, inner: Guarded<'r>) -> Self::Guard<'r>;
    /// Wraps a transport.
    fn transport<'r, T: Transport>(&'r self, inner: T) -> Self::Transport<'r, T>;
}

/// No wrapping.
struct Bare;

impl Wrapping for Bare {
    type Guard<'r> = Guarded<'r>;
    type Transport<'r, T: Transport> = T;
    fn part(&self, _: &mut Part, _: bool) {}
    fn guard<'r>(&'r self, inner: Guarded<'r>) -> Guarded<'r> {
        inner
    }
    fn transport<T: Transport>(&self, inner: T) -> T {
        inner
    }
}

/// As [`protected_trial`], wrapped.
pub(crate) fn wrapped_trial<P: Probe, W: Wrapping>(
    graph: &Graph,
    plan: &Plan<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    probe: &(dyn Fn(Rank) -> P + Sync),
    wrapping: &W,
) -> Result<Trial<P>> {
    let place = plan.place;
    let started = Instant::now();
    let none = Reload::default();
    let plan = &Plan { reload: Some(plan.reload.unwrap_or(&none)), ..*plan };
    let ends = local(place.ranks, place.waiting());
    let mut outcomes: Vec<Result<Outcome<P>>> = if place.ranks == 1 {
        ends.into_iter().map(|end| on_rank(graph, plan, make, probe, wrapping, end, started)).collect()
    } else {
        std::thread::scope(|scope| {
            let ranks: Vec<_> = ends
                .into_iter()
                .map(|end| scope.spawn(move || on_rank(graph, plan, make, probe, wrapping, end, started)))
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
    let again = plan.reload.and_then(Reload::latest);
    Ok(Trial { end, answer: Answer::from_raw(&spec, again.as_deref().unwrap_or(graph), &raw), ranks, detection })
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
    detection: Option<Detection>,
}

fn on_rank<P: Probe, W: Wrapping>(
    graph: &Graph,
    plan: &Plan<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    probe: &(dyn Fn(Rank) -> P + Sync),
    wrapping: &W,
    transport: impl Transport,
    started: Instant,
) -> Result<Outcome<P>> {
    let rank = transport.rank();
    let mut transport = wrapping.transport(transport);
    let run = || one_rank(graph, plan, make, probe(rank), wrapping, &mut transport, started);
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

fn one_rank<P: Probe, W: Wrapping>(
    graph: &Graph,
    plan: &Plan<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    probe: P,
    wrapping: &W,
    transport: &mut dyn Transport,
    started: Instant,
) -> Result<Outcome<P>> {
    let none = Reload::default();
    let mut held = Held::new(graph, plan.reload.unwrap_or(&none));
    let mut clock = Clock::new(started, plan.place.ranks > 1, probe);
    let pool = clock.stage(Stage::Setup, 0, || Pool::new(plan.place.threads, plan.place.waiting()));
    let mut past = None;
    let Over { end, answer, costs, detection } = loop {
        match one_try(&mut held, plan, make, wrapping, transport, &pool, &mut clock, past.take())? {
            Try::Over(over) => break *over,
            Try::Damaged(detection) => past = Some(detection),
        }
    };
    let (timing, probe) = clock.finish();
    Ok(Outcome { end, answer, report: RankReport { timing, probe, costs }, detection })
}

/// What became of a part.
enum Try {
    /// The run is over.
    Over(Box<Over>),
    /// Its arcs are not those that were loaded. What was known until then.
    Damaged(Detection),
}

struct Over {
    end: End,
    answer: Option<(AnswerSpec, Vec<u8>)>,
    costs: Costs,
    detection: Option<Detection>,
}

/// Cuts the part and runs on it. `past` is what was known before the part was cut again: such a run begins anew.
#[expect(clippy::too_many_arguments, reason = "all of them outlive the part, which is made here and nowhere else")]
fn one_try<P: Probe, W: Wrapping>(
    held: &mut Held<'_>,
    plan: &Plan<'_>,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    wrapping: &W,
    transport: &mut dyn Transport,
    pool: &Pool,
    clock: &mut Clock<P>,
    past: Option<Detection>,
) -> Result<Try> {
    let (place, protection) = (plan.place, plan.protection);
    let part = clock.stage(Stage::Setup, 0, || held.part(protection.certify, transport, pool, wrapping))?;
    let graph = held.graph();
    let mut algorithm = clock.stage(Stage::Setup, 0, || -> Result<_> {
        let mut algorithm = make()?;
        algorithm.prepare(graph)?;
        if protection.certify {
            algorithm.keep_evidence();
        }
        Ok(algorithm)
    })?;
    let mut step = clock.stage(Stage::Setup, 0, || {
        let layout = match place.layouts {
            Layouts::AsAsked => algorithm.layout(),
            Layouts::RowsOnly => Layout::Rows,
        };
        match place.device {
            Device::Cpu => Step::new(&part, pool, algorithm.fields(), layout),
            Device::Cuda(gpus) => {
                let ghosts = gpus.ghosts(transport.is_one_process(), protection.is_on);
                let rules = algorithm.protection().filter(|_| protection.is_on);
                let guarded = rules.map(|rules| rules.redundancy() != Redundancy::None);
                Step::on_device(&part, pool, algorithm.fields(), gpus, ghosts, guarded)
            }
        }
    })?;
    let mut exchange = Exchange::new(transport);
    let algorithm = algorithm.as_mut();
    let rules = algorithm.protection().filter(|_| protection.is_on || protection.certify);
    let ids = graph.ids();
    let spec = algorithm.answer();
    let mut is_rebuilding = false;
    let (end, answer, detection) = match rules {
        Some(rules) if protection.is_on => std::thread::scope(|scope| -> Result<_> {
            let is_directed = graph.facts().directed && matches!(algorithm.view(), View::AsGiven { .. });
            let is_timed = P::WANTS_CHECKER;
            let started = clock.started();
            let setting =
                Setting { protection, rules, part: &part, ids, is_directed, started, is_timed, ranges: P::RANGES };
            let mut guard =
                clock.stage(Stage::Setup, 0, || Guarded::new(&setting, &mut step, &mut exchange, algorithm, scope))?;
            let is_again = past.is_some();
            if let Some(past) = past {
                guard.remember(past);
            }
            let placed = match plan.resumable.filter(|_| !is_again) {
                Some(left) => clock.stage(Stage::Setup, 0, || left.place(&mut step, algorithm))?,
                None => None,
            };
            let start = match placed {
                Some(placed) => {
                    guard.go_on_from(&placed);
                    None
                }
                None => Some(begin(algorithm, &mut step, &mut exchange, clock)?),
            };
            guard.begin(&step, clock);
            let mut guard = wrapping.guard(guard);
            let mut end = drive(algorithm, &mut step, &mut exchange, &mut guard, clock, start.as_ref())?;
            let mut guard: Guarded<'_> = guard.into();
            let mut answer = gathered(&spec, &mut step, &mut exchange, clock)?;
            // What was certified must be what is handed out; if it is not, it is made again.
            while end.is_sound && !is_certified(&spec, &answer, guard.answer_sum(), exchange.transport())? {
                if guard.distrust_answer() != Next::Redo {
                    end.is_sound = false;
                    break;
                }
                if guard.restore(algorithm, &mut step, &mut exchange, clock)? == Next::Rebuild {
                    break;
                }
                end = drive(algorithm, &mut step, &mut exchange, &mut guard, clock, None)?;
                answer = gathered(&spec, &mut step, &mut exchange, clock)?;
            }
            is_rebuilding = guard.is_rebuilding();
            Ok((end, answer, Some(guard.into_detection())))
        })?,
        Some(rules) => {
            let mut guard = Certifying::new(rules, ids);
            let end = run(algorithm, &mut step, &mut exchange, &mut guard, clock)?;
            let answer = gathered(&spec, &mut step, &mut exchange, clock)?;
            (end, answer, Some(guard.into_detection()))
        }
        None => {
            let end = run(algorithm, &mut step, &mut exchange, &mut Unguarded, clock)?;
            (end, gathered(&spec, &mut step, &mut exchange, clock)?, None)
        }
    };
    let (detection, sum) = detection.map_or((None, None), |(detection, sum)| (Some(detection), sum));
    if is_rebuilding {
        return Ok(Try::Damaged(detection.unwrap_or_default()));
    }
    if let (Some(raw), Some(sum), true) = (&answer, sum, end.is_sound) {
        check_sum(&spec, raw, sum)?;
    }
    let answer = answer.map(|raw| (spec, raw));
    let costs = Costs {
        owned: part.owned() as u64,
        ghosts: part.ghosts() as u64,
        field_bytes: step.field_bytes() as u64,
        part_bytes: part.bytes() as u64,
        layout_bytes: step.layout_bytes() as u64,
        exchange_bytes: exchange.bytes_sent,
        exchange_messages: exchange.messages_sent,
        carrier: step.carrier(),
    };
    Ok(Try::Over(Box::new(Over { end, answer, costs, detection })))
}

/// Initial state, first exchange, loop.
fn run<P: Probe, G: Guard>(
    algorithm: &mut dyn GraphAlgorithm,
    step: &mut Step<'_>,
    exchange: &mut Exchange<'_>,
    guard: &mut G,
    clock: &mut Clock<P>,
) -> Result<End> {
    let start = begin(algorithm, step, exchange, clock)?;
    drive(algorithm, step, exchange, guard, clock, Some(&start))
}

/// Initial state and first exchange; the tally of `init`.
fn begin<P: Probe>(
    algorithm: &mut dyn GraphAlgorithm,
    step: &mut Step<'_>,
    exchange: &mut Exchange<'_>,
    clock: &mut Clock<P>,
) -> Result<Tally> {
    let start = clock.stage(Stage::Setup, 0, || {
        let start = algorithm.init(step)?;
        step.end_update()?;
        Ok(start)
    })?;
    clock.exchange(Stage::InitialExchange, 0, exchange, |exchange| exchange.run_initial(step))?;
    (exchange.bytes_sent, exchange.messages_sent) = (0, 0);
    Ok(start)
}

/// The answer on rank 0, as a stage of the clock.
fn gathered<P: Probe>(
    spec: &AnswerSpec,
    step: &mut Step<'_>,
    exchange: &mut Exchange<'_>,
    clock: &mut Clock<P>,
) -> Result<Option<Vec<u8>>> {
    clock.stage(Stage::FinalResult, 0, || gather(step, spec, exchange.transport()))
}

/// What a gathered answer sums to, as certificates sum it.
fn sum_of(spec: &AnswerSpec, raw: &[u8]) -> u64 {
    fn sum<const N: usize>(raw: &[u8], bits: impl Fn([u8; N]) -> u64) -> u64 {
        let values = raw.as_chunks::<N>().0.iter().enumerate();
        values.fold(0, |sum, (global, &value)| answer_sum(sum, global as u32, bits(value)))
    }
    match spec.field.kind {
        Kind::U32 => sum(raw, |value: [u8; 4]| u32::from_le_bytes(value).into()),
        Kind::F64 => sum(raw, u64::from_le_bytes),
    }
}

/// Whether the gathered answer is the one that was certified, as rank 0 tells all. True where there is no certificate.
fn is_certified(
    spec: &AnswerSpec,
    raw: &Option<Vec<u8>>,
    sum: Option<u64>,
    transport: &mut dyn Transport,
) -> Result<bool> {
    let Some(sum) = sum else { return Ok(true) };
    let is_same = raw.as_ref().is_none_or(|raw| sum_of(spec, raw) == sum);
    let mut all = vec![Vec::new(); transport.ranks()];
    transport.all_gather(&[u8::from(is_same)], &mut all)?;
    Ok(all.iter().all(|theirs| *theirs == [1]))
}

/// Refuses a gathered answer that is not the one that was certified.
fn check_sum(spec: &AnswerSpec, raw: &[u8], sum: u64) -> Result<()> {
    let found = sum_of(spec, raw);
    if found == sum {
        return Ok(());
    }
    Err(Error::Answer(format!(
        "the answer changed after it was certified (its sum is {found:016x}, certified was {sum:016x}); run again"
    )))
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
