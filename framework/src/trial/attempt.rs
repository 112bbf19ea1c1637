//! One attempt of one rank: the part is cut, the state allocated, the loop run and the answer gathered, protected or not.

use super::gather::{check_sum, gathered, is_certified};
use super::hooks::RunHooks;
use super::placement::{Device, Layouts};
use super::reload::CurrentGraph;
use super::report::Costs;
use super::{Make, TrialConfig};
use crate::algorithm::GraphAlgorithm;
use crate::answer::AnswerSpec;
use crate::base::error::Result;
use crate::base::probe::{Probe, Stage};
use crate::base::tally::Tally;
use crate::device::Demands;
use crate::driver::clock::Clock;
use crate::driver::guard::{Guard, Next, Unguarded};
use crate::driver::{LoopResult, drive};
use crate::exchange::Exchange;
use crate::fault_tolerance::{FaultTolerance, Redundancy};
use crate::graph::{Ids, View};
use crate::host::Pool;
use crate::partition::Part;
use crate::protect::{CertifyOnlyGuard, Detection, GuardConfig, ProtectedGuard};
use crate::step::{Layout, Step};
use crate::transport::Transport;
use std::sync::Arc;

/// What became of a part.
pub(super) enum AttemptOutcome {
    /// The run is over.
    Finished(Box<RankResult>),
    /// Its arcs are not those that were loaded. What was known until then.
    Damaged(Detection),
}

/// How the run of one rank ended.
pub(super) struct RankResult {
    pub(super) end: LoopResult,
    pub(super) answer: Option<(AnswerSpec, Vec<u8>)>,
    pub(super) costs: Costs,
    pub(super) detection: Option<Detection>,
}

/// What the attempts of one rank share.
pub(super) struct RankRun<'a, P: Probe, W: RunHooks> {
    pub(super) graph: CurrentGraph<'a>,
    pub(super) config: &'a TrialConfig<'a>,
    pub(super) make: &'a Make<'a>,
    pub(super) hooks: &'a W,
    pub(super) transport: &'a mut dyn Transport,
    pub(super) pool: Pool,
    pub(super) clock: Clock<P>,
}

/// What a run leaves: how it ended, the answer on rank 0, and, where someone guarded it, what the guard knows with the sum that the
/// certified answer has.
struct Ran {
    end: LoopResult,
    answer: Option<Vec<u8>>,
    guarded: Option<(Detection, Option<u64>)>,
    is_rebuilding: bool,
}

impl<P: Probe, W: RunHooks> RankRun<'_, P, W> {
    /// Cuts the part and runs on it. `past` is what was known before the part was cut again: such a run begins anew.
    pub(super) fn attempt(&mut self, past: Option<Detection>) -> Result<AttemptOutcome> {
        let protection = self.config.protection;
        let (graph, transport, pool, hooks) = (&mut self.graph, &mut *self.transport, &self.pool, self.hooks);
        let part = self.clock.stage(Stage::Setup, 0, || graph.part(protection.certify, transport, pool, hooks))?;
        let graph = self.graph.graph();
        let make = self.make;
        let mut algorithm = self.clock.stage(Stage::Setup, 0, || -> Result<_> {
            let mut algorithm = make()?;
            algorithm.prepare(graph)?;
            if protection.certify {
                algorithm.enable_certificate_fields();
            }
            Ok(algorithm)
        })?;
        let (config, is_one_process) = (self.config, self.transport.is_one_process());
        let made = || allocate(&part, pool, &*algorithm, config, is_one_process);
        let mut step = self.clock.stage(Stage::Setup, 0, made)?;
        let mut exchange = Exchange::new(&mut *self.transport);
        let algorithm = algorithm.as_mut();
        let rules = algorithm.protection().filter(|_| protection.is_on || protection.certify);
        let is_directed = graph.facts().directed && matches!(algorithm.view(), View::AsGiven { .. });
        let run = Run { algorithm, step: &mut step, exchange: &mut exchange, clock: &mut self.clock, config };
        let ran = match rules {
            Some(rules) if protection.is_on => run.protected(rules, graph.ids(), is_directed, self.hooks, past)?,
            Some(rules) => run.certified(rules, graph.ids())?,
            None => run.unguarded()?,
        };
        let (detection, sum) = ran.guarded.map_or((None, None), |(detection, sum)| (Some(detection), sum));
        if ran.is_rebuilding {
            return Ok(AttemptOutcome::Damaged(detection.unwrap_or_default()));
        }
        let spec = algorithm.answer();
        if let (Some(raw), Some(sum), true) = (&ran.answer, sum, ran.end.is_sound) {
            check_sum(&spec, raw, sum)?;
        }
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
        let answer = ran.answer.map(|raw| (spec, raw));
        Ok(AttemptOutcome::Finished(Box::new(RankResult { end: ran.end, answer, costs, detection })))
    }
}

/// Fields and frontier, on the host or on the rank's device.
fn allocate<'r>(
    part: &'r Part,
    pool: &'r Pool,
    algorithm: &dyn GraphAlgorithm,
    config: &TrialConfig<'_>,
    is_one_process: bool,
) -> Result<Step<'r>> {
    let layout = match config.place.layouts {
        Layouts::AsAsked => algorithm.layout(),
        Layouts::RowsOnly => Layout::Rows,
    };
    match config.place.device {
        Device::Cpu => Step::new(part, pool, algorithm.fields(), layout),
        Device::Accelerators(devices) => {
            let rules = algorithm.protection().filter(|_| config.protection.is_on);
            let demands = Demands {
                is_one_process,
                has_checksums: config.protection.is_on,
                repeats_updates: rules.map(|rules| rules.redundancy() != Redundancy::None),
            };
            Step::on_device(part, pool, algorithm.fields(), devices, demands)
        }
    }
}

/// A run whose state is allocated.
struct Run<'c, 'r, 't, P: Probe> {
    algorithm: &'c mut dyn GraphAlgorithm,
    step: &'c mut Step<'r>,
    exchange: &'c mut Exchange<'t>,
    clock: &'c mut Clock<P>,
    config: &'r TrialConfig<'r>,
}

impl<'r, P: Probe> Run<'_, 'r, '_, P> {
    fn unguarded(mut self) -> Result<Ran> {
        let start = self.begin()?;
        let end = self.drive(&mut Unguarded, Some(&start))?;
        Ok(Ran { end, answer: self.gathered()?, guarded: None, is_rebuilding: false })
    }

    fn certified(mut self, rules: Arc<dyn FaultTolerance>, ids: &Ids) -> Result<Ran> {
        let mut guard = CertifyOnlyGuard::new(rules, ids);
        let start = self.begin()?;
        let end = self.drive(&mut guard, Some(&start))?;
        Ok(Ran { end, answer: self.gathered()?, guarded: Some(guard.into_detection()), is_rebuilding: false })
    }

    fn protected<W: RunHooks>(
        mut self,
        rules: Arc<dyn FaultTolerance>,
        ids: &'r Ids,
        is_directed: bool,
        hooks: &W,
        past: Option<Detection>,
    ) -> Result<Ran> {
        std::thread::scope(|scope| {
            let (is_timed, started) = (P::WANTS_CHECKER, self.clock.started());
            let (protection, part) = (self.config.protection, self.step.part);
            let ranges = P::RANGES;
            let config = GuardConfig { protection, rules, part, ids, is_directed, started, is_timed, ranges };
            let (step, exchange, algorithm) = (&mut *self.step, &mut *self.exchange, &*self.algorithm);
            let made = || ProtectedGuard::new(&config, step, exchange, algorithm, scope);
            let mut guard = self.clock.stage(Stage::Setup, 0, made)?;
            let is_again = past.is_some();
            if let Some(past) = past {
                guard.remember(past);
            }
            let restored = match self.config.resumable.filter(|_| !is_again) {
                Some(left) => {
                    let (step, algorithm) = (&mut *self.step, &mut *self.algorithm);
                    self.clock.stage(Stage::Setup, 0, || left.place(step, algorithm))?
                }
                None => None,
            };
            let start = match restored {
                Some(restored) => {
                    guard.resume_from(&restored);
                    None
                }
                None => Some(self.begin()?),
            };
            guard.begin(self.step, self.clock);
            let mut guard = hooks.guard(guard);
            let mut end = self.drive(&mut guard, start.as_ref())?;
            let mut guard: ProtectedGuard<'_> = guard.into();
            let spec = self.algorithm.answer();
            let mut answer = self.gathered()?;
            // What was certified must be what is handed out; if it is not, it is made again.
            while end.is_sound && !is_certified(&spec, &answer, guard.answer_sum(), self.exchange.transport())? {
                if guard.reject_answer() != Next::Redo {
                    end.is_sound = false;
                    break;
                }
                if guard.restore(self.algorithm, self.step, self.exchange, self.clock)? == Next::Rebuild {
                    break;
                }
                end = self.drive(&mut guard, None)?;
                answer = self.gathered()?;
            }
            let is_rebuilding = guard.is_rebuilding();
            Ok(Ran { end, answer, guarded: Some(guard.into_detection()), is_rebuilding })
        })
    }

    /// Initial state and first exchange; the tally of `init`.
    fn begin(&mut self) -> Result<Tally> {
        let (algorithm, step) = (&mut *self.algorithm, &mut *self.step);
        let start = self.clock.stage(Stage::Setup, 0, || {
            let start = algorithm.init(step)?;
            step.end_update()?;
            Ok(start)
        })?;
        let step = &mut *self.step;
        self.clock.exchange(Stage::InitialExchange, 0, self.exchange, |exchange| exchange.run_initial(step))?;
        (self.exchange.bytes_sent, self.exchange.messages_sent) = (0, 0);
        Ok(start)
    }

    fn drive<G: Guard>(&mut self, guard: &mut G, start: Option<&Tally>) -> Result<LoopResult> {
        drive(self.algorithm, self.step, self.exchange, guard, self.clock, start)
    }

    fn gathered(&mut self) -> Result<Option<Vec<u8>>> {
        gathered(&self.algorithm.answer(), self.step, self.exchange, self.clock)
    }
}
