//! What a protected run keeps on its device beside the state: the summary of a superstep, the list of critical vertices, and sums of
//! what rests in the frontier.
//!
//! Protected operators are kernels of their own (`*_guarded_*`), which add up into the summary; it is cleared before each superstep and
//! copied to pinned memory after it, on the stream of leaving state, ordered after the operators by an event. Members of a frontier are
//! added up as they join and again as they are consumed: what rested between must not have changed.

use super::driver::{Arguments, Event, Memory, Pinned};
use super::engine::Engine;
use super::guard_state::{DeviceGuard, mark_bytes, member};
use super::host_transfer::HostTransfer;
use super::layout::{Marks, SamplingParameters, WatchView};
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::device::{CriticalDegrees, GatherMarks, GuardTerms, Guarded, Rule, SUMMARY_WORDS, Summary, word};
use crate::frontier::FrontierFormat;
use std::time::Duration;

impl Guarded for Engine {
    fn guard(&mut self, terms: GuardTerms) -> Result<()> {
        let events = || -> Result<[Event; 2]> { Ok([Event::new(&self.context)?, Event::new(&self.context)?]) };
        let owned = self.graph.view.owned as usize;
        let listed = if terms.replicas.is_some() || terms.repeats_gathers { owned } else { 0 };
        let marks = if self.long_rows.is_some() { mark_bytes(owned) } else { 0 };
        self.guard = Some(Box::new(DeviceGuard {
            terms,
            summary: Memory::new(&self.context, SUMMARY_WORDS * 8)?,
            seen: Pinned::new(&self.context, SUMMARY_WORDS)?,
            critical: Memory::new(&self.context, listed * 4)?,
            marks: Memory::new(&self.context, marks)?,
            copied: events()?,
            marked: events()?,
            is_marked: false,
            marking: Duration::ZERO,
            index: 0,
            allowance: 0.0,
            consumes: false,
            selects: false,
            resting: 0,
            activated: 0,
            expected: 0,
        }));
        self.transfer = Some(HostTransfer::new(&self.context, self.longest())?);
        self.begin_superstep(0)
    }

    fn begin_superstep(&mut self, index: u32) -> Result<()> {
        let Some(guard) = &mut self.guard else { return Ok(()) };
        (guard.index, guard.expected) = (index, 0);
        (guard.consumes, guard.selects) = (false, false);
        self.compute.zero(&guard.summary)
    }

    fn take_marking(&mut self) -> Duration {
        self.guard.as_mut().map_or(Duration::ZERO, |guard| std::mem::take(&mut guard.marking))
    }

    fn summary(&mut self) -> Result<Summary> {
        let words = self.copied_summary()?;
        let Some(guard) = &mut self.guard else { return Ok(Summary { is_whole: true, ..Summary::default() }) };
        let expected = guard.expected.wrapping_add(if guard.selects { 0 } else { words[word::ENTERED] });
        let is_whole = !guard.consumes || words[word::STRAYS] == 0 && words[word::CONSUMED] == expected;
        if guard.consumes {
            guard.resting = words[word::JOINED];
        }
        if guard.selects {
            guard.resting = words[word::ENTERED];
        }
        guard.activated = words[word::WOKEN];
        guard.allowance -= words[word::ASSIGNED_ARCS] as f64;
        let copy = if guard.terms.is_timed {
            let [from, to] = &guard.copied;
            Duration::from_secs_f64(to.seconds_since(from)?.max(0.0))
        } else {
            Duration::ZERO
        };
        Ok(Summary { words, is_whole, copy })
    }
}

impl Engine {
    /// What guarded kernels are given beside; `None` in an unprotected run.
    pub(super) fn watch(&self) -> Option<WatchView> {
        let guard = self.guard.as_ref()?;
        let once = guard.terms.once;
        Some(WatchView {
            summary: guard.summary.address(),
            once: once.map_or(0, |(slot, _)| self.columns[slot].address()),
            critical: guard.critical.address(),
            critical_capacity: guard.critical.bytes() as u64 / 4,
            once_initial: once.map_or(0, |(_, initial)| initial),
        })
    }

    /// The frontier, with so many arcs (none: the report has them), is about to be consumed: critical vertices of it are listed. How many
    /// threads those may keep busy that will do them again.
    pub(super) fn mark(&mut self, arcs: Option<u64>, busy: u64, critical: CriticalDegrees) -> Result<u64> {
        let Some(watch) = self.watch() else { return Ok(0) };
        let guard = self.guard.as_mut().expect("there is a watch");
        guard.consumes = true;
        guard.expected = guard.expected.wrapping_add(std::mem::take(&mut guard.resting));
        let Some(replicas) = guard.terms.replicas else { return Ok(0) };
        let choice = SamplingParameters {
            allowance: guard.allowance,
            budget: guard.terms.budget,
            arcs: arcs.unwrap_or(u64::MAX),
            count: self.frontier.count,
            busy,
            low: critical.low,
            gap: critical.gap,
            high: critical.high,
            both: replicas.both.into(),
            over_incoming: replicas.over_incoming.into(),
            index: guard.index,
            pad: 0,
        };
        let is_bits = self.frontier.form == FrontierFormat::Bitmap;
        let items = if is_bits { self.graph.view.owned.into() } else { self.frontier.count };
        let arguments = Arguments::default()
            .with(self.graph.view)
            .with(self.queue(0))
            .with(if is_bits { self.frontier_view().bits } else { 0 })
            .with(choice)
            .with(watch)
            .with(self.report_address());
        self.choose("mark", items, arguments)?;
        Ok(self.threads_for_replicas(arcs.unwrap_or(0)))
    }

    /// Runs the kernel that lists what will be done again, as scoring and marking.
    fn choose(&mut self, name: &str, items: u64, arguments: Arguments) -> Result<()> {
        self.start_timing()?;
        let guard = self.guard.as_mut().expect("there is a watch");
        guard.is_marked = true;
        guard.marked[0].record(&self.compute)?;
        self.own(name, items, arguments)?;
        self.guard.as_ref().expect("as above").marked[1].record(&self.compute)
    }

    /// How many threads what is done again may keep busy: a warp does one, and it reads an arc at least.
    fn threads_for_replicas(&self, arcs: u64) -> u64 {
        let Some(guard) = &self.guard else { return 0 };
        let budget = guard.terms.budget;
        let most = if budget >= 1.0 { f64::INFINITY } else { guard.allowance + budget * arcs as f64 };
        (most.max(0.0) as u64).min(self.graph.view.owned.into()) * 32
    }

    /// What makes vertices critical in a gather, and where it is marked.
    pub(super) fn marks(&self, marks: GatherMarks) -> Marks {
        Marks::new(marks, self.guard.as_ref().map_or(0, |guard| guard.marks.address()))
    }

    /// A gather over so many arcs has settled and marked its vertices: rows of some that are critical are summed again by a kernel of
    /// their own, when all that it compares with has been put.
    pub(super) fn repeat_gathered(&mut self, rule: &Rule, arcs: u64) -> Result<()> {
        let (Some(watch), Some(guard)) = (self.watch(), &self.guard) else { return Ok(()) };
        let GuardTerms { repeats_gathers, budget, .. } = guard.terms;
        if !repeats_gathers {
            return Ok(());
        }
        let choice = SamplingParameters {
            allowance: guard.allowance,
            budget,
            arcs,
            index: guard.index,
            ..SamplingParameters::default()
        };
        let marked = guard.marks.address();
        let arguments = Arguments::default().with(self.graph.view).with(marked).with(choice).with(watch);
        self.choose("mark_gathered", self.graph.view.owned.div_ceil(32).into(), arguments)?;
        let arguments = self.arguments(rule).with(watch);
        self.of_rule(rule.name, "rows_again", self.threads_for_replicas(arcs), arguments)
    }

    /// The compute stream has passed: how long marking took goes to its account; what replicas may read grows by the arcs consumed.
    pub(super) fn account(&mut self, arcs: u64) -> Result<()> {
        let Some(guard) = &mut self.guard else { return Ok(()) };
        if std::mem::take(&mut guard.is_marked) {
            let [from, to] = &guard.marked;
            guard.marking += Duration::from_secs_f64(to.seconds_since(from)?.max(0.0));
        }
        guard.allowance += guard.terms.budget * arcs as f64;
        Ok(())
    }

    pub(super) fn copied_summary(&mut self) -> Result<[u64; SUMMARY_WORDS]> {
        let (Some(guard), Some(transfer)) = (&mut self.guard, &self.transfer) else {
            return Ok([0; SUMMARY_WORDS]);
        };
        transfer.follow(&self.compute)?;
        let [from, to] = &guard.copied;
        from.record(&transfer.stream)?;
        transfer.stream.download(&mut guard.seen, &guard.summary, 0, SUMMARY_WORDS)?;
        to.record(&transfer.stream)?;
        to.synchronize()?;
        let mut words = [0; SUMMARY_WORDS];
        words.copy_from_slice(guard.seen.values());
        Ok(words)
    }

    /// An owned vertex joins the frontier at rest, from the host.
    pub(super) fn note_active(&mut self, v: LocalId) {
        if let Some(guard) = &mut self.guard {
            guard.resting = guard.resting.wrapping_add(member(v.number()));
        }
    }
}
